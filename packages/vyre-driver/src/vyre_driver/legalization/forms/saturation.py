"""Saturating arithmetic from wrapping arithmetic and the sign of what overflowed."""

from __future__ import annotations

from vyre_driver.legalization.forms.term import ExprTerm


def add_sat(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The sum, or the extreme of the type on the side of the overflow."""
    total = x + y
    if not x.dtype.is_signed:
        return (total < x).where(x.dtype.highest, total)
    overflow = ((x ^ total) & (y ^ total)) < 0
    return overflow.where(_extreme(x), total)


def sub_sat(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The difference, or the extreme of the type on the side of the overflow."""
    difference = x - y
    if not x.dtype.is_signed:
        return (x < y).where(0, difference)
    overflow = ((x ^ y) & (x ^ difference)) < 0
    return overflow.where(_extreme(x), difference)


def mul_sat(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The product fits exactly where its high half is the sign of its low half."""
    low, high = x * y, x.op("mul_high", y)
    if not x.dtype.is_signed:
        return high.differs(0).where(x.dtype.highest, low)
    return high.differs(low >> (x.dtype.bits - 1)).where(_extreme(x ^ y), low)


def _extreme(sign: ExprTerm) -> ExprTerm:
    """The least value where `sign` is negative, else the greatest."""
    return (sign < 0).where(sign.number(sign.dtype.lowest), sign.dtype.highest)


RULES = {"add_sat": add_sat, "sub_sat": sub_sat, "mul_sat": mul_sat}
