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
    contiguous,
    count,
    known,
    type_of,
    vector,
)
from vyre_algorithms.launches import counted_up, launch, slots_beside, words, zeros_beside
from vyre_algorithms.move import places_below, take
from vyre_algorithms.order import bits_of, bits_type
from vyre_algorithms.reductions import sum as sum_of
from vyre_algorithms.scans import scan
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput
from vyre_foundation import DType, Program, program, u32
from vyre_foundation.dtype import bool_

GROUP = 64
FEW = 16
"""The most repetitions whose number is part of a program."""


def repeat(x: object, /, repeats: object, axis: int | None = None, *, backend: Backend = None) -> Array:
    """Repeat elements, each behind itself; so `repeat(runs.values, runs.lengths)` is the opposite of `run_length`.

    Args:
        x: An array of any type.
        repeats: How often: an integer for all, or an array of integers with one for each element of the axis.
        axis: The axis that the elements are of, or None for the elements of the array in row-major order.
        backend: As for `vyre.run`.

    Returns:
        An array with one axis, or with an axis, in the shape of `x` but for its length on that axis.

    Raises:
        InvalidInput: A count is negative, there are not as many as elements, the result is too large, or an argument is
            of another kind.
    """
    array = array_of(x)
    if axis is None:
        array, which = contiguous(array).reshape(-1), 0
    else:
        which = axis_of(axis, array.ndim)
    length = array.shape[which]
    if np.ndim(repeats) == 0:  # type: ignore[arg-type]
        each: Array = count(repeats, "repeats")
        total = length * each
    else:
        each = _counts(repeats, length, backend)
        total = int(sum_of(each, backend=backend).item())
    shape = (*array.shape[:which], total, *array.shape[which + 1 :])
    size = math.prod(shape)
    if size >= MOST:
        fix = "repeat parts of the array"
        raise InvalidInput("repeats", needed=f"fewer than {MOST} elements in all", got=str(size), fix=fix)
    if not size:
        return zeros_beside(array, shape, type_of(array))
    if isinstance(each, int) and which == array.ndim - 1:
        return _all_repeated(array, each, size, backend).reshape(shape)
    is_known = isinstance(each, (int, np.ndarray))
    places = _places(length, each, total) if is_known else places_by_scan(each, total, backend)
    return take(array, places, backend, which)


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
        "x": bits_of(contiguous(array), dtype).reshape(-1),
        "number": words(number),
        "slots": slots_beside(array, size),
    }
    made = _repeated(bits_type(dtype), number if number <= FEW else None)
    return launch(made, given, -(-size // GROUP), backend)["out"].view(dtype.numpy)


@lru_cache(maxsize=64)
def _repeated(bits: DType, few: int | None) -> Program:
    """Each element ``number`` times; a program states few, because compilers divide by a constant in less time."""
    with program("repeat", GROUP) as p:
        x, number, slots = p.read("x", bits), p.uniform("number", u32, 1), p.read("slots", bool_)
        out = p.write("out", bits, like=slots)
        i = p.global_id(0)
        out[i] = x[i // (few or number[0])]
    return p.build()


def _places(length: int, counts: int | HostArray, total: int) -> HostArray:
    """Which element of the axis each one of the result is."""
    try:
        return np.repeat(counted_up(length), counts)
    except MemoryError as error:
        raise DeviceOutOfMemory(4 * total) from error


def places_by_scan(counts: Array, total: int, backend: Backend) -> Array:
    """The same by counts on a device: elements put their numbers where they begin, and the greatest so far counts."""
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
