"""Scalar values and their bits: wrapping, rounding, casting. The base of every exact meaning in the op table.

A scalar value is a Python ``bool``, ``int`` or ``float``; a float of a narrow type is the double that equals it.
`to_bits` and `from_bits` go to and from the unsigned integer that memory holds; every NaN becomes the canonical one.
"""

from __future__ import annotations

import math
import struct
from ctypes import c_float
from typing import TYPE_CHECKING

from vyre_foundation.dtype import DType, Kind, f32, f64

if TYPE_CHECKING:
    from fractions import Fraction

Scalar = bool | int | float


def wrap(dtype: DType, value: int) -> int:
    """`value` modulo 2**bits, in the range of the integer type `dtype`."""
    if dtype.lowest <= value <= dtype.highest:
        return value
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if value > dtype.highest else value


def clamp(dtype: DType, value: int) -> int:
    """The value of the integer type `dtype` that is nearest to `value`."""
    return min(max(value, dtype.lowest), dtype.highest)


def round_rational(dtype: DType, value: Fraction) -> float:
    """`value` rounded to the float type `dtype`: to nearest, ties to even, gradual underflow, overflow to infinity."""
    return round_ratio(dtype, value.numerator, value.denominator)


def round_ratio(dtype: DType, dividend: int, divisor: int = 1) -> float:
    """The same for a quotient by a positive divisor; they may have common factors, which take long to find."""
    assert dtype.format is not None
    precision, emin, emax = dtype.format
    numerator, denominator = abs(dividend), divisor
    if not numerator:
        return 0.0
    # 2**exponent <= |value| < 2**(exponent+1)
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1
    ulp = max(exponent, emin) - precision + 1  # as the exponent of a power of 2
    numerator, denominator = numerator << max(-ulp, 0), denominator << max(ulp, 0)
    significand, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and significand & 1):
        significand += 1
    # An exact value may be too large to become a double.
    rounded = math.inf if significand.bit_length() + ulp > emax + 1 else math.ldexp(significand, ulp)
    return rounded if dividend > 0 else -rounded


def round_float(dtype: DType, value: float) -> float:
    """The double `value` rounded once to the float type `dtype`; infinities, NaN and the sign of zero stay.

    One rounding of the double result is also the correct rounding of + - * / sqrt in every narrower type, because
    53 >= 2 * precision + 2 (Figueroa, "When is double rounding innocuous?", 1995).
    """
    if dtype is f64:
        return value
    if dtype is f32:
        return c_float(value).value
    assert dtype.format is not None
    if value == 0 or not math.isfinite(value):
        return value
    precision, emin, emax = dtype.format
    exponent = math.frexp(value)[1] - 1
    if exponent > emax:
        return math.copysign(math.inf, value)
    ulp_exponent = max(exponent, emin) - precision + 1
    rounded = math.ldexp(round(math.ldexp(value, -ulp_exponent)), ulp_exponent)
    if abs(rounded) >= math.ldexp(1.0, emax + 1):
        return math.copysign(math.inf, value)
    return math.copysign(rounded, value)


def to_bits(dtype: DType, value: Scalar) -> int:
    """The unsigned integer that memory holds for `value`; a NaN gives the canonical one."""
    if dtype.kind is Kind.FLOAT:
        if value != value:
            return dtype.nan_bits
        if dtype is f64:
            return int(struct.unpack("<Q", struct.pack("<d", value))[0])
        if dtype is f32:
            return int(struct.unpack("<I", struct.pack("<f", value))[0])
        if dtype.name == "f16":
            return int(struct.unpack("<H", struct.pack("<e", value))[0])
        return int(struct.unpack("<I", struct.pack("<f", value))[0]) >> 16
    return int(value) & ((1 << dtype.bits) - 1)


def from_bits(dtype: DType, bits: int) -> Scalar:
    """The value whose bits in memory are `bits`; any non-zero byte is a true bool."""
    match dtype.kind:
        case Kind.BOOL:
            return bits != 0
        case Kind.FLOAT:
            if dtype is f64:
                return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
            if dtype.name == "f16":
                return float(struct.unpack("<e", struct.pack("<H", bits))[0])
            return float(struct.unpack("<f", struct.pack("<I", bits if dtype is f32 else bits << 16))[0])
        case _:
            return wrap(dtype, bits)


def cast(source: DType, target: DType, value: Scalar) -> Scalar:
    """`value` of type `source` converted to `target`; total.

    Integers truncate or extend; floats truncate towards zero and saturate, NaN gives 0; to a float rounds to
    nearest even; to bool is ``value != 0``.
    """
    if target.kind is Kind.BOOL:
        return value != 0
    if target.kind is Kind.FLOAT:
        if source.kind is Kind.FLOAT:
            return round_float(target, float(value))
        return round_ratio(target, int(value))
    if source.kind is Kind.FLOAT:
        number = float(value)
        if math.isnan(number):
            return 0
        if math.isinf(number):
            return target.highest if number > 0 else target.lowest
        return clamp(target, math.trunc(number))
    return wrap(target, int(value))


def bitcast(source: DType, target: DType, value: Scalar) -> Scalar:
    """The value of type `target` that has the bits of `value`; the types are of one size."""
    return from_bits(target, to_bits(source, value))
