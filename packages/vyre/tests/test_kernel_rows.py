"""Rows of a known length, which are tuples of their elements."""

import numpy as np
import pytest

import vyre as vy

X = np.random.default_rng(7).integers(-99, 99, (9, 4, 3), np.int32)
TABLE = np.arange(12, dtype=np.int32).reshape(4, 3)


@vy.func
def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


@vy.kernel(shape=("n", "m"))
def rows(x: vy.Array[vy.i32, "n", "m", 3], sums: vy.Out[vy.i32, "n", "m"], out: vy.Out[vy.i32, "n", "m", 2]) -> None:
    i, j = vy.index()
    a, b, c = x[i, j]
    sums[i, j] = a + 10 * b - c + sum(x[i, j]) + max(x[i, j]) * len(x[i, j]) + dot(x[i, j], TABLE[j % 4]) + x[i, j][1]
    for k, value in enumerate(x[i, j][1:]):
        out[i, j, k] = value
    first, second = out[i, j]
    out[i, j, 0] = first - second


def test_a_row_is_a_tuple() -> None:
    sums, out = rows(X)
    a, b, c = np.moveaxis(X, 2, 0)
    expected = a + 10 * b - c + X.sum(2) + X.max(2) * 3 + (X * TABLE).sum(2) + b
    assert np.array_equal(sums, expected)
    assert np.array_equal(out, np.stack([b - c, c], 2))
    assert rows(X).__class__ is tuple


@vy.kernel
def beyond(x: vy.Array[vy.i32, "n", 3]) -> vy.Array[vy.i32, "n"]:
    a, _, c = x[vy.index() + 1]
    return a + c


def test_a_row_out_of_bounds_is_zeros() -> None:
    assert beyond(X[:, 0]).tolist() == [*(X[1:, 0, 0] + X[1:, 0, 2]), 0]


def message_of(function) -> str:
    with pytest.raises(vy.KernelError) as error:
        _ = vy.kernel(function).program
    return str(error.value)


def test_other_missing_indices_are_refused() -> None:
    def of_any_length(x: vy.Array[vy.i32, "n", "m"]) -> vy.Array[vy.i32, "n"]:
        return sum(x[vy.index()])

    def long(x: vy.Array[vy.i32, "n", 17]) -> vy.Array[vy.i32, "n"]:
        return sum(x[vy.index()])

    def two(x: vy.Array[vy.i32, "n", 4, 3]) -> vy.Array[vy.i32, "n"]:
        return sum(x[vy.index()])

    def stored(x: vy.InOut[vy.i32, "n", 3]) -> None:
        x[vy.index()[0]] = (1, 2, 3)

    for function in (of_any_length, long, two, stored):
        assert "Fix: pass an index for each axis, as in x[" in message_of(function)

    def chosen(x: vy.Array[vy.i32, "n", 4, 3]) -> vy.Array[vy.i32, "n"]:
        i = vy.index()
        return x[i, 0][x[i, 1, 2]]

    assert message_of(chosen).endswith("Fix: write an index for each axis, as in x[i, 0, x[i, 1, 2]]")
