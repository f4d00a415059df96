"""Faults of statements: barriers, atomics, collectives, jumps, loops, traps, stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count

from vyre_conform.controls.evaluated import of_programs, of_statements
from vyre_conform.controls.expressions import clamped, last, op
from vyre_conform.controls.fault import Fault, Layer
from vyre_foundation.dtype import DType, u32, u64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Bitcast, Expr, Id, IdKind, Literal, Load, Local, Select, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
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
    Var,
)
from vyre_foundation.ir.walk import postorder, rewrite, rewrite_body


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


def _unsigned_extremes(stmt: Stmt) -> Stmt | Body:
    """Signed atomic min and max compare bits. One invocation after the other: reading and writing is atomic then."""
    if not (isinstance(stmt, Atomic) and stmt.op in (AtomicOp.MIN, AtomicOp.MAX) and stmt.buffer.dtype.is_signed):
        return stmt
    dtype = stmt.buffer.dtype
    old = Load(stmt.buffer, stmt.index)
    bits = op(stmt.op.value, Bitcast(dtype.unsigned, old), Bitcast(dtype.unsigned, stmt.value))
    store = Store(stmt.buffer, stmt.index, Bitcast(dtype, bits))
    return (store,) if stmt.result is None else (Let(stmt.result, old), store)


def _first_barrier(program: Program) -> Program:
    """One barrier is lost, the others are there."""
    found = count()

    def rule(stmt: Stmt) -> Stmt | Body:
        return () if stmt == Barrier(Scope.WORKGROUP) and next(found) == 0 else stmt

    return replace(program, body=rewrite_body(program.body, rule))


def _twice_as_wide(program: Program) -> Program:
    """Lanes of the neighbour take part."""
    size = 2 * (program.subgroup_size or 0)
    fits = 2 <= size <= 64 and program.workgroup_volume % size == 0
    return replace(program, subgroup_size=size) if fits else program


def _both_arms(stmt: Stmt) -> Stmt | Body:
    """Predication that forgets the predicate of stores."""
    return (*stmt.then, *stmt.orelse) if isinstance(stmt, If) and stmt.orelse else stmt


def _else_lost(stmt: Stmt) -> Stmt:
    return replace(stmt, orelse=()) if isinstance(stmt, If) else stmt


def _variables_leak(stmt: Stmt) -> Stmt | Body:
    """Variables of a loop's body are declared before it, and keep their values from one round to the next."""
    if not isinstance(stmt, For):
        return stmt
    leaking = tuple(s for s in stmt.body if isinstance(s, Var) and isinstance(s.value, Literal))
    rest = tuple(s for s in stmt.body if s not in leaking)
    return (*leaking, replace(stmt, body=rest))


def _inner_assignments_lost(stmt: Stmt) -> Stmt:
    """An assignment in a loop declares a variable of the same name."""
    if not isinstance(stmt, For):
        return stmt
    return replace(stmt, body=tuple(s for s in stmt.body if not isinstance(s, Assign)))


_WIDTH = 4


def _as_vectors(stmt: Stmt) -> Stmt:
    """Vectors of a loop that stores once, whatever it depends on: all loads of some iterations, then their stores."""
    if not (isinstance(stmt, For) and stmt.step == 1 and len(stmt.body) == 1 and isinstance(stmt.body[0], Store)):
        return stmt
    if any(isinstance(node, Load) for node in postorder((stmt.stop,))):
        return stmt
    store, counter = stmt.body[0], Local(stmt.name, stmt.start.dtype)
    lets, stores = [], []
    for lane in range(_WIDTH):
        here: dict[Expr, Expr] = {counter: op("add", counter, literal(counter.dtype, lane))}
        value = Local(f"{stmt.name}_value_{lane}", store.value.dtype)
        lets.append(Let(value.name, rewrite(store.value, _unchanged, here)))
        index = rewrite(store.index, _unchanged, here)
        is_left = op("gt", op("sub", stmt.stop, counter), literal(counter.dtype, lane))
        stores.append(If(is_left, (replace(store, index=index, value=value),)))
    return replace(stmt, step=_WIDTH, body=(*lets, *stores))


def _unchanged(node: Expr) -> Expr:
    return node


def _in_pairs(stmt: Stmt) -> Stmt:
    """A sum of floats takes two elements at a time: ``x = (x + a) + b`` becomes ``x = x + (a + b)``."""
    match stmt:
        case For(step=1, body=(Assign(name, Apply(found, (Local(total) as x, y)) as value),)):
            if name != total or found.id != "add" or not value.dtype.is_float or x in postorder((y,)):
                return stmt
        case _:
            return stmt
    counter = Local(stmt.name, stmt.start.dtype)
    after = op("add", counter, literal(counter.dtype, 1))
    is_left = op("gt", op("sub", stmt.stop, counter), literal(counter.dtype, 1))
    pair = op("add", x, op("add", y, rewrite(y, _unchanged, {counter: after})))
    return replace(stmt, step=2, body=(If(is_left, (Assign(name, pair),), stmt.body),))


