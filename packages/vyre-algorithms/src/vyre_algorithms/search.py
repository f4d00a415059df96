"""Searching: places in sorted arrays, and the greatest elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Backend,
    array_of,
    axis_back,
    axis_last,
    axis_of,
    contiguous,
    count,
    flattened,
    prefix,
    type_of,
    vector,
)
from vyre_algorithms.choose import FEW, Elements, choose
from vyre_algorithms.launches import joined, launch, runs_loops, words, zeros_beside
from vyre_algorithms.move import take, take_few
from vyre_algorithms.order import KeyOrder, KeyType, bits_of, bits_type
from vyre_algorithms.short_sorts import first_of_rows
from vyre_algorithms.sorts import indices_in_rows, places_in_rows, sort
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.recorded import RecordedRange
from vyre_foundation import DType, Program, Value, constant, program, select, u32
from vyre_foundation.dtype import bool_, i64
from vyre_foundation.functions import gt, lt, min as least, not_

GROUP = 64
LEADING, PER_LEADING = 16, 32
"""The most elements that an invocation keeps in order as it reads a row, and how many times as long the row must be.
Shorter rows are sorted."""
MANY = 64
"""Rows of which every worker has at least one."""
SAMPLE = (32, 256)
"""Elements for each one of the sample by which `top_k` finds candidates: at least, and at most."""
SAMPLED = 512
"""The number of elements of that sample, as far as these distances allow."""


def searchsorted(x: object, values: object, /, side: str = "left", *, backend: Backend = None) -> Array:
    """Find the insertion positions of values in a sorted array.

    Args:
        x: An array with one axis, ascending in the order of `sort`.
        values: An array of the same type.
        side: "left" for the first position that keeps the order, "right" for the last.
        backend: As for `vyre.run`.

    Returns:
        An array of int64 in the shape of `values`.

    Raises:
        InvalidInput: The types differ, or an argument is invalid.
    """
    array, wanted = vector(x), array_of(values, "values")
    dtype = type_of(array)
    other = type_of(wanted, "values")
    if other is not dtype:
        fix = "convert one of the arrays with .astype(…)"
        raise InvalidInput("values", needed=f"an array of {dtype}", got=f"one of {other}", fix=fix)
    if side not in ("left", "right"):
        raise InvalidInput("side", needed="'left' or 'right'", got=repr(side), fix="pass one of them")
    if not array.size or not wanted.size:
        return zeros_beside(wanted, wanted.shape, i64)
    found = places_in(array, flattened(wanted), side == "right", backend)
    return found.astype(np.int64).reshape(wanted.shape)


def places_in(array: Array, values: Array, is_right: bool, backend: Backend) -> Array:
    """Where values go in a sorted array, as u32; neither is empty."""
    dtype = type_of(array)
    given = {"x": bits_of(array, dtype), "values": bits_of(values, dtype), "steps": words(array.size.bit_length())}
    search = _search(KeyOrder.of(dtype), bits_type(dtype), is_right)
    return launch(search, given, -(-values.size // GROUP), backend)["places"]


class TopK(NamedTuple):
    """The greatest elements, or the least, and their indices."""

    values: Array
    indices: Array


def top_k(x: object, /, k: int, axis: int = -1, *, largest: bool = True, backend: Backend = None) -> TopK:
    """Find the greatest elements along an axis, the greatest first.

    Args:
        x: An array of any type, in the order of `sort`.
        k: The number of elements.
        axis: The axis.
        largest: Whether to find the greatest elements; otherwise the least, the least first.
        backend: As for `vyre.run`.

    Returns:
        The elements, and their indices along the axis, of int64, in the shape of `x` with `k` in place of the length of
        the axis. Of equal elements those with lower indices come first.

    Raises:
        InvalidInput: There are fewer than `k` elements, or an argument is invalid.
    """
    array = array_of(x)
    which = axis_of(axis, array.ndim)
    number = count(k, "k", array.shape[which])
    if array.ndim > 1:
        return TopK(*_top_of_rows(array, which, number, largest, backend))
    return TopK(*_top_of(contiguous(array), number, largest, backend))


def _top_of(array: Array, number: int, largest: bool, backend: Backend) -> tuple[Array, Array]:
    """What `top_k` gives for a vector."""
    if not number:
        return zeros_beside(array, (0,), type_of(array)), zeros_beside(array, (0,), i64)
    places = _candidates(array, number, largest, backend)
    candidates = array if places is None else take_few(array, places, backend)
    order = prefix(places_in_rows(candidates, candidates.size, largest, None, backend), number)
    indices = order if places is None else take_few(places, order, backend)
    return take_few(candidates, order, backend), indices.astype(np.int64)


def _top_of_rows(array: Array, axis: int, number: int, largest: bool, backend: Backend) -> tuple[Array, Array]:
    """What `top_k` gives for an array of several axes.

    Where launches are short, long rows have their turns, in which there are few candidates, unless there are many rows
    of which few elements are wanted.
    """
    rows = axis_last(array, axis)
    shape, length = (*rows.shape[:-1], number), rows.shape[-1]
    in_loops, is_leading = runs_loops([rows], backend), 0 < number <= min(LEADING, length // PER_LEADING)
    flat = rows.reshape(-1)
    if not math.prod(shape):
        found, indices = zeros_beside(rows, shape, type_of(array)), zeros_beside(rows, shape, i64)
    elif length > FEW and in_loops and not (is_leading and flat.size >= MANY * length):
        turns = [_top_of(flat[n : n + length], number, largest, backend) for n in range(0, flat.size, length)]
        found, indices = map(joined, zip(*turns, strict=True))
    else:
        if in_loops and is_leading:
            key_type = KeyType.of(type_of(array), descending=largest)
            places = first_of_rows(bits_of(flat, type_of(array)), key_type, number, length, backend)
        else:
            ordered = places_in_rows(flat, length, largest, None, backend).reshape(-1, length)
            first = ordered.transpose(1, 0)[:number]  # ranges of a graph are cut on the first axis alone
            places = flattened(first.transpose(1, 0))
        found, indices = take(flat, places, backend), indices_in_rows(places, length, backend)
    return axis_back(found.reshape(shape), axis), axis_back(indices.reshape(shape), axis)


def _candidates(array: Array, number: int, largest: bool, backend: Backend) -> Array | None:
    """The places of some elements among which are the first `number`; none if these are too many to look for.

    The elements that are not after one of a sample are counted: about `step` for each of the sample that is not.
    """
    if array.size <= FEW or isinstance(array, RecordedRange):
        return None
    dtype, step = type_of(array), sample_step(array.size)
    array = bits_of(array, dtype) if dtype is bool_ else array
    sample = sort(array[::step], descending=largest, backend=backend)
    share = number // step
    rank = share + 4 * math.isqrt(share) + 4
    is_candidate = _not_below if largest else _not_above
    while rank < sample.size // 4:
        given = [array, sample[rank : rank + 1]]
        places = choose(is_candidate, given, backend, has_places=True)
        if places.size >= number:
            return places
        rank *= 4
    return None


def sample_step(size: int) -> int:
    """How far apart the elements of the sample are, in an array of that size."""
    return min(max(SAMPLE[0], size // SAMPLED), SAMPLE[1])


def _not_below(sources: Sequence[Elements], index: Value) -> Value:
    """Whether an element may be among the greatest: of floats also each zero beside another zero, and each NaN."""
    return not_(lt(sources[0][index], sources[1][0]))


def _not_above(sources: Sequence[Elements], index: Value) -> Value:
    return not_(gt(sources[0][index], sources[1][0]))


@lru_cache(maxsize=256)
def _search(order: KeyOrder, bits: DType, is_right: bool) -> Program:
    """Halve the range in which the place of each value is, as often as the length of the array demands."""
    with program("search", GROUP) as p:
        x, values = p.read("x", bits), p.read("values", bits)
        steps = p.uniform("steps", u32, 1)
        places = p.write("places", u32, like=values)
        key = p.let(order.key(values[p.global_id(0)]))
        low, high = p.var(0, u32), p.var(x.length)
        with p.range(least(steps[0], constant(u32, 32))):
            middle = p.let((low + high) >> 1)
            there = p.let(order.key(x[middle]))
            is_below = p.let((low < high) & ((there <= key) if is_right else (there < key)))
            low.set(select(is_below, middle + 1, low))
            high.set(select(is_below, high, middle))
        places[p.global_id(0)] = low
    return p.build()
