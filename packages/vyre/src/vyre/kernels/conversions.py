"""How messages write the conversion of an expression."""

from __future__ import annotations

import ast

from vyre.kernels.values import public_name
from vyre_foundation.dtype import DType, i32, i64, u32


def operands_of(node: ast.AST) -> tuple[ast.expr, ast.expr]:
    """The operands of a binary operator, or of a comparison, an assignment or a call that is one; of others, `…`."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return node.left, node.comparators[0]
    if isinstance(node, ast.Call) and len(node.args) == 2:
        return node.args[0], node.args[1]
    return (node.target, node.value) if isinstance(node, ast.AugAssign) else (ast.Name("…"), ast.Name("…"))


def converted(node: ast.expr, dtype: DType, narrow: DType | None = None) -> ast.expr:
    """How to convert an expression, of the type `narrow`: where it may wrap, its operands before it does."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as op, right):
            return ast.BinOp(converted(left, dtype, narrow), op, converted(right, dtype, narrow))
        case ast.BinOp(left, ast.LShift() as op, right) if dtype.is_integer:
            return ast.BinOp(converted(left, dtype, narrow), op, converted(right, dtype, narrow))
        case ast.BinOp(left, op, right) if wraps(node) and dtype.is_integer:
            return ast.BinOp(converted(left, dtype, narrow), op, converted(right, dtype, narrow))
        case ast.BinOp() if wraps(node) and narrow is not None and narrow.bits < 64:
            node = converted(node, (i32 if narrow.is_signed else u32) if narrow.bits < 32 else i64, narrow)
        case ast.UnaryOp(ast.USub() as sign, operand):
            return ast.UnaryOp(sign, converted(operand, dtype, narrow))
        case ast.Constant():
            return node
    return ast.Call(ast.Attribute(ast.Name("vy"), public_name(dtype)), [node], [])


def wraps(node: ast.expr) -> bool:
    """Whether a sum, a product or a shift to the left is among what an expression is computed from."""
    match node:
        case ast.BinOp(left, op, right):
            return isinstance(op, (ast.Add, ast.Sub, ast.Mult, ast.LShift)) or wraps(left) or wraps(right)
        case ast.UnaryOp(_, operand):
            return wraps(operand)
    return False
