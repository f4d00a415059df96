"""Expressions: pure values, so an expression means what its op means, applied to what its children mean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

from vyre_driver.observe.accesses import Touch
from vyre_foundation import dialects
from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, ExprNode, Id, Length, Literal, Load, Local, Select
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import Op, scalar
from vyre_foundation.ops.scalar import Scalar

if TYPE_CHECKING:
    from vyre_reference.scalar.invocation import Invocation


class Tape(NamedTuple):
    """An expression in the order of its evaluation: children before parents, shared ones once, calls expanded."""

    root: Expr
    literals: dict[Expr, Scalar]
    nodes: tuple[ExprNode, ...]


def tape_of(root: Expr) -> Tape:
    """Expand the calls of an expression, and put its nodes in an order of evaluation."""
    expanded = dialects.expand(root, {})
    nodes = postorder((expanded,))
    literals: dict[Expr, Scalar] = {node: node.value for node in nodes if isinstance(node, Literal)}
    return Tape(expanded, literals, tuple(cast(ExprNode, node) for node in nodes if node not in literals))


def evaluate(root: Expr, at: Invocation) -> Scalar:
    """The value of `root` for the invocation `at`, where it stands now."""
    tape = at.run.tape(root)
    values = tape.literals.copy()
    if at.run.coverage is not None:
        at.run.coverage.expression(tape.root, tape.nodes)
    for node in tape.nodes:
        match node:
            case Apply(op, args):
                values[node] = apply(op, args[0].dtype, [values[a] for a in args], at)
            case Local(name):
                values[node] = at.locals[name]
            case Load(buffer, index):
                cells = at.reach(buffer, int(values[index]), Touch.READ, checked=node.checked)
                values[node] = cells.load(int(values[index])) if cells is not None else zero(node.dtype)
            case Length(buffer):
                values[node] = at.run.plan.lengths[buffer.name]
            case Id(kind, axis):
                values[node] = at.position.id(at.run.plan, kind, axis)
            case Select(condition, if_true, if_false):
                values[node] = values[if_true] if values[condition] else values[if_false]
            case Cast(dtype, value):
                if not (node.checked or fits(dtype, values[value])):
                    raise at.undefined(f"{values[value]!r} was proven to fit {dtype}, and does not")
                values[node] = scalar.cast(value.dtype, dtype, values[value])
            case Bitcast(dtype, value):
                values[node] = scalar.bitcast(value.dtype, dtype, values[value])
            case _:
                raise AssertionError(f"{type(node).__name__} is not on a tape")
    return values[tape.root]


def apply(op: Op, operand: DType, values: list[Scalar], at: Invocation) -> Scalar:
    """The meaning of `op`, which the op table gives; for a raw op only where its precondition holds."""
    if op.precondition is not None and not op.precondition(operand, *values):
        shown = ", ".join(map(repr, values))
        raise at.undefined(f"{op.id}({shown}) on {operand} has no meaning")
    return op.evaluate(operand, *values)


def fits(dtype: DType, value: Scalar) -> bool:
    """Whether a cast of `value` to `dtype` neither wraps nor saturates."""
    if not dtype.is_integer:
        return True
    return math.isfinite(value) and dtype.lowest <= math.trunc(value) <= dtype.highest


def zero(dtype: DType) -> Scalar:
    """What is read out of bounds."""
    return 0.0 if dtype.is_float else 0
