"""Arrays of a device go in and come out: the same bits as of the host, and no element goes to the host."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_data import data

import vyre_algorithms as va
from vyre_driver import DeviceArray, backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput

SIZE = 9000
"""Elements: more than a block has, and many more bytes than the parameters of launches."""
READ = 640
"""Bytes that an algorithm may read: a length, a count of indices out of bounds, or the cells of an exact sum."""

floats, words = data("f4", SIZE), data("u4", SIZE) & 1023
signed = data("i4", (90, 100))
mask = data("bool", SIZE)
starts = np.array([0, 3, 3, 5000, SIZE])
places = np.random.default_rng(3).permutation(SIZE)


def greater(v):
    return v > 0.5


def falling(a, b):
    return a > b


CASES = {
    "sum": (lambda x: va.sum(x), [floats]),
    "sum of rows": (lambda x: va.sum(x, 1), [signed]),
    "sum of columns": (lambda x: va.sum(x, 0, keepdims=True), [signed]),
    "var of rows": (lambda x: va.var(x, 1), [signed]),
    "std of columns": (lambda x: va.std(x, 0, keepdims=True, ddof=1), [signed]),
    "argmin of rows": (lambda x: va.argmin(x, 1), [signed]),
    "max": (lambda x: va.max(x), [floats]),
    "argmax": (lambda x: va.argmax(x), [floats]),
    "any": (lambda x: va.any(x), [mask]),
    "xor": (lambda x: va.reduce(x, "xor"), [words]),
    "and of columns": (lambda x: va.reduce(x, "and", axis=0), [signed]),
    "dot": (lambda x, y: va.dot(x, y), [floats, floats[::-1]]),
    "exact_sum": (lambda x: va.exact_sum(x), [floats]),
    "segmented_reduce": (lambda x: va.segmented_reduce(x, starts), [floats]),
    "segmented_reduce of columns": (lambda x: va.segmented_reduce(x, np.array([0, 9, 9, 90]), axis=0), [signed]),
    "scan": (lambda x: va.scan(x), [floats]),
    "scan of bits": (lambda x: va.scan(x, "or", axis=1), [signed]),
    "scan of columns": (lambda x: va.cumsum(x, 0), [signed]),
    "segmented_scan": (lambda x: va.segmented_scan(x, starts, exclusive=True), [floats]),
    "segmented_scan of columns": (lambda x: va.segmented_scan(x, np.array([0, 9, 90]), axis=0), [signed]),
    "sort": (lambda x: va.sort(x), [floats]),
    "sort of rows": (lambda x: va.sort(x, descending=True), [signed]),
    "argsort": (lambda x: va.argsort(x), [words]),
    "argsort of rows": (lambda x: va.argsort(x, 0), [signed]),
    "sort by a comparison": (lambda x: va.sort(x, before=falling), [floats[:100]]),
    "sort_pairs": (lambda x, y: va.sort_pairs(x, y), [words, floats]),
    "compact": (lambda x, m: va.compact(x, m), [floats, mask]),
    "partition": (lambda x, m: va.partition(x, m)[0], [floats, mask]),
    "compact of rows": (lambda x, m: va.compact(x, m, 1), [signed, mask[:100]]),
    "partition of rows": (lambda x, m: va.partition(x, m, 0)[0], [signed, mask[:90]]),
    "select": (lambda x: va.select(x, greater), [floats]),
    "unique": (lambda x: va.unique(x), [words]),
    "unique_all": (lambda x: tuple(va.unique_all(x)), [words]),
    "run_length": (lambda x: tuple(va.run_length(x)), [words & 1]),
    "searchsorted": (lambda x, v: va.searchsorted(x, v), [np.sort(words), words]),
    "top_k": (lambda x: va.top_k(x, 50), [words]),
    "bincount with weights": (lambda x, w: va.bincount(x, w, minlength=1024), [words, floats]),
    "top_k of long rows": (lambda x: va.top_k(x, 5), [words.reshape(2, 4500)]),
    "bincount": (lambda x: va.bincount(x), [words]),
    "histogram": (lambda x: va.histogram(x, 30, (-1.0, 1.0))[0], [floats]),
    "histogram of weights": (
        lambda x, w: va.histogram(x, 30, (-1.0, 1.0), weights=w, density=True)[0],
        [floats, words],
    ),
    "sum of some": (lambda x, m: va.sum(x, 0, where=m, initial=2), [signed, mask.reshape(90, 100)]),
    "scatter that multiplies": (lambda x, i, v: va.scatter(x, i, v, "prod"), [words, places // 9, words[::-1]]),
    "gather": (lambda x, i: va.gather(x, i), [floats, places]),
    "repeat": (lambda x: va.repeat(x, 3), [floats]),
    "repeat often": (lambda x: va.repeat(x, 17, axis=1), [signed]),
    "repeat rows": (lambda x: va.repeat(x, 2, axis=0), [signed]),
    "repeat by counts": (lambda x, n: va.repeat(x, n), [floats, words & 3]),
    "repeat rows by counts": (lambda x, n: va.repeat(x, n, 0), [signed, words[:90] & 3]),
    "take_along_axis": (lambda x, i: va.take_along_axis(x, i), [signed, places.reshape(90, 100) % 100]),
    "take_along_axis of columns": (
        lambda x, i: va.take_along_axis(x, i, 0),
        [signed, places[:700].reshape(7, 100) % 90],
    ),
    "scatter": (lambda x, i, v: va.scatter(x, i, v), [floats, places - SIZE, floats[::-1]]),
    "scatter that adds floats": (lambda x, i, v: va.scatter(x, i, v, "add"), [floats, places // 9, floats[::-1]]),
    "gather from rows": (lambda x, i: va.gather(x, i, 1), [signed, places[:8] % 100]),
    "scatter to rows": (lambda x, i, v: va.scatter(x, i, v, axis=1), [signed, places[:100] % 100, signed[::-1]]),
    "matmul": (lambda a, b: va.matmul(a, b), [signed, signed.T]),
    "matmul of stacks": (lambda a, b: va.matmul(a, b), [signed.reshape(3, 30, 100), signed.T]),
    "transpose": (lambda x: va.transpose(x), [signed]),
    "transpose of three axes": (lambda x: va.transpose(x, (1, 2, 0)), [signed.reshape(3, 30, 100)]),
    "spmv": (lambda v, c, x: va.spmv(v, c, starts, x), [floats, words, floats[:1024]]),
    "csr": (lambda r, c, v: va.csr(r, c, v, 1024), [words, words[::-1], floats]),
    "shuffle": (lambda x: va.shuffle(x, 3), [floats]),
}


@pytest.fixture
def device():
    """The backend that counts what is copied; that others give the same bits, the tests of each algorithm show."""
    return backend_for("cpu")


def results(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_and_nothing_read(device, name):
    call, arrays = CASES[name]
    wanted = results(call(*arrays))
    given = [array_on(device, array) for array in arrays]
    before = device.backend_metric_snapshot()["bytes_out"]
    found = results(call(*given))
    assert device.backend_metric_snapshot()["bytes_out"] - before <= READ
    for mine, theirs in zip(found, wanted, strict=True):
        assert isinstance(mine, DeviceArray)
        assert mine.numpy().dtype == theirs.dtype
        np.testing.assert_array_equal(mine.numpy(), theirs)
        assert mine.numpy().tobytes() == np.ascontiguousarray(theirs).tobytes()


def test_results_go_where_the_caller_says(device):
    x = array_on(device, signed)
    on_device, on_host = array_on(device, np.zeros(90, "i8")), np.zeros(90, "i8")
    assert va.sum(x, 1, out=on_device) is on_device
    assert va.sum(x, 1, out=on_host) is on_host
    np.testing.assert_array_equal(on_device.numpy(), on_host)
    np.testing.assert_array_equal(va.sum(signed, 1, out=on_device).numpy(), va.sum(signed, 1))
    with pytest.raises(InvalidInput, match=r"expected an array of i64 \(90,\)"):
        va.sum(x, 1, out=array_on(device, signed[0]))


def test_arrays_of_the_host_beside_those_of_a_device(device):
    found = va.gather(array_on(device, floats), places)
    assert isinstance(found, DeviceArray)
    np.testing.assert_array_equal(found.numpy(), floats[places])
    assert isinstance(va.matmul(signed, array_on(device, signed.T)), DeviceArray)
    with pytest.raises(InvalidInput, match="got 1 out of bounds"):
        va.gather(array_on(device, floats), array_on(device, np.array([SIZE])))
    with pytest.raises(InvalidInput, match=r"got \d+ out of bounds, expected integers from 0 that are below 5"):
        va.spmv(array_on(device, floats), array_on(device, words), starts, floats[:5])


def test_empty_arrays(device):
    nothing = array_on(device, np.zeros(0, "f4"))
    assert va.sum(nothing).item() == 0
    for found in (
        va.sort(nothing),
        va.scan(nothing),
        va.unique(nothing),
        va.shuffle(nothing, 1),
        va.sum(nothing.reshape(0, 3), 0),
    ):
        assert isinstance(found, DeviceArray)
    sums = va.segmented_reduce(array_on(device, floats[:3]), np.array([0, 0, 3, 3]))
    assert sums.numpy()[0].tobytes() == bytes(4)


def test_an_array_of_another_backend():
    here = array_on(backend_for("cpu"), floats)
    with pytest.raises(InvalidInput, match="expected an array in the memory of 'reference'"):
        va.sum(here, backend="reference")
