"""How many dispatches a call takes where there is little to do."""

import numpy as np
import pytest

import vyre_algorithms as va
from vyre_algorithms import launches
from vyre_driver import backend_for, registered_backends
from vyre_driver.arrays.make import array as array_on

pytestmark = pytest.mark.skipif(
    all(registration.id != "cpu" for registration in registered_backends()), reason="the backend is not installed"
)
random = np.random.default_rng(1)
words = random.integers(0, 2**32, 1024, dtype=np.uint32)
floats = words.astype(np.float32)
matrix = floats.reshape(32, 32)
DISPATCHES = {
    "sum": (1, lambda on: va.sum(floats, **on)),
    "mean": (1, lambda on: va.mean(floats, **on)),
    "mean of rows": (1, lambda on: va.mean(matrix, 1, **on)),
    "mean of columns": (1, lambda on: va.mean(matrix, 0, **on)),
    "var": (1, lambda on: va.var(floats, **on)),
    "std of rows": (1, lambda on: va.std(matrix, 1, **on)),
    "std of columns": (1, lambda on: va.std(matrix, 0, **on)),
    "xor": (1, lambda on: va.reduce(words, "xor", **on)),
    "exact_sum": (1, lambda on: va.exact_sum(floats, **on)),
    "scan": (1, lambda on: va.scan(words, dtype=np.uint32, **on)),
    "sort": (1, lambda on: va.sort(words, **on)),
    "sort_pairs": (1, lambda on: va.sort_pairs(words, floats, **on)),
    "top_k": (1, lambda on: va.top_k(words, 10, **on)),
    "compact": (1, lambda on: va.compact(words, words < 2**31, **on)),
    "unique": (1, lambda on: va.unique(words, **on)),
    "unique_all": (1, lambda on: va.unique_all(words, **on)),
    "run_length": (1, lambda on: va.run_length(words >> 30, **on)),
    "searchsorted": (1, lambda on: va.searchsorted(np.sort(words), words, **on)),
    "scatter": (1, lambda on: va.scatter(floats, words & 1023, floats, **on)),
    "repeat": (1, lambda on: va.repeat(floats, 3, **on)),
    "repeat by counts": (1, lambda on: va.repeat(floats, words & 3, **on)),
    "take_along_axis": (1, lambda on: va.take_along_axis(matrix, words.reshape(32, 32) & 31, **on)),
    "bincount with weights": (1, lambda on: va.bincount(words & 255, floats, **on)),
    "bincount": (1, lambda on: va.bincount(words & 255, **on)),
    "histogram": (1, lambda on: va.histogram(floats, 64, **on)),
    "csr": (1, lambda on: va.csr(words & 255, words >> 22, floats, 256, **on)),
    "shuffle": (1, lambda on: va.shuffle(floats, 7, **on)),
    "find_all": (1, lambda on: va.find_all(words.view(np.uint8)[:1024], [b"a", b"ab"], **on)),
    "matmul": (1, lambda on: va.matmul(matrix, matrix, **on)),
    "fft": (1, lambda on: va.fft(floats.astype(np.complex64), **on)),
    "fft of 1000": (3, lambda on: va.fft(floats[:1000].astype(np.complex128), **on)),
    "fft by a chirp": (5, lambda on: va.fft(floats[:509], **on)),
    "rfft": (1, lambda on: va.rfft(floats, **on)),
    "irfft": (1, lambda on: va.irfft(floats[:513], **on)),
    "scan of rows": (1, lambda on: va.scan(matrix, dtype=np.float64, **on)),
}


many = random.integers(0, 2**32, 1 << 20, dtype=np.uint32)
some = many[: 1 << 15]
large = many[: 96 * 96].reshape(96, 96)
OF_MANY = {
    "compact": (3, lambda on: va.compact(many, many < 2**31, **on)),
    "compact of some": (1, lambda on: va.compact(some, some < 2**31, **on)),
    "unique of some": (5, lambda on: va.unique(some, **on)),
    "top_k of some": (3, lambda on: va.top_k(some, 10, **on)),
    "repeat": (5, lambda on: va.repeat(many, many & 1, **on)),
    "repeat of some": (1, lambda on: va.repeat(some, some & 3, **on)),
    "sum": (2, lambda on: va.sum(many, **on)),
    "mean": (2, lambda on: va.mean(many, **on)),
    "var": (4, lambda on: va.var(many, **on)),
    "matmul": (2, lambda on: va.matmul(large, large, **on)),
    "matmul of few rows": (1, lambda on: va.matmul(large[:63], large, **on)),
    "matmul of few columns": (1, lambda on: va.matmul(large, large[:, :15], **on)),
}


