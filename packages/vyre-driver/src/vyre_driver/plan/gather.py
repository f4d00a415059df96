"""Programs that read, write and convert the elements of arrays, on the device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from vyre_driver.plan.moves import WORDS, WORKGROUP
from vyre_foundation.build import Array, Value, program
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.program import Program


@cache
def gather(size: int, axes: int) -> Program:
    """Copy the elements of a view of `axes` axes to `target` in the order of its indices; `size` is their bytes.

    ``layout`` is the position of the first element and then the length and the stride of each axis, in elements. A
    negative stride is its two's complement: u32 wraps.
    """
    word = WORDS[size]
    with program(f"gather_{word}_{axes}", workgroup_size=WORKGROUP) as p:
        source, layout = p.read("source", word), p.uniform("layout", u32, 1 + 2 * axes)
        target = p.read_write("target", word)
        i = p.global_id(0)
        with p.if_(i < target.length):
            target[i] = source[position(i, layout, axes)]
    return p.build()


@cache
def scatter(size: int, axes: int) -> Program:
    """Copy `source` to the elements of a view of `target`, as `gather` reads them."""
    word = WORDS[size]
    with program(f"scatter_{word}_{axes}", workgroup_size=WORKGROUP) as p:
        source, layout = p.read("source", word), p.uniform("layout", u32, 1 + 2 * axes)
        target = p.read_write("target", word)
        i = p.global_id(0)
        with p.if_(i < source.length):
            target[position(i, layout, axes)] = source[i]
    return p.build()


@cache
def convert(source: DType, target: DType) -> Program:
    """Convert the elements of `source` to the type of `target`."""
    with program(f"convert_{source}_{target}", workgroup_size=WORKGROUP) as p:
        given = p.read("source", source)
        made = p.write("target", target, like=given)
        made[p.global_id(0)] = given[p.global_id(0)].cast(target)
    return p.build()


def position(number: Value, layout: Array, axes: int) -> Value:
    """Where the element with this number lies."""
    at, rest = layout[0], number
    for axis in reversed(range(axes)):
        length, stride = layout[1 + 2 * axis], layout[2 + 2 * axis]
        at = at + (rest % length) * stride
        rest = rest // length
    return at


def layout_of(start: int, shape: Sequence[int], strides: Sequence[int]) -> npt.NDArray[np.uint32]:
    """The uniform ``layout`` of `gather`."""
    numbers = [start, *(number for pair in zip(shape, strides, strict=True) for number in pair)]
    return np.array([number % 2**32 for number in numbers], np.uint32)
