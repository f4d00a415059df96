"""Faults of statements: barriers, atomics, collectives, jumps, loops, traps, stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vyre_conform.controls.expressions import clamped, last, op
from vyre_conform.controls.fault import Fault, of_programs, of_statements
from vyre_foundation.dtype import DType, u32, u64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Expr, Id, IdKind, Literal, Local, Select, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Atomic,
    AtomicOp,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    IndirectDispatch,
    Let,
    Return,
    Scope,
    Stmt,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
)
from vyre_foundation.ir.walk import rewrite_body


def _store_first(stmt: Stmt) -> Stmt:
    return replace(stmt, index=clamped(stmt.buffer, stmt.index, literal(u64, 0))) if isinstance(stmt, Store) else stmt


def _store_last(stmt: Stmt) -> Stmt:
    return replace(stmt, index=clamped(stmt.buffer, stmt.index, last(stmt.buffer))) if isinstance(stmt, Store) else stmt


def _atomic_first(stmt: Stmt) -> Stmt:
    return replace(stmt, index=clamped(stmt.buffer, stmt.index, literal(u64, 0))) if isinstance(stmt, Atomic) else stmt


def without(kind: type[Stmt], scope: Scope | None = None) -> Callable[[Stmt], Stmt | Body]:
    """A rule that drops statements."""

    def rule(stmt: Stmt) -> Stmt | Body:
        dropped = isinstance(stmt, kind) and (scope is None or (isinstance(stmt, Barrier) and stmt.scope is scope))
        return () if dropped else stmt

    return rule


def _loop_barriers(stmt: Stmt) -> Stmt:
    """Only in loops."""
    if not isinstance(stmt, For):
        return stmt
    return replace(stmt, body=rewrite_body(stmt.body, _no_barrier))


def _no_barrier(stmt: Stmt) -> Stmt | Body:
    return () if stmt == Barrier(Scope.WORKGROUP) else stmt


def _local_id(program: Program) -> Expr:
    x, y, _ = program.workgroup_size
    row = op("add", op("mul", Id(IdKind.LOCAL_ID, 2), literal(u32, y)), Id(IdKind.LOCAL_ID, 1))
    return op("add", op("mul", row, literal(u32, x)), Id(IdKind.LOCAL_ID, 0))


def _dirty(program: Program) -> Program:
    """Workgroup memory starts with what somebody else has left there."""
    shared = [b for b in program.buffers if b.memory is Memory.WORKGROUP]
    if not shared:
        return program
    stores = [Store(b, _local_id(program), _rubbish(b.dtype)) for b in shared]
    head = program.body[:1] if program.body and isinstance(program.body[0], IndirectDispatch) else ()
    return replace(program, body=(*head, *stores, Barrier(), *program.body[len(head) :]))


def _dirty_private(program: Program) -> Program:
    own = [b for b in program.buffers if b.memory is Memory.PRIVATE]
    stores = [Store(b, literal(u32, 0), _rubbish(b.dtype)) for b in own]
    head = program.body[:1] if program.body and isinstance(program.body[0], IndirectDispatch) else ()
    return replace(program, body=(*head, *stores, *program.body[len(head) :]))


def _rubbish(dtype: DType) -> Expr:
    return Literal(dtype, 0x5A5A_5A5A_5A5A_5A5A & ((1 << dtype.bits) - 1) | 1)


def _lost_updates(stmt: Stmt) -> Stmt:
    """Two that add at the same time: one of them wins."""
    if isinstance(stmt, Atomic) and stmt.result is None:
        odd = op("eq", op("and", Id(IdKind.LOCAL_ID, 0), literal(u32, 1)), literal(u32, 0))
        return If(odd, (stmt,))
    return stmt


def _new_value(stmt: Stmt) -> Stmt | Body:
    """A compare-and-exchange that gives what it has written."""
    if not (isinstance(stmt, Atomic) and stmt.expected is not None and stmt.result is not None):
        return stmt
    old = Local(f"{stmt.result}_before", stmt.buffer.dtype)
    written = Select(op("eq", old, stmt.expected), stmt.value, old)
    return (replace(stmt, result=old.name), Let(stmt.result, written))


def _weak(stmt: Stmt) -> Stmt:
    """A compare-and-exchange that fails now and then although it finds what it expects."""
    if isinstance(stmt, Atomic) and stmt.expected is not None:
        now_and_then = op("eq", op("rem", Id(IdKind.GLOBAL_ID, 0), literal(u32, 7)), literal(u32, 5))
        other = op("not", stmt.expected)
        return replace(stmt, expected=Select(now_and_then, other, stmt.expected))
    return stmt


def _exchange_gives_new(stmt: Stmt) -> Stmt | Body:
    if isinstance(stmt, Atomic) and stmt.op is AtomicOp.ADD and stmt.result is not None:
        old = Local(f"{stmt.result}_before", stmt.buffer.dtype)
        return (replace(stmt, result=old.name), Let(stmt.result, op("add", old, stmt.value)))
    return stmt


def _inclusive(stmt: Stmt) -> Stmt:
    return replace(stmt, stop=op("add_sat", stmt.stop, literal(stmt.stop.dtype, 1))) if isinstance(stmt, For) else stmt


def _steps_of_one(stmt: Stmt) -> Stmt:
    return replace(stmt, step=1) if isinstance(stmt, For) else stmt


def _break_continues(stmt: Stmt) -> Stmt:
    return Continue() if isinstance(stmt, Break) else stmt


def _continue_breaks(stmt: Stmt) -> Stmt:
    return Break() if isinstance(stmt, Continue) else stmt


def _width_of_32(program: Program) -> Program:
    fits = program.subgroup_size is not None and program.workgroup_volume % 32 == 0
    return replace(program, subgroup_size=32) if fits else program


def _scan_of_another_kind(stmt: Stmt) -> Stmt:
    if isinstance(stmt, Subgroup) and stmt.op.family == "exclusive_scan":
        return replace(stmt, op=SubgroupOp(stmt.op.value.replace("exclusive", "inclusive")))
    return stmt


def _lane_order(program: Program) -> Program:
    """A float reduction that adds lane by lane."""
    size = program.subgroup_size or 1

    def rule(stmt: Stmt) -> Stmt | Body:
        if not (isinstance(stmt, Subgroup) and stmt.op is SubgroupOp.REDUCE_ADD and stmt.value.dtype.is_float):
            return stmt
        partial = f"{stmt.result}_scan"
        scan = Subgroup(SubgroupOp.INCLUSIVE_SCAN_ADD, stmt.value, None, partial)
        final = Local(partial, stmt.value.dtype)
        return (scan, Subgroup(SubgroupOp.BROADCAST, final, literal(u32, size - 1), stmt.result))

    return replace(program, body=rewrite_body(program.body, rule))


def _narrow_ballot(stmt: Stmt) -> Stmt | Body:
    if not (isinstance(stmt, Subgroup) and stmt.op is SubgroupOp.BALLOT and stmt.result is not None):
        return stmt
    whole = Local(f"{stmt.result}_whole", u64)
    return (replace(stmt, result=whole.name), Let(stmt.result, op("and", whole, literal(u64, 0xFFFF_FFFF))))


def _code_lost(stmt: Stmt) -> Stmt:
    return replace(stmt, code=literal(u32, 0)) if isinstance(stmt, Trap) else stmt


_SCALAR = "scalar"
"""Only one invocation after the other shows that a barrier is missing."""

# fmt: off
FAULTS = (
    Fault("store-first", "a store out of bounds writes the first element",
          of_statements(_store_first), "memory:*"),
    Fault("store-last", "a store out of bounds writes the last element",
          of_statements(_store_last), "memory:*"),
    Fault("atomic-first", "an atomic out of bounds acts on the first element",
          of_statements(_atomic_first), "atomics:out_of_bounds"),
    Fault("workgroup-dirty", "workgroup memory is not zeroed",
          of_programs(_dirty), "memory:*"),
    Fault("private-dirty", "private memory is not zeroed",
          of_programs(_dirty_private), "memory:*"),
    Fault("no-barrier", "workgroup barriers do nothing",
          of_statements(_no_barrier, _SCALAR), "barriers:*"),
    Fault("no-loop-barrier", "workgroup barriers in loops do nothing",
          of_statements(_loop_barriers, _SCALAR), "barriers:rotate"),
    Fault("no-grid-barrier", "grid barriers do nothing",
          of_statements(without(Barrier, Scope.GRID), _SCALAR), "grid:*"),
    Fault("return-ignored", "a return falls through",
          of_statements(without(Return)), "control:early_return"),
    Fault("break-continues", "a break goes on with the next round",
          of_statements(_break_continues), "control:*"),
    Fault("continue-breaks", "a continue leaves the loop",
          of_statements(_continue_breaks), "control:*"),
    Fault("loop-inclusive", "a loop runs to its bound and not below it",
          of_statements(_inclusive), "control:*"),
    Fault("loop-step", "a loop counts by one",
          of_statements(_steps_of_one), "control:*"),
    Fault("trap-silent", "traps are not seen",
          of_statements(without(Trap)), "traps:*"),
    Fault("trap-code", "the code of a trap is lost",
          of_statements(_code_lost), "traps:*"),
    Fault("lost-updates", "of two atomics at the same time one is lost",
          of_statements(_lost_updates), "atomics:*"),
    Fault("cas-new", "compare_exchange gives the new value",
          of_statements(_new_value), "atomics:*"),
    Fault("cas-weak", "compare_exchange fails without a reason",
          of_statements(_weak), "atomics:*"),
    Fault("add-new", "atomic add gives the new value",
          of_statements(_exchange_gives_new), "atomics:*"),
    Fault("subgroup-32", "subgroups have 32 lanes whatever is asked",
          of_programs(_width_of_32), "subgroups:*"),
    Fault("scan-inclusive", "an exclusive scan is inclusive",
          of_statements(_scan_of_another_kind), "subgroups:*"),
    Fault("reduce-by-lanes", "a float reduction adds lane by lane",
          of_programs(_lane_order), "subgroups:*"),
    Fault("ballot-32", "a ballot has 32 bits",
          of_statements(_narrow_ballot), "subgroups:*"),
)
# fmt: on
