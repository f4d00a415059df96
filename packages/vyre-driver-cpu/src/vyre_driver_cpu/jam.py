"""Loops that look up small elements run a few invocations at once, one value at a time.

CPUs gather no elements of 8 or 16 bits, and a lookup often waits for the one before. So invocations wait together::

    for i in 0..256 { for k in 0..64 { s = table[s * 256 + text[i * 64 + k]]; } }

becomes

    for i in 0..256 step 4 { for k in 0..64 { s0 = table[…]; s1 = table[…]; s2 = table[…]; s3 = table[…]; } }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vyre_driver_cpu.bounds import UpperBounds
from vyre_driver_cpu.lanes import VectorLanes
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Literal, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import renamed
from vyre_foundation.ir.stmt import Assign, Body, For, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import expressions, postorder, rewrite_body, statements
from vyre_foundation.ops import OPS
from vyre_foundation.validate.declared import declared_locals

BATCH = 4
"""Invocations."""


def jam_lookups(program: Program) -> Program:
    """``for i: for k: f(i, k)``  →  ``for i step 4: for k: f(i, k); …; f(i + 3, k)``, in loops that look up."""
    lets = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
    mutable = frozenset(s.name for s in statements(program.body) if isinstance(s, Var))
    fresh = Fresh.of(program)

    def each(stmt: Stmt) -> Stmt | Body:
        if not isinstance(stmt, For) or not stmt.is_parallel or stmt.start is not literal(u32, 0):
            return stmt
        if stmt.trip_count is not None and stmt.trip_count < BATCH:
            return stmt
        lanes = VectorLanes(stmt, BATCH, lets, mutable, UpperBounds(lets))
        return tuple(_jammed(stmt, fresh)) if _looks_up(stmt, lanes) else stmt

    body = rewrite_body(program.body, each)
    return program if body is program.body else replace(program, body=body)


def _looks_up(loop: For, lanes: VectorLanes) -> bool:
    """Whether the iterations of a loop in `loop` look up small elements, and all invocations run as many."""
    stmts = tuple(statements(loop.body))
    inner = [s for s in stmts if isinstance(s, For)]
    if not all(isinstance(s, (Let, Var, Assign, Store, For)) for s in stmts):
        return False
    if any(s.is_parallel or lanes.varies(s.start) or lanes.varies(s.stop) for s in inner):
        return False
    own = declared_locals(loop.body)
    if any(isinstance(s, Assign) and s.name not in own for s in stmts):
        return False
    nodes = postorder(e for s in inner for t in statements(s.body) for e in expressions(t))
    read = {n.buffer for n in postorder(e for s in stmts for e in expressions(s)) if isinstance(n, Load)}
    if any(isinstance(s, Store) and s.buffer in read for s in stmts):
        return False
    return any(isinstance(n, Load) and _is_lookup(n, lanes) for n in nodes)


def _is_lookup(load: Load, lanes: VectorLanes) -> bool:
    if load.dtype.bits >= u32.bits or not lanes.varies(load.index) or lanes.pattern(load.index) is not None:
        return False
    return not lanes.may_be_adjacent(load.index)


def _jammed(loop: For, fresh: Fresh) -> list[Stmt]:
    """The loop with several invocations in each iteration, and behind it the invocations that are left."""
    names = [{name: fresh(name) for name in declared_locals(loop.body)} for _ in range(BATCH)]
    first = Local(fresh(loop.name), u32)
    whole: Expr = Apply(OPS["and"], loop.stop, literal(u32, u32.highest + 1 - BATCH))
    if isinstance(loop.stop, Literal):
        whole = literal(u32, loop.stop.bits - loop.stop.bits % BATCH)
    values: list[dict[str, Expr]] = [
        {loop.name: Apply(OPS["add"], first, literal(u32, n)) if n else first} for n in range(BATCH)
    ]
    main = For(first.name, loop.start, whole, BATCH, _batched(loop.body, names, values, fresh))
    if whole == loop.stop:
        return [main]
    return [main, For(loop.name, whole, loop.stop, 1, loop.body)]


def _batched(
    body: Body, names: Sequence[Mapping[str, str]], values: Sequence[Mapping[str, Expr]], fresh: Fresh
) -> Body:
    """Each statement for all invocations; loops count for all of them."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            counter = Local(fresh(stmt.name), stmt.start.dtype)
            (bounds,) = renamed((replace(stmt, body=()),), names[0], values[0])
            assert isinstance(bounds, For)
            counted = [{**known, stmt.name: counter} for known in values]
            inner = _batched(stmt.body, names, counted, fresh)
            out.append(replace(bounds, name=counter.name, body=inner))
        else:
            for own, known in zip(names, values, strict=True):
                out += renamed((stmt,), own, known)
    return tuple(out)
