"""Tests of all elements, and indices of extreme ones, against NumPy: where one element decides, wherever it is."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from algorithm_data import BACKENDS, TYPES, data, same

import vyre_algorithms as va
from vyre_algorithms.launches import runs_loops
from vyre_algorithms.tree import BLOCK
from vyre_algorithms.whole import CHUNK, LOOK
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on

SIZES = [1, 5, LOOK - 1, LOOK, LOOK + 1, BLOCK, BLOCK + 1, 2 * BLOCK + LOOK + 3, CHUNK + LOOK + 7]


@pytest.mark.parametrize("size", SIZES)
def test_one_element_decides_wherever_it_is(backend, size):
    for place in {0, size // 2, size - 1}:
        zeros, ones = np.zeros(size, "u2"), np.ones(size, "u2")
        assert not va.any(zeros, backend=backend)
        assert va.all(ones, backend=backend)
        zeros[place], ones[place] = 256, 0  # of which the low byte is 0
        assert va.any(zeros, backend=backend)
        assert not va.all(ones, backend=backend)


@pytest.mark.parametrize("dtype", TYPES)
def test_zeros_of_each_type(dtype, backend):
    for number in (LOOK + 3, BLOCK + LOOK + 3):
        x = np.zeros(number, dtype)
        if x.dtype.kind == "f" or x.dtype == ml_dtypes.bfloat16:
            x[::3] = -0.0
        same(va.any(x, backend=backend), np.False_)
        same(va.all(x, backend=backend), np.False_)
        x[:] = 1
        same(va.all(x, backend=backend), np.True_)
        if x.dtype.kind == "f":
            x[:] = np.nan
            same(va.all(x, backend=backend), np.True_)
            same(va.any(x, backend=backend), np.True_)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [BLOCK + 1, 2 * BLOCK + LOOK + 3])
def test_the_first_extreme_element_is_found_in_any_block(dtype, size, backend):
    x = data(dtype, size)
    for kind in ("as it is", "ends", "equal", "NaN"):
        if kind == "ends":
            x[[BLOCK, -1]] = x.max()
            x[[BLOCK // 2, BLOCK]] = x.min()
        elif kind == "equal":
            x[:] = 1
        elif kind == "NaN":
            if x.dtype.kind != "f":
                continue
            x[[BLOCK, -1]] = np.nan
        same(va.argmin(x, backend=backend), x.argmin())
        same(va.argmax(x, backend=backend), x.argmax())


def test_zeros_of_both_signs_are_equal_for_indices(backend):
    x = np.zeros(BLOCK + 9, "f4")
    x[7], x[BLOCK + 1] = -0.0, -0.0
    assert va.argmin(x, backend=backend) == va.argmax(x, backend=backend) == 0
    same(va.min(x, backend=backend), np.float32(-0.0))
    same(va.max(x, backend=backend), np.float32(0.0))


def test_arrays_of_a_device_and_results_in_place():
    for backend in map(backend_for, BACKENDS):
        if not runs_loops([], backend):
            continue
        x = np.zeros(CHUNK + 2, "f4")
        held = array_on(backend, x)
        assert not va.any(held).numpy()
        assert not va.all(held).numpy()
        out = np.ones((1,), bool)
        assert va.any(x.reshape(-1, 5), axis=(0, 1), keepdims=False, backend=backend) == np.False_
        assert va.any(x, keepdims=True, out=out, backend=backend) is out
        assert not out
        x[-1] = 3
        assert va.any(array_on(backend, x)).numpy()
        assert va.argmax(array_on(backend, x)).numpy() == x.size - 1
