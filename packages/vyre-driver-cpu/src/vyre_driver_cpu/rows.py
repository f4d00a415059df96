"""Short loops over rows of adjacent elements are written out, so that vectors can access whole rows.

::

    for lane in 0..256 { for k in 0..16 { total = total + x[lane * 16 + k]; } }

The rows of a vector of invocations are then loaded in pieces and transposed (see `vector_values`).
"""

from __future__ import annotations

from dataclasses import replace

from vyre_driver_cpu.bounds import UpperBounds
from vyre_driver_cpu.lanes import VectorLanes
from vyre_driver_cpu.vector_values import ROWS, is_far
from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import renamed
from vyre_foundation.ir.stmt import Assign, Body, For, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import expressions, postorder, rewrite, rewrite_body, statements, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.validate.declared import declared_locals

WIDTH = 16
"""Lanes of a vector; what is a row for so many is one for others, too."""


def write_out_rows(program: Program) -> Program:
    """``for k in 0..8: f(x[i * 8 + k])``  →  ``f(x[i * 8]); f(x[i * 8 + 1]); …``, in loops over invocations."""
    lets = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
    mutable = frozenset(s.name for s in statements(program.body) if isinstance(s, Var))
    fresh = Fresh.of(program)

    def each(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or not stmt.is_parallel:
            return stmt
        stmt = _with_uniform_counters(stmt, fresh)
        rows = [s for s in stmt.body if isinstance(s, For) and _is_short(s)]
        if not rows:
            return stmt
        lanes = VectorLanes(stmt, WIDTH, lets, mutable, UpperBounds(lets))
        found = {id(s) for s in rows if _walks_along_rows(s, lanes)}
        body: list[Stmt] = []
        for inner in stmt.body:
            body += _written_out(inner, fresh) if isinstance(inner, For) and id(inner) in found else (inner,)
        return replace(stmt, body=tuple(body)) if found else stmt

    body = rewrite_body(program.body, each)
    return program if body is program.body else replace(program, body=body)


def _with_uniform_counters(loop: For, fresh: Fresh) -> For:
    """Count loops that begin at the invocation, and go on by their number, for all invocations at once.

    ``for i in 0..256 { for k in i..512 step 256 { … } }``  →  ``… { for n in 0..512 step 256 { let k = n + i; … } }``
    """
    lane = Local(loop.name, loop.start.dtype)

    def each(stmt: Stmt) -> Stmt:
        match stmt:
            case For(name, start, Literal() as stop, step, body) if (
                start is lane and step == loop.trip_count and not loop.start.bits and not stop.bits % step  # type: ignore[attr-defined]
            ):
                first = Local(fresh(name), lane.dtype)
                k = Let(name, Apply(OPS["add"], first, lane))
                return For(first.name, literal(lane.dtype, 0), stop, step, (k, *body))
            case _:
                return stmt

    return replace(loop, body=rewrite_body(loop.body, each))


def _is_short(loop: For) -> bool:
    if loop.is_parallel or loop.trip_count not in ROWS:
        return False
    return all(isinstance(s, (Let, Var, Assign, Store)) for s in loop.body)


def _walks_along_rows(loop: For, lanes: VectorLanes) -> bool:
    """Whether a loop accesses elements that are side by side from iteration to iteration, and far from lane to lane."""
    indices: list[Expr] = [s.index for s in loop.body if isinstance(s, Store)]
    indices += [n.index for n in postorder(e for s in loop.body for e in expressions(s)) if isinstance(n, Load)]
    counter = Local(loop.name, loop.start.dtype)
    for index in indices:
        match index:
            case Apply(op, (root, last)) if op.id == "add" and last in (counter, Cast(root.dtype, counter)):
                if is_far(root, lanes):
                    return True
    return False


def _written_out(loop: For, fresh: Fresh) -> Body:
    """All iterations, one behind the other."""
    out: list[Stmt] = []
    assert isinstance(loop.start, Literal)
    for n in range(loop.trip_count or 0):
        count = literal(loop.start.dtype, loop.start.bits + n * loop.step)
        body = renamed(loop.body, {name: fresh(name) for name in declared_locals(loop.body)}, {loop.name: count})
        memo: dict[Expr, Expr] = {}
        out += [with_expressions(stmt, lambda e, memo=memo: rewrite(e, _folded, memo)) for stmt in body]  # type: ignore[misc]
    return tuple(out)


def _folded(node: Expr) -> Expr:
    match node:
        case Cast(dtype, Literal() as value) if value.dtype.is_integer and 0 <= value.bits <= dtype.highest:
            return literal(dtype, value.bits)
        case Apply(op, (root, Literal(bits=0))) if op.id == "add" and root.dtype.is_integer:
            return root
        case _:
            return node
