"""Arrays without elements, along every axis, and without axes: results have the shapes, types and values of NumPy's."""

from __future__ import annotations

import inspect
import warnings
from itertools import product

import numpy as np
import pytest

import vyre_algorithms as va
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput

SHAPES = [(0,), (0, 4), (4, 0), (2, 3, 0), (2, 0, 3), (0, 2, 3), (0, 0)]
NUMPY = {
    "all": np.all,
    "any": np.any,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "argsort": np.argsort,
    "cumprod": np.cumprod,
    "cumsum": np.cumsum,
    "exact_sum": np.sum,
    "fft": np.fft.fft,
    "ifft": np.fft.ifft,
    "irfft": np.fft.irfft,
    "max": np.max,
    "mean": np.mean,
    "min": np.min,
    "prod": np.prod,
    "reduce": np.sum,
    "rfft": np.fft.rfft,
    "scan": np.cumsum,
    "sort": np.sort,
    "std": np.std,
    "sum": np.sum,
    "var": np.var,
}
"""The function of NumPy that each function with an axis follows."""
TRANSFORMS = {"fft", "ifft", "irfft", "rfft"}
"""Their complex numbers are an axis more of an array of a device."""
OTHERS = {
    "compact",
    "gather",
    "partition",
    "repeat",
    "scatter",
    "take_along_axis",
    "segmented_reduce",
    "segmented_scan",
    "sort_pairs",
    "top_k",
}
"""Functions with an axis that NumPy does not have, or that take more than an array."""


def test_every_function_with_an_axis_is_here():
    functions = {name: getattr(va, name) for name in va.__all__}
    with_axis = {name for name, f in functions.items() if callable(f) and "axis" in inspect.signature(f).parameters}
    assert with_axis == NUMPY.keys() | OTHERS


@pytest.fixture(params=[False, True], ids=["host", "device"])
def place(request):
    """What puts an array where a function gets it: it stays on the host, or goes to the memory of a backend."""
    return (lambda x: array_on(backend_for("reference"), x)) if request.param else (lambda x: x)


@pytest.mark.parametrize("name", sorted(set(NUMPY) - TRANSFORMS))
def test_along_an_axis(name, place):
    for shape in SHAPES:
        for axis in range(-len(shape), len(shape)):
            check(name, np.zeros(shape, np.float32), {"axis": axis}, place)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_transforms(name, shape):
    for axis in range(-len(shape), len(shape)):
        check(name, np.zeros(shape, np.float32), {"axis": axis}, np.asarray)


@pytest.mark.parametrize(
    "name", ["all", "any", "exact_sum", "max", "mean", "min", "prod", "reduce", "std", "sum", "var"]
)
def test_along_several_axes(name, place):
    for axis, shape in product((None, (), (0, 1), (1, 2), (0, 2), (0, 1, 2)), ((2, 0, 3), (0, 2, 3), (2, 3, 0))):
        for keepdims in (False, True):
            check(name, np.zeros(shape, np.float32), {"axis": axis, "keepdims": keepdims}, place)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_pairs(shape, descending, place):
    keys, values = np.zeros(shape, np.float32), np.zeros(shape, np.int16)
    for axis in range(-len(shape), len(shape)):
        found = va.sort_pairs(place(keys), place(values), axis, descending=descending)
        for one, wanted in zip(found, (keys, values), strict=True):
            np.testing.assert_array_equal(np.asarray(one), wanted, strict=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("largest", [False, True])
def test_the_greatest_elements(shape, largest, place):
    x = np.zeros(shape, np.float32)
    for axis in range(-len(shape), len(shape)):
        k = min(2, shape[axis])
        elements, indices = (np.asarray(one) for one in va.top_k(place(x), k, axis, largest=largest))
        expected = np.take(x, range(k), axis)
        np.testing.assert_array_equal(elements, expected, strict=True)
        assert indices.shape == expected.shape
        with pytest.raises(InvalidInput, match="Fix: "):
            va.top_k(place(x), shape[axis] + 1, axis, largest=largest)


@pytest.mark.parametrize("name", ["argsort", "sort"])
def test_descending(name, place):
    for axis in range(3):
        assert getattr(va, name)(place(np.zeros((2, 0, 3), np.int16)), axis, descending=True).shape == (2, 0, 3)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_other_functions(shape, place):
    x = np.zeros(shape, np.float32)
    given, none = place(x), place(np.zeros(0, np.int64))
    assert va.transpose(given).shape == x.T.shape
    assert va.unique(given).shape == (0,)
    assert va.stencil(given, lambda at: at(*[0] * x.ndim)).shape == shape
    assert va.gather(given, none).shape == (0, *shape[1:])
    for axis in (None, *range(x.ndim)):
        length = x.size if axis is None else shape[axis]
        for repeats in (0, 3, np.arange(length), place(np.arange(length))):
            found = np.asarray(va.repeat(given, repeats, axis))
            np.testing.assert_array_equal(found, np.repeat(x, np.asarray(repeats), axis), strict=True)
    assert va.convolve(given, np.ones([2] * x.ndim, np.float32), "same").shape == shape
    if x.ndim > 1:
        other = np.zeros((*shape[:-2], shape[-1], 5), np.float32)
        assert va.matrix_transpose(given).shape == np.swapaxes(x, -1, -2).shape
        np.testing.assert_array_equal(np.asarray(va.matmul(given, place(other))), x @ other, strict=True)


def test_arrays_without_axes(place):
    x = np.float32(3)
    assert va.transpose(place(x)).shape == ()
    assert va.gather(place(np.arange(5)), place(np.int64(2))).shape == ()
    assert va.searchsorted(place(np.arange(5)), place(np.int64(2))).shape == ()


def check(name, x, options, place):
    """The function gives what NumPy's gives, or refuses what NumPy refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the mean of no elements
            wanted = NUMPY[name](x, **options)
    except ValueError:
        with pytest.raises(InvalidInput, match="Fix: "):
            getattr(va, name)(place(x), **options)
    else:
        found = np.asarray(getattr(va, name)(place(x), **options))
        np.testing.assert_array_equal(found, wanted, strict=True)
