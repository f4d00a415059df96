"""The grid of an indirect dispatch is read by the host, before any kernel runs."""

from __future__ import annotations

from vyre_driver.legalization.declare import declare
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import IndirectDispatch


def drop_indirect_dispatch(program: Program) -> Program:
    """Remove the statement that the host reads the grid for.

    ``indirect_dispatch grid[0]; …``  →  ``…``; it is the first statement, or there is none.
    """
    first = program.body[:1]
    return declare(program, program.body[1:]) if first and isinstance(first[0], IndirectDispatch) else program
