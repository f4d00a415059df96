"""Sorts against NumPy's stable sort of keys that say what the order is."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from algorithm_data import data, same
from hypothesis import given, strategies as st

import vyre_algorithms as va
from vyre_algorithms import short_sorts, sorts
from vyre_algorithms.arguments import type_of
from vyre_algorithms.launches import launch
from vyre_algorithms.order import KeyType
from vyre_algorithms.radix import CHUNK, is_in_order
from vyre_driver.errors import InvalidInput
from vyre_driver.tune.distribution import SAMPLE, Distribution, SortBackend, select_sort_backend, varying_bits
from vyre_foundation import program
from vyre_foundation.functions import abs as magnitude

SIZES = [0, 1, 2, 1000, 8193, 50_000]


def total_order(x):
    """Integers in the order of the elements: of floats, the total order of IEEE 754."""
    if x.dtype.kind in "biu":
        return x
    signed = x.view(f"i{x.itemsize}").astype("i8")
    return np.where(signed < 0, ~signed + np.int64(-(2 ** (8 * x.itemsize - 1))), signed)


@pytest.mark.parametrize("size", SIZES)
def test_sizes(backend, size):
    check_size(backend, size)


def test_the_most_elements_of_an_invocation():
    check_size("cpu", sorts.SERIAL)


def check_size(backend, size):
    x = data("i4", size)
    same(va.sort(x, backend=backend), np.sort(x))
    few = (x & 7).astype("i4")
    same(va.argsort(few, backend=backend), np.argsort(few, stable=True))


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "f8"])
def test_digits_that_all_keys_share_are_left_out(backend, dtype):
    """Those of the first key say nothing of the others: a digit may differ in one key alone."""
    bits = np.dtype(dtype).itemsize * 8
    few = np.random.default_rng(3).integers(0, 2, 70, np.uint8).astype(f"u{bits // 8}")
    for shifts in ([], [bits - 1], [0], [bits // 2, 3], range(0, bits, 8)):
        x = sum((np.roll(few, shift) << few.dtype.type(shift) for shift in shifts), np.zeros_like(few))
        for last in (x, np.append(x[:-1], ~x[-1:])):
            keys = last.view(dtype)
            order = np.argsort(total_order(keys), stable=True)
            same(va.sort(keys, backend=backend).view(few.dtype), last[order])
            same(va.argsort(keys, backend=backend), order)


def test_every_type(backend, each_type):
    check_type(backend, each_type, 70)


@pytest.mark.parametrize("dtype", ["f2", "i1", "f8"])
def test_types_of_more_elements(dtype):
    check_type("cpu", dtype, 9000)


def check_type(backend, dtype, size):
    x = data(dtype, size)
    order = np.argsort(total_order(x), stable=True)
    same(va.sort(x, backend=backend), x[order])
    same(va.argsort(x, backend=backend), order)
    if x.dtype.kind != "b":
        falling = np.argsort(-1 - total_order(x) if x.dtype.kind == "i" else ~total_order(x), stable=True)
        same(va.argsort(x, descending=True, backend=backend), falling)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=100))
def test_every_bit_of_a_float_stays(bits):
    hard = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC00000, 1, 0x80000001]
    x = np.array(bits + hard, np.uint32).view("f4")
    same(va.sort(x, backend="cpu").view("u4"), x.view("u4")[np.argsort(total_order(x), stable=True)])


@pytest.mark.parametrize("shape", [(7, 30), (300, 40), (3, 10_000), (2, 5, 1000)])
def test_rows(backend, shape):
    x = data("u2", shape) & 63
    for axis in range(x.ndim):
        same(va.sort(x, axis, backend=backend), np.sort(x, axis))
        same(va.argsort(x, axis, backend=backend), np.argsort(x, axis, stable=True))


def test_rows_of_every_type(backend, each_type):
    """Their keys become elements again, without places beside them."""
    x = data(each_type, (40, 23))
    order = np.argsort(total_order(x), 1, stable=True)
    same(va.sort(x, backend=backend), np.take_along_axis(x, order, 1))
    same(va.argsort(x, backend=backend), order)
    same(va.sort(x, descending=True, backend=backend), np.take_along_axis(x, order[:, ::-1], 1))


def test_every_bit_of_a_float_in_rows_stays():
    hard = np.uint32([0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC00000, 1, 0x80000001])
    x = np.stack([np.roll(hard, n) for n in range(20)]).view("f4")
    same(va.sort(x, backend="cpu").view("u4"), np.tile(hard[np.argsort(total_order(hard.view("f4")))], (20, 1)))


@pytest.mark.parametrize("length", range(1, 12))
def test_every_order_of_ones_and_zeros_in_rows(length):
    """What compares the same places in all rows sorts everything, if it sorts these."""
    x = np.array(list(itertools.product([0, 1], repeat=length)), "u1")
    same(va.sort(x, backend="cpu"), np.sort(x))
    same(va.argsort(x, backend="cpu"), np.argsort(x, 1, stable=True))


@pytest.mark.parametrize("length", [most + n for most in short_sorts.LENGTHS_IN_LOOPS for n in (0, 1)])
def test_lengths_of_rows(length):
    x = data("u2", (18, length)) & 15
    same(va.sort(x, backend="cpu"), np.sort(x))
    same(va.argsort(x, backend="cpu"), np.argsort(x, 1, stable=True))


@pytest.mark.parametrize("length", [10, short_sorts.LENGTHS_IN_LOOPS[-1]])
def test_short_rows_are_sorted_by_one_launch(monkeypatch, length):
    launches = []
    monkeypatch.setattr(short_sorts, "launch", lambda *given: launches.append(given) or launch(*given))
    monkeypatch.setattr(sorts, "run_graph", None)
    va.argsort(data("u4", (50, length)), backend="cpu")
    assert len(launches) == 1


@pytest.mark.parametrize("make", [np.sort, lambda x: np.sort(x)[::-1].copy(), np.zeros_like])
def test_sorted_and_equal_keys(backend, make):
    x = make(data("u4", 20_000))
    same(va.argsort(x, backend=backend), np.argsort(x, stable=True))


def test_pairs(backend):
    keys, values = data("u1", 9000), data("f8", (9000, 2))
    order = np.argsort(keys, stable=True)
    found = va.sort_pairs(keys, values, backend=backend)
    same(found[0], keys[order])
    same(found[1], values[order])


def by_magnitude(a, b):
    return magnitude(a) < magnitude(b)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 64, 65, 1000, 5000])
def test_a_comparison(backend, size):
    x = data("i4", size) % 50
    order = np.argsort(abs(x), stable=True)
    same(va.sort(x, before=by_magnitude, backend=backend), x[order])
    same(va.argsort(x, before=by_magnitude, descending=True, backend=backend), np.argsort(-abs(x), stable=True))


@pytest.mark.parametrize("shape", [(7, 30), (5, 1), (1, 5), (2, 5, 100), (0, 3), (3, 0)])
@pytest.mark.parametrize("before", [None, by_magnitude])
def test_rows_of_pairs_and_by_a_comparison(backend, before, shape):
    x, values = data("i4", shape) % 50, data("f8", shape)
    for axis in range(x.ndim):
        order = np.argsort(x if before is None else abs(x), axis, stable=True)
        falling = np.argsort(-x if before is None else -abs(x), axis, stable=True)
        same(va.sort(x, axis, before=before, backend=backend), np.take_along_axis(x, order, axis))
        same(va.argsort(x, axis, descending=True, before=before, backend=backend), falling)
        keys, moved = va.sort_pairs(x, values, axis, before=before, backend=backend)
        same(keys, np.take_along_axis(x, order, axis))
        same(moved, np.take_along_axis(values, order, axis))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.sort(x, 1), "an axis from -1 to 0"),
        (lambda x: va.sort(x, before=3), r"got int, expected a function of values\. Fix: pass lambda a, b: a < b"),
        (lambda x: va.sort(x.reshape(3, 1)[:0], before=lambda a, b: a), "got one that gives f32"),
        (lambda x: va.sort_pairs(x.reshape(1, 3), x), r"got the shape \(3,\), expected the shape \(1, 3\)"),
        (lambda x: va.sort_pairs(x.reshape(1, 3), np.ones((1, 3, 2))), r"expected the shape \(1, 3\)"),
        (lambda x: va.sort_pairs(x, x[1:]), r"got the shape \(2,\), expected 3 elements on the first axis"),
        (lambda x: va.argsort("abc"), "got str, expected an array"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones(3, "f4"))


@pytest.mark.parametrize("hidden", [None, 777])
@pytest.mark.parametrize("dtype", ["u4", "i4", "i8", "f4"])
def test_keys_that_differ_in_few_digits(dtype, hidden):
    """The sample sees every 49th element: another one that differs in the last digit must still come to its place."""
    x = (data("u4", 50_000) % 200 + 1000).astype(dtype)
    if hidden is not None:
        x[hidden] = np.iinfo(dtype).min if dtype[0] == "i" else -1e30 if dtype == "f4" else 2**32 - 1
    order = np.argsort(total_order(x), stable=True)
    same(va.sort(x, backend="cpu"), x[order])
    same(va.argsort(x, backend="cpu"), order)
    same(va.sort(x, descending=True, backend="cpu"), x[order][::-1])


def spread(dtype, size):
    """Keys whose leading digits are as frequent as each other, with any bits behind them, but in five bytes at most."""
    bits = data(f"u{np.dtype(dtype).itemsize}", size)
    if dtype[0] == "f":  # in one binade, in which the digits of floats are as frequent
        one = np.ones(1, dtype).view(bits.dtype)[0]
        bits = one | (bits >> bits.dtype.type({"f2": 6, "f4": 9, "f8": 12}[dtype]))
    if bits.itemsize == 8:  # more bytes are divided at splitters
        bits = bits >> bits.dtype.type(24) << bits.dtype.type(24)
    return bits.view(dtype)


def is_sorted_by_buckets(x):
    bits = x.view(f"u{x.itemsize}")
    sample = Distribution.of(bits, varying_bits(bits))
    return select_sort_backend(sample, has_buckets=True) is SortBackend.BUCKETS


SPREAD = [("u2", 8193), ("i4", 8193), ("f4", 8193), ("f8", 8193), ("f2", 30_000), ("u4", 30_000), ("i8", 30_000)]
"""Each width and each order of keys, and either size beside both."""
EVERY_SPREAD = itertools.product(["u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8"], [8193, 30_000])


@pytest.mark.parametrize(
    ("dtype", "size"), [pytest.param(*pair, marks=() if pair in SPREAD else pytest.mark.slow) for pair in EVERY_SPREAD]
)
def test_spread_keys(dtype, size):
    x = spread(dtype, size)
    assert is_sorted_by_buckets(x)
    order = np.argsort(total_order(x), stable=True)
    same(va.sort(x, backend="cpu"), x[order])
    same(va.argsort(x, backend="cpu"), order)
    falling = np.argsort(~total_order(x), stable=True)
    same(va.sort(x, descending=True, backend="cpu"), x[falling])
    same(va.argsort(x, descending=True, backend="cpu"), falling)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("ends", [(-(1 << 22), (1 << 22) - 1), (-(1 << 22), -1), (-(1 << 22) - 1, 0), (0, 1 << 22)])
def test_signed_keys_whose_leading_bits_are_copies_of_the_sign(dtype, ends):
    lowest, highest = ends
    x = (data("u4", 20_000) % (highest - lowest + 1)).astype(dtype) + np.dtype(dtype).type(lowest)
    x[[100, 200]] = ends
    order = np.argsort(x, stable=True)
    same(va.sort(x, backend="cpu"), x[order])
    same(va.argsort(x, backend="cpu"), order)
    same(va.argsort(x, descending=True, backend="cpu"), np.argsort(-x, stable=True))


def floats(number):
    return np.random.default_rng(number).standard_normal(number)


SPLIT = {
    "both signs": floats(30_000),
    "many magnitudes": np.exp(6 * floats(30_000)),
    "pairs of equal keys": np.tile(floats(15_000), 2),
    "close together": np.round(8 * floats(30_000)) + 1e-9 * floats(30_000)[::-1],
    "one far away": np.append(floats(30_000), 1e300),
    "NaNs and infinities": np.append(floats(30_000), [np.inf, -np.inf, np.nan, -np.nan, 0, -0.0] * 50),
    "crowded where the sample does not look": np.where(np.arange(300_000) % 293 == 0, floats(300_000), 1 / 3),
    "integers": (2**62 * np.tanh(floats(50_000) ** 9)).astype("i8"),
    "half of them equal": np.where(floats(30_000) > 0, floats(30_000), 0.0),
}


@pytest.mark.parametrize("x", [pytest.param(x, id=name) for name, x in SPLIT.items()])
def test_keys_that_a_sample_divides(x):
    sample = Distribution.of(x.view("u8"))
    assert select_sort_backend(sample, has_buckets=True) is SortBackend.SPLITTERS
    rising, falling = np.argsort(total_order(x), stable=True), np.argsort(~total_order(x), stable=True)
    same(va.sort(x, backend="cpu"), x[rising])
    same(va.argsort(x, backend="cpu"), rising)
    same(va.sort(x, descending=True, backend="cpu"), x[falling])
    same(va.argsort(x, descending=True, backend="cpu"), falling)


FEW_KEYS = {
    "many": data("u4", 70_000) % 90,
    "three": data("u4", 70_000) % 3,
    "three that crowd": data("u4", 500_000) % 3,
    "one, and others where the sample does not look": np.where(np.arange(70_000) % 69 == 1, data("u4", 70_000), 7),
    "none alike where the sample does not look": np.where(np.arange(70_000) % 69 == 0, 7, data("u4", 70_000)),
}


@pytest.mark.parametrize("dtype", ["u4", "i8", "f8"])
@pytest.mark.parametrize("numbers", FEW_KEYS.values(), ids=FEW_KEYS)
def test_few_different_keys(dtype, numbers):
    bits = (numbers.astype("u8") * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32 if dtype == "u4" else 0)
    x = bits.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)
    assert Distribution.of(x.view(f"u{x.itemsize}"), 2**32 - 1).are_few
    rising, falling = np.argsort(total_order(x), stable=True), np.argsort(~total_order(x), stable=True)
    same(va.sort(x, backend="cpu"), x[rising])
    same(va.argsort(x, backend="cpu"), rising)
    same(va.argsort(x, descending=True, backend="cpu"), falling)


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8"])
def test_keys_in_order(dtype):
    """Or all but one, which is where the host does not look: at the end of a chunk, or of the array."""
    x = np.sort(data("u2", 20_000) % 200 - (0 if dtype[0] == "u" else 100)).astype(dtype)
    assert is_in_order(x.view(bits := f"u{x.itemsize}"), KeyType.of(type_of(x)), "cpu")
    for place in (None, CHUNK - 1, CHUNK, x.size - 1):
        if place is not None:
            x[place] = x[place - 1] - 1
            assert not is_in_order(x.view(bits), KeyType.of(type_of(x)), "cpu")
        order = np.argsort(x, stable=True)
        found = va.sort(x, backend="cpu")
        assert not np.may_share_memory(found, x)
        same(found, x[order])
        same(va.argsort(x, backend="cpu"), order)
        same(va.argsort(x[order][::-1], descending=True, backend="cpu"), np.arange(x.size))


def test_zeros_of_either_sign_are_not_in_order():
    x = np.zeros(20_000)
    x[10_001:] = -0.0
    same(va.argsort(x, backend="cpu"), np.roll(np.arange(20_000), 9_999))


def test_keys_of_the_host(backend, each_type):
    """They are those of a device."""
    x = data(each_type, 70)
    key_type = KeyType.of(type_of(x))
    bits = x.view(key_type.bits.numpy)
    for descending in (False, True):
        each = key_type._replace(descending=descending)
        with program("keys", 64) as p:
            given = p.read("given", each.bits)
            p.write("keys", each.bits, like=given)[p.global_id(0)] = each.key(given[p.global_id(0)])
        same(launch(p.build(), {"given": bits}, 2, backend)["keys"], each.host_keys(bits))


def test_spread_keys_on_every_backend(backend):
    x = spread("u4", 20_000) >> 12 << 12
    same(va.sort(x, backend=backend), np.sort(x))
    same(va.argsort(x, backend=backend), np.argsort(x, stable=True))


@pytest.mark.parametrize("size", [20_000, 1_100_000])
def test_keys_that_are_crowded_where_the_sample_does_not_look(size):
    """In the larger one a bucket has more keys than an invocation sorts."""
    x = np.full(size, 77 << 24, np.uint32)
    x[::7] |= data("u4", len(x[::7])) >> 8
    looked_at = slice(None, None, -(-size // SAMPLE))
    x[looked_at] = spread("u4", len(x[looked_at]))
    assert is_sorted_by_buckets(x)
    same(va.sort(x, backend="cpu"), np.sort(x))
    same(va.argsort(x, backend="cpu"), np.argsort(x, stable=True))


@pytest.mark.parametrize("dtype", ["u4", "f8"])
def test_equal_keys_stay_in_place(dtype):
    x = np.full(9000, 3, dtype)
    same(va.sort(x, backend="cpu"), x)
    same(va.argsort(x, backend="cpu"), np.arange(9000))


def test_no_module_has_the_name_of_a_function():
    """Its import would take the function's place in the package."""
    modules = {file.stem for file in Path(va.__file__).parent.glob("*.py")}
    assert not modules & {*va.__all__}
