"""Indices as unsigned numbers of a register: a negative one becomes one that no buffer has."""

from __future__ import annotations

from vyre_driver.legalization.target import Target
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Select, literal
from vyre_foundation.ops import OPS
from vyre_foundation.validate.facts import Interval


def unsigned_index(index: Expr, known: Interval, target: Target) -> Expr:
    """``i``  →  ``u64(i)``, or ``i < 0 ? 0xFFFFFFFF : u32(i)`` without u64: lengths are below 2**32."""
    if index.dtype in (u32, u64):
        return index
    if known.low >= 0 and known.high <= u32.highest:
        return Cast(u32, index)
    if u64 in target.arithmetic:
        return Cast(u64, index)
    negative = Apply(OPS["lt"], index, literal(index.dtype, 0))
    return Select(negative, literal(u32, u32.highest), Cast(u32, index))


def proven_index(index: Expr) -> Expr:
    """An index that is known to be below a length: its low 32 bits are all of it."""
    return index if index.dtype in (u32, u64) else Cast(u32, index)
