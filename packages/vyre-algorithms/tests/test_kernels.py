"""Matrices, random words and digests against NumPy, published vectors and the standard library."""

from __future__ import annotations

import hashlib
import itertools
import zlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from algorithm_data import TYPES, data, same

import vyre_algorithms as va
from vyre_driver import backend_for
from vyre_driver.errors import InvalidInput


def fused(a, b):
    """The product with one rounding for each addition, in the order of the columns."""
    out = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        # The sum of a product of f32 and an f32 is rounded to f64 first, to odd, so that the second rounding is right.
        exact = [[Fraction(float(x)) * Fraction(float(y)) for y in b[k]] for x in a[:, k]]
        for i, row in enumerate(exact):
            for j, product in enumerate(row):
                out[i, j] = nearest_f32(product + Fraction(float(out[i, j])))
    return out


def nearest_f32(value):
    if not value:
        return np.float32(0)
    exponent = np.frexp(float(value))[1]
    unit = Fraction(2) ** max(int(exponent) - 24, -149)
    return np.float32(float(round(value / unit) * unit))


def test_the_order_of_products(backend):
    a, b = data("f4", (5, 9)), data("f4", (9, 70), seed=2)
    same(va.matmul(a, b, backend=backend), fused(a, b))


@pytest.mark.parametrize(
    "shape", [((1, 1), (1, 1)), ((3, 7, 20), (20, 65)), ((2, 1, 4, 3), (5, 3, 2)), ((4, 0), (0, 2))]
)
def test_products_of_integers(backend, shape):
    a, b = data("i4", shape[0]), data("i4", shape[1], seed=2)
    same(va.matmul(a, b, backend=backend), a @ b)


@pytest.mark.parametrize("bits", [256, 512])
def test_the_order_of_products_in_strips(monkeypatch, bits):
    """On CPUs whose vectors have `bits` bits, products are added in their order."""
    profile = replace(backend_for("cpu").device_profile(), ideal_vector_pack_bits=bits)
    monkeypatch.setattr("vyre_algorithms.matrix.profile_of", lambda *_: profile)
    a, b = data("f4", (101, 5)), data("f4", (5, 35), seed=2)
    same(va.matmul(a, b, backend="cpu"), fused(a, b))


@pytest.mark.parametrize("dtype", ["i1", "i4", "u8"])
@pytest.mark.parametrize("shape", [((96, 9), (9, 16)), ((100, 7), (7, 33)), ((2, 1, 97, 3), (3, 3, 36))])
def test_products_in_strips(shape, dtype):
    a, b = data(dtype, shape[0]), data(dtype, shape[1], seed=2)
    same(va.matmul(a, b, backend="cpu"), a @ b)


@pytest.mark.parametrize("columns", [9, 16, 17, 32, 33, 70])
def test_the_order_of_products_of_some_columns(columns):
    a, b = data("f4", (10, 12)), data("f4", (12, columns), seed=2)
    same(va.matmul(a, b, backend="cpu"), fused(a, b))


def test_products_of_small_types():
    a, b = data("i1", (20, 300)), data("i1", (300, 10), seed=2)
    same(va.matmul(a, b, dtype=np.int32, backend="cpu"), a.astype("i4") @ b.astype("i4"))
    halves = data("f2", (4, 5)), data("f2", (5, 6))
    found = va.matmul(*halves, backend="cpu")
    same(found, fused(*(half.astype("f4") for half in halves)).astype("f2"))


@pytest.mark.parametrize(
    ("left", "right"), [((7,), (7, 5)), ((6, 7), (7,)), ((7,), (7,)), ((2, 6, 7), (7,)), ((0,), (0,))]
)
def test_products_with_vectors(left, right):
    a, b = (np.arange(np.prod(shape), dtype=np.int32).reshape(shape) for shape in (left, right))
    same(va.matmul(a, b, backend="cpu"), np.asarray(a @ b))


@pytest.mark.parametrize(
    "shape", [(), (5,), (1, 1), (17, 40), (40, 3), (2, 30, 5), (3, 33, 16), (2, 1, 3, 4, 1, 5), (0, 4)]
)
def test_transposes(backend, shape):
    x = data("f4", shape)
    same(va.transpose(x, backend=backend), np.asarray(x.T, order="C"))
    if x.ndim > 1:
        same(va.matrix_transpose(x, backend=backend), np.ascontiguousarray(x.swapaxes(-1, -2)))


