"""Expressions: one NumPy function for each node, over the active lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vyre_foundation import dialect
from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, Length, Literal, Load, Local, Select
from vyre_foundation.ir.walk import postorder
from vyre_reference.vector import casts, registers
from vyre_reference.vector.lanes import Lanes
from vyre_reference.vector.ops import function, precondition
from vyre_reference.vector.registers import Values

if TYPE_CHECKING:
    from vyre_reference.vector.machine import Machine

Compute = Callable[..., Values]
"""From a machine, its active lanes and the values of a node's operands, to the value of the node."""


class Step(NamedTuple):
    """How to compute one node, from which operands, and whose values nobody needs after it."""

    node: Expr
    compute: Compute
    operands: tuple[Expr, ...]
    last_uses: tuple[Expr, ...]


def steps_of(root: Expr) -> tuple[Step, ...]:
    """The nodes of an expression with its calls expanded, children first, the root last."""
    nodes = postorder((dialect.expand(root, {}),))
    last_user = {child: node for node in nodes for child in node.args}
    return tuple(
        Step(node, _compute(node), node.args, tuple({c for c in node.args if last_user[c] is node})) for node in nodes
    )


def evaluate(root: Expr, at: Machine, lanes: Lanes) -> Values:
    """The value of `root` for each of `lanes`, or one value where it is the same for all."""
    values: dict[Expr, Values] = {}
    for node, compute, operands, last_uses in at.steps(root):
        values[node] = compute(at, lanes, *[values[operand] for operand in operands])
        for operand in last_uses:
            del values[operand]
    (result,) = values.values()
    return result


def _compute(node: Expr) -> Compute:
    match node:
        case Apply(op, args):
            return _apply(op.id, function(op.id, args[0].dtype), precondition(op.id, args[0].dtype))
        case Literal(dtype, bits):
            value = registers.literal(dtype, bits)
            return lambda at, lanes: value
        case Local(name):
            return lambda at, lanes: at.locals.read(name, lanes)
        case Id():
            return lambda at, lanes: lanes.picked(node, lambda: at.chunk.id(node))
        case Load(buffer):
            return lambda at, lanes, index: at.load(buffer, index, lanes, checked=node.checked)
        case Length(buffer):
            return lambda at, lanes: np.uint32(at.chunk.plan.lengths[buffer.name])
        case Select():
            return _select
        case Cast(dtype, value):
            return _cast(value.dtype, dtype) if node.checked else _proven_cast(value.dtype, dtype)
        case Bitcast(dtype, value):
            return lambda at, lanes, x: registers.bitcast(value.dtype, dtype, x)
        case _:
            raise AssertionError(f"{type(node).__name__} is not an expression that is evaluated")


def _apply(op: str, compute: Callable[..., Values], condition: Callable[..., Values] | None) -> Compute:
    if condition is None:
        return lambda at, lanes, *operands: compute(*operands)

    def raw(at: Machine, lanes: Lanes, *operands: Values) -> Values:
        at.require(condition(*operands), lanes, f"{op} has no meaning for its operands")
        return compute(*operands)

    return raw


def _select(at: Machine, lanes: Lanes, condition: Values, if_true: Values, if_false: Values) -> Values:
    if condition.ndim == 0:
        return if_true if condition else if_false
    return np.where(condition, if_true, if_false)


def _cast(source: DType, target: DType) -> Compute:
    return lambda at, lanes, x: casts.cast(source, target, x)


def _proven_cast(source: DType, target: DType) -> Compute:
    def proven(at: Machine, lanes: Lanes, x: Values) -> Values:
        at.require(casts.fits(source, target, x), lanes, f"a value was proven to fit {target}, and does not")
        return casts.cast(source, target, x)

    return proven
