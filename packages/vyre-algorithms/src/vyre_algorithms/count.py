"""Counting: how many elements are in each bin, or what their weights add up to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from math import isfinite
from operator import add
from typing import Any

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Backend,
    HostArray,
    array_of,
    contiguous,
    converted,
    count,
    greatest_natural,
    known,
    of_kind,
    type_of,
    vector,
)
from vyre_algorithms.buckets import bounds_of_buckets, move_to_buckets
from vyre_algorithms.launches import has_lanes, launch, mapped, runs_loops, words, zeros_beside
from vyre_algorithms.monoids import sum_type
from vyre_algorithms.move import places_of
from vyre_algorithms.order import KeyOrder, KeyType
from vyre_algorithms.reductions import max as greatest, min as least_of, sum as total_of
from vyre_algorithms.weights import adds_at_once, sums_at_once, sums_in_order
from vyre_driver.backend.typed import refuse_missing
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput
from vyre_driver.graph.recorded import RecordedRange
from vyre_driver.tune.distribution import DIGIT
from vyre_foundation import Array as Buffer, DType, Program, ProgramBuilder, Value, constant, program, select, u32
from vyre_foundation.build.arguments import shown
from vyre_foundation.dtype import f32, f64, i64, u8, u16, u64
from vyre_foundation.functions import clz, min as least

PRIVATE = (256, 4096)
"""Numbers of bins that invocations count on their own, before they add to the result."""
TABLES = {256: 4, 4096: 1}
"""Counts of a bin that an invocation has, so that additions to one bin need not wait for each other."""
AT_ONCE = 8
"""Elements of which an invocation finds the bins before it counts them."""
PER_BIN, CHUNKS = 1 << 6, 1 << 6
"""Elements of a chunk for each bin, at least, as adding to the result takes time; and chunks at most."""
LANES, PER_LANE, GROUPS = 256, 1 << 4, 1 << 10
"""The same where invocations run side by side: those that count together, elements for each of them and for each bin at
least, and workgroups at most."""
GROUP = 64
BUCKETED = 1 << 17
"""Elements from which they are put in order by a digit of their bins, if these are many."""
LIMIT = 1 << 22
"""The most bins for which a bin is guessed: half of the integers that the mantissa of an f32 holds."""
ROUNDING = {f32: float(1 << 23), f64: float(1 << 52)}
"""The least numbers whose last bit is 1."""

Binning = Callable[[ProgramBuilder, Value, Buffer, int], Value]
"""The number of the bin of an element, from a table. The last argument is a power of 2 that bounds the number of bins.

