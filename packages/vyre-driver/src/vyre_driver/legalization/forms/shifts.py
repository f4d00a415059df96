"""Shifts and rotates by any count from shifts by a count below the width."""

from __future__ import annotations

from vyre_driver.legalization.forms.integers import through_unsigned
from vyre_driver.legalization.forms.term import ExprTerm


def shl(x: ExprTerm, n: ExprTerm) -> ExprTerm:
    """Shift left by a count modulo the width."""
    return x << masked(n)


def shr(x: ExprTerm, n: ExprTerm) -> ExprTerm:
    """Shift right by a count modulo the width."""
    return x >> masked(n)


def raw_shl(x: ExprTerm, n: ExprTerm) -> ExprTerm | None:
    """Signed shift left through the unsigned type; the unsigned one has no decomposition."""
    return through_unsigned("raw_shl", x, n) if x.dtype.is_signed else None


def raw_shr(x: ExprTerm, n: ExprTerm) -> ExprTerm | None:
    """An arithmetic shift: flip the bits of a negative value, shift zeros in, flip again."""
    if not x.dtype.is_signed:
        return None
    unsigned = x.dtype.unsigned
    flip = (x < 0).where(x.number(unsigned.highest, unsigned), 0)
    return (((x.bits(unsigned) ^ flip) >> n.bits(unsigned)) ^ flip).bits(x.dtype)


def rotl(x: ExprTerm, n: ExprTerm) -> ExprTerm:
    """x << n | x >> (width - n); for n = 0 both halves are x."""
    if x.dtype.is_signed:
        return through_unsigned("rotl", x, n)
    left = masked(n)
    return (x << left) | (x >> opposite(left))


def rotr(x: ExprTerm, n: ExprTerm) -> ExprTerm:
    """Rotate right by two shifts of the unsigned type."""
    if x.dtype.is_signed:
        return through_unsigned("rotr", x, n)
    right = masked(n)
    return (x >> right) | (x << opposite(right))


def masked(n: ExprTerm, width: int | None = None) -> ExprTerm:
    """n modulo the width, which is a power of two; nothing to do where n is known to be below it."""
    width = width or n.dtype.bits
    return n if n.range.low >= 0 and n.range.high < width else n & (width - 1)


def opposite(n: ExprTerm, width: int | None = None) -> ExprTerm:
    """(width - n) modulo the width."""
    return masked(n.number(0) - n, width)


RULES = {"shl": shl, "shr": shr, "raw_shl": raw_shl, "raw_shr": raw_shr, "rotl": rotl, "rotr": rotr}
