"""Rounding to odd: an inexact result gets an odd last bit, so that a second rounding to fewer bits cannot go wrong.

The second format must have at least two bits of precision less (Boldo and Melquiond, "Emulation of FMA and correctly
rounded sums: proved algorithms using rounding to odd", 2008).
"""

from __future__ import annotations

from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.dtype import f32, f64


def to_odd(rounded: ExprTerm, error: ExprTerm) -> ExprTerm:
    """``rounded + error`` rounded to odd, where `rounded` is its rounding to nearest; a NaN error counts as exact.

    Where the last bit is even, the neighbour in the direction of the error has an odd one: its pattern is one more
    if the error points away from zero, and one less otherwise.
    """
    unsigned = rounded.dtype.unsigned
    bits = rounded.bits(unsigned)
    outwards = (error > 0.0).where(rounded > 0.0, rounded < 0.0)
    neighbour = (bits + outwards.where(bits.number(1), unsigned.highest)).bits(rounded.dtype)
    adjust = ((error > 0.0) | (error < 0.0)) & (bits & 1).equals(0)
    return adjust.where(neighbour, rounded)


def narrowed_to_odd(x: ExprTerm) -> ExprTerm:
    """An f64 as the f32 that is rounded to odd; too great a number gives the greatest f32, NaN some NaN."""
    rounded = x.cast(f32)
    unsigned = f32.unsigned
    bits = rounded.bits(unsigned)
    back = rounded.cast(f64)
    neighbour = (bits + (abs(back) < abs(x)).where(bits.number(1), unsigned.highest)).bits(f32)
    adjust = back.differs(x) & (bits & 1).equals(0)
    return adjust.where(neighbour, rounded)
