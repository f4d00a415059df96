"""Chosen elements against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_data import data, same

import vyre_algorithms as va
from vyre_algorithms.choose import FEW, FEW_IN_LOOPS
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput

SIZES = [0, 1, 255, 256, 257, 30_000, FEW_IN_LOOPS + 1]


def evaluated(size, backend):
    """A size; but one invocation, which does all of `FEW` elements, is evaluated by the reference for seconds."""
    return 300 if backend == "reference" and size == FEW else size


@pytest.mark.parametrize("size", SIZES)
def test_masks(backend, size):
    x, mask = data("f4", size), data("?", size)
    same(va.compact(x, mask, backend=backend), x[mask])
    found, number = va.partition(x, mask, backend=backend)
    same(found, np.concatenate([x[mask], x[~mask]]))
    assert number == mask.sum()


@pytest.mark.parametrize("share", [0, 0.01, 0.12, 0.3, 0.9, 1])
def test_masks_of_any_density(backend, share):
    for size in (10_001, FEW_IN_LOOPS + 10_001):
        x, mask = data("u4", size), np.random.default_rng(2).random(size) < share
        mask[2048:4096] = ~mask[2048:4096]
        same(va.compact(x, mask, backend=backend), x[mask])


def test_every_type(backend, each_type):
    x, mask = data(each_type, 700), data("?", 700)
    same(va.compact(x, mask, backend=backend), x[mask])
    few = np.repeat(x[:20], 7)
    found = va.run_length(few, backend=backend)
    new = np.concatenate([[True], few[1:] != few[:-1]])
    same(found.values, few[new])
    same(found.starts, np.flatnonzero(new))
    assert found.lengths.sum() == few.size
    same(va.unique(few, backend=backend), np.unique(few))


@pytest.mark.parametrize("size", [0, 1, 2, FEW, FEW + 1, 30_000])
@pytest.mark.parametrize("dtype", ["i4", "f4", "u1", "f8"])
def test_runs_of_any_number_of_elements(size, dtype, backend):
    size = evaluated(size, backend)
    x = (np.random.default_rng(4).integers(0, 3, size) // 2).astype(dtype)
    if x.dtype.kind == "f":
        x[::5] *= -1  # −0 equals +0
    found = va.run_length(x, backend=backend)
    starts = np.flatnonzero(np.concatenate([[True] * (size > 0), x[1:] != x[:-1]]))
    same(found.values, x[starts])
    same(found.starts, starts)
    same(found.lengths, np.diff(np.append(starts, size)))


@pytest.mark.parametrize(
    ("size", "dtype"),
    [*zip([1, 2, FEW, FEW + 1, 9000] * 2, ["i4", "u8", "f4", "f8", "u1", "?", "f4", "u1", "i4", "u8"], strict=True)],
)
def test_all_about_different_elements(size, dtype, backend):
    size = evaluated(size, backend)
    x = np.random.default_rng(4).integers(0, 50, size).astype(dtype)
    if x.dtype.kind == "f":
        x[::3] *= -1  # −0 equals +0
    values, *others = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = va.unique_all(x, backend=backend)
    np.testing.assert_array_equal(found.values, values)
    assert found.values.dtype == values.dtype
    for mine, theirs in zip(found[1:], others, strict=True):
        same(mine, theirs)


def is_large(v):
    return v > 0.5


def test_a_predicate(backend):
    x = data("f4", 5000)
    same(va.select(x, is_large, backend=backend), x[x > 0.5])


def test_unique(backend):
    x = data("i4", (100, 90)) % 1000
    values, indices, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = va.unique_all(x, backend=backend)
    same(found.values, values)
    same(found.indices, indices)
    same(found.inverse, inverse.reshape(x.shape))
    same(found.counts, counts)
    same(va.unique(x, backend=backend), values)


def test_zeros_and_nans():
    x = np.array([np.nan, -0.0, 1, 0.0, np.nan, 1], "f4")
    same(va.unique(x, backend="cpu"), np.array([-0.0, 1, np.nan], "f4"))
    payload = np.array([0x7FC12345, 0xFFFFFFFF, 0x80000000], np.uint32).view("f4")
    same(va.compact(payload, np.ones(3, bool), backend="cpu").view("u4"), payload.view("u4"))


class WithoutHash:
    __hash__ = None

    def __call__(self, v):
        return v > 0


@pytest.mark.parametrize("size", [0, 1, 2, 5, 4096, 9000])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda v: v, "got one that gives f32, expected a function that gives a bool"),
        (lambda v: 1, "got one that gives int, expected a function that gives a bool"),
        (lambda a, b, c: a > b, r"got one of other arguments: \(a, b, c\), expected a function of"),
        (WithoutHash(), "got a WithoutHash, which has no hash, expected a function of values"),
    ],
)
def test_functions_that_give_no_bool_are_refused_for_every_length(size, function, message):
    x = np.arange(size, dtype="f4")
    with pytest.raises(InvalidInput, match=rf"'predicate': {message}.*Fix: pass lambda v: v > 0"):
        va.select(x, function)
    if message.startswith("got one that gives"):
        before = {"f32": lambda a, b: a, "int": lambda a, b: 1}[message.split()[4].strip(",")]
    else:
        before = function
    with pytest.raises(InvalidInput, match=rf"'before': {message}.*Fix: pass lambda a, b: a < b"):
        va.sort(x, before=before)


def test_a_predicate_may_be_a_bool_of_python():
    x = data("f4", 5000)
    same(va.select(x, lambda v: True), x)
    same(va.select(x[:7], lambda v: False), x[:0])


@pytest.mark.parametrize("padding", [0, 1, 5000])
def test_the_index_of_the_first_that_equals_each(backend, padding):
    x = np.concatenate([np.array([0.0, -0.0, 1, -0.0, 2, 1]), 3 + np.arange(padding)]).astype("f4")
    values, indices, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    for given in (x, array_on(backend_for(backend), x)):
        found = va.unique_all(given, backend=backend)
        assert np.array_equal(found.values, values)
        assert np.signbit(np.asarray(found.values)[0])
        same(found.indices, indices)
        same(found.inverse, inverse)
        same(found.counts, counts)
    same(va.unique(x, backend=backend), np.asarray(found.values))


@pytest.mark.parametrize("padding", [0, 1, 5000])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_nans_of_one_sign_equal_each_other(backend, dtype, padding):
    nan, other = np.array([np.nan] * 2, dtype)
    other = np.array(other).view(f"u{other.itemsize}") + 1
    nans = np.array([nan, -nan, other.view(dtype), nan, -nan, -other.view(dtype)], dtype)
    x = np.concatenate([nans, np.arange(padding).astype(dtype)])
    finite = np.unique(x[6:])
    found = va.unique(x, backend=backend)
    assert found.size == finite.size + 2
    assert np.isnan(found[[0, -1]]).all()
    assert np.signbit(found[[0, -1]]).tolist() == [True, False]
    every = va.unique_all(x, backend=backend)
    same(every.values, found)
    assert every.indices[[0, -1]].tolist() == [1, 0]
    assert every.counts[[0, -1]].tolist() == [3, 3]
    same(va.run_length(x, backend=backend).lengths[:4], np.array([1, 1, 2, 2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.compact(x, np.ones(2, bool)), r"got \(2,\), expected the shape \(3,\)"),
        (lambda x: va.compact(x, x), "expected an array of bools"),
        (lambda x: va.select(x, 3), r"got int, expected a function of values"),
        (lambda x: va.run_length(x.reshape(1, 3)), "an array with one axis"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones(3, "f4"))
