"""Faults of emitters: literals, parentheses, guards and names that say something else in the target's language."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from vyre_conform.controls.engine import emits, looping_target
from vyre_conform.controls.evaluated import in_expressions, in_statements
from vyre_conform.controls.expressions import number, op
from vyre_conform.controls.fault import Fault, Layer
from vyre_foundation.dtype import f32, f64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Length, Literal, Load, Select, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Barrier, Body, If, Stmt, Store


def _literals(change: Callable[[Literal], Literal | None]) -> Callable[[Program], Program]:
    """A rule for literals; None leaves them as they are."""

    def rule(node: Expr) -> Expr:
        return change(node) or node if isinstance(node, Literal) else node

    return in_expressions(rule)


def _minus_zero(node: Literal) -> Literal | None:
    """The sign of a zero is not printed."""
    return literal(node.dtype, 0.0) if node.dtype.is_float and node.value == 0 else None


def _six_digits(node: Literal) -> Literal | None:
    if not (node.dtype in (f32, f64) and math.isfinite(node.value)):
        return None
    return literal(node.dtype, float(f"{node.value:.6g}"))


def _finite(node: Literal) -> Literal | None:
    """There is no word for infinity, so the greatest number stands for it."""
    if not (node.dtype.is_float and math.isinf(node.value)):
        return None
    greatest = (node.dtype.unsigned.highest >> 1 & _infinity(node)) - 1
    return Literal(node.dtype, greatest | (node.bits & ~(node.dtype.unsigned.highest >> 1)))


def _infinity(node: Literal) -> int:
    return node.bits & node.dtype.unsigned.highest >> 1


def _thirty_two_bits(node: Literal) -> Literal | None:
    """A suffix is missing: the literal has the type of ints."""
    return Literal(node.dtype, node.bits & 0xFFFF_FFFF) if node.dtype.bits == 64 and node.dtype.is_integer else None


def _no_sign(node: Literal) -> Literal | None:
    if not (node.dtype.is_integer and node.dtype.is_signed and node.value < 0 and node.value != node.dtype.lowest):
        return None
    return literal(node.dtype, -node.value)


def _no_parentheses(node: Expr) -> Expr:
    """a - (b - c) is printed as a - b - c."""
    match node:
        case Apply(outer, (a, Apply(inner, (b, c)))) if outer.id == inner.id == "sub":
            return op("sub", op("sub", a, b), c)
    return node


def _inclusive_guard(node: Expr) -> Expr:
    match node:
        case Apply(found, (index, Length() as length)) if found.id == "lt":
            return op("le", index, length)
    return node


def _last_constant(node: Expr) -> Expr:
    """A table is declared one element short."""
    if not (isinstance(node, Load) and node.buffer.memory is Memory.CONSTANT and isinstance(node.buffer.count, int)):
        return node
    is_last = op("eq", node.index, number(node.index, node.buffer.count - 1))
    return Select(is_last, Literal(node.dtype, 0), node)


def _flat_ids(node: Expr) -> Expr:
    """Ids of the second axis are those of the first."""
    is_id = isinstance(node, Id) and node.kind in (IdKind.WORKGROUP_ID, IdKind.GLOBAL_ID) and node.axis == 1
    return Id(node.kind, 0) if is_id and isinstance(node, Id) else node


def _swapped_select(node: Expr) -> Expr:
    """A vector select takes its arms the other way round."""
    return Select(node.args[0], node.args[2], node.args[1]) if isinstance(node, Select) else node


def _unguarded_stores(stmt: Stmt) -> Stmt | Body:
    """The guard of a store is printed without braces: of two statements it guards the first."""
    if isinstance(stmt, If) and len(stmt.then) > 1 and not stmt.orelse:
        return (replace(stmt, then=stmt.then[:1]), *stmt.then[1:])
    return stmt


def _last_store_lost(program: Program) -> Program:
    """The last statement has no semicolon."""
    body = program.body
    return replace(program, body=body[:-1]) if body and isinstance(body[-1], (Store, If)) and len(body) > 1 else program


def _barriers_lost(stmt: Stmt) -> Stmt | Body:
    return () if isinstance(stmt, Barrier) else stmt


_fault = partial(Fault, Layer.EMITTER)

# fmt: off
FAULTS = (
    _fault("literal-sign-of-zero", "-0.0 is printed as 0.0",
           emits(_literals(_minus_zero)), "literals:value:dtype=f16"),
    _fault("literal-digits", "floats are printed with six digits",
           emits(_literals(_six_digits)), "literals:value:dtype=f32"),
    _fault("literal-infinity", "infinity is printed as the greatest number",
           emits(_literals(_finite)), "literals:value:dtype=f16"),
    _fault("literal-suffix", "literals of 64 bits are printed without a suffix",
           emits(_literals(_thirty_two_bits)), "literals:*"),
    _fault("literal-minus", "negative literals lose their sign",
           emits(_literals(_no_sign)), "literals:*"),
    _fault("parentheses", "a - (b - c) is printed without parentheses",
           emits(in_expressions(_no_parentheses)), "temptations:nested_differences"),
    _fault("guard-inclusive", "the guard of an access is index <= length",
           emits(in_expressions(_inclusive_guard)), "memory:*"),
    _fault("table-short", "a table is declared one element short",
           emits(in_expressions(_last_constant)), "memory:gather:memory=constant,* memory:*"),
    _fault("ids-flat", "the second axis of an id is the first",
           emits(in_expressions(_flat_ids)), "ids:*"),
    _fault("select-swapped", "the arms of a select are swapped",
           emits(in_expressions(_swapped_select)), "ops:select"),
    _fault("braces", "a condition guards its first statement alone",
           emits(in_statements(_unguarded_stores)), "control:early_return"),
    _fault("last-statement", "the last statement is lost",
           emits(_last_store_lost, looping_target), "control:*"),
    _fault("barriers-unprinted", "barriers that lowering needs are not printed",
           emits(in_statements(_barriers_lost), by="scalar"), "subgroups:*"),
)
# fmt: on