_SCALAR = "scalar"
"""Only one invocation after the other shows that a barrier is missing."""

_fault = partial(Fault, Layer.COMPILER)

# fmt: off
FAULTS = (
    _fault("store-first", "a store out of bounds writes the first element",
          of_statements(_store_first), "memory:scatter memory:*"),
    _fault("store-last", "a store out of bounds writes the last element",
          of_statements(_store_last), "memory:*"),
    _fault("atomic-first", "an atomic out of bounds acts on the first element",
          of_statements(_atomic_first), "atomics:out_of_bounds"),
    _fault("workgroup-dirty", "workgroup memory is not zeroed",
          of_programs(_dirty), "memory:scatter_inside memory:*"),
    _fault("private-dirty", "private memory is not zeroed",
          of_programs(_dirty_private), "memory:scatter_inside memory:*"),
    _fault("no-barrier", "workgroup barriers do nothing",
          of_statements(_no_barrier, _SCALAR), "barriers:*"),
    _fault("one-barrier", "one of several workgroup barriers is lost",
           of_programs(_first_barrier, _SCALAR), "barriers:*"),
    _fault("no-loop-barrier", "workgroup barriers in loops do nothing",
          of_statements(_loop_barriers, _SCALAR), "barriers:rotate"),
    _fault("no-grid-barrier", "grid barriers do nothing",
          of_statements(without(Barrier, Scope.GRID), _SCALAR), "grid:*"),
    _fault("return-ignored", "a return falls through",
          of_statements(without(Return)), "control:early_return"),
    _fault("break-continues", "a break goes on with the next round",
          of_statements(_break_continues), "control:*"),
    _fault("continue-breaks", "a continue leaves the loop",
          of_statements(_continue_breaks), "control:*"),
    _fault("loop-inclusive", "a loop runs to its bound and not below it",
          of_statements(_inclusive), "control:*"),
    _fault("both-arms", "both arms of a condition take effect",
           of_statements(_both_arms), "control:*"),
    _fault("else-lost", "the other arm of a condition is lost",
           of_statements(_else_lost), "control:*"),
    _fault("variable-leaks", "a variable of a loop keeps its value in the next round",
           of_statements(_variables_leak), "barriers:doubling control:*"),
    _fault("assignment-shadowed", "an assignment in a loop does not reach the variable",
           of_statements(_inner_assignments_lost), "control:*"),
    _fault("loop-step", "a loop counts by one",
          of_statements(_steps_of_one), "control:*"),
    _fault("loop-vectors", "loops become vectors whatever their iterations depend on",
          of_statements(_as_vectors), "recurrences:*"),
    _fault("loop-reassociated", "a sum of floats in a loop is added in pairs",
          of_statements(_in_pairs), "recurrences:total"),
    _fault("trap-silent", "traps are not seen",
          of_statements(without(Trap)), "traps:*"),
    _fault("trap-code", "the code of a trap is lost",
          of_statements(_code_lost), "traps:*"),
    _fault("lost-updates", "of two atomics at the same time one is lost",
          of_statements(_lost_updates), "atomics:*"),
    _fault("cas-new", "compare_exchange gives the new value",
          of_statements(_new_value), "atomics:old_values"),
    _fault("cas-weak", "compare_exchange fails without a reason",
          of_statements(_weak), "atomics:old_values"),
    _fault("atomic-min-unsigned", "atomic min and max of signed types are unsigned",
           of_statements(_unsigned_extremes, _SCALAR), "atomics:min:dtype=i32,*"),
    _fault("add-new", "atomic add gives the new value",
          of_statements(_exchange_gives_new), "atomics:*"),
    _fault("subgroup-32", "subgroups have 32 lanes whatever is asked",
          of_programs(_width_of_32), "subgroups:*"),
    _fault("subgroup-double", "the lanes of two subgroups are taken together",
           of_programs(_twice_as_wide), "subgroups:*"),
    _fault("scan-inclusive", "an exclusive scan is inclusive",
          of_statements(_scan_of_another_kind), "subgroups:*"),
    _fault("reduce-by-lanes", "a float reduction adds lane by lane",
          of_programs(_lane_order), "subgroups:all_ops:size=8,dtype=f32"),
    _fault("ballot-32", "a ballot has 32 bits",
          of_statements(_narrow_ballot), "subgroups:all_ops:size=64,*"),
)
# fmt: on
