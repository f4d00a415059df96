"""Where the invocations of a workgroup run side by side, algorithms take other programs: with the same bits.

The reference evaluates them as a GPU runs them. `cpu` runs them in loops, if it is told to.
"""

import numpy as np
import pytest
from algorithm_data import data

import vyre_algorithms as va
from vyre_algorithms import count, matrix, radix, scans, sorts

SIZES = [1, 255, radix.TILE + 1, 2 * radix.TILE + 77]


@pytest.fixture(params=["reference", pytest.param("cpu", marks=pytest.mark.slow)])
def on(request, monkeypatch):
    for module in (count, matrix, scans, sorts):
        monkeypatch.setattr(module, "has_lanes", lambda arrays, backend: True)
    monkeypatch.setattr(sorts, "SERIAL", 0)
    return request.param


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["u4", "i2", "f8"])
def test_sorts(on, dtype, size):
    x = data(dtype, size)
    found = va.sort(x, backend=on)
    order = va.argsort(x, backend=on)
    np.testing.assert_array_equal(found, np.sort(x))
    assert x[order].tobytes() == found.tobytes()


def test_sorts_are_stable(on):
    keys = data("u4", SIZES[-1]) & 3
    np.testing.assert_array_equal(va.argsort(keys, backend=on), np.argsort(keys, kind="stable"))
    falling = va.argsort(keys, descending=True, backend=on)
    np.testing.assert_array_equal(falling, np.argsort(3 - keys.astype("i8"), kind="stable"))


def test_rows_are_sorted_by_themselves(on):
    x = data("i2", (70, 150))
    np.testing.assert_array_equal(va.sort(x, backend=on), np.sort(x))
    np.testing.assert_array_equal(va.argsort(x, 0, backend=on), np.argsort(x, 0, kind="stable"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bins", [1, 60, 256, 257, 4000])
def test_counts(on, bins, size):
    numbers = data("u4", size) % np.uint32(bins)
    wanted = np.bincount(numbers, minlength=bins)
    np.testing.assert_array_equal(va.bincount(numbers, minlength=bins, backend=on), wanted)
    values = np.random.default_rng(size).uniform(-0.2, 1.2, size).astype("f4")
    found, edges = va.histogram(values, bins, (0.0, 1.0), backend=on)
    np.testing.assert_array_equal(found, np.histogram(values, edges)[0])


@pytest.mark.parametrize("size", [scans.BLOCK + 1, 2 * scans.BLOCK])
@pytest.mark.parametrize(("dtype", "result"), [("u4", "u4"), ("f4", "f4"), ("bool", "u8"), ("f8", "f8")])
def test_scans(on, monkeypatch, dtype, result, size):
    x, starts, result = data(dtype, size), np.array([0, 70, 70, 4097, size]), np.dtype(result)
    ways = [
        lambda where: va.scan(x, dtype=result, backend=where),
        lambda where: va.scan(x, exclusive=True, dtype=result, backend=where),
        lambda where: va.scan(np.stack([x, x[::-1]]), dtype=result, backend=where),
        lambda where: va.segmented_scan(x, starts, dtype=result, backend=where),
    ]
    found = [way(on) for way in ways]
    monkeypatch.setattr(scans, "has_lanes", lambda arrays, backend: False)
    for mine, way in zip(found, ways, strict=True):
        assert mine.tobytes() == way("reference").tobytes()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i8"])
@pytest.mark.parametrize("shape", [(32, 1, 32), (33, 50, 70), (3, 64, 47, 65)])
@pytest.mark.parametrize("wide_from", [1, 1 << 30])
def test_products(on, monkeypatch, dtype, shape, wide_from):
    monkeypatch.setattr(matrix, "WIDE_FROM", wide_from)
    *stack, m, k, n = shape
    a, b = data(dtype, (*stack, m, k)), data(dtype, (*stack, k, n))
    found = va.matmul(a, b, backend=on)
    monkeypatch.setattr(matrix, "has_lanes", lambda arrays, backend: False)
    assert found.tobytes() == va.matmul(a, b, backend="reference").tobytes()


def test_nothing_is_added_beyond_the_matrices(on):
    """0 times infinity would be NaN."""
    a, b = np.ones((40, 17), "f4"), np.full((17, 40), np.inf, "f4")
    np.testing.assert_array_equal(va.matmul(a, b, backend=on), np.full((40, 40), np.inf, "f4"))
