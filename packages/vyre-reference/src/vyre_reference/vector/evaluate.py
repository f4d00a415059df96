"""Expressions: one NumPy operation for each node, over the active lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vyre_foundation import dialect
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, Length, Literal, Load, Local, Select
from vyre_foundation.ir.walk import postorder
from vyre_reference.vector import casts, registers
from vyre_reference.vector.lanes import Lanes
from vyre_reference.vector.ops import function, precondition
from vyre_reference.vector.registers import Values

if TYPE_CHECKING:
    from vyre_reference.vector.machine import Machine


class Step(NamedTuple):
    """A node to evaluate, and the nodes whose values nobody needs after it."""

    node: Expr
    last_uses: tuple[Expr, ...]


def steps_of(root: Expr) -> tuple[Step, ...]:
    """The nodes of an expression with its calls expanded, children first, the root last."""
    nodes = postorder((dialect.expand(root, {}),))
    last_user = {child: node for node in nodes for child in node.args}
    return tuple(Step(node, tuple({c for c in node.args if last_user[c] is node})) for node in nodes)


def evaluate(root: Expr, at: Machine, lanes: Lanes) -> Values:
    """The value of `root` for each of `lanes`, or one value where it is the same for all."""
    values: dict[Expr, Values] = {}
    for node, last_uses in at.steps(root):
        values[node] = _value(node, values, at, lanes)
        for child in last_uses:
            del values[child]
    (result,) = values.values()
    return result


def _value(node: Expr, values: dict[Expr, Values], at: Machine, lanes: Lanes) -> Values:
    match node:
        case Apply(op, args):
            operands = [values[a] for a in args]
            condition = precondition(op.id, args[0].dtype)
            if condition is not None:
                at.require(condition(*operands), lanes, f"{op.id} on {args[0].dtype} has no meaning for its operands")
            return function(op.id, args[0].dtype)(*operands)
        case Literal(dtype, bits):
            return registers.literal(dtype, bits)
        case Local(name):
            return at.locals.read(name, lanes)
        case Id():
            return lanes.picked(node, lambda: at.chunk.id(node))
        case Load(buffer, index):
            return at.load(buffer, values[index], lanes, checked=node.checked)
        case Length(buffer):
            return np.uint32(at.chunk.plan.lengths[buffer.name])
        case Select(condition, if_true, if_false):
            chosen = values[condition]
            if chosen.ndim == 0:
                return values[if_true] if chosen else values[if_false]
            return np.where(chosen, values[if_true], values[if_false])
        case Cast(dtype, value):
            if not node.checked:
                fit = casts.fits(value.dtype, dtype, values[value])
                at.require(fit, lanes, f"a value was proven to fit {dtype}, and does not")
            return casts.cast(value.dtype, dtype, values[value])
        case Bitcast(dtype, value):
            return registers.bitcast(value.dtype, dtype, values[value])
        case _:
            raise AssertionError(f"{type(node).__name__} is not an expression that is evaluated")
