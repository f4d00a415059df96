"""Results are the caller's own: no function returns memory of an argument, or keeps much more alive than it returns."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import pytest
from algorithm_data import same

import vyre_algorithms as va
from vyre_driver import DeviceArray, backend_for
from vyre_driver.arrays.make import array as array_on

ONE = np.ones((3, 1), "f4")
FEW = np.arange(4, dtype="f4")
NONE = FEW[:0]
INDICES = np.arange(4)
CALLS = {
    "fft": (va.fft, ONE.astype("c8")),
    "fft of no rows": (va.fft, ONE[:0].astype("c8")),
    "fft of floats": (va.fft, np.ones((3, 1, 2), "f4")),
    "ifft": (va.ifft, ONE.astype("c16")),
    "irfft": (lambda x: va.irfft(x, 1), ONE.astype("c16")),
    "irfft of floats": (va.irfft, np.ones((3, 2, 2), "f4")),
    "rfft": (va.rfft, ONE),
    "rfft of two": (va.rfft, FEW[:2]),
    "coo": (lambda values, columns: va.coo(values, columns, np.array([0, 2, 4])), FEW, INDICES),
    "csr": (lambda columns, values: va.csr(INDICES, columns, values, 4), INDICES, FEW),
    "sort": (va.sort, FEW[:1]),
    "sort by a comparison": (lambda x: va.sort(x, before=lambda a, b: a < b), FEW[:1]),
    "sort_pairs": (va.sort_pairs, NONE, NONE),
    "top_k": (lambda x: va.top_k(x, 0), FEW),
    "compact": (va.compact, NONE, NONE.astype(bool)),
    "compact all": (va.compact, FEW, FEW >= 0),
    "select": (lambda x: va.select(x, lambda v: v > 0), NONE),
    "unique": (va.unique, NONE),
    "partition": (va.partition, FEW, FEW > 1),
    "scatter": (va.scatter, FEW, INDICES[:0], NONE),
    "gather": (va.gather, FEW, INDICES),
    "repeat": (lambda x: va.repeat(x, 1), FEW),
    "repeat by counts": (va.repeat, FEW, np.ones(4, int)),
    "take_along_axis": (va.take_along_axis, FEW, INDICES),
    "transpose": (va.transpose, FEW.reshape(1, 4)),
    "sum": (lambda x: va.sum(x, axis=()), FEW),
    "xor": (lambda x: va.reduce(x, "xor"), INDICES[:1]),
    "max": (va.max, FEW[:1]),
    "scan": (va.scan, FEW[:1]),
    "matmul": (va.matmul, ONE, ONE[:1]),
    "correlate": (va.correlate, FEW, FEW[1:2]),
    "stencil": (lambda x: va.stencil(x, lambda at: at(0)), FEW),
    "shuffle": (lambda x: va.shuffle(x, 1), FEW[:1]),
    "run_length": (va.run_length, FEW),
    "unique_all": (va.unique_all, FEW),
    "segmented_reduce": (va.segmented_reduce, FEW, np.arange(5)),
    "segmented_scan": (va.segmented_scan, FEW[:1], np.array([0, 1])),
    "searchsorted": (va.searchsorted, FEW, FEW),
}


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", CALLS)
def test_no_result_is_memory_of_an_argument(name, on_device):
    call, *given = CALLS[name]
    given = [array.copy() for array in given]
    if on_device:
        if given[0].dtype.kind == "c":
            pytest.skip("arrays of a device are no complex numbers")
        given = [array_on(backend_for("cpu"), array) for array in given]
    found = call(*given)
    for result in found if isinstance(found, tuple) else (found,):
        if isinstance(result, DeviceArray):
            assert all(result is not array and result._memory is not array._memory for array in given)
        elif isinstance(result, np.ndarray):
            assert all(result is not array and not np.shares_memory(result, np.asarray(array)) for array in given)
            assert result.flags.writeable
            assert type(result) is np.ndarray
        else:
            assert isinstance(result, (np.generic, int))


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("size", [100, 20_000])
def test_a_small_result_keeps_no_large_memory(size, on_device):
    x = np.arange(size, dtype="f4")
    mask = x < 3
    if on_device:
        x, mask = (array_on(backend_for("cpu"), array) for array in (x, mask))
    results = [
        va.compact(x, mask),
        va.select(x, lambda v: v < 3),
        va.unique(va.segmented_reduce(x, np.arange(size + 1), "any")),
        va.run_length(mask).values,
        va.run_length(mask).starts,
        *va.top_k(x, 3),
    ]
    if not on_device:
        results.append(va.sample(size, 3, 1))
    for result in results:
        assert 1 <= result.size <= 3
        if on_device:
            assert result._memory.resource.byte_len == result.nbytes
        else:
            assert result.base is None or result.base.nbytes <= 2 * result.nbytes


@pytest.mark.parametrize("dtype", [pytest.param("f2", marks=pytest.mark.slow), ml_dtypes.bfloat16])
def test_overflow_is_infinity_without_a_warning(backend, dtype):
    x = np.full(100, np.finfo("f2").max if dtype == "f2" else ml_dtypes.finfo(dtype).max, dtype)
    row = x.reshape(1, 100)
    calls = [
        lambda: va.sum(x, backend=backend),
        lambda: va.prod(x, backend=backend),
        lambda: va.sum(row, 1, backend=backend),
        lambda: va.mean(np.array([np.inf], dtype), backend=backend),
        lambda: va.var(np.concatenate([x, -x]), backend=backend),
        lambda: va.bincount(np.zeros(100, "u1"), x, backend=backend),
        lambda: va.cumsum(x, backend=backend)[1:],
        lambda: va.segmented_scan(x, np.array([0, 100]), backend=backend)[1:],
        lambda: va.segmented_reduce(x, np.array([0, 50, 100]), backend=backend),
        lambda: va.dot(x, x, backend=backend),
        lambda: va.matmul(row, row.T, backend=backend),
        lambda: va.convolve(x, x[:2], "valid", backend=backend),
        lambda: va.spmv(x, np.zeros(100, int), np.array([0, 100]), x[:1], backend=backend),
        lambda: va.exact_sum(x, backend=backend),
        lambda: va.exact_dot(x, x, backend=backend),
    ]
    for call in calls:
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            found = call()
        assert np.isposinf(np.asarray(found).astype("f8")).all()


def test_results_of_read_only_arrays_can_be_written():
    x = np.ones((3, 1), "c8")
    x.flags.writeable = False
    found = va.fft(x)
    found[0] = 9
    same(x, np.ones((3, 1), "c8"))
