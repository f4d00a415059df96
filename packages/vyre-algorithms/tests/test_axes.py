"""Functions that move, choose or combine along one of several axes, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from algorithm_data import data, same

import vyre_algorithms as va
from vyre_algorithms import launches, move
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.record import GraphRecorder
from vyre_foundation.dtype import f32, i32

SHAPES = [(7, 5), (4, 3, 5), (2, 1, 3, 4)]
AXES = [(shape, axis) for shape in SHAPES for axis in range(-len(shape), len(shape))]
along_each_axis = pytest.mark.parametrize(("shape", "axis"), AXES, ids=str)


@along_each_axis
@pytest.mark.parametrize("inner", [1, 70])
def test_floats_are_added_in_the_order_of_the_indices(backend, shape, axis, inner):
    x, indices = data("f4", (*shape, inner)), data("i4", (2, 9), seed=3) % shape[axis]
    axis = axis if axis >= 0 else axis - 1
    values = data("f4", np.take(x, indices, axis).shape, seed=5)
    wanted = x.copy()
    np.add.at(wanted, (*along(axis % x.ndim), indices), values)
    same(va.scatter(x, indices, values, "add", axis=axis, backend=backend), wanted)


@pytest.mark.parametrize("dtype", ["u1", "i8", "f2", "f4"])
def test_elements_are_multiplied_in_the_order_of_the_indices(backend, dtype):
    x, indices = data(dtype, 30), data("u4", 200, seed=3) % 30
    values = data(dtype, 200, seed=5)
    wanted = x.copy()
    np.multiply.at(wanted, indices, values)
    same(va.scatter(x, indices, values, "prod", backend=backend), wanted)


def along(axis):
    """What selects places of an axis."""
    return (slice(None),) * axis


@along_each_axis
@pytest.mark.parametrize("dtype", ["u1", "f4", "i8"])
def test_gather(backend, shape, axis, dtype):
    x = data(dtype, shape)
    for indices in (data("i4", (3, 2)) % shape[axis], np.int64(-1), np.zeros(0, "u1")):
        same(va.gather(x, indices, axis, backend=backend), np.take(x, indices, axis))


@along_each_axis
@pytest.mark.parametrize("operation", ["set", "add", "prod", "max"])
def test_scatter(backend, shape, axis, operation):
    x, indices = data("i4", shape), data("i4", (2, 3)) % shape[axis]
    values = data("i4", np.take(x, indices, axis).shape, seed=5)
    expected, front = x.copy(), axis % x.ndim
    for place in np.ndindex(indices.shape):
        there, given = (*along(front), indices[place]), values[(*along(front), *place)]
        old = expected[there]
        expected[there] = {"set": given, "add": old + given, "prod": old * given, "max": np.maximum(old, given)}[
            operation
        ]
    same(va.scatter(x, indices, values, operation, axis=axis, backend=backend), expected)
    if operation == "set":
        same(va.scatter(x.view("f4"), indices, values.view("f4"), axis=axis), expected.view("f4"))


WIDE = move.NARROW + 1
ROWS = [
    ((3 * move.ROWS + 7, 2), 0),
    ((move.ROWS + 1, 2), 1),
    ((3, 700, move.NARROW), 1),
    ((3, 700, WIDE), 1),
    ((3, move.PART + 9), 0),
    ((2, 5, move.PART // 2 + 1), 1),
]


@pytest.mark.parametrize(("shape", "axis"), ROWS, ids=str)
def test_rows(shape, axis):
    """Rows of a length that programs state, other ones, and those that several invocations copy."""
    x, indices = data("i4", shape), np.random.default_rng(4).integers(0, shape[axis], 2 * shape[axis])
    found = va.gather(x, indices, axis, backend="cpu")
    same(found, np.take(x, indices, axis))
    expected, places = x.copy(), indices[::3]
    expected[(*along(axis), places)] = np.take(found, places, axis)
    same(va.scatter(x, places, np.take(found, places, axis), axis=axis, backend="cpu"), expected)


def test_an_invocation_moves_whole_rows(monkeypatch):
    """Where a worker runs one after the other: to find the row of each element takes longer than to copy it."""
    groups = []

    def count(program, arrays, workgroups, backend):
        groups.append(workgroups)
        return launches.launch(program, arrays, workgroups, backend)

    monkeypatch.setattr(move, "launch", count)
    va.gather(np.ones((4000, 8), "f4"), np.arange(4000), backend="cpu")
    va.gather(np.ones((400, 800), "f4"), np.arange(400), backend="cpu")
    assert groups == [-(-4000 // move.ROWS), -(-400 * 800 // move.PART)]


@along_each_axis
def test_choosing(backend, shape, axis):
    x, mask = data("f4", shape), data("?", shape[axis])
    same(va.compact(x, mask, axis, backend=backend), np.compress(mask, x, axis))
    found, number = va.partition(x, mask, axis, backend=backend)
    same(found, np.concatenate([np.compress(mask, x, axis), np.compress(~mask, x, axis)], axis))
    assert number == mask.sum()


@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (0, 4), (90, 80)], ids=str)
def test_choosing_of_all_elements(backend, shape):
    x, mask = data("i4", shape), data("?", shape)
    same(va.compact(x, mask, backend=backend), x[mask])
    same(va.partition(x, mask, backend=backend)[0], np.concatenate([x[mask], x[~mask]]))
    same(va.select(x, positive, backend=backend), x[x > 0])
    same(va.compact(x.T, mask.T, backend=backend), x.T[mask.T])


def positive(v):
    return v > 0


@along_each_axis
@pytest.mark.parametrize("operation", ["sum", "prod", "max", "any", "argmin"])
def test_segments(backend, shape, axis, operation):
    x = data("i4", shape)
    starts = np.unique(np.minimum([0, 2, 3, shape[axis]], shape[axis]))
    parts = np.split(x, starts[1:-1], axis)
    expected = np.stack([getattr(np, operation)(part, axis) for part in parts], axis)
    same(va.segmented_reduce(x, starts, operation, axis=axis, backend=backend), expected)


@along_each_axis
@pytest.mark.parametrize("exclusive", [False, True])
def test_scans_of_segments(backend, shape, axis, exclusive):
    x = data("i4", shape)
    starts = np.array([0, 0, 1, shape[axis], shape[axis]])
    parts = [part.cumsum(axis) - part * exclusive for part in np.split(x, [1], axis)]
    same(va.segmented_scan(x, starts, axis=axis, exclusive=exclusive, backend=backend), np.concatenate(parts, axis))


def test_segments_of_long_rows_are_those_of_vectors(backend):
    """Each row is combined in the same order as a vector with its elements."""
    x, starts = data("f4", (3, 9000)), np.array([0, 17, 17, 8000, 9000])
    found = va.segmented_reduce(x, starts, backend=backend)
    scanned = va.segmented_scan(x.T, starts, axis=0, backend=backend)
    for n, row in enumerate(x):
        same(found[n], va.segmented_reduce(row, starts, backend=backend))
        same(scanned[:, n], va.segmented_scan(row, starts, backend=backend))


def test_no_rows_and_no_elements(backend):
    starts = np.array([0, 1, 3])
    same(va.segmented_reduce(np.zeros((0, 3), "f4"), starts, backend=backend), np.zeros((0, 2), "f4"))
    same(va.segmented_reduce(np.zeros((0, 3), "f4"), starts, "argmax", backend=backend), np.zeros((0, 2), "i8"))
    same(va.segmented_reduce(np.zeros((3, 0), "f4"), starts, axis=0, backend=backend), np.zeros((2, 0), "f4"))
    same(va.segmented_reduce(np.zeros((2, 0), "f4"), np.array([0, 0]), backend=backend), np.zeros((2, 1), "f4"))
    same(va.segmented_scan(np.zeros((2, 0), "f4"), np.array([0, 0]), backend=backend), np.zeros((2, 0), "f4"))
    same(va.scatter(np.ones((2, 0), "f4"), np.array([1]), np.ones((1, 0), "f4")), np.ones((2, 0), "f4"))
    same(va.compact(np.ones((2, 0), "f4"), np.array([True, False]), 0), np.ones((1, 0), "f4"))
    same(va.compact(np.ones((2, 0), "f4"), np.zeros(0, "?"), 1), np.ones((2, 0), "f4"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.gather(x, np.array([3]), 0), "got 3, expected indices from -2 to 1"),
        (lambda x: va.gather(x, np.array([0]), 2), "got 2, expected an axis from -2 to 1"),
        (lambda x: va.scatter(x, np.array([1]), x), r"got one of f32 \(2, 3\), expected an array of f32 \(1, 3\)"),
        (lambda x: va.scatter(x, np.array([1]), x[:, :1], axis=3), "got 3, expected an axis"),
        (lambda x: va.scatter(x[0, 0], np.array([0]), x[0, :1]), "expected an array with an axis"),
        (lambda x: va.compact(x, np.ones(2, bool)), r"got \(2,\), expected the shape \(2, 3\)"),
        (lambda x: va.compact(x, np.ones(2, bool), 1), r"got \(2,\), expected the shape \(3,\)"),
        (lambda x: va.partition(x, np.ones((2, 3), bool), 0), r"got \(2, 3\), expected the shape \(2,\)"),
        (lambda x: va.segmented_reduce(x, np.array([0, 2])), "ascending integers from 0 to 3"),
        (lambda x: va.segmented_reduce(x, np.array([0, 0, 2]), "max", axis=0), "at least one element for max"),
        (lambda x: va.segmented_scan(x, np.array([0, 3]), axis=0), "ascending integers from 0 to 2"),
        (lambda x: va.segmented_scan(x[0, 0], np.array([0, 1])), "no axis, as the array has none"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones((2, 3), "f4"))


def test_more_segments_than_indices_count():
    with GraphRecorder("segments") as graph:
        x, starts = graph.input("x", f32, (1 << 12, 1)), graph.input("starts", i32, 1 << 20)
        with pytest.raises(InvalidInput, match="got 4096 rows of 1048575, expected fewer than 2147483648 segments"):
            va.segmented_reduce(x, starts)


@pytest.mark.parametrize("shape", [(70, 40), (3, 70, 20), pytest.param((5, 1, 6, 18), marks=pytest.mark.slow)])
def test_views_in_another_order_have_the_results_of_their_copies(shape):
    for order in itertools.permutations(range(len(shape))):
        x = data("f4", shape).transpose(order)
        copied, resident = np.ascontiguousarray(x), array_on(backend_for("cpu"), x.base).transpose(*order)
        for axes in itertools.chain(*(itertools.combinations(range(len(shape)), n) for n in range(len(shape) + 1))):
            for function in (va.sum, va.std, va.max):
                wanted = function(copied, axes)
                same(function(x, axes), wanted)
                found = function(resident, axes, keepdims=True)
                assert found.is_contiguous
                same(found.reshape(wanted.shape), wanted)


@pytest.mark.parametrize(("m", "k", "n"), [(1, 70, 40), (5, 33, 60), (40, 33, 5), (9, 20, 9), (99, 9, 33), (97, 9, 1)])
@pytest.mark.parametrize("stack", [(), (3,), (2, 1)], ids=str)
def test_products_of_transposed_views(stack, m, k, n):
    a, b = data("f4", (*stack, m, k)), data("f4", (*stack[-1:], k, n), seed=2)
    wanted = va.matmul(a, b, backend="cpu")
    for turns in itertools.product((False, True), repeat=2):
        views = [turned(x) if is_turned else x for x, is_turned in zip((a, b), turns, strict=True)]
        same(va.matmul(*views, backend="cpu"), wanted)
        resident = [turned_on_device(x) if is_turned else x for x, is_turned in zip((a, b), turns, strict=True)]
        same(va.matmul(*resident, backend="cpu"), wanted)


def turned(x):
    """The same matrices, in the memory of their transposes."""
    return np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2)


def turned_on_device(x):
    """The same in the memory of a device."""
    *stack, rows, columns = range(x.ndim)
    return array_on(backend_for("cpu"), np.swapaxes(x, -1, -2)).transpose(*stack, columns, rows)