@pytest.mark.parametrize("name", OF_MANY)
def test_many_elements_take_few_dispatches(name):
    dispatches, call = OF_MANY[name]
    backend = backend_for("cpu")
    call({"backend": backend})
    before = backend.backend_metric_snapshot()
    call({"backend": backend})
    assert backend.backend_metric_snapshot()["dispatches"] - before["dispatches"] == dispatches


@pytest.mark.parametrize(("every", "parts"), [(1, 16), (2, 8), (7, 3), (1 << 19, 1)])
def test_few_chosen_elements_have_a_short_output(every, parts):
    """An output is cleared by the launch, and the results of others do not keep its memory alive."""
    found = va.compact(many, np.arange(many.size) % every == 0, backend="cpu")
    held = found if found.base is None else found.base
    assert found.size == -(-many.size // every)
    assert getattr(held, "nbytes", len(held)) <= parts * many.nbytes // 16


@pytest.mark.parametrize(
    ("dispatches", "call"),
    [
        (1, lambda x: va.sum(x.T, 1)),
        (1, lambda x: va.sum(x.T, 0)),
        (1, lambda x: va.max(x.T, 1)),
        (1, lambda x: va.var(x.reshape(4, 8, 32).transpose(2, 0, 1), 0)),
        (1, lambda x: va.matmul(x.T, floats[:32])),
        (1, lambda x: va.matmul(floats[:32], x.T)),
        (2, lambda x: va.matmul(x.T, x)),
        (1, lambda x: va.transpose(x[::2])),
    ],
)
def test_views_in_another_order_are_read_as_they_lie(dispatches, call):
    """But a product of two matrices, neither of which is narrow, copies one that is turned."""
    backend = backend_for("cpu")
    x = array_on(backend, matrix)
    call(x)
    before = backend.backend_metric_snapshot()
    call(x)
    assert backend.backend_metric_snapshot()["dispatches"] - before["dispatches"] == dispatches


def test_what_is_read_of_arrays_of_a_device():
    """The number of chosen elements, and that of the indices out of bounds, are read once."""
    backend = backend_for("cpu")
    x, mask, places = (array_on(backend, each) for each in (many, many < 2**30, many >> 12))
    for call, dispatches in ((lambda: va.compact(x, mask), 3), (lambda: va.gather(x, places), 1)):
        call()
        before = backend.backend_metric_snapshot()
        call()
        after = backend.backend_metric_snapshot()
        assert after["copies_out"] - before["copies_out"] == 1
        assert after["dispatches"] - before["dispatches"] == dispatches


@pytest.mark.parametrize("name", DISPATCHES)
def test_few_elements_take_few_dispatches(name):
    """Each is one from host memory to host memory: none is a launch of a compiled graph, which copies to and fro."""
    dispatches, call = DISPATCHES[name]
    backend = backend_for("cpu")
    call({"backend": backend})
    graphs, before = launches._compiled.cache_info().misses, backend.backend_metric_snapshot()
    call({"backend": backend})
    after = backend.backend_metric_snapshot()
    assert after["dispatches"] - before["dispatches"] == dispatches
    assert launches._compiled.cache_info().misses == graphs


def test_few_elements_are_moved_with_their_bits():
    values = np.array([0x7F800001, 0xFFC00000, 0x80000000, 1], np.uint32).view(np.float32)
    keys, moved = va.sort_pairs(np.array([3, 1, 2, 0], np.uint32), values, backend="cpu")
    assert keys.tolist() == [0, 1, 2, 3]
    assert np.array_equal(moved.view(np.uint32), values.view(np.uint32)[[3, 1, 2, 0]])
