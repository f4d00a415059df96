"""Shapes and strides, the latter in elements, of arrays of a device and of ranges of a graph."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from vyre_driver.errors import InvalidInput


@lru_cache(maxsize=1024)
def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array whose last axis is contiguous."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(1, length)
    return tuple(reversed(strides))


def reshaped(size: int, given: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """The lengths that a caller of ``reshape`` passes, as numbers or as one sequence; one of them may be -1.

    Raises:
        InvalidInput: Their product is not `size`.
    """
    if len(given) == 1:  # the usual calls
        (whole,) = given
        if type(whole) is int and whole in (-1, size):
            return (size,)
        is_plain = type(whole) is tuple and {*map(type, whole)} <= {int}
        if is_plain and math.prod(whole) == size and min(whole, default=1) > 0:  # type: ignore[arg-type]
            return whole  # type: ignore[return-value]
    lengths = _integers("shape", given)
    if lengths.count(-1) == 1:
        known = -math.prod(lengths)
        if known and size % known == 0:
            lengths = tuple(size // known if length == -1 else length for length in lengths)
    if math.prod(lengths) != size or any(length < 0 for length in lengths):
        needed = f"a shape of {size} elements"
        raise InvalidInput("shape", needed=needed, got=f"{lengths}", fix="pass lengths whose product is that")
    return lengths


def reordered(ndim: int, given: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """The order of axes that a caller of ``transpose`` names, as numbers or as one sequence; the reverse one for none.

    Raises:
        InvalidInput: An axis is missing or named twice.
    """
    axes = _integers("axes", given)
    order = tuple(axis + ndim if axis < 0 else axis for axis in axes) if given else tuple(range(ndim))[::-1]
    if sorted(order) != list(range(ndim)):
        needed = f"the numbers of all {ndim} axes"
        raise InvalidInput("axes", needed=needed, got=f"{axes}", fix="name each axis once, from the front or the end")
    return order


def _integers(name: str, given: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """What a caller passes as numbers or as one sequence of them."""
    wanted: Any = given[0] if len(given) == 1 and isinstance(given[0], Sequence) else given
    try:
        return tuple([operator.index(number) for number in wanted])
    except TypeError:
        raise InvalidInput(name, needed="integers", got=f"{tuple(wanted)}", fix="pass integers") from None


def lengths_of(given: Sequence[int]) -> tuple[int, ...]:
    """A shape that a caller passes.

    Raises:
        InvalidInput: It is not a sequence of lengths.
    """
    try:
        found = tuple([operator.index(length) for length in given])
    except TypeError:
        found = (-1,)
    if any(length < 0 for length in found):
        raise InvalidInput("shape", needed="lengths", got=f"{given}", fix="pass integers of at least 0, in a tuple")
    return found


def broadcast_strides(own: Sequence[int], strides: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """The strides that repeat the elements of the shape `own` along the axes of another, as in NumPy.

    Raises:
        InvalidInput: The shape is not one that `own` broadcasts to.
    """
    new = len(shape) - len(own)
    pairs = list(zip(own, tuple(shape)[max(new, 0) :], strict=new >= 0))
    if new < 0 or any(old not in (1, length) for old, length in pairs):
        fix = "reshape it first"
        raise InvalidInput("shape", needed=f"one that {tuple(own)} broadcasts to", got=f"{tuple(shape)}", fix=fix)
    repeated = [step if old == length else 0 for step, (old, length) in zip(strides, pairs, strict=True)]
    return (*(0 for _ in range(new)), *repeated)
