"""Scans against NumPy, and against their definition in it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from algorithm_data import UFUNCS, data, same

import vyre_algorithms as va
from vyre_algorithms import launches
from vyre_driver.errors import InvalidInput

LENGTHS = [1, 2, 63, 64, 65, 4096, 4097, 20_000]


def scanned(x, combine=np.add, identity=-0.0, exclusive=False):
    """The definition: runs of 64, lanes in six steps, blocks of 4096 scanned in the same way."""
    blocks = -(-x.size // 4096)
    padded = np.full(blocks * 4096, identity, x.dtype)
    padded[: x.size] = x
    runs = padded.reshape(blocks, 64, 64)
    lanes = np.full((blocks, 64), identity, x.dtype)
    for k in range(64):
        lanes = combine(lanes, runs[:, :, k])
    for distance in (1, 2, 4, 8, 16, 32):
        lanes[:, distance:] = combine(lanes[:, :-distance], lanes[:, distance:])
    running = np.full((blocks, 64), identity, x.dtype)
    running[:, 1:] = lanes[:, :-1]
    if blocks > 1:
        before = scanned(lanes[:, -1].copy(), combine, identity, exclusive=True)
        running = combine(before[:, None], running)
    out = np.empty_like(runs)
    for k in range(64):
        after = combine(running, runs[:, :, k])
        out[:, :, k] = running if exclusive else after
        running = after
    return out.reshape(-1)[: x.size]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("exclusive", [False, True])
def test_sums_of_floats_are_those_of_the_definition(backend, length, exclusive):
    x = data("f4", length)
    same(va.scan(x, exclusive=exclusive, backend=backend), scanned(x, exclusive=exclusive))


@pytest.mark.parametrize("length", [1, 2, 63, 64, 65])
@pytest.mark.parametrize("exclusive", [False, True])
def test_short_sequences_have_the_bits_of_the_definition(backend, length, exclusive):
    rows, columns = data("f4", (70, length)), data("f4", (3, length, 17))
    wanted = np.array([scanned(row, exclusive=exclusive) for row in rows])
    same(va.scan(rows, exclusive=exclusive, backend=backend), wanted)
    wanted = np.array([[scanned(c.copy(), exclusive=exclusive) for c in part.T] for part in columns])
    same(va.scan(columns, axis=1, exclusive=exclusive, backend=backend), np.ascontiguousarray(wanted.swapaxes(1, 2)))


def test_every_type(backend, each_type):
    x = data(each_type, (3, 70))
    exact = x.astype("f4") if x.dtype in ("f2", ml_dtypes.bfloat16) else x
    same(va.scan(x, "max", backend=backend), np.maximum.accumulate(exact, axis=1).astype(x.dtype))
    same(va.scan(x, "min", backend=backend), np.minimum.accumulate(exact, axis=1).astype(x.dtype))
    same(va.scan(x, "any", backend=backend), np.logical_or.accumulate(x != 0, axis=1))
    same(va.scan(x, "all", backend=backend), np.logical_and.accumulate(x != 0, axis=1))
    if x.dtype.kind in "biu":
        same(va.cumsum(x, 1, backend=backend), x.cumsum(1))
        same(va.cumprod(x, 0, backend=backend), x.cumprod(0))
        same(va.cumsum(x, backend=backend), x.cumsum())
    else:
        wanted = np.array([scanned(row) for row in exact]).astype(x.dtype)
        same(va.cumsum(x, 1, backend=backend), wanted)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_many_narrow_floats_of_which_sums_overflow(backend, dtype):
    x = np.where(np.arange(launches.HOST_ROUNDED + 9) % 4096 == 9, -np.inf, 3e4).astype(dtype)
    wanted = va.cumsum(x.astype("f4"), backend=backend)
    assert not np.isfinite(wanted[9:]).any()
    with np.errstate(over="ignore"):
        same(va.cumsum(x, backend=backend), wanted.astype(dtype))


@pytest.mark.parametrize(("operation", "compiled"), [("and", "bool"), ("or", "i1"), ("xor", "u8")])
def test_bits(backend, operation, compiled):
    """On the reference each operation of each type, and on what compiles each of one."""
    accumulate = UFUNCS[operation].accumulate
    for dtype in ("bool", "i1", "u8") if backend == "reference" else (compiled,):
        x = data(dtype, (3, 70))
        same(va.scan(x, operation, backend=backend), accumulate(x, axis=1))
        same(va.scan(x, operation, axis=0, backend=backend), accumulate(x, axis=0))
        before = va.scan(x, operation, exclusive=True, backend=backend)
        same(before[:, 1:], accumulate(x, axis=1)[:, :-1])
        same(before[:, 0], np.full(3, UFUNCS[operation].reduce(x[0, :0]), dtype))
    x, starts = data("u4", 10_000), np.array([0, 5, 64, 7000, 10_000])
    same(va.scan(x, operation, backend=backend), accumulate(x))
    wanted = np.concatenate([accumulate(part) for part in np.split(x, starts[1:-1])])
    same(va.segmented_scan(x, starts, operation, backend=backend), wanted)


def test_rows_longer_than_a_block(backend):
    x = data("i4", (3, 9000))
    same(va.cumsum(x, 1, backend=backend), x.cumsum(1))
    same(va.cumsum(x.T, 0, backend=backend), x.cumsum(1).T)


def test_three_levels():
    x = data("u4", 4096 * 4096 + 5)
    same(va.cumsum(x, dtype=np.uint32, backend="cpu"), x.cumsum(dtype=np.uint32))


@pytest.mark.parametrize("exclusive", [False, True])
def test_segments(backend, exclusive):
    x = data("i4", 10_000)
    starts = np.array([0, 0, 5, 5, 64, 7000, 9999, 10_000, 10_000])
    parts = [part.cumsum() - part * exclusive for part in np.split(x, starts[1:-1])]
    same(va.segmented_scan(x, starts, exclusive=exclusive, backend=backend), np.concatenate(parts))


def test_nothing():
    same(va.cumsum(np.zeros((0, 3), "f4"), 0), np.zeros((0, 3), "f4"))
    same(va.segmented_scan(np.zeros(0, "i4"), np.zeros(1, "i8")), np.zeros(0, "i8"))


def test_the_identity_is_what_changes_no_bit(backend):
    x = np.array([-0.0, 1], "f4")
    same(va.scan(x, exclusive=True, backend=backend), np.array([-0.0, -0.0], "f4"))
    same(va.segmented_scan(x, np.array([0, 2]), exclusive=True, backend=backend), np.array([-0.0, -0.0], "f4"))
    same(va.scan(x, "prod", exclusive=True, backend=backend), np.array([1, -0.0], "f4"))
    same(va.scan(x, "max", exclusive=True, backend=backend), np.array([-np.inf, -0.0], "f4"))
    same(va.scan(x.astype("i4"), exclusive=True, backend=backend), np.array([0, 0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.scan(x, "mean"), "got 'mean', expected one of sum"),
        (lambda x: va.scan(x, "argmin"), "got 'argmin', expected one of sum, prod, min, max, any, all, and, or, xor"),
        (lambda x: va.scan(x, "xor"), "argument 'x': got one of f32, expected an array of bools or integers"),
        (lambda x: va.scan(x, axis=2), "an axis from -1 to 0"),
        (lambda x: va.segmented_scan(x, np.array([1, 3])), "ascending integers from 0 to 3"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones(3, "f4"))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, **out: va.scan(x, **out),
        lambda x, **out: va.cumsum(x, 0, **out),
        lambda x, **out: va.cumprod(x, **out),
        lambda x, **out: va.sort(x, 0, **out),
        lambda x, **out: va.argsort(x, **out),
        lambda x, **out: va.matmul(x, x, **out),
    ],
)
def test_results_go_where_the_caller_says(call):
    x = data("i4", (7, 7))
    wanted = call(x)
    out = np.zeros_like(wanted)
    assert call(x, out=out) is out
    same(out, wanted)
    with pytest.raises(InvalidInput, match="'out'"):
        call(x, out=out[:3])
