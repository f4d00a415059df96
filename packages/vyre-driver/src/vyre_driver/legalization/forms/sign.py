"""The sign of a float is its highest bit; NaN keeps being NaN whatever its sign."""

from __future__ import annotations

from vyre_driver.legalization.forms.term import ExprTerm


def flipped(x: ExprTerm) -> ExprTerm:
    """``-x``, also of NaN and zero: the highest bit is inverted."""
    bits = x.bits(x.dtype.unsigned)
    return (bits ^ sign_mask(x)).bits(x.dtype)


def magnitude(x: ExprTerm) -> ExprTerm:
    """``|x|``, also of NaN and zero: the highest bit is cleared."""
    bits = x.bits(x.dtype.unsigned)
    return (bits & (sign_mask(x) - 1)).bits(x.dtype)


def with_sign_of(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """|x| with the sign bit of y, for an x that is not negative; y must not be NaN, whose sign bit is anything."""
    bits = x.bits(x.dtype.unsigned)
    return (bits | (y.bits(x.dtype.unsigned) & sign_mask(x))).bits(x.dtype)


def sign_mask(x: ExprTerm) -> int:
    """The bit of the sign, in the unsigned type of the same width."""
    return 1 << (x.dtype.bits - 1)
