"""Comparisons from fewer comparisons, and what they decide: the lesser and the greater."""

from __future__ import annotations

import math

from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.ir.expr import Literal


def gt(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """``x > y`` as ``y < x``."""
    return y < x


def ge(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """``x >= y`` as ``y <= x``."""
    return y <= x


def le(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """x <= y  →  !(y < x), but a comparison of floats must be false with NaN."""
    return (x < y) | x.equals(y) if x.dtype.is_float else ~(y < x)


def ne(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """``x != y`` as ``not (x == y)``."""
    return ~x.equals(y)


def eq(x: ExprTerm, y: ExprTerm) -> ExprTerm | None:
    """x == y  →  !(x ^ y) on bool."""
    return ~(x ^ y) if not (x.dtype.is_integer or x.dtype.is_float) else None


def minimum(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """Floats: a NaN loses; equal operands differ at most in the sign of zero, and `|` of their bits is the lesser."""
    if not x.dtype.is_float:
        return (x < y).where(x, y)
    if isinstance(x.expr, Literal):
        x, y = y, x
    if isinstance(y.expr, Literal) and _decides(y.expr, -1.0):
        return (x < y).where(x, y)
    tie = (x.bits(x.dtype.unsigned) | y.bits(x.dtype.unsigned)).bits(x.dtype)
    return x.equals(y).where(tie, _unless_nan(x < y, y).where(x, y))


def maximum(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """Floats: a NaN loses; equal operands differ at most in the sign of zero, and `&` of their bits is the greater."""
    if not x.dtype.is_float:
        return (y < x).where(x, y)
    if isinstance(x.expr, Literal):
        x, y = y, x
    if isinstance(y.expr, Literal) and _decides(y.expr, 1.0):
        return (y < x).where(x, y)
    tie = (x.bits(x.dtype.unsigned) & y.bits(x.dtype.unsigned)).bits(x.dtype)
    return x.equals(y).where(tie, _unless_nan(y < x, y).where(x, y))


def _unless_nan(wins: ExprTerm, y: ExprTerm) -> ExprTerm:
    """Whether the other operand wins against `y`, which loses if it is NaN.

    One condition and no branch of its own: compilers take exponential time for long chains of three nested selects.
    """
    is_number = isinstance(y.expr, Literal) and y.expr.value == y.expr.value
    return wins if is_number else wins | y.differs(y)


def _decides(y: Literal, sign_of_zero: float) -> bool:
    """Whether a literal may win every tie and against NaN: it is a number, and if zero, then the winning zero."""
    value = float(y.value)
    return value == value and (value != 0 or math.copysign(1.0, value) == sign_of_zero)


RULES = {"gt": gt, "ge": ge, "le": le, "ne": ne, "eq": eq, "min": minimum, "max": maximum}
