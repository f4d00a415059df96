"""Loops along rows of adjacent elements are written out, in strips if they are long, so that vectors access whole rows.

::

    for lane in 0..256 { for k in 0..n { total = total + x[lane * n + k]; } }

becomes

    for lane in 0..256 {
      for k in 0..n & ~15 step 16 { total = total + x[lane * n + k]; … total = total + x[lane * n + k + 15]; }
      for k in n & ~15..n { total = total + x[lane * n + k]; }
    }

The rows of a vector of invocations are then loaded in pieces and transposed (see `vector_values`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from vyre_driver_cpu.bounds import UpperBounds
from vyre_driver_cpu.lane_rows import ROWS, are_apart
from vyre_driver_cpu.lanes import VectorLanes
from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Load, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import renamed
from vyre_foundation.ir.stmt import Assign, Body, For, If, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import expressions, postorder, rewrite, rewrite_body, statements, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.validate.declared import declared_locals

WIDTH = 16
"""Lanes of a vector; what is a row for so many is one for others, too."""
FEW = 4
"""Iterations of a loop that is written out also if its rows are near from lane to lane."""
STRIP = 16
"""Iterations of a long loop that are written out together."""
MOST = 60
"""Operations of a loop that is written out in strips."""


def write_out_rows(program: Program) -> Program:
    """``for k in 0..8: f(x[i * 8 + k])``  →  ``f(x[i * 8]); f(x[i * 8 + 1]); …``, in loops over invocations."""
    lets = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
    mutable = frozenset(s.name for s in statements(program.body) if isinstance(s, Var))
    fresh = Fresh.of(program)

    def each(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or not stmt.is_parallel:
            return stmt
        stmt = _with_uniform_counters(stmt, fresh)
        if not any(isinstance(s, For) for s in stmt.body):
            return stmt
        lanes = VectorLanes(stmt, WIDTH, lets, mutable, UpperBounds(lets))
        body = _with_rows(stmt.body, lanes, fresh)
        return stmt if body is stmt.body else replace(stmt, body=body)

    body = rewrite_body(program.body, each)
    return program if body is program.body else replace(program, body=body)


def _with_rows(body: Body, lanes: VectorLanes, fresh: Fresh) -> Body:
    """A body whose loops along rows are written out. Of others, those are looked into that all lanes run together."""
    out: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For) or stmt.is_parallel or lanes.varies(stmt.start) or lanes.varies(stmt.stop):
            out.append(stmt)
            continue
        inner = _with_rows(stmt.body, lanes, fresh)
        stmt = stmt if inner is stmt.body else replace(stmt, body=inner)
        if not all(isinstance(s, (Let, Var, Assign, Store, If)) for s in statements(stmt.body)):
            out.append(stmt)
        elif stmt.step == 1 and stmt.trip_count is not None and stmt.trip_count <= FEW:
            out += _written_out(stmt, fresh) if _walks_along_rows(stmt, lanes, is_short=True) else (stmt,)
        elif stmt.trip_count in ROWS and stmt.step == 1:
            out += _written_out(stmt, fresh) if _walks_along_rows(stmt, lanes, is_checked=True) else (stmt,)
        else:
            is_row = _is_worth_strips(stmt) and _walks_along_rows(stmt, lanes, is_checked=False)
            out += _in_strips(stmt, fresh) if is_row else (stmt,)
    return body if len(out) == len(body) and all(a is b for a, b in zip(out, body, strict=True)) else tuple(out)


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


def _is_worth_strips(loop: For) -> bool:
    if loop.step != 1 or loop.start.dtype.is_signed or (loop.trip_count is not None and loop.trip_count < STRIP):
        return False
    return len(postorder(e for s in statements(loop.body) for e in expressions(s))) <= MOST


def _walks_along_rows(loop: For, lanes: VectorLanes, *, is_checked: bool = True, is_short: bool = False) -> bool:
    """Whether a loop accesses elements that are side by side from iteration to iteration, and far from lane to lane.

    `is_checked`: loads whose indices are compared with lengths count, too. `is_short`: rows that are near count, too,
    such as the components of colours.
    """
    are_far = lanes.varies if is_short else partial(are_apart, lanes=lanes)
    indices: list[Expr] = [s.index for s in loop.body if isinstance(s, Store)]
    nodes = postorder(e for s in loop.body for e in expressions(s))
    indices += [n.index for n in nodes if isinstance(n, Load) and (is_checked or not n.checked)]
    counter = Local(loop.name, loop.start.dtype)
    for index in indices:
        match index:
            case Apply(op, (a, b)) if op.id == "add":
                counts = (counter, Cast(index.dtype, counter))
                if (b in counts and are_far(a)) or (a in counts and are_far(b)):
                    return True
    return False


def _in_strips(loop: For, fresh: Fresh) -> Body:
    """The loop in strips of iterations that are written out, and behind them those that are left."""
    dtype, trips = loop.start.dtype, loop.trip_count
    before: list[Stmt] = []

    def named(value: Expr, stem: str) -> Expr:
        if isinstance(value, Literal):
            return value
        name = fresh(stem)
        before.append(Let(name, value))
        return Local(name, dtype)

    start, stop = named(loop.start, "first"), named(loop.stop, "last")
    if trips is not None:
        assert isinstance(start, Literal)
        middle: Expr = literal(dtype, start.bits + trips // STRIP * STRIP)
    else:
        whole = Apply(OPS["and"], Apply(OPS["sub"], stop, start), literal(dtype, dtype.highest + 1 - STRIP))
        end = Select(Apply(OPS["lt"], start, stop), Apply(OPS["add"], start, whole), start)
        middle = named(end, "middle")
    counter = Local(fresh(loop.name), dtype)
    body: list[Stmt] = []
    for n in range(STRIP):
        value = Apply(OPS["add"], counter, literal(dtype, n)) if n else counter
        body += _iteration(loop, value, fresh, partial(_with_steps_last, counter))
    strips = For(counter.name, start, middle, STRIP, tuple(body))
    rest = () if trips is not None and trips % STRIP == 0 else (replace(loop, start=middle, stop=stop),)
    return (*before, strips, *rest)


def _with_steps_last(counter: Local, node: Expr) -> Expr:
    """``root + (counter + 3)``  →  ``(root + counter) + 3``; a counter that its loop has counted does not wrap."""
    match node:
        case Cast(dtype, Apply(op, (a, Literal() as step))) if (
            op.id == "add" and a is counter and dtype.is_integer and not dtype.is_signed and dtype.bits >= a.dtype.bits
        ):
            return Apply(op, Cast(dtype, a), literal(dtype, step.bits))
        case Apply(op, (a, b)) if op.id == "add":
            counts = (counter, Cast(node.dtype, counter))
            for root, last in ((a, b), (b, a)):
                match last:
                    case Apply(plus, (count, Literal() as step)) if plus.id == "add" and count in counts:
                        return Apply(op, Apply(op, root, count), step)
                    case _ if last in counts and not isinstance(root, Literal):
                        return Apply(op, root, last)
    return node


def _written_out(loop: For, fresh: Fresh) -> Body:
    """All iterations, one behind the other."""
    out: list[Stmt] = []
    assert isinstance(loop.start, Literal)
    for n in range(loop.trip_count or 0):
        out += _iteration(loop, literal(loop.start.dtype, loop.start.bits + n * loop.step), fresh, _folded)
    return tuple(out)


def _iteration(loop: For, count: Expr, fresh: Fresh, simplify: Callable[[Expr], Expr]) -> Body:
    """The body of a loop with a value of its counter."""
    body = renamed(loop.body, {name: fresh(name) for name in declared_locals(loop.body)}, {loop.name: count})
    memo: dict[Expr, Expr] = {}
    return rewrite_body(body, lambda stmt: with_expressions(stmt, lambda e: rewrite(e, simplify, memo)))


def _folded(node: Expr) -> Expr:
    match node:
        case Cast(dtype, Literal() as value) if value.dtype.is_integer and 0 <= value.bits <= dtype.highest:
            return literal(dtype, value.bits)
        case Apply(op, (root, Literal(bits=0)) | (Literal(bits=0), root)) if op.id == "add" and root.dtype.is_integer:
            return root
        case Apply(op, (Literal() as step, root)) if op.id == "add" and root.dtype.is_integer:
            return Apply(op, root, step)
        case _:
            return node