@pytest.mark.parametrize("shape", [(3, 4, 5, 2), (2, 1, 3, 1)])
def test_axes_in_every_order(shape):
    x = data("u2", shape)
    for axes in itertools.permutations(range(-4, 0)):
        same(va.transpose(x, axes, backend="cpu"), np.ascontiguousarray(x.transpose(axes)))


def test_axes_are_named_once():
    x = data("u2", (3, 4))
    for axes in ((0, 0), (0,), (0, 1, 2)):
        with pytest.raises(InvalidInput, match="axes"):
            va.transpose(x, axes)


def test_transposes_of_every_type():
    for dtype in TYPES:
        x = data(dtype, (20, 30))
        same(va.transpose(x, backend="cpu"), np.ascontiguousarray(x.T))


@pytest.mark.parametrize(("number", "rows"), [(1, 1), (600, 9), (8191, 1), (8190, 2), (8190, 3), (5000, 9000)])
def test_rows_of_few_and_many_elements(number, rows):
    """One launch or several: the elements of a row keep their order, and each row has a start."""
    of_each, columns, values = data("u4", number) % rows, data("u2", number), data("f2", number)
    order = np.argsort(of_each, kind="stable")
    found = va.csr(of_each, columns, values, rows, backend="cpu")
    wanted = values[order], columns[order], np.searchsorted(of_each[order], np.arange(rows + 1))
    for mine, theirs in zip(found, wanted, strict=True):
        same(mine, theirs)


def test_sparse_products(backend):
    dense = data("i4", (50, 30)) * (data("u1", (50, 30)) < 30)
    rows, columns = np.nonzero(dense)
    order = np.random.default_rng(3).permutation(rows.size)
    matrix = va.csr(rows[order], columns[order], dense[rows, columns][order], 50, backend=backend)
    x = data("i4", 30)
    same(va.spmv(*matrix, x, backend=backend), dense @ x)
    wide = data("i4", (30, 3))
    same(va.spmv(*matrix, wide, backend=backend), dense @ wide)
    same(va.spmv(np.zeros(0, "f4"), np.zeros(0, "i4"), np.zeros(4, "i4"), np.ones(2, "f4")), np.zeros(3, "f4"))


