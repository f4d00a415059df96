"""Expressions: one NumPy function for each node, over the active lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vyre_foundation import dialects
from vyre_foundation.dialects import is_rare_call
from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, Length, Literal, Load, Local, Select
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
    """How to compute one node, from which operands, and whose values are not needed after it."""

    node: Expr
    compute: Compute
    operands: tuple[Expr, ...]
    last_uses: tuple[Expr, ...]


def steps_of(root: Expr) -> tuple[Step, ...]:
    """Give the nodes of an expression with its calls expanded, children first, the root last.

    A rare call that one selection needs is computed there, for the lanes that take it.
    """
    nodes = postorder((dialects.expand(root, {}, is_rare_call),))
    users = Counter(child for node in nodes for child in node.args)
    rare = {n.args[1]: n for n in nodes if isinstance(n, Select) and is_rare_call(n.args[1]) and users[n.args[1]] == 1}
    if any(is_rare_call(node) and node not in rare for node in nodes):
        nodes, rare = postorder((dialects.expand(root, {}),)), {}
    rarely = {selection: call for call, selection in rare.items()}
    operands = {n: (n.args[0], n.args[2], *rarely[n].args) if n in rarely else n.args for n in nodes if n not in rare}
    last_user = {child: node for node, needed in operands.items() for child in needed}
    return tuple(
        Step(
            node,
            _rarely(rarely[node]) if node in rarely else _compute(node),
            needed,
            tuple({c for c in needed if last_user[c] is node}),
        )
        for node, needed in operands.items()
    )


def evaluate(root: Expr, at: Machine, lanes: Lanes) -> Values:
    """The value of `root` for each of `lanes`, or one value where it is the same for all."""
    return _run(at.steps(root), at, lanes, {})


def _run(steps: Sequence[Step], at: Machine, lanes: Lanes, values: dict[Expr, Values]) -> Values:
    for node, compute, operands, last_uses in steps:
        values[node] = compute(at, lanes, *[values[operand] for operand in operands])
        for operand in last_uses:
            del values[operand]
    return values[steps[-1].node]


def _rarely(call: Call) -> Compute:
    """A selection of `call`, whose operands come behind the condition and the other arm."""
    parameters = [Local(f"x{n}", arg.dtype) for n, arg in enumerate(call.args)]
    steps = [step for step in steps_of(call.rebuild(tuple(parameters))) if step.node not in parameters]

    def select(at: Machine, lanes: Lanes, condition: Values, usual: Values, *operands: Values) -> Values:
        taking, _ = lanes.split(condition)
        if not taking.count:
            return usual
        chosen = np.flatnonzero(lanes.full(condition))
        given = (operand if operand.ndim == 0 else operand.take(chosen) for operand in operands)
        result = lanes.full(usual).copy()
        result[chosen] = _run(steps, at, taking, dict(zip(parameters, given, strict=True)))
        return result

    return select


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
