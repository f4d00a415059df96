"""Programs that read, write and convert the elements of arrays, on the device.

A workgroup moves a part of a long axis of a view, so that places are computed for a workgroup and not for each element.
Where the last axis of the memory is another one than that of the view, as in a transpose, an invocation moves a piece
of it: neighbours in memory, which belong to rows of the view that follow each other. So lines of memory are read once
and written whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.plan.moves import WORDS, WORKGROUP, grid_of
from vyre_driver.plan.strides import contiguous_strides
from vyre_foundation.build import Array, ProgramBuilder, Value, constant, program
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.program import Program

LONG = 16
"""Elements of an axis from which workgroups have parts of it."""
PIECE = 8
"""Neighbours in memory that an invocation moves, where another axis than the last is contiguous."""

Number = TypeVar("Number", int, Value)


class ViewCopy(NamedTuple):
    """A copy from or to a view: a program over ``source``, the uniform ``layout`` and ``target``, and its options."""

    program: Program
    layout: npt.NDArray[np.uint32]
    config: DispatchConfig


class ViewAxis(NamedTuple, Generic[Number]):
    """An axis of a view: its length, and the distance of neighbours in the view's memory and in the order of indices.

    A negative stride is its two's complement in programs: u32 wraps.
    """

    length: Number
    stride: Number
    flat: Number


@lru_cache(maxsize=1024)
def gather(size: int, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> ViewCopy:
    """Copy the elements of a view to ``target`` in the order of its indices.

    Args:
        size: The bytes of an element.
        start: The position of the first element.
        shape: The lengths of the axes, none of which is 0.
        strides: The distance of neighbours on each axis, in elements.
    """
    return _move(size, start, shape, strides, is_gather=True)


@lru_cache(maxsize=1024)
def scatter(size: int, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> ViewCopy:
    """Copy ``source`` to the elements of a view of ``target``, as `gather` reads them."""
    return _move(size, start, shape, strides, is_gather=False)


def _move(size: int, start: int, shape: tuple[int, ...], strides: tuple[int, ...], *, is_gather: bool) -> ViewCopy:
    axes = _joined(shape, strides)
    long = [axis for axis in axes if axis.length >= LONG and 1 in (axis.flat, axis.stride)]
    row = long[-1] if long else axes[-1]
    others = [axis for axis in axes if axis is not row]
    pieces = next((axis for axis in others if axis.stride == 1 and axis.length >= PIECE), None)
    parts = -(-row.length // WORKGROUP)
    if not long:
        made, grid = _elements(size, len(axes), is_gather), grid_of(math.prod(shape))
    elif pieces is None or row.flat != 1:
        axes = [*others, row]
        made = _rows(size, len(axes), (row.stride == 1, row.flat == 1), is_gather)
        grid = (parts * math.prod(axis.length for axis in others), 1, 1)
    else:
        axes = [*(axis for axis in others if axis is not pieces), pieces, row]
        made = _pieces(size, len(axes), is_gather)
        grid = (parts * -(-pieces.length // PIECE) * math.prod(axis.length for axis in axes[:-2]), 1, 1)
    layout = np.array([number % 2**32 for number in (start, *(n for axis in axes for n in axis))], np.uint32)
    return ViewCopy(made, layout, DispatchConfig(grid_override=grid))


def _joined(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[ViewAxis[int]]:
    """The axes of a view, without those of one element; two that one stride leads through are one."""
    found: list[ViewAxis[int]] = []
    for axis in map(ViewAxis, shape, strides, contiguous_strides(shape)):
        if axis.length == 1:
            continue
        if found and found[-1].stride == axis.length * axis.stride:
            axis = axis._replace(length=found.pop().length * axis.length)
        found.append(axis)
    return found or [ViewAxis(1, 1, 1)]


class _Copy:
    """The buffers of a copy. ``layout`` has the place of the first element, and the numbers of each `ViewAxis`."""

    def __init__(self, p: ProgramBuilder, size: int, axes: int, *, is_gather: bool) -> None:
        self._p, self._is_gather = p, is_gather
        self._source, self._layout = p.read("source", WORDS[size]), p.uniform("layout", u32, 1 + 3 * axes)
        self._target = p.read_write("target", WORDS[size])
        self.size = (self._target if is_gather else self._source).length
        self.axes = [ViewAxis(*(self._layout[1 + 3 * axis + n] for n in range(3))) for axis in range(axes)]

    def places(self, number: Value, axes: Sequence[ViewAxis[Value]]) -> tuple[Value, Value]:
        """Where an element lies in the memory of the view, and in the order of indices: that of a number over axes."""
        at, flat = self._layout[0], constant(u32, 0)
        for n, axis in reversed(list(enumerate(axes))):
            index = number % axis.length if n else number
            at, flat, number = at + index * axis.stride, flat + index * axis.flat, number // axis.length
        return at, flat

    def move(self, *places: tuple[Value, Value]) -> None:
        """Copy elements from places in the view to those in the order of indices, or back: all reads are first."""
        loaded = [self._p.let(self._source[at if self._is_gather else flat]) for at, flat in places]
        for (at, flat), value in zip(places, loaded, strict=True):
            self._target[flat if self._is_gather else at] = value


@cache
def _elements(size: int, axes: int, is_gather: bool) -> Program:
    """Each invocation finds its element."""
    with program(_name("elements", size, axes, is_gather), workgroup_size=WORKGROUP) as p:
        copy = _Copy(p, size, axes, is_gather=is_gather)
        i = p.global_id(0)
        with p.if_(i < copy.size):
            copy.move((copy.places(i, copy.axes)[0], i))
    return p.build()


@cache
def _rows(size: int, axes: int, is_adjacent: tuple[bool, bool], is_gather: bool) -> Program:
    """A workgroup has a part of a row: of the last axis, whose elements may be adjacent in each of the two orders."""
    way = f"rows_{'_'.join('adjacent' if each else 'apart' for each in is_adjacent)}"
    with program(_name(way, size, axes, is_gather), workgroup_size=WORKGROUP) as p:
        copy = _Copy(p, size, axes, is_gather=is_gather)
        *outer, row = copy.axes
        length, parts = p.let(row.length), p.let(_parts(row.length, WORKGROUP))
        at, flat = map(p.let, copy.places(p.workgroup_id(0) // parts, outer))
        i = p.let(p.workgroup_id(0) % parts * WORKGROUP + p.local_id(0))
        steps = [i if each else i * step for each, step in zip(is_adjacent, (row.stride, row.flat), strict=True)]
        with p.if_(i < length):
            copy.move((at + steps[0], flat + steps[1]))
    return p.build()


@cache
def _pieces(size: int, axes: int, is_gather: bool) -> Program:
    """A workgroup has a part of the last axis; an invocation moves a piece of the last but one, which is adjacent."""
    with program(_name("pieces", size, axes, is_gather), workgroup_size=WORKGROUP) as p:
        copy = _Copy(p, size, axes, is_gather=is_gather)
        *outer, adjacent, row = copy.axes
        parts, bands = p.let(_parts(row.length, WORKGROUP)), p.let(_parts(adjacent.length, PIECE))
        number = p.let(p.workgroup_id(0) // parts)
        at, flat = copy.places(number // bands, outer)
        first, step = p.let(number % bands * PIECE), p.let(adjacent.flat)
        i = p.let(p.workgroup_id(0) % parts * WORKGROUP + p.local_id(0))
        at, flat = p.let(at + first + i * row.stride), p.let(flat + first * step + i)
        with p.if_(i < row.length):
            with p.if_(first + PIECE <= adjacent.length):
                copy.move(*((at + n, flat + n * step) for n in range(PIECE)))
            with p.else_(), p.range(adjacent.length - first) as n:
                copy.move((at + n, flat + n * step))
    return p.build()


def _parts(length: Value, size: int) -> Value:
    return (length + (size - 1)) // size


def _name(way: str, size: int, axes: int, is_gather: bool) -> str:
    return f"{'gather' if is_gather else 'scatter'}_{way}_{WORDS[size]}_{axes}"


@cache
def convert(source: DType, target: DType) -> Program:
    """Convert the elements of `source` to the type of `target`."""
    with program(f"convert_{source}_{target}", workgroup_size=WORKGROUP) as p:
        given = p.read("source", source)
        made = p.write("target", target, like=given)
        made[p.global_id(0)] = given[p.global_id(0)].cast(target)
    return p.build()


def position(number: Value, layout: Array, axes: int) -> Value:
    """Where the element with this number lies; ``layout`` is what `layout_of` makes."""
    at, rest = layout[0], number
    for axis in reversed(range(axes)):
        length, stride = layout[1 + 2 * axis], layout[2 + 2 * axis]
        at = at + (rest % length) * stride
        rest = rest // length
    return at


def layout_of(start: int, shape: Sequence[int], strides: Sequence[int]) -> npt.NDArray[np.uint32]:
    """The position of the first element, and then the length and the stride of each axis, in elements."""
    numbers = [start, *(number for pair in zip(shape, strides, strict=True) for number in pair)]
    return np.array([number % 2**32 for number in numbers], np.uint32)
