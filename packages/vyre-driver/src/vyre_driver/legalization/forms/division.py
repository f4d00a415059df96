"""Total division from a division that must not see 0 or an overflow: the divisor is replaced by 1 there.

x / 0 = x = x / 1 and x % 0 = 0 = x % 1; MIN / -1 = MIN = MIN / 1 and MIN % -1 = 0 = MIN % 1. A guard that the ranges of
the operands make unnecessary is not written.
"""

from __future__ import annotations

from vyre_driver.legalization.forms import soft
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.dtype import f32, f64


def div(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """Rounding the double quotient of floats again is harmless: 53 >= 2 * 24 + 2."""
    if x.dtype.is_integer:
        return x.op("raw_div", sanitised_divisor(x, y))
    if x.dtype is f32 and ("div", f64) in x.forms.target.ops:
        return (x.cast(f64).op("div", y.cast(f64))).cast(f32)
    return soft.quotient(x, y)


def rem(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The remainder, by a division whose divisor is sanitised."""
    return x.op("raw_rem", sanitised_divisor(x, y))


def sanitised_divisor(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The divisor, or 1 where the division is not defined: ``y == 0 || (x == MIN && y == -1) ? 1 : y``."""
    guard = None
    if y.range.low <= 0 <= y.range.high:
        guard = y.equals(0)
    if x.dtype.is_signed and x.range.low == x.dtype.lowest and y.range.low <= -1 <= y.range.high:
        overflow = x.equals(x.dtype.lowest) & y.equals(-1)
        guard = overflow if guard is None else guard | overflow
    return y if guard is None else guard.where(1, y)


RULES = {"div": div, "rem": rem}
