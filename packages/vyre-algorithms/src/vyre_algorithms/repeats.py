"""Repeating elements: all as often, or each as often as an array says."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import (
    MOST,
    Array,
    Backend,
    HostArray,
    array_of,
    axis_of,
    count,
    flattened,
    known,
    type_of,
    vector,
)
from vyre_algorithms.choose import FEW_IN_LOOPS, long_chunk
from vyre_algorithms.launches import counted_up, launch, runs_loops, slots_beside, words, zeros_beside
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.move import places_below, take
from vyre_algorithms.order import bits_of, bits_type, of_bits
from vyre_algorithms.reductions import sum as sum_of
from vyre_algorithms.scans import scan, scan_rows
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput
from vyre_foundation import DType, LengthOf, Program, program, u32
from vyre_foundation.dtype import bool_
from vyre_foundation.functions import min as least

GROUP = 64
FEW = 16
"""The most repetitions whose number is part of a program."""
AT_ONCE = 4
"""Elements that are written whatever the count is: the next element takes the places that are too many."""


def repeat(x: object, /, repeats: object, axis: int | None = None, *, backend: Backend = None) -> Array:
    """Repeat each element in place; `repeat(runs.values, runs.lengths)` is the inverse of `run_length`.

    Args:
        x: An array of any type.
        repeats: The number of repetitions: an integer for all, or an array with an integer for each element of the
            axis.
        axis: The axis of the elements, or None for the elements of the array in row-major order.
        backend: As for `vyre.run`.

    Returns:
        An array with one axis; with `axis`, one in the shape of `x` except for its length on that axis.

    Raises:
        InvalidInput: A count is negative, the number of counts is wrong, the result is too large, or an argument is
            invalid.
    """
    array = array_of(x)
    if axis is None:
        array, which = flattened(array), 0
    else:
        which = axis_of(axis, array.ndim)
    length = array.shape[which]
    if np.ndim(repeats) == 0:  # type: ignore[arg-type]
        each: Array = count(repeats, "repeats")
        total = length * each
    else:
        each = _counts(repeats, length, backend)
        total = _total(each, backend)
    shape = (*array.shape[:which], total, *array.shape[which + 1 :])
    size = math.prod(shape)
    if size >= MOST:
        fix = "repeat parts of the array"
        raise InvalidInput("repeats", needed=f"fewer than {MOST} elements in all", got=str(size), fix=fix)
    if not size:
        return zeros_beside(array, shape, type_of(array))
    if isinstance(each, int) and which == array.ndim - 1:
        return _all_repeated(array, each, size, backend).reshape(shape)
    if isinstance(each, int):
        places: Array = _places(length, each, total)
    elif not runs_loops([array, each], backend):
        places = places_by_scan(each, total, backend)
    elif array.ndim == 1:
        dtype, chunk = type_of(array), _chunk(length)
        return of_bits(repeat_by_chunks(bits_of(flattened(array), dtype), each, total, chunk, backend), dtype)
    else:
        places = repeat_by_chunks(None, each, total, _chunk(length), backend)
    return take(array, places, backend, which)


def _total(counts: Array, backend: Backend) -> int:
    """The sum of counts, for the host, where those of few take less time than a launch."""
    if isinstance(counts, np.ndarray) and counts.size <= FEW_IN_LOOPS:
        return int(counts.sum(dtype=np.uint64))
    total: int = sum_of(counts, backend=backend).item()
    return total


def _counts(repeats: object, length: int, backend: Backend) -> Array:
    """How often each element is repeated, as u32."""
    counts = known(vector(repeats, "repeats"), "repeats")
    if counts.size != length:
        needed, got = f"{length} counts, one for each element", str(counts.size)
        raise InvalidInput(
            "repeats", needed=needed, got=got, fix="pass a count for each element, or an integer for all"
        )
    return places_below(counts, MOST, "repeats", "pass 0 for an element that is left out", backend)


def _all_repeated(array: Array, number: int, size: int, backend: Backend) -> Array:
    """The `size` elements of a vector in which each element of an array is repeated as often."""
    dtype = type_of(array)
    given = {
        "x": bits_of(flattened(array), dtype),
        "number": words(number),
        "slots": slots_beside(array, size),
    }
    made = _repeated(bits_type(dtype), number if number <= FEW else None)
    return of_bits(launch(made, given, -(-size // GROUP), backend)["out"], dtype)


@lru_cache(maxsize=64)
def _repeated(bits: DType, few: int | None) -> Program:
    """Each element ``number`` times; a program states few, because compilers divide by a constant in less time."""
    with program("repeat", GROUP) as p:
        x, number, slots = p.read("x", bits), p.uniform("number", u32, 1), p.read("slots", bool_)
        out = p.write("out", bits, like=slots)
        i = p.global_id(0)
        out[i] = x[i // (few or number[0])]
    return p.build()


def _places(length: int, number: int, total: int) -> HostArray:
    """Which element of the axis each one of the result is."""
    try:
        return np.repeat(counted_up(length), number)
    except MemoryError as error:
        raise DeviceOutOfMemory(4 * total) from error


def _chunk(size: int) -> int:
    """Elements that an invocation repeats, of `size` in all."""
    return FEW_IN_LOOPS if size <= FEW_IN_LOOPS else long_chunk(size)


def repeat_by_chunks(bits: Array | None, counts: Array, total: int, chunk: int, backend: Backend) -> Array:
    """Elements as often as counts say, `total` in all, or their numbers: an invocation writes those of a chunk."""
    chunks, starts = -(-counts.size // chunk), words(0, total)
    given: dict[str, object] = {"counts": counts}
    if chunks > 1:
        sums = launch(_sums(chunk), given, chunks + 1, backend)["sums"]
        (starts,) = scan_rows(reduction_of("sum", u32, u32), [sums], chunks + 1, True, backend)
    given |= {"starts": starts, "slots": slots_beside(counts, total)}
    if bits is not None:
        given["x"] = bits
    made = _repeated_by(None if bits is None else type_of(bits), chunk)
    return launch(made, given, chunks, backend)["out"]


@lru_cache(maxsize=64)
def _sums(chunk: int) -> Program:
    """The sum of the counts of each chunk, and 0 last, which a scan makes their sum."""
    with program("repeat_sums", 1) as p:
        counts = p.read("counts", u32)
        sums, total = p.write("sums", u32, LengthOf("counts", over=chunk, plus=1)), p.var(0, u32)
        first = p.let(least(p.global_id(0) * chunk, counts.length))
        with p.range(first, least(first + chunk, counts.length)) as k:
            total += counts[k]
        sums[p.global_id(0)] = total
    return p.build()


@lru_cache(maxsize=64)
def _repeated_by(bits: DType | None, chunk: int) -> Program:
    """Each element as often as its count says, from where the scanned sums say; its number if it has no `bits`."""
    with program("repeat_by_counts", 1) as p:
        counts, starts = p.read("counts", u32), p.read("starts", u32)
        x = None if bits is None else p.read("x", bits)
        p.read("slots", bool_)
        out = p.write("out", bits or u32, LengthOf("slots"))
        first = p.let(p.global_id(0) * chunk)
        place, end = p.var(starts[p.global_id(0)]), p.let(starts[p.global_id(0) + 1])
        with p.range(first, least(first + chunk, counts.length)) as k:
            element, number, begin = p.let(k if x is None else x[k]), p.let(counts[k]), p.let(place.get())
            with p.if_(begin + AT_ONCE <= end):
                for offset in range(AT_ONCE):
                    out[begin + offset] = element
                with p.if_(number > AT_ONCE), p.range(AT_ONCE, least(number, out.length)) as more:
                    out[begin + more] = element
            with p.else_(), p.range(least(number, AT_ONCE)) as n:
                out[begin + n] = element
            place.set(begin + number)
    return p.build()


def places_by_scan(counts: Array, total: int, backend: Backend) -> Array:
    """Which element each one of the result is: elements put their numbers where they begin, the greatest so far counts.

    It takes more launches than chunks, and is for invocations that run side by side.
    """
    given = {
        "counts": counts,
        "starts": scan(counts, exclusive=True, dtype=u32, backend=backend),
        "marks": zeros_beside(counts, (total,), u32),
    }
    marks = launch(_marks(), given, -(-counts.size // GROUP), backend)["marks"]
    return scan(marks, "max", backend=backend)


@lru_cache(maxsize=1)
def _marks() -> Program:
    """The number of each element where its repetitions begin, if it has any."""
    with program("repeat_marks", GROUP) as p:
        counts, starts, marks = p.read("counts", u32), p.read("starts", u32), p.read_write("marks", u32)
        i = p.global_id(0)
        with p.if_((i < counts.length) & (counts[i] != 0)):
            marks[starts[i]] = i
    return p.build()