A number beyond the bins is not counted.
"""


def bincount(x: object, /, weights: object = None, *, minlength: int = 0, backend: Backend = None) -> Array:
    """Count the occurrences of each number in an array, or add the weights of each number.

    Args:
        x: An array with one axis, of integers that are not negative.
        weights: An array of as many elements, of any type, or None to count.
        minlength: The least length of the result. For a range of a graph it is the length, and a greater number makes
            the launch trap.
        backend: As for `vyre.run`.

    Returns:
        An array of int64: element ``n`` is the number of elements that are ``n``. With weights, an array of the type of
        their `sum`: element ``n`` is the `sum` of the vector of the weights of these elements, in their order.

    Raises:
        InvalidInput: An element is negative or above 2**28, the number of weights differs from that of the elements, or
            an argument is invalid.
    """
    array = vector(x)
    of_kind(array, "iu", "integers")
    bins = count(minlength, "minlength", 1 << 28)
    of_each = None if weights is None else vector(weights, "weights")
    if of_each is not None and of_each.size != array.size:
        needed, fix = f"{array.size} weights", "pass a weight for each element"
        raise InvalidInput("weights", needed=needed, got=str(of_each.size), fix=fix)
    if of_each is not None:
        type_of(of_each, "weights")  # which refuses other types
    if of_each is not None and not isinstance(array, RecordedRange) and adds_at_once(array, of_each, backend):
        bins = _known_bins(array, bins, backend)
        return sums_at_once(array.astype(np.uint32, copy=False), of_each, bins, backend)
    if isinstance(array, RecordedRange):
        known_length = "pass minlength=, the length of the result"
        array = places_of(array, bins, backend, is_from_end=False) if bins else known(array, fix=known_length)
        counts = _numbers(array, bins, backend)
    else:
        counts = _known_numbers(array, bins, backend)
    if of_each is None:
        return counts
    return sums_in_order(array.astype(np.uint32, copy=False), of_each, counts, backend)


def _known_numbers(array: Array, bins: int, backend: Backend) -> Array:
    """How often each number is in an array whose elements are known, of `bins` numbers at least."""
    if 0 < bins <= PRIVATE[-1] and array.size:
        counts = _numbers(array, bins, backend)
        if np.add.reduce(np.asarray(counts)) == array.size:  # all elements are below `bins`
            return counts
    return _numbers(array, _known_bins(array, bins, backend), backend)


def _known_bins(array: Array, bins: int, backend: Backend) -> int:
    """The number of bins for an array whose elements are known: `bins` at least."""
    if not array.size:
        return bins
    lowest, highest = (0, greatest_natural(array)) if isinstance(array, np.ndarray) else _ends(array, backend)
    if highest > 1 << 28 or lowest < 0:
        lowest, highest = _ends(array, backend)
        needed = f"elements from 0 to {1 << 28}"
        got = f"elements from {lowest} to {highest}"
        raise InvalidInput("x", needed=needed, got=got, fix="number the elements with unique_all")
    return max(bins, highest + 1)


def _numbers(array: Array, bins: int, backend: Backend) -> Array:
    return count_bins(_of_number, array, np.zeros(1, np.uint32), bins, backend).astype(np.int64)


def histogram(
    x: object,
    /,
    bins: int | Sequence[float] | Array = 10,
    range: tuple[float, float] | None = None,
    *,
    weights: object = None,
    density: bool = False,
    backend: Backend = None,
) -> tuple[Array, Array]:
    """Count the elements between edges, or add the weights of those.

    Args:
        x: An array of integers or floats. Elements are compared as f64; those outside of the edges, and NaNs, are not
            counted.
        bins: The number of bins of equal width, or their ascending edges.
        range: The first and the last edge, if `bins` is a number; by default the least and the greatest element.
        weights: An array in the shape of `x`, of any type, or None to count.
        density: Whether each count, as f64, is divided by the width of its bin, and then by the `sum` of all of them,
            with two roundings. Weights are added before.
        backend: As for `vyre.run`.

    Returns:
        The counts, of int64, or the sums of the weights as those of `bincount`, or densities of float64; and the edges,
        of float64, which are those of `numpy.histogram_bin_edges`. An edge belongs to the bin above it, the last one to
        the last bin.

    Raises:
        InvalidInput: The edges do not ascend, or an argument is invalid.
    """
    given = array_of(x)
    of_kind(given, "iuf", "integers or floats")
    of_each = None if weights is None else array_of(weights, "weights")
    if of_each is not None and of_each.shape != given.shape:
        needed, got = f"the shape {given.shape}", f"{of_each.shape}"
        raise InvalidInput("weights", needed=needed, got=got, fix="pass a weight for each element")
    array = given.reshape(-1)
    edges = _edges(bins, range, array, backend)
    if of_each is None:
        found = _counts(array, edges, backend)
    else:
        found = _sums(array, contiguous(of_each).reshape(-1), edges, backend)
    if density and found.size:
        found = converted(found, f64)
        total = total_of(found, keepdims=True, backend=backend)
        found = mapped(_density, f64, [found, np.diff(edges), total], backend)
    return found, edges


def _density(number: Value, width: Value, total: Value) -> Value:
    return number / width / total


def _sums(array: Array, weights: Array, edges: HostArray, backend: Backend) -> Array:
    """The sums of the weights of the elements between edges."""
    bins, result = edges.size - 1, sum_type(weights, None)
    if not bins or not array.size:
        return zeros_beside(array, (bins,), result)
    is_near, table = _known_table(edges.tobytes(), type_of(array))
    places = _searched(contiguous(array), table[3 : 3 + edges.size] if is_near else table, u32, backend)
    places = mapped(least, u32, [places, words(bins)], backend)  # those outside are in a bin of their own
    return bincount(places, weights, minlength=bins + 1, backend=backend)[:bins]


def _counts(array: Array, edges: HostArray, backend: Backend) -> Array:
    """The counts of the elements between edges."""
    bins = edges.size - 1
    if not bins or not array.size:
        return zeros_beside(array, (bins,), i64)
    dtype, array = type_of(array), contiguous(array)
    is_near, table = _known_table(edges.tobytes(), dtype) if bins <= PRIVATE[-1] else _table(edges, dtype)
    if is_near:
        return count_bins(_near_guess, array, table, bins, backend).astype(np.int64)
    number = next(number for number in (u8, u16, u32) if bins <= number.highest)
    return _numbers(_searched(array, table, number, backend), bins, backend)


def _searched(array: Array, table: HostArray, number: DType, backend: Backend) -> Array:
    """The bins of the elements, of the type `number`, by a search in the edges of `_table`."""
    searching = _between_edges(type_of(array), type_of(table), number)
    return launch(searching, {"x": array, "edges": table}, -(-array.size // GROUP), backend)["bins"]


def _edges(
    bins: int | Sequence[float] | Array, range: tuple[float, float] | None, array: Array, backend: Backend
) -> HostArray:
    """The edges of the bins of `histogram`."""
    if isinstance(bins, (int, np.integer)):
        number = count(bins, "bins")
        if not number:
            raise InvalidInput("bins", needed="at least 1", got="0", fix="pass a greater number")
        ends = _ends_of_bins(range, array, backend)
        try:
            return _equal_bins(number, ends).copy()
        except MemoryError as error:
            raise DeviceOutOfMemory(8 * (number + 1)) from error
        except ValueError:
            needed, fix = f"bins that f64 tells apart from {ends}", "pass fewer bins, or a wider `range`"
            raise InvalidInput("bins", needed=needed, got=str(number), fix=fix) from None
    needed, fix = (
        "a number of bins, or their ascending edges",
        "pass an integer, or a vector that numpy.sort has sorted",
    )
    refuse_missing("bins", bins)
    try:
        edges = np.array(bins, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("bins", needed=needed, got=shown(bins), fix=fix) from None
    if edges.ndim != 1 or not edges.size:
        raise InvalidInput("bins", needed=needed, got=f"an array of the shape {edges.shape}", fix=fix)
    is_wrong = ~(edges[:-1] <= edges[1:])
    if is_wrong.any():
        at = int(is_wrong.argmax())
        raise InvalidInput("bins", needed=needed, got=f"{edges[at]}, and {edges[at + 1]} after it", fix=fix)
    return edges


def _ends_of_bins(range: tuple[float, float] | None, array: Array, backend: Backend) -> tuple[float, float] | None:
    """The first and the last edge of bins of equal width; None for those that NumPy takes for no elements."""
    if range is None and not array.size:
        return None
    if range is None:
        array = known(array, fix="pass range=(first, last), with the ends of the bins")
        lowest, highest = map(float, _ends(array, backend))
        if isfinite(lowest) and isfinite(highest) and not isfinite(highest - lowest):
            needed, got = "elements whose difference f64 has", f"elements from {lowest} to {highest}"
            raise InvalidInput("x", needed=needed, got=got, fix="scale the elements, or pass the edges as `bins`")
        if not (isfinite(lowest) and isfinite(highest)):
            needed, got = "finite elements, as no `range` is passed", f"elements from {lowest} to {highest}"
            raise InvalidInput("x", needed=needed, got=got, fix="pass range=(first, last), with the ends of the bins")
        return lowest, highest
    needed, fix = "two finite numbers, the first and the last edge", "pass the lower one first"
    try:
        first, last = map(float, range)
    except (TypeError, ValueError):
        raise InvalidInput("range", needed=needed, got=shown(range), fix=fix) from None
    if not (isfinite(first) and isfinite(last) and first <= last):
        raise InvalidInput("range", needed=needed, got=f"{first} and {last}", fix=fix)
    if not isfinite(last - first):
        needed, fix = "two numbers whose difference f64 has", "pass the edges as `bins`"
        raise InvalidInput("range", needed=needed, got=f"{first} and {last}", fix=fix)
    return first + 0.0, last + 0.0  # −0 and +0 are one key of the cache


@lru_cache(maxsize=64)
def _equal_bins(bins: int, range: tuple[float, float] | None) -> HostArray:
    edges = np.histogram_bin_edges(np.zeros(0), bins, range)
    if (edges[1:] <= edges[:-1]).any():  # which NumPy 2.0 does not refuse
        raise ValueError
    return edges


def _ends(array: Array, backend: Backend) -> tuple[Any, Any]:
    """The least and the greatest element, for the host."""
    if not isinstance(array, np.ndarray):
        return least_of(array, backend=backend).item(), greatest(array, backend=backend).item()
    return array.min().item(), array.max().item()


def _table(edges: HostArray, dtype: DType) -> tuple[bool, HostArray]:
    """Whether bins are guessed, as those of nearly equal width are, and the table of the edges.

    The table has, for each edge, the least number that belongs above it, of the type in which elements are compared;
    NaN if there is none. For a guess it has what this needs before them, and behind them elements for all that it may
    be.
    """
    bins = edges.size - 1
    compared = _compared(dtype).numpy
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        least_above = edges.astype(compared)
        least_above = np.where(least_above < edges, np.nextafter(least_above, compared.type(np.inf)), least_above)
        if least_above[-1] == edges[-1]:  # the last edge belongs below
            above = np.nextafter(least_above[-1], compared.type(np.inf))
            least_above[-1] = above if above > least_above[-1] else np.nan
        guess = np.array([least_above[0], compared.type(bins) / (least_above[-1] - least_above[0]), bins], compared)
        if bins > LIMIT or not _is_near(guess, least_above):
            return False, least_above
        most = next((private for private in PRIVATE if bins <= private), 0)
        return True, np.concatenate([guess, least_above, np.zeros(max(0, 2 * most - edges.size), compared)])


@lru_cache(maxsize=64)
def _known_table(edges: bytes, dtype: DType) -> tuple[bool, HostArray]:
    """`_table` of few edges, given as the bytes of their f64, computed once."""
    return _table(np.frombuffer(edges, np.float64), dtype)


def _is_near(guess: HostArray, edges: HostArray) -> bool:
    """Whether the guess is right or one too high for all numbers: as it never falls, those beside edges show it."""
    first, scale, most = guess
    below = np.nextafter(edges, -np.inf, dtype=edges.dtype)
    lowest, highest = (np.rint(np.clip((numbers - first) * scale, 0, most)) for numbers in (edges, below))
    number = np.arange(edges.size)
    is_empty = edges[:-1] == edges[1:]
    is_right = (lowest[:-1] >= number[:-1]) & (highest[1:] <= number[1:])
    is_outside = highest[0] == 0 and lowest[-1] == most
    return bool(is_outside and np.isfinite(guess).all() and (is_empty | is_right).all())


def _compared(dtype: DType) -> DType:
    """The type in which elements are compared with edges: f32 if it has all of them."""
    return f32 if dtype is f32 or dtype.bits <= 16 else f64


def count_bins(binning: Binning, array: Array, table: Array, bins: int, backend: Backend) -> Array:
    """The counts of the elements of an array in bins, as u32."""
    if not array.size or not bins:
        return zeros_beside(array, (bins,), u32)
    most = next((private for private in PRIVATE if bins <= private), None)
    # What a launch over arrays of a device changes is copied first; few zeros are uploaded in less time.
    is_few = most is not None and not isinstance(array, RecordedRange)
    counts = np.zeros(bins, np.uint32) if is_few else zeros_beside(array, (bins,), u32)
    given: dict[str, object] = {"x": array, "table": table, "counts": counts}
    kinds = (binning, type_of(array), type_of(table))
    if most is None and binning is _of_number and array.size >= BUCKETED and runs_loops([array], backend):
        return count_in_buckets(array, counts, backend)
    if most is None:
        return launch(_shared(*kinds), given, -(-array.size // GROUP), backend)["counts"]
    if has_lanes([array], backend):
        counting, chunk = _workgroup(*kinds, most), max(PER_LANE * max(most, LANES), -(-array.size // GROUPS))
    else:
        chunk = max(PER_BIN * most, -(-array.size // CHUNKS))
        counting = _private(*kinds, most, 1 << (chunk - 1).bit_length())
    given["chunk"] = words(chunk)
    return launch(counting, given, -(-array.size // chunk), backend)["counts"]


def count_in_buckets(array: Array, counts: Array, backend: Backend) -> Array:
    """The counts of numbers, which move to the buckets of their leading digits first: one invocation counts a bucket.

    So no addition is atomic, and a cache holds the counts of a bucket.
    """
    key_type = KeyType(u32, KeyOrder.UNSIGNED)
    shift = max(0, (counts.size - 1).bit_length() - DIGIT)
    given, bounds = bounds_of_buckets(array.astype(np.uint32, copy=False), key_type, shift, backend)
    keys = move_to_buckets(key_type, given, backend)["moved"]
    arrays = {"keys": keys, "bounds": bounds, "counts": counts}
    return launch(_buckets(), arrays, bounds.size - 1, backend)["counts"]


@lru_cache(maxsize=1)
def _buckets() -> Program:
    """Each invocation counts the keys of a bucket, which no other bucket has."""
    with program("count_buckets", 1) as p:
        keys, bounds, counts = p.read("keys", u32), p.read("bounds", u32), p.read_write("counts", u32)
        first, last = p.let(bounds[p.global_id(0)]), p.let(bounds[p.global_id(0) + 1])
        with p.range(first, least(last, keys.length)) as k:
            number = p.let(keys[k])
            counts[number] = counts[number] + 1
    return p.build()


def _of_number(p: ProgramBuilder, element: Value, table: Buffer, most: int) -> Value:
    dtype = element.dtype
    if dtype.bits < 64:
        return element.cast(u32)
    bits = p.let(element.bitcast(u64))
    return select(bits < 1 << 32, bits.cast(u32), constant(u32, u32.highest))


def _near_guess(p: ProgramBuilder, element: Value, table: Buffer, most: int) -> Value:
    """The bin as if all had equal width, or the one before it, which the edge between them says."""
    dtype = table.dtype
    first, scale, bins = p.let(table[0]), p.let(table[1]), p.let(table[2])
    value = p.let(element.cast(dtype))
    place = p.let((value - first) * scale)
    place = p.let(select(place > 0, place, constant(dtype, 0)))
    place = p.let(select(place < bins, place, bins))
    # The sum has no bits below 1: it is rounded to the nearest, and its lowest bits are the number.
    guess = p.let((place + ROUNDING[dtype]).bitcast(dtype.unsigned).cast(u32) & (2 * most - 1))
    return guess - select(table[guess + 3] <= value, constant(u32, 0), constant(u32, 1))


@lru_cache(maxsize=256)
def _between_edges(dtype: DType, compared: DType, number: DType) -> Program:
    """The bin of each element, of the type `number`: the last edge that is not above it, found by halves."""
    with program("bins_between_edges", GROUP) as p:
        x, edges = p.read("x", dtype), p.read("edges", compared)
        bins = p.write("bins", number, like=x)
        value = p.let(x[p.global_id(0)].cast(compared))
        low, high = p.var(0, u32), p.var(edges.length)
        with p.range(32 - clz(edges.length)):
            middle = p.let((low + high) >> 1)
            is_below = p.let((low < high) & (edges[middle] <= value))
            low.set(select(is_below, middle + 1, low))
            high.set(select(is_below, high, middle))
        bins[p.global_id(0)] = (low.get() - 1).cast(number)  # below the first edge the greatest, which no bin has
    return p.build()


def _declared(p: ProgramBuilder, dtype: DType, table: DType) -> Mapping[str, Buffer]:
    return {
        "x": p.read("x", dtype),
        "table": p.read("table", table),
        "counts": p.read_write("counts", u32),
    }


@lru_cache(maxsize=256)
def _private(binning: Binning, dtype: DType, table: DType, bins: int, longest: int) -> Program:
    """Each invocation counts a chunk of `longest` elements at most on its own, and adds what it has found."""
    with program("count_private", 1) as p:
        given = _declared(p, dtype, table)
        x, counts, chunk = given["x"], given["counts"], p.uniform("chunk", u32, 1)
        tables = TABLES[bins]
        own = p.private("own", u32, bins * tables)
        first = p.let(p.global_id(0) * chunk[0])
        # `longest` bounds the loops for the estimate, which does not know the uniform.
        last = p.let(least(first + least(chunk[0], longest), x.length))
        rest = p.let(first + least(last - first, longest) // AT_ONCE * AT_ONCE)
        with p.range(first, rest, AT_ONCE) as k:
            found = [p.let(binning(p, x[k + n], given["table"], bins)) for n in range(AT_ONCE)]
            for n, number in enumerate(found):
                _count_in(p, own, number, bins, n % tables)
        with p.range(rest, least(rest + AT_ONCE, last)) as k:
            _count_in(p, own, p.let(binning(p, x[k], given["table"], bins)), bins, 0)
        with p.range(0, counts.length) as index:
            counted = p.let(reduce(add, [own[index + bins * table] for table in range(tables)]))
            with p.if_(counted != 0):
                counts.atomic_add(index, counted)
    return p.build()


def _count_in(p: ProgramBuilder, own: Buffer, number: Value, bins: int, table: int) -> None:
    """Count an element in one of the tables, if its number is one of a bin."""
    with p.if_(number < bins):
        place = p.let(number + bins * table)
        own[place] = own[place] + 1


@lru_cache(maxsize=256)
def _workgroup(binning: Binning, dtype: DType, table: DType, bins: int) -> Program:
    """The invocations of a workgroup count a chunk in its memory, and add what they have found."""
    with program("count_workgroup", LANES) as p:
        given = _declared(p, dtype, table)
        x, counts, chunk = given["x"], given["counts"], p.uniform("chunk", u32, 1)
        own, lane = p.workgroup("own", u32, bins), p.local_id(0)
        first = p.let(p.workgroup_id(0) * chunk[0])
        last = p.let(least(first + chunk[0], x.length))
        with p.range(first + lane, last, LANES) as k:
            number = p.let(binning(p, x[k], given["table"], bins))
            with p.if_(number < bins):
                own.atomic_add(number, 1)
        p.barrier()
        with p.range(lane, least(bins, counts.length), LANES) as index:
            counted = p.let(own[index])
            with p.if_(counted != 0):
                counts.atomic_add(index, counted)
    return p.build()


@lru_cache(maxsize=256)
def _shared(binning: Binning, dtype: DType, table: DType) -> Program:
    """Each element adds to the result."""
    with program("count_shared", GROUP) as p:
        given = _declared(p, dtype, table)
        i = p.global_id(0)
        with p.if_(i < given["x"].length):
            given["counts"].atomic_add(binning(p, given["x"][i], given["table"], LIMIT), 1)
    return p.build()
