"""A program with another body and more buffers."""

from __future__ import annotations

from dataclasses import replace

from vyre_foundation.dtype import DType
from vyre_foundation.ir.buffer import Access, Buffer, Count, Memory
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body


def next_binding(program: Program) -> int:
    """The first binding number that no buffer of the program has."""
    return max((b.binding for b in program.buffers if b.binding is not None), default=-1) + 1


def scratch(name: str, dtype: DType, count: Count, binding: int) -> Buffer:
    """A scratch buffer that kernels read and write."""
    return Buffer(name, dtype, Access.READ_WRITE, Memory.SCRATCH, count, binding)


def workgroup_array(name: str, dtype: DType, count: int) -> Buffer:
    """An array of `count` elements in workgroup memory."""
    return Buffer(name, dtype, Access.READ_WRITE, Memory.WORKGROUP, count)


def declare(program: Program, body: Body, *added: Buffer) -> Program:
    """`program` with `body` and the buffers `added`, in the order of their bindings (itself if nothing changes)."""
    if body is program.body and not added:
        return program
    ordered = sorted((*program.buffers, *added), key=lambda b: (b.binding is None, b.binding or 0))
    return replace(program, buffers=tuple(ordered), body=body)
