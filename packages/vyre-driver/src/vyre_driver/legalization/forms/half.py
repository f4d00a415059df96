"""f16 and bf16 in f32 registers: rounding after every op, and the patterns that memory holds.

A value of either type is exactly a value of f32. Rounding the f32 result of + - × ÷ √ once more is the correct
rounding, because 24 >= 2 * 11 + 2, and because bf16, which has the exponents of f32, has 16 bits less.
"""

from __future__ import annotations

import math

from vyre_driver.legalization.forms.sign import magnitude, with_sign_of
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.dtype import DType, f16, f32, u32

_F16_OVERFLOW = 65520.0  # halfway between the greatest f16 and what would be the next
_LEAST_NORMAL = 0x3880_0000  # 2**-14 as f32
_EXPONENT = 0x7F80_0000


def rounded(dtype: DType, x: ExprTerm) -> ExprTerm:
    """The f32 `x` rounded to f16 or bf16, in an f32 register."""
    return _rounded_f16(x) if dtype is f16 else _rounded_bf16(x)


def _rounded_f16(x: ExprTerm) -> ExprTerm:
    """Adding 2**13 times the power of two below |x| leaves room for 11 bits; below 2**-14 the room stays the same."""
    size = magnitude(x)
    exponent = size.bits(u32) & _EXPONENT
    magic = (exponent.op("max", _LEAST_NORMAL) + (13 << 23)).bits(f32)
    near = (size + magic) - magic
    # For too great a number the sum is infinity, for NaN it is NaN, which has no sign to lose.
    return with_sign_of((size < _F16_OVERFLOW).where(near, size + math.inf), x)


def _rounded_bf16(x: ExprTerm) -> ExprTerm:
    """Half a unit less one is added, and one if the last bit that stays is odd: a carry out of the rest rounds up."""
    bits = x.bits(u32)
    near = ((bits + ((bits >> 16) & 1) + 0x7FFF) & 0xFFFF_0000).bits(f32)
    return x.differs(x).where(x, near)


def pattern(dtype: DType, x: ExprTerm) -> ExprTerm:
    """The u32 whose low half is the pattern of `x`, an f32 that is a value of `dtype`; NaN gives the canonical one."""
    bits = x.bits(u32)
    found = _f16_pattern(x) if dtype is f16 else bits >> 16
    return x.differs(x).where(dtype.nan_bits, found)


def _f16_pattern(x: ExprTerm) -> ExprTerm:
    """Normal numbers: another bias, and 13 bits less. Below, adding 1/2 puts the units of 2**-24 into the last bits."""
    bits = x.bits(u32)
    size = bits & 0x7FFF_FFFF
    normal = ((size - 0x3800_0000) >> 13).op("min", 0x7C00)
    subnormal = (magnitude(x) + 0.5).bits(u32) & 0x3FF
    return (size < _LEAST_NORMAL).where(subnormal, normal) | ((bits >> 16) & 0x8000)


def value(dtype: DType, bits: ExprTerm) -> ExprTerm:
    """The f32 with the value of the pattern in the low half of a u32; the high half is 0."""
    if dtype is not f16:
        return (bits << 16).bits(f32)
    # Moved into place, the pattern is the number times 2**-112, subnormals too; infinity and NaN have to be set.
    size = (bits & 0x7FFF) << 13
    number = size.bits(f32) * 2.0**112
    special = (size | _EXPONENT).bits(f32)
    sign = (bits & 0x8000) << 16
    return ((size < 0x0F80_0000).where(number, special).bits(u32) | sign).bits(f32)
