"""Indirect dispatch: the grid is in an input, from which the host reads it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from vyre_driver.backend.received import validated
from vyre_driver.device.profile import Extent
from vyre_driver.errors import InvalidInput
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import IndirectDispatch as IndirectDispatch, Region


def find_indirect_dispatch(program: Program) -> IndirectDispatch | None:
    """Return the statement that names the buffer of the grid, or None. A valid program has at most one, the first."""
    body = program.body
    while body and isinstance(body[0], Region):
        body = body[0].body
    return body[0] if body and isinstance(body[0], IndirectDispatch) else None


def read_indirect_grid(program: Program, inputs: Sequence[memoryview]) -> Extent | None:
    """Return the grid from the inputs in binding order; None for a program without an indirect dispatch."""
    stmt = find_indirect_dispatch(program)
    if stmt is None:
        return None
    position = next((n for n, buffer in enumerate(program.inputs) if buffer is stmt.buffer), None)
    if position is None:
        validated(program)  # raises, as the grid is in no input
        return None
    words = memoryview(inputs[position]).cast("B") if position < len(inputs) else memoryview(b"")
    start, stop = 4 * stmt.offset, 4 * stmt.offset + 12
    if len(words) < stop:
        needed = f"three u32 words of the grid at elements {stmt.offset} … {stmt.offset + 2}"
        raise InvalidInput(stmt.buffer.name, needed=needed, got=f"{len(words)} bytes")
    x, y, z = struct.unpack("<3I", words[start:stop])
    return x, y, z
