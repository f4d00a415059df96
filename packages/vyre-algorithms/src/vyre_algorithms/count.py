"""Counting: how many elements are in each bin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Backend,
    HostArray,
    array_of,
    contiguous,
    count,
    known,
    of_kind,
    type_of,
    vector,
)
from vyre_algorithms.launches import launch, words, zeros_beside
from vyre_algorithms.move import places_of
from vyre_algorithms.reduce import max as greatest, min as least_of
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.recorded import RecordedRange
from vyre_foundation import Array as Buffer, DType, Program, ProgramBuilder, Value, program, u32
from vyre_foundation.dtype import f64
from vyre_foundation.functions import min as least

PRIVATE = (256, 4096)
"""Numbers of bins that invocations count on their own, before they add to the result."""
CHUNK, CHUNKS = 1 << 12, 1 << 6
GROUP = 64

Binning = Callable[[ProgramBuilder, Value, Buffer], Value]
"""The number of the bin of an element, from a table; a number beyond the bins is not counted."""


def bincount(x: object, /, *, minlength: int = 0, backend: Backend = None) -> Array:
    """Count how often each number is in an array of them.

    Args:
        x: An array with one axis, of integers that are not negative.
        minlength: The result has at least so many elements. For a range of a graph, it has so many, and a greater
            number is a trap of the launch.
        backend: As for `vyre.run`.

    Returns:
        An array of int64: element ``n`` is the number of elements that are ``n``.

    Raises:
        InvalidInput: An element is negative or above 2**28, or an argument is of another kind.
    """
    array = vector(x)
    of_kind(array, "iu", "integers")
    bins = count(minlength, "minlength", 1 << 28)
    if isinstance(array, RecordedRange):
        array = places_of(array, bins, backend, is_from_end=False) if bins else known(array)
    elif array.size:
        lowest, highest = _ends(array, backend)
        if highest > 1 << 28 or lowest < 0:
            needed = f"elements from 0 to {1 << 28}"
            got = f"elements from {lowest} to {highest}"
            raise InvalidInput("x", needed=needed, got=got, fix="number the elements with unique_all")
        bins = max(bins, highest + 1)
    return count_bins(_of_number, array, np.zeros(1, np.uint32), bins, backend).astype(np.int64)


def histogram(
    x: object,
    /,
    bins: int | Sequence[float] | Array = 10,
    range: tuple[float, float] | None = None,
    *,
    backend: Backend = None,
) -> tuple[Array, Array]:
    """Count the elements between edges.

    Args:
        x: An array of integers or floats. Elements are compared as f64; those outside of the edges, and NaNs, are not
            counted.
        bins: The number of bins of equal width, or their ascending edges.
        range: The first and the last edge, if `bins` is a number; by default the least and the greatest element.
        backend: As for `vyre.run`.

    Returns:
        The counts, of int64, and the edges, of float64, which are those of `numpy.histogram_bin_edges`. An edge belongs
        to the bin above it, the last one to the last bin.

    Raises:
        InvalidInput: The edges do not ascend, or an argument is of another kind.
    """
    array = array_of(x).reshape(-1)
    of_kind(array, "iuf", "integers or floats")
    if isinstance(bins, int) and range is None and array.size:
        lowest, highest = _ends(array, backend)
        range = float(lowest), float(highest)
    try:
        if isinstance(bins, int):
            edges = _equal_bins(bins, range).copy()
        else:
            edges = np.histogram_bin_edges(np.zeros(0), np.asarray(bins, np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidInput("bins", needed="bins", got=f"others ({error})", fix="pass a number, or edges") from None
    found = count_bins(_between_edges, contiguous(array), edges, edges.size - 1, backend)
    return found.astype(np.int64), edges


@lru_cache(maxsize=64)
def _equal_bins(bins: int, range: tuple[float, float] | None) -> HostArray:
    return np.histogram_bin_edges(np.zeros(0), bins, range)


def _ends(array: Array, backend: Backend) -> tuple[Any, Any]:
    """The least and the greatest element, for the host."""
    known(array)
    if not isinstance(array, np.ndarray):
        return least_of(array, backend=backend).item(), greatest(array, backend=backend).item()
    return array.min().item(), array.max().item()


def count_bins(binning: Binning, array: Array, table: Array, bins: int, backend: Backend) -> Array:
    """The counts of the elements of an array in bins, as u32."""
    counts = zeros_beside(array, (bins,), u32)
    if not array.size or not bins:
        return counts
    given: dict[str, object] = {"x": array, "table": table, "counts": counts}
    kinds = (binning, type_of(array), type_of(table))
    for private in PRIVATE:
        if bins <= private:
            chunk = max(CHUNK, -(-array.size // CHUNKS))
            given["chunk"] = words(chunk)
            return launch(_private(*kinds, private), given, -(-array.size // chunk), backend)["counts"]
    return launch(_shared(*kinds), given, -(-array.size // GROUP), backend)["counts"]


def _of_number(p: ProgramBuilder, element: Value, table: Buffer) -> Value:
    return element.cast(u32)


def _between_edges(p: ProgramBuilder, element: Value, edges: Buffer) -> Value:
    """The last edge that is not above the element: as if bins had equal width, and from there step by step."""
    value = p.let(element.cast(f64))
    bins = p.let(edges.length - 1)
    first, last = p.let(edges[0]), p.let(edges[bins])
    is_inside = p.let((value >= first) & (value <= last))
    guess = ((value - first) / (last - first) * bins.cast(f64)).cast(u32)
    found = p.var(least(guess, bins - 1))
    with p.if_(is_inside):
        with p.range(bins):
            with p.if_((found == 0) | (edges[found] <= value)):
                p.break_()
            found -= 1
        with p.range(bins):
            with p.if_((found >= bins - 1) | (value < edges[found + 1])):
                p.break_()
            found += 1
    with p.else_():
        found.set(bins)
    return found.get()


def _declared(p: ProgramBuilder, dtype: DType, table: DType) -> Mapping[str, Buffer]:
    return {
        "x": p.read("x", dtype),
        "table": p.read("table", table),
        "counts": p.read_write("counts", u32),
    }


@lru_cache(maxsize=256)
def _private(binning: Binning, dtype: DType, table: DType, bins: int) -> Program:
    """Each invocation counts a chunk on its own, and adds what it has found."""
    with program("count_private", 1) as p:
        given = _declared(p, dtype, table)
        x, counts, chunk = given["x"], given["counts"], p.uniform("chunk", u32, 1)
        own = p.private("own", u32, bins)
        first = p.let(p.global_id(0) * chunk[0])
        with p.range(first, least(first + chunk[0], x.length)) as k:
            found = p.let(binning(p, x[k], given["table"]))
            own[found] = own[found] + 1
        with p.range(0, counts.length) as n:
            number = p.let(own[n])
            with p.if_(number != 0):
                counts.atomic_add(n, number)
    return p.build()


@lru_cache(maxsize=256)
def _shared(binning: Binning, dtype: DType, table: DType) -> Program:
    """Each element adds to the result."""
    with program("count_shared", GROUP) as p:
        given = _declared(p, dtype, table)
        i = p.global_id(0)
        with p.if_(i < given["x"].length):
            given["counts"].atomic_add(binning(p, given["x"][i], given["table"]), 1)
    return p.build()
