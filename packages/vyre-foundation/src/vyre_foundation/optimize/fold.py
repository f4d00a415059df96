"""Folding: what is made of literals alone is a literal.

    (2 + 3) * 7, u8(300:u32), select(true, 1, x)  →  35, 44:u8, 1

Every value comes from `Op.evaluate`, `cast` and `bitcast`, which define the language, and every NaN is canonical. Of a
raw op whose precondition does not hold, and of a cast without a check, nothing is known.
"""

from __future__ import annotations

from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Literal
from vyre_foundation.ops import Op
from vyre_foundation.ops.scalar import Scalar, bitcast, cast, to_bits


def folded(node: Expr) -> Literal | None:
    """The literal that equals `node`; None if an operand is no literal, or the value is not known here."""
    for arg in node.args:
        if arg.__class__ is not Literal:
            return None
    values = [arg.value for arg in node.args if isinstance(arg, Literal)]
    value: Scalar
    match node:
        case Apply(op, args) if _is_defined(op, args, values):
            value = op.evaluate(args[0].dtype, *values)
        case Cast(dtype, operand) if node.checked:
            value = cast(operand.dtype, dtype, values[0])
        case Bitcast(dtype, operand):
            value = bitcast(operand.dtype, dtype, values[0])
        case _:
            return None
    return Literal(node.dtype, to_bits(node.dtype, value))


def _is_defined(op: Op, args: tuple[Expr, ...], values: list[Scalar]) -> bool:
    return op.precondition is None or bool(op.precondition(args[0].dtype, *values))


def canonical(node: Literal) -> Literal:
    """The literal itself, or the canonical NaN for any other: no program can tell."""
    if node.dtype.is_float and node.bits != node.dtype.nan_bits and node.value != node.value:
        return Literal(node.dtype, node.dtype.nan_bits)
    return node
