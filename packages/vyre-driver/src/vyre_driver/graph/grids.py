"""Programs whose grid is read from a buffer, launched over the largest grid that it can be: nothing waits for the host.

The workgroups of the largest grid that are not in the grid of the buffer do nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from vyre_driver.backend.config import Extent
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_foundation.dtype import u32
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import PerLaunch
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Load, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, If, Stmt, Trap
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.validate import InvalidProgram

TAG = "largest_grid"
"""The tag of the trap for a grid that is larger."""


def over_largest_grid(program: Program, largest: Extent) -> Program:
    """Rewrite a program whose grid is read from a buffer for launches over a fixed grid.

    Args:
        program: A valid program with an `indirect_dispatch`.
        largest: The largest grid that the buffer may hold.

    Returns:
        A program without it, to be launched over `largest`: the workgroups within the grid of the buffer do what they
        did before, the others nothing. It traps if the grid is larger on an axis.

    Raises:
        BuildError: The program has no grid in a buffer, or cannot be rewritten.
    """
    stmt = find_indirect_dispatch(program)
    if stmt is None:
        fix = "leave largest_grid out"
        raise BuildError("it does not read its grid from a buffer", fix=fix, where=f"program {program.name!r}")
    grid = [Load(stmt.buffer, literal(u32, stmt.offset + axis)) for axis in range(3)]
    memo: dict[Expr, Expr] = {}

    def node(expr: Expr) -> Expr:
        return grid[expr.axis] if isinstance(expr, Id) and expr.kind is IdKind.NUM_WORKGROUPS else expr

    def statement(one: Stmt) -> Stmt | Body:
        return () if one is stmt else with_expressions(one, lambda expr: rewrite(expr, node, memo))

    body = rewrite_body(program.body, statement)
    inside = _all([Apply(OPS["lt"], Id(IdKind.WORKGROUP_ID, axis), grid[axis]) for axis in range(3)])
    first = _all([Apply(OPS["eq"], Id(IdKind.GLOBAL_ID, axis), literal(u32, 0)) for axis in range(3)])
    traps = tuple(
        If(Apply(OPS["gt"], grid[axis], literal(u32, largest[axis])), (Trap(grid[axis], TAG),)) for axis in range(3)
    )
    result = replace(program, body=(If(first, traps), If(inside, body)))
    is_sized_by_launch = any(isinstance(buffer.count, PerLaunch) for buffer in program.buffers)
    try:
        result.validate()
    except InvalidProgram as error:
        raise _not_possible(program, str(error.findings[0])) from None
    if is_sized_by_launch:
        raise _not_possible(program, "it has scratch memory that grows with the launch")
    return result


def _all(conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: Apply(OPS["and"], a, b), conditions)


def _not_possible(program: Program, reason: str) -> BuildError:
    message = f"it cannot be launched over a largest grid: {reason}"
    return BuildError(message, fix="leave largest_grid out", where=f"program {program.name!r}")