@pytest.mark.parametrize("of_columns", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
def test_columns_of_sparse_products(of_columns, backend):
    """Those beyond the vector are refused, however wide they are."""
    columns, starts = np.array([0, 4, 2, 4], of_columns), np.array([0, 1, 1, 4])
    values, x, wide = data("f4", 4), data("f4", 5), data("f4", (5, 2))
    same(va.spmv(values, columns, starts, x, backend=backend), va.spmv(values, columns.astype("u4"), starts, x))
    same(va.spmv(values, columns, starts, wide, backend=backend), va.spmv(values, columns.astype("u4"), starts, wide))
    info = np.iinfo(of_columns)
    for beyond in {5, info.max, info.min, 1 << 32, 4 + (1 << 32)} - {0}:
        if info.min <= beyond <= info.max:
            columns[2] = beyond
            for dense in (x, wide):
                with pytest.raises(InvalidInput, match="expected integers from 0 that are below 5"):
                    va.spmv(values, columns, starts, dense, backend=backend)


ONES = (1 << 128) - 1


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (ONES, ONES >> 64, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (0x03707344_13198A2E_85A308D3_243F6A88, 0x299F31D0_A4093822, "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox(backend, counter, key, words):
    found = va.philox(key, 4, counter=counter, backend=backend)
    assert " ".join(f"{word:08x}" for word in found) == words


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        (0, 0, "6b200159 99ba4efe"),
        (ONES >> 64, ONES >> 64, "1cb996fc bb002be7"),
        (0x85A308D3_243F6A88, 0x03707344_13198A2E, "c4923a9c 483df7a0"),
    ],
)
def test_threefry(backend, counter, key, words):
    found = va.threefry(key, 2, counter=counter, backend=backend)
    assert " ".join(f"{word:08x}" for word in found) == words


def test_any_part_of_a_sequence_can_be_made_alone(backend):
    whole = va.philox(7, 1003, backend=backend)
    same(va.philox(7, 600, counter=100, backend=backend), whole[400:1000])
    across = (1 << 64) - 2
    assert not np.array_equal(va.philox(7, 8, counter=across)[:4], va.philox(7, 8, counter=across)[4:])
    same(va.philox(7, 8, counter=across)[4:], va.philox(7, 4, counter=across + 1))


def test_shuffles(backend):
    x = np.arange(10_000 if backend != "reference" else 1000).reshape(-1, 2)
    found = va.shuffle(x, 3, backend=backend)
    assert not np.array_equal(found, x)
    same(np.sort(found, 0), x)
    drawn = va.sample(1000, 10, 3, backend=backend)
    assert np.unique(drawn).size == 10
    assert drawn.max() < 1000


@pytest.mark.parametrize("number", [0, 1, 2, 1001, 4097, 8192, 8193])
def test_shuffles_are_in_the_order_of_words(number):
    order = np.argsort(va.philox(5, 2 * number).view(np.uint64), kind="stable")
    x, wide = data("f2", number), data("u1", (number, 3))
    same(va.shuffle(x, 5, backend="cpu"), x[order])
    same(va.shuffle(wide, 5, backend="cpu"), wide[order])


MESSAGES = [b"", b"abc", bytes(55), bytes(56), bytes(63), bytes(64), bytes(range(256)) * 5, b"x" * 1000]


def test_digests(backend):
    assert [bytes(row) for row in va.sha256(MESSAGES, backend=backend)] == [
        hashlib.sha256(message).digest() for message in MESSAGES
    ]
    same(va.crc32(MESSAGES, backend=backend), np.array([zlib.crc32(message) for message in MESSAGES], np.uint32))
    for digest in (va.sha256, va.crc32, va.blake3):
        few = MESSAGES[:4]
        same(digest((m for m in few), backend=backend), digest(few, backend=backend))
    assert va.sha256([]).shape == (0, 32)
    assert va.crc32([b""]).tolist() == [0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.matmul(np.float32(1), x), r"got f32 \(\) and f32"),
        (lambda x: va.matmul(x, x[:2]), r"expected \(…, m, k\) and \(…, k, n\) of one type"),
        (lambda x: va.matmul(np.stack([x] * 2), np.stack([x] * 3)), "expected axes that broadcast"),
        (lambda x: va.matrix_transpose(x[0]), "expected two axes or more"),
        (
            lambda x: va.spmv(x[0], np.array([0, 1, 3]), np.array([0, 3]), x[0]),
            "got 3, expected integers from 0 that are below 3",
        ),
        (lambda x: va.csr(np.array([0, 3]), np.array([0, 1]), x[0, :2], 3), "'rows': got 3, expected .* below 3"),
        (lambda x: va.csr(np.arange(2), np.arange(3), x[0], 3), "'rows': got 2, expected 3 rows, one for each value"),
        (lambda x: va.csr(np.arange(3), np.arange(2), x[0], 3), "'columns': got 2, expected 3 columns, one for each"),
        (lambda x: va.csr(np.arange(3), x[0], x[0], 3), "'columns': got one of f32, expected an array of integers"),
        (lambda x: va.csr(np.arange(3), np.array([0, -1, 0]), x[0], 3), "'columns': got -1, expected integers from 0"),
        (lambda x: va.csr(np.arange(3), np.arange(3), x[0] > 0, 3), "'values': got one of bool, expected"),
        (lambda x: va.coo(x[0], np.arange(2), np.array([0, 3])), "'columns': got 2, expected 3 columns, one for each"),
        (lambda x: va.coo(x[0], x[0], np.array([0, 3])), "'columns': got one of f32, expected an array of integers"),
        (lambda x: va.coo(x[0] > 0, np.arange(3), np.array([0, 3])), "'values': got one of bool, expected"),
        (lambda x: va.csr(np.array([-1]), np.array([0]), x[0, :1], 3), "'rows': got -1, expected .* below 3"),
        (lambda x: va.spmv(x[0], np.array([0, 1, 2]), np.array([0, 2, 1, 3]), x[0]), "got 2, and 1 after it"),
        (lambda x: va.spmv(x[0], np.array([0, 1]), np.array([0, 3]), x[0]), "expected 3 columns"),
        (lambda x: va.spmv(x[0, :1], np.array([0]), np.array([0, 1]), np.float32(1)), r"got f32 \(\), expected a v"),
        (lambda x: va.philox(-1, 4), "got -1, expected 0"),
        (lambda x: va.sha256(["a"]), "got str, expected bytes-like objects"),
        (lambda x: va.sha256(None), "'messages': got None, expected bytes-like objects"),
        (lambda x: va.blake3(3), "'messages': got 3, expected bytes-like objects"),
        (lambda x: va.crc32(b"ab"), "'messages': got bytes, expected a list of bytes-like objects"),
        (lambda x: va.transpose(x, 0), "'axes': got 0, expected each of the 2 axes"),
        (lambda x: va.transpose(x, (n for n in (0, 0))), r"'axes': got \(0, 0\), expected each of the 2 axes once"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        call(np.ones((3, 3), "f4"))
    assert "Fix: " in str(caught.value)
