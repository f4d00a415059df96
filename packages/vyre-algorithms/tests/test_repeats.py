"""Repeating elements, and taking them along an axis, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from algorithm_data import data, same

import vyre_algorithms as va
from vyre_algorithms import repeats
from vyre_algorithms.arguments import MOST
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput

SHAPES = [(), (7,), (7, 5), (4, 3, 5)]
CASES = [(shape, axis) for shape in SHAPES for axis in (None, *range(-len(shape), len(shape)))]


@pytest.mark.parametrize(("shape", "axis"), CASES, ids=str)
@pytest.mark.parametrize("dtype", ["bool", "u2", "f4", ml_dtypes.bfloat16, "i8"])
def test_repeat(backend, shape, axis, dtype):
    x = data(dtype, shape)
    length = x.size if axis is None else shape[axis]
    for number in (0, 1, 3, repeats.FEW + 1, np.int16(2), data("i8", length) & 3, data("u1", length) & 1):
        wanted = np.repeat(x, number, axis)
        same(va.repeat(x, number, axis, backend=backend), wanted)
        on_device = array_on(backend_for(backend), x)
        same(va.repeat(on_device, number, axis).numpy(), wanted)
        if np.ndim(number):
            counts = array_on(backend_for(backend), number)
            same(va.repeat(on_device, counts, axis).numpy(), wanted)
            same(va.repeat(x, counts, axis).numpy(), wanted)


def test_a_repeated_run_is_what_it_was(backend):
    x = data("u1", 9000) & 1
    runs = va.run_length(array_on(backend_for(backend), x))
    same(va.repeat(runs.values, runs.lengths).numpy(), x)


@pytest.mark.parametrize("most", [1, 2, 9, 5000])
@pytest.mark.parametrize("length", [1, 2048, repeats.FEW_IN_LOOPS, repeats.FEW_IN_LOOPS + 1, 70_000])
def test_counts_of_many_elements(length, most):
    """Those behind the last one that is repeated, and before the first, have nothing to write."""
    x = data("u4", length)
    counts = np.where(data("u4", length) % np.uint32(most) == 0, data("u2", length) % (most + 1), 0)
    counts[: length // 9], counts[-length // 9 :] = 0, 0
    counts[length // 2] = most
    same(va.repeat(x, counts, backend="cpu"), np.repeat(x, counts))
    rows = np.stack([x, x + 1], 1)
    same(va.repeat(rows, counts, 0, backend="cpu"), np.repeat(rows, counts, 0))


@pytest.mark.parametrize("strided", [np.s_[::2], np.s_[:, ::-3], np.s_[::-1, 1:4]], ids=str)
def test_views_are_repeated(strided):
    x = data("i4", (8, 9))
    for axis in (None, 0, 1):
        wanted = np.repeat(x[strided], 2, axis)
        same(va.repeat(x[strided], 2, axis), wanted)
        same(va.repeat(array_on(backend_for("cpu"), x)[strided], 2, axis).numpy(), wanted)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (-1, "got -1, expected 0 … 2147483648"),
        (2.5, "got float, expected an integer"),
        (None, "got NoneType, expected an integer"),
        ([1, 2, 3], "got list, expected an array"),
        (np.ones(3), "got one of f64, expected an array of integers"),
        (np.ones((1, 3), int), r"got the shape \(1, 3\), expected an array with one axis"),
        (np.array([1]), "got 1, expected 3 counts, one for each element. Fix: pass a count for each element, or an"),
        (np.array([1, -2, 1]), "got -2, expected integers from 0 that are below 2147483648. Fix: pass 0"),
        (MOST // 3 + 1, f"got {3 * (MOST // 3 + 1)}, expected fewer than {MOST} elements in all. Fix: repeat parts"),
        (np.array([MOST - 1, MOST - 1, 2]), f"got {2 * MOST}, expected fewer than {MOST} elements in all"),
    ],
)
def test_refusals(number, message):
    x = np.ones(3, "f4")
    with pytest.raises(InvalidInput, match=f"argument 'repeats': {message}.*"):
        va.repeat(x, number)
    if not isinstance(number, np.ndarray):
        return
    if (number < 0).any():
        message = "got 1 out of bounds, expected integers from 0 that are below"
    with pytest.raises(InvalidInput, match=f"argument 'repeats': {message}.*"):
        va.repeat(x, array_on(backend_for("cpu"), number))


def test_axes_that_are_not_there():
    with pytest.raises(InvalidInput, match="argument 'axis': got 1, expected an axis from -1 to 0"):
        va.repeat(np.ones(3), 2, 1)
    with pytest.raises(InvalidInput, match="argument 'axis': got 0, expected no axis"):
        va.repeat(np.float32(1), 2, 0)


def test_places_that_no_memory_holds(monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(repeats.np, "repeat", full)
    with pytest.raises(DeviceOutOfMemory, match="16 bytes are needed"):
        va.repeat(np.ones((2, 2)), 2, 0)


def along(shape):
    return [(shape, axis) for axis in range(-len(shape), len(shape))]


@pytest.mark.parametrize(("shape", "axis"), [*along((7,)), *along((7, 5)), *along((4, 3, 5))], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "u2", "f4", ml_dtypes.bfloat16, "i8"])
def test_take_along_axis(backend, shape, axis, dtype):
    x = data(dtype, shape)
    for number in (0, 1, shape[axis], 11):
        chosen = list(shape)
        chosen[axis] = number
        indices = data("i8", chosen) % shape[axis]
        for given in (indices, indices - shape[axis], indices.astype("u1")):
            wanted = np.take_along_axis(x, given, axis)
            same(va.take_along_axis(x, given, axis, backend=backend), wanted)
        device = backend_for(backend)
        same(va.take_along_axis(array_on(device, x), array_on(device, indices), axis).numpy(), wanted)


def test_the_order_of_each_row_sorts_it():
    x = data("f4", (30, 40))
    for axis in (0, 1):
        same(va.take_along_axis(x, va.argsort(x, axis), axis), va.sort(x, axis))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x, i: va.take_along_axis(x, i[0]),
            r"'indices': got \(3,\), expected the shape \(2, 3\) but for axis 1",
        ),
        (lambda x, i: va.take_along_axis(x, i, 0), "'indices': got 2, expected indices from -2 to 1"),
        (lambda x, i: va.take_along_axis(x, i[:3]), r"'indices': got \(3, 3\), expected .* or use gather"),
        (lambda x, i: va.take_along_axis(x, i[:2] + 3), "'indices': got 5, expected indices from -3 to 2"),
        (lambda x, i: va.take_along_axis(x, x), "'indices': got one of f32, expected an array of integers"),
        (lambda x, i: va.take_along_axis(x[0, 0], i), "'x': got a scalar, expected an array with an axis"),
        (lambda x, i: va.take_along_axis(x, i, 2), "'axis': got 2, expected an axis from -2 to 1"),
    ],
)
def test_refused_indices(call, message):
    with pytest.raises(InvalidInput, match=f"argument {message}"):
        call(np.ones((2, 3), "f4"), np.arange(12).reshape(4, 3) % 3)
