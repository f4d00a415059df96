"""Loop unswitching: a uniform condition around the body of a loop over invocations is evaluated once, before the loop.

::

    for i in 0..64 { if go { x[i] = f(i); } }   →   if go { for i in 0..64 { x[i] = f(i); } }

Iterations of a graph's loop that are enqueued past its end have such a condition. Later passes match the statements
directly in a loop over invocations, so the condition would hide the rest from them.
"""

from __future__ import annotations

from dataclasses import replace

from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Expr, Literal, Load, Local
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import renamed
from vyre_foundation.ir.stmt import For, If, Stmt
from vyre_foundation.ir.walk import postorder, rewrite_body


def unswitch_loops(program: Program) -> Program:
    """Unswitch each loop over invocations whose body is one branch on a uniform condition."""
    fresh = Fresh.of(program)

    def each(stmt: Stmt) -> Stmt:
        match stmt:
            case For(name, start, body=(If(condition, then, orelse),)) if stmt.is_parallel:
                if not _is_known_before(condition, Local(name, start.dtype)):
                    return stmt
                other = fresh(name)
                loops = replace(stmt, body=then), replace(stmt, name=other, body=renamed(orelse, {name: other}, {}))
                return If(condition, *((loop,) if loop.body else () for loop in loops))
            case _:
                return stmt

    body = rewrite_body(program.body, each)
    return program if body is program.body else replace(program, body=body)


def _is_known_before(condition: Expr, counter: Local) -> bool:
    """Whether a condition does not depend on the counter, nor on memory that may change in the loop."""
    return not any(
        node is counter or (isinstance(node, Load) and _may_change(node)) for node in postorder((condition,))
    )


def _may_change(load: Load) -> bool:
    """Whether the value may change in the loop, or the index may be in bounds only within it."""
    return load.buffer.access is not Access.READ or not isinstance(load.index, Literal)
