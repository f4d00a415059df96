"""Every op of the language as a Python function on values: ``sqrt(x)``, ``fma(x, y, z)``, ``min(x, 3)``.

The names are the ids of the op table; Python's keywords get an underscore. Numbers take the type of the values beside
them, and at least one operand must be a value.
"""

from __future__ import annotations

from vyre_foundation.build import Operand, Value, apply
from vyre_foundation.ops import OPS, Op, Result


# fmt: off
def add(x: Operand, y: Operand) -> Value: return apply("add", x, y)
def sub(x: Operand, y: Operand) -> Value: return apply("sub", x, y)
def mul(x: Operand, y: Operand) -> Value: return apply("mul", x, y)
def div(x: Operand, y: Operand) -> Value: return apply("div", x, y)
def rem(x: Operand, y: Operand) -> Value: return apply("rem", x, y)
def neg(x: Operand) -> Value: return apply("neg", x)
def abs(x: Operand) -> Value: return apply("abs", x)
def abs_diff(x: Operand, y: Operand) -> Value: return apply("abs_diff", x, y)
def mul_high(x: Operand, y: Operand) -> Value: return apply("mul_high", x, y)
def add_sat(x: Operand, y: Operand) -> Value: return apply("add_sat", x, y)
def sub_sat(x: Operand, y: Operand) -> Value: return apply("sub_sat", x, y)
def mul_sat(x: Operand, y: Operand) -> Value: return apply("mul_sat", x, y)
def min(x: Operand, y: Operand) -> Value: return apply("min", x, y)
def max(x: Operand, y: Operand) -> Value: return apply("max", x, y)
def sqrt(x: Operand) -> Value: return apply("sqrt", x)
def fma(x: Operand, y: Operand, z: Operand) -> Value: return apply("fma", x, y, z)
def sign(x: Operand) -> Value: return apply("sign", x)
def copysign(x: Operand, y: Operand) -> Value: return apply("copysign", x, y)
def and_(x: Operand, y: Operand) -> Value: return apply("and", x, y)
def or_(x: Operand, y: Operand) -> Value: return apply("or", x, y)
def xor(x: Operand, y: Operand) -> Value: return apply("xor", x, y)
def not_(x: Operand) -> Value: return apply("not", x)
def shl(x: Operand, count: Operand) -> Value: return apply("shl", x, count)
def shr(x: Operand, count: Operand) -> Value: return apply("shr", x, count)
def rotl(x: Operand, count: Operand) -> Value: return apply("rotl", x, count)
def rotr(x: Operand, count: Operand) -> Value: return apply("rotr", x, count)
def popcount(x: Operand) -> Value: return apply("popcount", x)
def clz(x: Operand) -> Value: return apply("clz", x)
def ctz(x: Operand) -> Value: return apply("ctz", x)
def reverse_bits(x: Operand) -> Value: return apply("reverse_bits", x)
def eq(x: Operand, y: Operand) -> Value: return apply("eq", x, y)
def ne(x: Operand, y: Operand) -> Value: return apply("ne", x, y)
def lt(x: Operand, y: Operand) -> Value: return apply("lt", x, y)
def le(x: Operand, y: Operand) -> Value: return apply("le", x, y)
def gt(x: Operand, y: Operand) -> Value: return apply("gt", x, y)
def ge(x: Operand, y: Operand) -> Value: return apply("ge", x, y)
def is_nan(x: Operand) -> Value: return apply("is_nan", x)
def is_inf(x: Operand) -> Value: return apply("is_inf", x)
def is_finite(x: Operand) -> Value: return apply("is_finite", x)
def floor(x: Operand) -> Value: return apply("floor", x)
def ceil(x: Operand) -> Value: return apply("ceil", x)
def trunc(x: Operand) -> Value: return apply("trunc", x)
def round(x: Operand) -> Value: return apply("round", x)
# fmt: on

__all__ = [
    "abs",
    "abs_diff",
    "add",
    "add_sat",
    "and_",
    "ceil",
    "clz",
    "copysign",
    "ctz",
    "div",
    "eq",
    "floor",
    "fma",
    "ge",
    "gt",
    "is_finite",
    "is_inf",
    "is_nan",
    "le",
    "lt",
    "max",
    "min",
    "mul",
    "mul_high",
    "mul_sat",
    "ne",
    "neg",
    "not_",
    "or_",
    "popcount",
    "rem",
    "reverse_bits",
    "rotl",
    "rotr",
    "round",
    "shl",
    "shr",
    "sign",
    "sqrt",
    "sub",
    "sub_sat",
    "trunc",
    "xor",
]


def _documentation(row: Op) -> str:
    """What a row of the op table says, as a docstring."""
    operands = ("`x`", "`x` and `y`", "`x`, `y` and `z`")[row.arity - 1]
    if row.id in ("shl", "shr", "rotl", "rotr"):
        operands = "`x` and `count`"
    types = ", ".join(t.name for t in row.accepts)
    results = {Result.SAME: "that type", Result.BOOL: "bool", Result.UNSIGNED: "the unsigned type of that width"}
    given = f"{operands}, {'a value' if row.arity == 1 else 'values of one type, or numbers beside a value'}"
    return f"""{row.summary.replace(" by n", " by count")}.

    Parameters: {given}. Types: {types}.
    Returns: a value of {results[row.result]}, the same bits on every backend (docs/language.md, "Ops", `{row.id}`).
    Raises: `TypeMismatch` for operands of other types or of two, `LiteralOutOfRange` for a number that the type cannot
    hold, `BuildError` if none of the operands is a value.
    """


for _name in __all__:
    globals()[_name].__doc__ = _documentation(OPS[_name.rstrip("_")])
