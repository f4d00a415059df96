"""Traps become atomics on a sidecar buffer: one element for each trap statement, all ones before the dispatch.

The least value wins, so the high half is the invocation, the low half the code. The host reads the buffer after the
dispatch: its least element, and of equal invocations the first, is the error to raise.
"""

from __future__ import annotations

from itertools import count

from vyre_driver.legalization.coordinates import add, invocation
from vyre_driver.legalization.declare import declare, next_binding, scratch
from vyre_driver.legalization.schedule import TRAPS
from vyre_driver.legalization.target import Target, unsupported
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.expr import Apply, Cast, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, AtomicOp, Stmt, Trap
from vyre_foundation.ir.walk import rewrite_body, statements
from vyre_foundation.ops import OPS


def lower_traps(program: Program, target: Target) -> Program:
    """Replace traps by atomics on a buffer that the host reads.

    ``trap code``  →  ``atomic_min traps[n], invocation << 32 | code``, for the n-th trap statement
    """
    tags = trap_tags(program)
    if not tags:
        return program
    if not target.has_atomic(AtomicOp.MIN, u64):
        raise unsupported(target, "traps: they need atomic min or compare-exchange on u64")
    sidecar = scratch(TRAPS, u64, len(tags), next_binding(program))
    high = Apply(OPS["shl"], invocation(program, u64), literal(u64, 32))
    numbers = count()

    def lowered(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Trap):
            return stmt
        record = add(high, Cast(u64, stmt.code))
        return Atomic(AtomicOp.MIN, sidecar, literal(u32, next(numbers)), record, checked=False)

    return declare(program, rewrite_body(program.body, lowered), sidecar)


def trap_tags(program: Program) -> tuple[str, ...]:
    """The tags of the trap statements, in program order."""
    return tuple(stmt.tag for stmt in statements(program.body) if isinstance(stmt, Trap))
