"""Ops on 8 and 16 bits in 32-bit registers.

A register holds the value of a narrow type itself: integers with their sign, f16 and bf16 as f32. Results that the
narrow type cannot hold are brought back into it: `wrapped` for integers, `half.rounded` for floats.
"""

from __future__ import annotations

from collections.abc import Callable

from vyre_driver.legalization.forms import half
from vyre_driver.legalization.forms.shifts import masked, opposite
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.dtype import DType, i32, u32

_EXACT_ON_INTEGERS = frozenset("abs_diff min max rem and or xor eq ne lt le gt ge".split())
"""Wide results of these are in the narrow type already."""
_ROUNDED = frozenset("add sub mul div sqrt".split())


def apply(op: str, dtype: DType, *operands: ExprTerm) -> ExprTerm | None:
    """``op`` on the narrow `dtype`, over operands in its carrier. None for an op that it does not have."""
    if dtype.is_float:
        result = operands[0].op(op, *operands[1:])
        return half.rounded(dtype, result) if op in _ROUNDED else result
    if op in _EXACT_ON_INTEGERS:
        return operands[0].op(op, *operands[1:])
    rule = _RULES.get(op)
    return rule(dtype, *operands) if rule is not None else wrapped(dtype, operands[0].op(op, *operands[1:]))


def wrapped(dtype: DType, x: ExprTerm) -> ExprTerm:
    """The low bits of `x` as the value of an integer type: zeros above, or copies of the sign bit."""
    if not dtype.is_signed:
        return x.bits(u32) & dtype.highest
    unused = 32 - dtype.bits
    return (x.bits(u32) << unused).bits(i32) >> unused


def pattern(dtype: DType, x: ExprTerm) -> ExprTerm:
    """The bits of a value of `dtype` in the low bits of a u32, zeros above."""
    return x.bits(u32) & dtype.unsigned.highest if dtype.is_signed else x


def mul_high(dtype: DType, x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The whole product fits the register, and so does its high half the type."""
    return (x * y) >> dtype.bits


def clamped(op: str) -> Callable[..., ExprTerm]:
    """A saturating op: the exact result, clamped. Only an unsigned difference would not be exact in a register."""

    def rule(dtype: DType, x: ExprTerm, y: ExprTerm) -> ExprTerm:
        if op == "sub" and not dtype.is_signed:
            return x.op("sub_sat", y)
        result = x.op(op, y).op("min", dtype.highest)
        return result.op("max", dtype.lowest) if dtype.is_signed else result

    return rule


def shl(dtype: DType, x: ExprTerm, n: ExprTerm) -> ExprTerm:
    """Shift left, and discard the bits above the width."""
    return wrapped(dtype, x << masked(n, dtype.bits))


def shr(dtype: DType, x: ExprTerm, n: ExprTerm) -> ExprTerm:
    """Shift right; the register holds the value extended by its sign or by zeros."""
    return x >> masked(n, dtype.bits)


def rotl(dtype: DType, x: ExprTerm, n: ExprTerm) -> ExprTerm:
    """Rotate left within the width."""
    bits, left = pattern(dtype, x), masked(n, dtype.bits).bits(u32)
    return wrapped(dtype, (bits << left) | (bits >> opposite(left, dtype.bits)))


def rotr(dtype: DType, x: ExprTerm, n: ExprTerm) -> ExprTerm:
    """Rotate right within the width."""
    bits, right = pattern(dtype, x), masked(n, dtype.bits).bits(u32)
    return wrapped(dtype, (bits >> right) | (bits << opposite(right, dtype.bits)))


def flip(dtype: DType, x: ExprTerm) -> ExprTerm:
    """Copies of the sign bit flip with it; zeros above must stay."""
    return ~x if dtype.is_signed else x ^ dtype.highest


def popcount(dtype: DType, x: ExprTerm) -> ExprTerm:
    """Count the ones among the bits of the width."""
    return pattern(dtype, x).op("popcount").bits(x.dtype)


def clz(dtype: DType, x: ExprTerm) -> ExprTerm:
    """Count the leading zeros of the width: those of 32 bits, less those above."""
    return (pattern(dtype, x).op("clz") - (32 - dtype.bits)).bits(x.dtype)


def ctz(dtype: DType, x: ExprTerm) -> ExprTerm:
    """A bit above the type stops the count at the width."""
    return (x.bits(u32) | (1 << dtype.bits)).op("ctz").bits(x.dtype)


def reverse_bits(dtype: DType, x: ExprTerm) -> ExprTerm:
    """Reversed in the register, the bits of the type are on top."""
    return x.op("reverse_bits") >> (32 - dtype.bits)


_RULES: dict[str, Callable[..., ExprTerm]] = {
    "mul_high": mul_high,
    "add_sat": clamped("add"),
    "sub_sat": clamped("sub"),
    "mul_sat": clamped("mul"),
    "not": flip,
    "shl": shl,
    "shr": shr,
    "rotl": rotl,
    "rotr": rotr,
    "popcount": popcount,
    "clz": clz,
    "ctz": ctz,
    "reverse_bits": reverse_bits,
}
