"""Searching, counting and moving against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_data import TYPES, UFUNCS, data, same

import vyre_algorithms as va
from vyre_algorithms import count, move, search, weights as weighted
from vyre_algorithms.move import SCATTERED
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput
from vyre_foundation import f32


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 1000])
def test_places_in_a_sorted_array(backend, side, size):
    x = np.sort(data("i4", size) % 500)
    values = data("i4", (20, 30), seed=2) % 510
    same(va.searchsorted(x, values, side, backend=backend), np.searchsorted(x, values, side))


def test_places_of_floats():
    x = np.array([-np.inf, -1, 0, 0, 2, np.inf], "f8")
    values = np.array([-np.inf, -0.5, 0, 3, np.nan], "f8")
    same(va.searchsorted(x, values, backend="cpu"), np.searchsorted(x, values))
    same(va.searchsorted(x, values, "right", backend="cpu"), np.searchsorted(x, values, "right"))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 17, 9000])
def test_the_greatest_elements(backend, largest, k):
    x = data("f4", 9000)
    order = np.argsort(-x if largest else x, stable=True)[:k]
    values, places = va.top_k(x, k, largest=largest, backend=backend)
    same(values, x[order])
    same(places, order)


def test_the_greatest_elements_of_every_type(backend, each_type):
    x = data(each_type, 500)
    order = np.argsort(-x.astype("f8") if x.dtype.kind != "u" else ~x, stable=True)[:50]
    exact = x.dtype.name not in ("int64",)
    values, places = va.top_k(x, 50, backend=backend)
    same(values, x[order])
    if exact:
        same(places, order)


@pytest.mark.parametrize("shape", [(7, 30), (4, 300), (3, 5, 4), (0, 3), (2, 5000)])
def test_the_greatest_elements_of_rows(backend, shape):
    """Programs are those of the length of a row: they are compiled once for all numbers of elements."""
    x = data("i4", shape) % 50
    for axis, k in ((axis, k) for axis in range(x.ndim) for k in (0, 1, 3) if x.shape[axis] >= k):
        order = np.argsort(-x, axis, stable=True).take(range(k), axis)
        values, places = va.top_k(x, k, axis, backend=backend)
        same(values, np.take_along_axis(x, order, axis))
        same(places, order)


def test_the_greatest_of_equal_elements():
    same(va.top_k(np.zeros(20_000, "u4"), 3, backend="cpu")[1], np.arange(3))


@pytest.mark.parametrize("k", [50, 20_000])
def test_top_k_where_the_sample_misleads(k: int) -> None:
    """What is in the sample is greater than all else, so that far fewer are candidates than the sample promises."""
    x = np.random.default_rng(5).integers(0, 1 << 20, 50_000, dtype=np.uint32)
    x[:: search.sample_step(x.size)] += 1 << 24
    values, places = va.top_k(x, k, backend="cpu")
    expected = np.argsort(~x, kind="stable")[:k]
    same(places, expected)
    same(values, x[expected])


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("size", [4097, 40_000, 200_000])
def test_the_first_of_many_in_the_total_order(size: int, largest: bool) -> None:
    """Comparisons of floats, by which candidates are found, know neither NaNs nor the signs of zeros."""
    ascending = np.float32([-np.nan, -np.inf, -1, -0.0, 0, 1, np.inf, np.nan])
    ascending[0] = -ascending[-1]
    for some in (slice(None), [0, 7], [3, 4], [7], [0, 3, 4], slice(1, 7)):
        ranks = np.random.default_rng(6).choice(np.arange(8)[some], size)
        order = np.argsort(-ranks if largest else ranks, stable=True)[:20]
        values, places = va.top_k(ascending[ranks], 20, largest=largest, backend="cpu")
        same(places, order)
        same(values.view("u4"), ascending[ranks[order]].view("u4"))


@pytest.mark.parametrize("bins", [1, 10, 256, 300, 5000])
@pytest.mark.parametrize("size", [0, 1, 100, 30_000])
def test_numbers(backend, bins, size):
    x = data("u4", size) % bins
    same(va.bincount(x, minlength=bins, backend=backend), np.bincount(x, minlength=bins))
    same(va.bincount(x.astype("i8"), backend=backend), np.bincount(x))


@pytest.mark.parametrize("dtype", ["u2", "i8"])
@pytest.mark.parametrize("make", [np.asarray, np.sort, lambda x: np.full_like(x, 50_000)])
def test_counts_of_many_numbers_by_buckets(make, dtype):
    """Of the largest array that is counted without them, and of the least that is not."""
    for size in (count.BUCKETED - 1, count.BUCKETED):
        x = make(data("u4", size) % 50_001).astype(dtype)
        same(va.bincount(x, backend="cpu"), np.bincount(x))
        same(va.bincount(x, minlength=70_000, backend="cpu"), np.bincount(x, minlength=70_000))


@pytest.mark.parametrize("bins", [1, 10, 256, 257, 4096, 5000])
@pytest.mark.parametrize("size", [0, 1, 100, 9000])
def test_weights_of_numbers_are_added_as_those_of_a_vector(backend, bins, size):
    x, weights = data("u4", size) % bins, data("f4", size, seed=2)
    found = va.bincount(x, weights, minlength=bins, backend=backend)
    numbers = np.unique(x)[::40] if bins > 10 else range(bins)
    for number in numbers:
        same(found[number], va.sum(weights[x == number], backend="reference"))
    assert np.count_nonzero(found) <= np.unique(x).size
    np.testing.assert_allclose(found, np.bincount(x, weights, minlength=bins), rtol=1e-4, atol=1e-4)
    same(va.bincount(x.astype("i8"), weights, backend=backend), found[: int(x.astype("i8").max(initial=-1)) + 1])


def test_weights_of_every_type(backend, each_type):
    x, weights = data("u1", 300) % 7, data(each_type, 300, seed=2)
    found = va.bincount(x, weights, backend=backend)
    same(found, np.array([va.sum(weights[x == n], backend="reference") for n in range(7)]))
    same(va.bincount(x[:0], weights[:0], minlength=3, backend=backend), np.zeros(3, found.dtype))


def test_weights_that_are_no_numbers(backend):
    x, weights = np.array([0, 1, 1, 3]), np.float32([np.nan, np.inf, 1, -0.0])
    same(va.bincount(x, weights, backend=backend), np.float32([np.nan, np.inf, 0, -0.0]))


@pytest.mark.parametrize("bins", [1, 100, 4000, 50_000])
@pytest.mark.parametrize("spread", [1, 8])
def test_sums_do_not_depend_on_how_weights_are_added(monkeypatch, bins, spread):
    """By one invocation, or in the order of their numbers; with up to 16 blocks of one number."""
    x, w = (data("u4", weighted.MOST_AT_ONCE, seed=3) % bins) // spread, data("f4", weighted.MOST_AT_ONCE, seed=2)
    at_once = [va.bincount(given, w[: given.size], minlength=bins, backend="cpu") for given in (x, x[:9000], x[:7])]
    monkeypatch.setattr(weighted, "MOST_AT_ONCE", 0)
    for given, found in zip((x, x[:9000], x[:7]), at_once, strict=True):
        same(found, va.bincount(given, w[: given.size], minlength=bins, backend="cpu"))


@pytest.mark.parametrize("bins", [1, 10, 257, 5000, np.array([-1.0, 0.0, 0.1, 3.0])])
def test_bins(backend, bins):
    x = data("f4", 20_000)
    x[:3] = np.nan, np.inf, -np.inf
    found, edges = va.histogram(x, bins, (-2, 2), backend=backend)
    wanted, wanted_edges = np.histogram(x.astype("f8"), bins, (-2, 2))
    same(edges, wanted_edges)
    same(found, wanted)
    same(va.histogram(np.arange(10), backend=backend)[0], np.ones(10, "i8"))


@pytest.mark.parametrize("bins", [1, 10, 257, 5000, np.array([-1.0, 0.0, 0.1, 3.0])])
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_weights_and_densities_of_bins(backend, bins, dtype):
    x, weights = data("f8", (50, 60)), data(dtype, (50, 60), seed=3)
    x[0, :3] = np.nan, np.inf, -np.inf
    wanted, edges = np.histogram(x, bins, (-2, 2), weights=weights.astype("f8"))
    found, _ = va.histogram(x, bins, (-2, 2), weights=weights, backend=backend)
    assert found.dtype == (np.uint64 if dtype == "u1" else np.float32)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    places = np.searchsorted(edges, x.reshape(-1), "right")
    counted = va.bincount(places, weights.reshape(-1), minlength=edges.size + 1)[1:-1]
    same(found, counted)
    counts = np.histogram(x, bins, (-2, 2))[0].astype("f8")
    same(va.histogram(x, bins, (-2, 2), density=True, backend=backend)[0], counts / np.diff(edges) / counts.sum())
    assert np.isnan(va.histogram(x[:0], 3, (0, 1), density=True, backend=backend)[0]).all()


RANGES = [(256, (0, 1)), (10, (-3, 3)), (77, (1e7, 1e7 + 3)), (256, (-2e9, 2e9)), (30, (1e-45, 1e-43)), (9, (0, 1e300))]


@pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if dtype != "bool"])
@pytest.mark.parametrize("bins", [*RANGES, [0, 1, 5, 9.5, 9.5, 100], [-np.inf, 0, 1, np.inf]])
def test_elements_at_edges(dtype, bins):
    """An element belongs above an edge that it equals, and what is just below it does not."""
    bins, ends = bins if isinstance(bins, tuple) else (bins, None)
    edges = np.histogram_bin_edges(np.zeros(0), bins, ends)
    x = data(dtype, 3000)
    with np.errstate(over="ignore", invalid="ignore"):
        there = edges.astype(x.dtype)
        if x.dtype.kind in "iu":
            around = [there, there - 1, there + 1]
        else:
            around = [there, np.nextafter(there, x.dtype.type(np.inf)), np.nextafter(there, x.dtype.type(-np.inf))]
            around.append(np.array([np.nan, np.inf, -np.inf, -0.0], x.dtype))
    x = np.concatenate([x, *around])
    values = x.astype("f8")[:, None]
    is_inside = (values >= edges[:-1]) & ((values < edges[1:]) | (np.arange(edges.size - 1) == edges.size - 2))
    wanted = (is_inside & (values <= edges[-1])).sum(0)
    same(va.histogram(x, bins, ends, backend="cpu")[0], wanted)


def test_a_guess_that_is_more_than_one_bin_off(monkeypatch):
    """What is guessed from other edges than those of the elements is counted elsewhere, and is not used."""
    x = data("f4", 5000)
    wanted = va.histogram(x, 100, (-2, 2), backend="cpu")[0]
    slanted = np.linspace(-2, 2, 101) ** 3
    assert not count._table(slanted, f32)[0]
    same(va.histogram(x, slanted, backend="cpu")[0], np.histogram(x.astype("f8"), slanted)[0])
    monkeypatch.setattr(count, "_is_near", lambda guess, edges: True)
    monkeypatch.setattr(count, "_known_table", count._known_table.__wrapped__)
    assert count._table(slanted, f32)[0]
    same(va.histogram(x, 100, (-2, 2), backend="cpu")[0], wanted)
    assert not np.array_equal(va.histogram(x, slanted, backend="cpu")[0], np.histogram(x.astype("f8"), slanted)[0])


FIRST = [(k, largest) for k in (1, 2, search.LEADING) for largest in (True, False)]


@pytest.mark.parametrize(
    ("dtype", "k", "largest"),
    [
        pytest.param(dtype, *first, marks=() if turn % len(FIRST) == place else pytest.mark.slow)
        for turn, dtype in enumerate([*TYPES, "?"])
        for place, first in enumerate(FIRST)
    ],
)
def test_a_few_elements_of_rows_are_the_first_of_sorted_rows(dtype, k, largest):
    """Equal ones in their order; rows in order and in reverse move the most.

    Each type has one of `FIRST` in turns, and `-m slow` the others.
    """
    x = data(dtype, 5 * k * search.PER_LEADING).reshape(5, -1)
    x[1:3] = np.sort(x[1:3])
    x[2], x[3] = x[2, ::-1].copy(), x[3, 0]
    _, ranks = np.unique(x, return_inverse=True)
    order = np.argsort((-ranks if largest else ranks).reshape(x.shape), 1, stable=True)[:, :k]
    found = va.top_k(x, k, largest=largest, backend="cpu")
    of_columns = va.top_k(array_on(backend_for("cpu"), x.T.copy()), k, 0, largest=largest)
    for one, of_device, expected in zip(found, of_columns, (np.take_along_axis(x, order, 1), order), strict=True):
        same(one, expected)
        same(of_device.numpy().T, expected)


def test_many_long_rows_are_read_at_once():
    x = data("f4", search.MANY * (search.FEW + 1)).reshape(search.MANY, -1)
    order = np.argsort(-x, 1, stable=True)[:, :3]
    for rows in (x, x[1:]):  # which have their turns
        values, places = va.top_k(rows, 3, backend="cpu")
        same(values, np.take_along_axis(rows, order[-len(rows) :], 1))
        same(places, order[-len(rows) :])


@pytest.mark.parametrize("bins", [1, 40, 255, 256, 5000, 65535, 65536])
def test_edges_far_from_equal_width_are_looked_up_outside_of_the_counts(bins):
    """Elements outside of the edges have no number of a bin, and are not counted."""
    x, edges = data("f4", count.BUCKETED), np.linspace(-1, 1, bins + 1) ** 3
    x[:3] = np.nan, np.inf, -np.inf
    wanted = np.histogram(x[~np.isnan(x)].astype("f8"), edges)[0]
    same(va.histogram(x, edges, backend="cpu")[0], wanted)
    same(va.histogram(array_on(backend_for("cpu"), x), edges)[0].numpy(), wanted)
    same(va.histogram(x[:1000], edges, backend="reference")[0], va.histogram(x[:1000], edges, backend="cpu")[0])


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "u8"])
def test_numbers_beyond_the_bins_that_are_asked_for(dtype):
    x = data("u1", 3000).astype(dtype) & 127
    same(va.bincount(x, minlength=50, backend="cpu"), np.bincount(x.astype("i8")))
    if x.dtype.itemsize == 8:
        with pytest.raises(InvalidInput, match="expected elements from 0"):
            va.bincount(x + (1 << 32), minlength=256, backend="cpu")
    if x.dtype.kind == "i":
        with pytest.raises(InvalidInput, match="expected elements from 0"):
            va.bincount(-x, minlength=256, backend="cpu")


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_indices_of_few_bits_count_from_the_end(dtype):
    """As unsigned numbers of their bits, they would be indices of a long axis."""
    x = data("f4", 70_000)
    for indices in ([-1], [3, -128, 127], [0], [127]):
        given = np.array(indices, dtype)
        same(va.gather(x, given, backend="cpu"), x[indices])
        same(va.take_along_axis(x, given, backend="cpu"), x[indices])
    with pytest.raises(InvalidInput, match="got -2, expected integers from 0"):
        va.repeat(x[:2], np.array([1, -2], dtype), backend="cpu")


@pytest.mark.parametrize("dtype", TYPES)
def test_gather(dtype):
    x = data(dtype, (50, 3))
    indices = data("i4", (4, 7)) % 50
    same(va.gather(x, indices, backend="cpu"), x[indices])
    same(va.gather(x[:, 0].copy(), -1 - abs(indices), backend="cpu"), x[:, 0][-1 - abs(indices)])


@pytest.mark.parametrize("few_workers", [0, 1 << 20])
def test_scatter(backend, few_workers, monkeypatch):
    """By atomics, and by one invocation."""
    for name, number in (("FEW_ATOMICS", 0), ("SET_WORKERS", few_workers), ("COMBINE_WORKERS", few_workers)):
        monkeypatch.setattr(move, name, number)
    x = data("i4", 100)
    indices, values = data("u4", 1000) % 80, data("i4", 1000, seed=3)
    wanted = x.copy()
    for index, value in zip(indices, values, strict=True):
        wanted[index] = value
    same(va.scatter(x, indices, values, backend=backend), wanted)
    for name in [*SCATTERED][1:]:
        wanted = x.copy()
        UFUNCS["sum" if name == "add" else name].at(wanted, indices, values)
        same(va.scatter(x, indices, values, name, backend=backend), wanted)
    for dtype in ("f2", "f4", "f8"):  # the order of the additions is that of the indices
        fractions, floats = (x % 1000 / 3).astype(dtype), (values % 1000 / 7).astype(dtype)
        wanted = fractions.copy()
        np.add.at(wanted, indices, floats)
        same(va.scatter(fractions, indices, floats, "add", backend=backend), wanted)
    same(va.scatter(x / 3, indices, values / 3, backend=backend), va.scatter(x, indices, values) / 3)
    for dtype in ("?", "u1", "i1", "u2", "i2", "f2", "f4", "f8"):  # types without atomics
        narrow, others = data(dtype, 100), data(dtype, 1000, seed=3)
        names = ("min", "max") if narrow.dtype.kind == "f" else ("add", "min", "max", "and", "or", "xor")
        for name in names[narrow.dtype.kind == "b" :]:
            wanted = narrow.copy()
            UFUNCS["sum" if name == "add" else name].at(wanted, indices, others)
            same(va.scatter(narrow, indices, others, name, backend=backend), wanted)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_scatter_of_special_floats(backend, dtype):
    """A NaN wins, and −0 is less than +0."""
    x = np.array([0.0, -0.0, 1.0, -np.nan, np.inf, 5.0], dtype)
    indices = np.array([0, 1, 2, 3, 4, 0])
    values = np.array([-0.0, 0.0, np.nan, 2.0, -np.inf, 0.0], dtype)
    least, greatest = (va.scatter(x, indices, values, name, backend=backend) for name in ("min", "max"))
    assert repr(least.tolist()) == "[-0.0, -0.0, nan, nan, -inf, 5.0]"
    assert repr(greatest.tolist()) == "[0.0, 0.0, nan, nan, inf, 5.0]"
    same(va.scatter(x, indices[:0], values[:0]), x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.searchsorted(x, x.astype("f8")), "got one of f64, expected an array of f32"),
        (lambda x: va.searchsorted(x, x, "middle"), "expected 'left' or 'right'"),
        (lambda x: va.top_k(x, 4), "got 4, expected 0 … 3"),
        (lambda x: va.top_k(x, 1.5), "got float, expected an integer"),
        (lambda x: va.bincount(x), "expected an array of integers"),
        (lambda x: va.bincount(np.array([-1])), "expected elements from 0"),
        (lambda x: va.bincount(np.array([-1]), x[:1]), "expected elements from 0"),
        (lambda x: va.bincount(np.array([1]), x), "argument 'weights': got 3, expected 1 weights. Fix: pass a weight"),
        (lambda x: va.bincount(np.array([1]), np.array([1j])), "'weights': got the type complex128"),
        (lambda x: va.bincount(np.array([1]), [2.0]), "'weights': got list, expected an array"),
        (lambda x: va.histogram(np.array([-1e308, 1e308])), "'x': got elements from -1e\\+308 to 1e\\+308, expected"),
        (lambda x: va.histogram(np.array([-1e308, 1e308]), 1), "expected elements whose difference f64 has"),
        (lambda x: va.histogram(x, 2, (-1.5e308, 1.5e308)), "'range': .*expected two numbers whose difference f64 has"),
        (lambda x: va.histogram(x, [3, 1]), "'bins': got 3.0, and 1.0 after it, expected a number of bins"),
        (lambda x: va.histogram(x, [0, np.nan]), "'bins': got 0.0, and nan after it"),
        (lambda x: va.histogram(x, []), r"'bins': got an array of the shape \(0,\)"),
        (lambda x: va.histogram(x, "auto"), "'bins': got 'auto', expected a number of bins"),
        (lambda x: va.histogram(x, 0), "'bins': got 0, expected at least 1"),
        (
            lambda x: va.histogram(x, 64, (1.0, 1.0 + 2**-50)),
            "'bins': got 64, expected bins that f64 tells",
        ),
        (lambda x: va.histogram(x, 4, (3, 1)), "'range': got 3.0 and 1.0, expected two finite numbers"),
        (lambda x: va.histogram(x, 4, (0, np.inf)), "'range': got 0.0 and inf, expected two finite numbers"),
        (lambda x: va.histogram(x, 4, 3), "'range': got 3, expected two finite numbers"),
        (lambda x: va.histogram(np.array([1, np.nan])), "'x': got elements from nan to nan, expected finite elements"),
        (lambda x: va.gather(x, np.array([3])), "got 3, expected indices from -3 to 2"),
        (lambda x: va.gather(x, np.array([-4])), "got -4, expected indices"),
        (lambda x: va.gather(x[0], np.array([0])), "expected an array with an axis"),
        (lambda x: va.scatter(x, np.array([1]), x), r"got one of f32 \(3,\), expected an array of f32 \(1,\)"),
        (lambda x: va.scatter(x, np.array([1]), x[:1], "mul"), "expected one of set, add.* Fix: pass 'prod'"),
        (lambda x: va.scatter(x, np.array([1]), x[:1], "sum"), "expected one of set, add.* Fix: pass 'add'"),
        (lambda x: va.segmented_reduce(x, np.array([0, 3]), "add"), "expected one of sum, prod.* Fix: pass 'sum'"),
        (lambda x: va.scatter(x > 0, np.array([1]), x[:1] > 0, "add"), "got one of bool, expected an array of numbers"),
        (
            lambda x: va.scatter(x, np.array([1]), x[:1], "xor"),
            "of f32, expected an array of bools or integers",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones(3, "f4"))
