"""Atomics that a target lacks are made of its compare-exchange.

A round fails only where another invocation has changed the element in between, so some invocation always gets on: the
loop ends however the device schedules, and needs no promise of fairness.
"""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.legalization.target import Target
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, AtomicOp, Body, Break, For, If, Let, Stmt, Var
from vyre_foundation.ir.walk import rewrite_body, statements
from vyre_foundation.ops import OPS

_MAX_RETRIES = 2**32 - 1
"""More than an element can be changed during one launch."""


def compose_atomics(program: Program, target: Target) -> Program:
    """Compose atomics that the target lacks of its compare-exchange.

    ``atomic min(b[i], x)``  → ``for … { let seen = atomic compare_exchange(b[i], old, min(old, x)); if seen == old {
    break; } old = seen; }``

    Of programs whose accesses are guarded. What has no compare-exchange either is left as it is.
    """
    if all(_is_native(stmt, target) for stmt in statements(program.body)):
        return program
    fresh = Fresh.of(program)

    def composed(stmt: Stmt) -> Stmt | Body:
        if not isinstance(stmt, Atomic) or _is_native(stmt, target):
            return stmt
        return _exchanged(stmt, fresh)

    return replace(program, body=rewrite_body(program.body, composed))


def _is_native(stmt: Stmt, target: Target) -> bool:
    """Whether there is nothing to do, or nothing that can be done."""
    if not isinstance(stmt, Atomic):
        return True
    dtype = stmt.buffer.dtype
    return (stmt.op, dtype) in target.atomics or not target.has_atomic(stmt.op, dtype)


def _exchanged(stmt: Atomic, fresh: Fresh) -> Body:
    """`old` begins as any value: where the element is another one, the first round says which."""
    dtype = stmt.buffer.dtype
    index, value = (Local(fresh(name), e.dtype) for name, e in (("at", stmt.index), ("operand", stmt.value)))
    old, seen, done = Local(fresh("old"), dtype), Local(fresh("seen"), dtype), fresh("round")
    attempt = Atomic(
        AtomicOp.COMPARE_EXCHANGE, stmt.buffer, index, _new(stmt.op, old, value), old, seen.name, checked=stmt.checked
    )
    retries = For(
        done,
        literal(u32, 0),
        literal(u32, _MAX_RETRIES),
        1,
        (attempt, If(Apply(OPS["eq"], seen, old), (Break(),)), Assign(old.name, seen)),
    )
    result = (Let(stmt.result, old),) if stmt.result is not None else ()
    lets = (Let(index.name, stmt.index), Let(value.name, stmt.value), Var(old.name, literal(dtype, 0)))
    return (*lets, retries, *result)


def _new(op: AtomicOp, old: Expr, value: Expr) -> Expr:
    return value if op is AtomicOp.EXCHANGE else Apply(OPS[op.value], old, value)
