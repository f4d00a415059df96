"""Arrays with a mask and columns with nulls are refused wherever elements are read or written."""

from collections.abc import Callable

import numpy as np
import pytest

import vyre as vy
from vyre.algorithms import select

X = np.arange(6, dtype=np.float32)
BYTES = np.arange(6, dtype=np.uint8)
PLACES = np.arange(6)
RECORD = np.dtype([("a", "f4"), ("b", "f4")])
Record = vy.struct(RECORD)


def masked(x: np.ndarray) -> np.ma.MaskedArray:
    return np.ma.masked_array(x, np.arange(x.size).reshape(x.shape) % 2)


HIDDEN = masked(X)
"""A table of a kernel, which names it."""


@vy.kernel
def looked_up(i: vy.Array[vy.i64, "n"]) -> vy.Array[vy.f32, "n"]:
    return HIDDEN[i[vy.index()]]


@vy.kernel
def copied(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
    out[vy.index()] = x[vy.index()]


@vy.kernel
def first_fields(records: vy.Array[Record, "n"]) -> vy.Array[vy.f32, "n"]:
    return records[vy.index()].a


@pytest.mark.parametrize(
    "call",
    [
        lambda: copied(masked(X)),
        lambda: copied(X, out=masked(X)),
        lambda: looked_up(PLACES),
        lambda: first_fields(masked(np.zeros(2, RECORD))),
        lambda: vy.array(masked(X)),
        lambda: vy.array(masked(np.zeros(2, RECORD))),
        lambda: vy.array(X).assign(masked(X)),
        lambda: vy.sum(masked(X)),
        lambda: vy.sum(X, out=masked(X[0])),
        lambda: vy.argsort(X, out=masked(PLACES)),
        lambda: select(masked(X), lambda v: v > 1),
        lambda: vy.histogram(X, masked(np.array([0.0, 3.0, 6.0]))),
        lambda: vy.sha256([masked(BYTES)]),
        lambda: vy.find_all(BYTES, [masked(BYTES)]),
    ],
)
def test_masks(call: Callable[[], object]) -> None:
    with pytest.raises(
        vy.VyreError, match=r"got a masked array, expected an array without a mask(.|\n)*Fix: pass \.fil"
    ):
        call()


def test_tables_of_programs() -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    for values, got in (
        (masked(X), "a masked array"),
        (pa.array([1.0, None]), "1 nulls"),
        (pd.Series(pd.array([1.0, None, None], "Float64")), "2 nulls"),
    ):
        with (
            vy.program("table") as p,
            pytest.raises(vy.BuildError, match=rf"^'values' got {got}, expected an array without .*Fix: "),
        ):
            p.constant("values", vy.f32, values)
    with vy.program("table") as p:
        p.constant("values", vy.f32, pa.array([1.0, 2.0]))


def test_a_matrix_is_an_array_of_two_axes() -> None:
    matrix = np.array([[1, 2], [3, 4]], np.float32).view(np.matrix)
    shared = vy.asarray(matrix, backend="cpu")
    shared[0, 1] = 9
    assert shared.shape == (2, 2)
    assert matrix.tolist() == [[1, 9], [3, 4]]
