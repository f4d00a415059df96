"""The methods by which a structure defines operators, as Python names them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple


class Overload(NamedTuple):
    """An operator, the method of the left operand that defines it, and that of the right operand."""

    sign: str
    method: str
    reflected: str


def _arithmetic(sign: str, name: str) -> Overload:
    return Overload(sign, f"__{name}__", f"__r{name}__")


BINARY: Mapping[type[ast.operator], Overload] = {
    ast.Add: _arithmetic("+", "add"),
    ast.Sub: _arithmetic("-", "sub"),
    ast.Mult: _arithmetic("*", "mul"),
    ast.Div: _arithmetic("/", "truediv"),
    ast.FloorDiv: _arithmetic("//", "floordiv"),
    ast.Mod: _arithmetic("%", "mod"),
    ast.Pow: _arithmetic("**", "pow"),
    ast.MatMult: _arithmetic("@", "matmul"),
    ast.LShift: _arithmetic("<<", "lshift"),
    ast.RShift: _arithmetic(">>", "rshift"),
    ast.BitAnd: _arithmetic("&", "and"),
    ast.BitOr: _arithmetic("|", "or"),
    ast.BitXor: _arithmetic("^", "xor"),
}
UNARY: Mapping[type[ast.unaryop], Overload] = {
    ast.USub: Overload("-", "__neg__", ""),
    ast.UAdd: Overload("+", "__pos__", ""),
    ast.Invert: Overload("~", "__invert__", ""),
}
COMPARISONS: Mapping[type[ast.cmpop], Overload] = {
    ast.Eq: Overload("==", "__eq__", "__eq__"),
    ast.NotEq: Overload("!=", "__ne__", "__ne__"),
    ast.Lt: Overload("<", "__lt__", "__gt__"),
    ast.LtE: Overload("<=", "__le__", "__ge__"),
    ast.Gt: Overload(">", "__gt__", "__lt__"),
    ast.GtE: Overload(">=", "__ge__", "__le__"),
}
METHODS = frozenset(
    name for table in (BINARY, UNARY, COMPARISONS) for overload in table.values() for name in overload[1:] if name
)
"""Every method that the tables name."""
