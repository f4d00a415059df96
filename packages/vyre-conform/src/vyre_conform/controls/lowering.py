"""Faults of lowering: what is made of the ops, accesses, collectives and barriers that a target has no word for."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from functools import partial
from typing import Any

from vyre_conform.controls.engine import LOWERING, behind, emits, in_passes, looping_target, on_engine, sparse_target
from vyre_conform.controls.evaluated import in_expressions, in_statements
from vyre_conform.controls.fault import Fault, Layer, Plant
from vyre_driver.legalization.bounds import guard_accesses
from vyre_driver.legalization.context import Context
from vyre_driver.legalization.coordinates import invocation
from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.forms.forms import Forms
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_driver.legalization.guards import Guards, Known
from vyre_driver.legalization.indices import proven_index
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.registers import to_registers
from vyre_driver.legalization.schedule import COUNTERS
from vyre_driver.vectorization.wide_indices import IndexWidener
from vyre_foundation.dtype import DType, i32, i64, u32, u64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Id, IdKind, Literal, Load, Local, Select, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Body, If, Let, Stmt, Store
from vyre_foundation.ir.walk import rewrite, rewrite_body, statements
from vyre_foundation.ops import OPS
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Interval

Right = Callable[..., Any]


def _unguarded(program: Program, context: Context) -> Program:
    """Every access is taken for proven."""

    def load(node: Expr) -> Expr:
        return Load(node.buffer, proven_index(node.index), checked=False) if isinstance(node, Load) else node

    def access(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, (Store, Atomic)):
            return stmt
        return replace(stmt, index=proven_index(stmt.index), checked=False)

    return in_statements(access)(in_expressions(load)(program))


def _trap_in_the_row(before: Program, after: Program) -> Program:
    """The number of an invocation that traps is its x."""
    number, x = invocation(before, u64), Cast(u64, Id(IdKind.GLOBAL_ID, 0))
    return in_expressions(lambda node: x if node is number else node)(after)


def bound_to(name: str, change: Callable[[Expr], Expr]) -> Callable[[Program, Program], Program]:
    """Locals that a pass binds, whose names begin with `name`, have other values."""

    def changed(before: Program, after: Program) -> Program:
        own = {stmt.name for stmt in statements(before.body) if isinstance(stmt, Let)}

        def rule(stmt: Stmt) -> Stmt:
            is_new = isinstance(stmt, Let) and stmt.name.startswith(name) and stmt.name not in own
            return Let(stmt.name, change(stmt.value)) if is_new and isinstance(stmt, Let) else stmt

        return in_statements(rule)(after)

    return changed


def _zero_identity(value: Expr) -> Expr:
    """A scan of any kind begins with 0."""
    match value:
        case Select(args=(condition, other, Literal() as identity)):
            return Select(condition, other, Literal(identity.dtype, 0))
    return value


def _first_counter(node: Expr) -> Expr:
    """Every loop around grid barriers has the counter of the first one."""
    is_counter = isinstance(node, Load) and node.buffer.name == COUNTERS
    return Load(node.buffer, literal(u32, 0), checked=False) if is_counter and isinstance(node, Load) else node


class ChangedRanges(Ranges):
    """What is known about integers, but for `change` of the bounds of an expression."""

    def __init__(self, right: Ranges, change: Callable[[Ranges, Expr], Interval]) -> None:
        self.right, self.change = right, change

    def get(self, node: Expr) -> Interval | None:
        return self.change(self.right, node) if node.dtype.is_integer and not isinstance(node, Literal) else None

    def of(self, node: Expr) -> Interval:
        return self.get(node) or self.right.of(node)

    def carry(self, source: Expr, image: Expr) -> Expr:
        return self.right.carry(source, image)


def _by_ranges(change: Callable[[Ranges, Expr], Interval]) -> Plant:
    """Guards of accesses that follow from wrong ranges of indices."""

    def apply(program: Program, context: Context) -> Program:
        return guard_accesses(program, ChangedRanges(context.ranges, change), context.target)

    return in_passes(Pass("guard-accesses", "wrong", apply))


def by_proofs(proofs: type[Guards]) -> Plant:
    """Guards of accesses that follow from wrong proofs."""

    def apply(program: Program, context: Context) -> Program:
        return guard_accesses(program, context.ranges, context.target, proofs)

    return in_passes(Pass("guard-accesses", "wrong", apply))


class ShortIntervals(Guards):
    """Intervals of indices end before their last value."""

    def interval(self, known: Known, index: Expr) -> Interval:
        low, high = super().interval(known, index)
        return Interval(low, max(low, high - 1))


def _never_negative(ranges: Ranges, index: Expr) -> Interval:
    """What is known about a signed number is that it is not negative."""
    low, high = ranges.of(index)
    return Interval(max(0, low), max(0, high))


def _left(change: Callable[[Store], Store | Body]) -> Plant:
    """Kernels between grid barriers store something else for those that follow, or nothing."""

    def apply(program: Program, context: Context) -> Program:
        def rule(stmt: Stmt) -> Stmt | Body:
            is_own = isinstance(stmt, Store) and stmt.buffer.memory is not Memory.SCRATCH
            if not isinstance(stmt, Store) or is_own or stmt.buffer in context.source.buffers:
                return stmt
            return change(stmt)

        return LOWERING["count-iterations"].apply(in_statements(rule)(program), context)

    return in_passes(Pass("count-iterations", "wrong", apply))


def _left_as_zero(store: Store) -> Store:
    """Locals do not survive a grid barrier."""
    is_local = isinstance(store.value, Local)
    return replace(store, value=Literal(store.value.dtype, 0)) if is_local else store


def _no_arrays(store: Store) -> Store | Body:
    """Workgroup and private arrays do not survive a grid barrier."""
    return () if isinstance(store.value, Load) else store


class UncheckedDivisors(Forms):
    """Divisions that must not see 0 see it."""

    def apply(self, op: str, *operands: ExprTerm) -> Expr:
        is_wrong = op in ("div", "rem") and operands[0].dtype in (u32, i32, u64, i64)
        return super().apply(f"raw_{op}" if is_wrong else op, *operands)


class RawShifts(Forms):
    """Shift counts are not brought below the width."""

    def apply(self, op: str, *operands: ExprTerm) -> Expr:
        is_wrong = op in ("shl", "shr") and operands[0].dtype in (u32, i32, u64, i64)
        return super().apply(f"raw_{op}" if is_wrong else op, *operands)


class Unwrapped(Forms):
    """Results of 8 and 16 bits are what the register holds."""

    def narrow(self, op: str, dtype: DType, *operands: ExprTerm) -> Expr:
        is_wrong = dtype.is_integer and op in ("add", "sub", "mul")
        return operands[0].op(op, *operands[1:]).expr if is_wrong else super().narrow(op, dtype, *operands)


class Unrounded(Forms):
    """Results of half floats are what the register holds."""

    def narrow(self, op: str, dtype: DType, *operands: ExprTerm) -> Expr:
        is_wrong = dtype.is_float and op in ("add", "sub", "mul", "div", "sqrt")
        return operands[0].op(op, *operands[1:]).expr if is_wrong else super().narrow(op, dtype, *operands)


def _by(forms: type[Forms]) -> Plant:
    """Registers and ops of the target by wrong decompositions, on a target that needs them."""

    def apply(program: Program, context: Context) -> Program:
        return to_registers(program, context.ranges, forms(context.target))

    return in_passes(Pass("to-registers", "wrong", apply), target=sparse_target)


class Unwary(IndexWidener):
    """Takes every index for one that does not wrap."""

    def is_exact(self, node: Expr) -> bool:
        return True


def _widened(program: Program, context: Context) -> Program:
    return declare(program, rewrite_body(program.body, Unwary(context.ranges).stmt))


def _near_first(right: Right) -> Right:
    """The butterfly with its distances the other way round."""

    def reduce(exchange: Any, op: str, value: Expr, lane: Expr, size: int) -> Expr:
        for k in range(size.bit_length() - 1):
            other = exchange.fetch(value, Apply(OPS["xor"], lane, literal(u32, 1 << k)))
            value = exchange.bind("reduced", Apply(OPS[op], value, other))
        return value

    return reduce


def _half_of_the_lanes(right: Right) -> Right:
    return lambda exchange, op, value, lane, size: right(exchange, op, value, lane, max(2, size // 2))


def _operands_reversed(right: Right) -> Right:
    """A call passes its operands from right to left."""

    def expand(root: Expr, memo: dict[Expr, Expr], native: Container[tuple[str, DType]] = ()) -> Expr:
        expanded: Expr = right(rewrite(root, _reversed_call, {}), memo, native)
        return expanded

    return expand


def _reversed_call(node: Expr) -> Expr:
    is_swappable = isinstance(node, Call) and len({arg.dtype for arg in node.args}) == 1
    return node.rebuild(node.args[::-1]) if is_swappable else node


def _always_within(is_within: Callable[..., bool]) -> Callable[..., bool]:
    """Whatever is decided of a part is taken to be decided of all."""
    return lambda checks, other: True


def _claims_of_one(before: Program, after: Program) -> Program:
    """One comparison decides for all; of several, the first alone is made."""
    own = {stmt.condition for stmt in statements(before.body) if isinstance(stmt, If)}

    def rule(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, If) or stmt.condition in own:
            return stmt
        condition = stmt.condition
        while isinstance(condition, Apply) and condition.op.id == "and":
            condition = condition.args[0]
        return replace(stmt, condition=condition)

    return in_statements(rule)(after)


_fault = partial(Fault, Layer.LOWERING)

# fmt: off
FAULTS = (
    _fault("divisor-unchecked", "a division that must not see 0 sees it",
           _by(UncheckedDivisors), "ops:div ops:rem"),
    _fault("shift-count-raw", "shift counts are not brought below the width",
           _by(RawShifts), "ops:sh* ops:rot*"),
    _fault("narrow-unwrapped", "results of 8 and 16 bits keep what they have above",
           _by(Unwrapped), "temptations:narrow_chains"),
    _fault("half-unrounded", "results of half floats keep the precision of f32",
           _by(Unrounded), "floats:there_and_back floats:*"),
    _fault("trap-in-the-row", "a trap names the x of its invocation",
           behind("lower-traps", _trap_in_the_row), "traps:in_3d"),
    _fault("lane-in-the-row", "lanes are counted along x alone",
           behind("lower-subgroups", bound_to("local_index", lambda value: Id(IdKind.LOCAL_ID, 0))), "subgroups:ids"),
    _fault("bounds-proven", "every access is taken for proven",
           in_passes(Pass("guard-accesses", "wrong", _unguarded)), "memory:*"),
    _fault("interval-short", "intervals of indices end before their last value",
           by_proofs(ShortIntervals), "temptations:guard_at_the_end"),
    _fault("index-not-negative", "signed values are taken to be at least 0",
           _by_ranges(_never_negative), "temptations:clamped_above"),
    _fault("index-does-not-wrap", "sums of u32 that wrap are computed in 64 bits",
           in_passes(Pass("widen-indices", "wrong", _widened), target=looping_target),
           "temptations:index_wraps"),
    _fault("version-unchecked", "the version without checks runs when the first of the checks holds",
           behind("version-regions", _claims_of_one, looping_target),
           "memory:empty_inputs"),
    _fault("version-middle-proven", "claims about the middle of a loop are taken to follow from those about all of it",
           on_engine("vyre_driver.vectorization.versioning.checks:Checks.is_within",
                     _always_within, looping_target),
           "guards:shorter_than_the_loop"),
    _fault("reduce-near-first", "the butterfly of a reduction begins at its least distance",
           on_engine("vyre_driver.legalization.subgroup.lowering:reduce", _near_first), "subgroups:all_ops:size=8,*"),
    _fault("reduce-half", "a reduction stops before its last distance",
           on_engine("vyre_driver.legalization.subgroup.lowering:reduce", _half_of_the_lanes), "subgroups:*"),
    _fault("scan-from-zero", "an exclusive scan of any op begins with 0",
           behind("lower-subgroups", bound_to("scanned", _zero_identity)), "subgroups:*"),
    _fault("counters-mixed", "nested loops around grid barriers have one counter",
           emits(in_expressions(_first_counter)),
           "temptations:counters_alike"),
    _fault("locals-forgotten", "locals do not survive a grid barrier",
           _left(_left_as_zero), "grid:*"),
    _fault("arrays-forgotten", "workgroup memory does not survive a grid barrier",
           _left(_no_arrays), "grid:*"),
    _fault("operands-reversed", "calls pass their operands from right to left",
           on_engine("vyre_foundation.dialects:expand", _operands_reversed), "calls:math.atan2:dtype=f32"),
)
# fmt: on
