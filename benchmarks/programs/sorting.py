"""A sorting network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from programs.sizes import GROUP
from vyre_foundation import Array, Program, ProgramBuilder, Value, constant, program, select, u32
from vyre_foundation.functions import max, min

LOCAL = (2 * GROUP).bit_length() - 1
"""Pairs less than 2**LOCAL apart are in one workgroup."""


def bitonic_sort(size: int) -> Program:
    """Ascending, in place; `size` is a power of two. Each invocation orders one pair a step; the grid is half of it.

    What is far apart is ordered in memory, with a wait of the whole grid behind each step; what is near, in the memory
    of the workgroup.
    """
    with program("bitonic_sort", GROUP) as p:
        data = p.read_write("data", u32, size)
        shared = p.workgroup("shared", u32, 2 * GROUP)
        with _in_workgroup(p, data, shared):
            for stage in range(1, LOCAL + 1):
                for step in reversed(range(stage)):
                    _order(p, shared, p.local_id(0), constant(u32, step), _is_up(p, constant(u32, stage)))
                    p.barrier()
        p.grid_barrier()
        with p.range(LOCAL + 1, size.bit_length()) as stage:
            is_up = _is_up(p, stage)
            with p.range(0, stage - LOCAL) as n:
                _order(p, data, p.global_id(0), stage - 1 - n, is_up)
                p.grid_barrier()
            with _in_workgroup(p, data, shared):
                for step in reversed(range(LOCAL)):
                    _order(p, shared, p.local_id(0), constant(u32, step), is_up)
                    p.barrier()
            p.grid_barrier()
    return p.build()


@contextmanager
def _in_workgroup(p: ProgramBuilder, data: Array, shared: Array) -> Iterator[None]:
    """The part of the data that the workgroup has, in its memory and back."""
    local, first = p.local_id(0), p.workgroup_id(0) * (2 * GROUP)
    for half in (0, GROUP):
        shared[local + half] = data[first + local + half]
    p.barrier()
    yield
    for half in (0, GROUP):
        data[first + local + half] = shared[local + half]


def _is_up(p: ProgramBuilder, stage: Value) -> Value:
    """Whether the run of 2**stage elements that this pair belongs to is to ascend."""
    return (p.global_id(0) >> (stage - 1)) & 1 == 0


def _order(p: ProgramBuilder, array: Array, pair: Value, step: Value, is_up: Value) -> None:
    """Put the elements 2**step apart in order."""
    first = p.let(((pair >> step) << (step + 1)) | (pair & ((constant(u32, 1) << step) - 1)))
    second = p.let(first + (constant(u32, 1) << step))
    a, b = array[first], array[second]
    array[first] = select(is_up, min(a, b), max(a, b))
    array[second] = select(is_up, max(a, b), min(a, b))


def merge_pass() -> Program:
    """Runs of `width[0]` ascending elements become runs of twice that; each invocation merges two."""
    with program("merge_pass", GROUP) as p:
        width, data = p.uniform("width", u32, 1), p.read("data", u32)
        out = p.write("out", u32, like=data)
        first = p.let(p.global_id(0) * 2 * width[0])
        middle = p.let(min(first + width[0], data.length))
        last = p.let(min(middle + width[0], data.length))
        left, right = p.var(first), p.var(middle)
        with p.range(first, last) as place:
            takes_left = p.let((left < middle) & ((right >= last) | (data[left] <= data[right])))
            out[place] = select(takes_left, data[left], data[right])
            left.set(select(takes_left, left + 1, left))
            right.set(select(takes_left, right, right + 1))
    return p.build()
