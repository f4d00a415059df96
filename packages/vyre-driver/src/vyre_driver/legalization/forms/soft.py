"""Roots, quotients and fused products of floats in integers, for targets whose own are not correctly rounded.

A finite float is ``significand * 2**exponent``, its significand normalised to the precision of the format. Results are
found with two more bits than that, the last of which is set if anything was cut off, and rounded once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from vyre_driver.legalization.forms.sign import magnitude, sign_mask
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.dtype import DType, f32, u32, u64


@dataclass(frozen=True, slots=True)
class FloatFields:
    """A float as integers.

    `significand` has its highest bit at the precision (0 for zero); `exponent` is biased, modulo the width, and goes
    below 1 for subnormals.
    """

    significand: ExprTerm
    exponent: ExprTerm


def parts(x: ExprTerm) -> FloatFields:
    """The parts of a finite float, as unsigned integers of its width."""
    fraction_bits, word = _fraction_bits(x.dtype), x.dtype.unsigned
    size = magnitude(x).bits(word)
    hidden = 1 << fraction_bits
    shift = size.op("clz") - (x.dtype.bits - fraction_bits - 1)
    is_normal = size >= hidden
    normal = (size & (hidden - 1)) | hidden
    subnormal = size << (shift & (x.dtype.bits - 1))
    return FloatFields(
        is_normal.where(normal, subnormal), is_normal.where(size >> fraction_bits, shift.number(1) - shift)
    )


def packed(dtype: DType, negative: ExprTerm, exponent: ExprTerm, significand: ExprTerm) -> ExprTerm:
    """The float of a sign (in its place), a biased exponent, and a normalised significand with two more bits."""
    fraction_bits, word = _fraction_bits(dtype), dtype.unsigned
    greatest = (1 << dtype.bits - fraction_bits - 1) - 1
    below = _is_below(exponent, 1)
    lost = below.where(exponent.number(1) - exponent, 0).op("min", dtype.bits - 1)
    guarded = (significand >> lost) | _sticky(significand, lost)
    carries = ((guarded & 3) + ((guarded >> 2) & 1)) > 2
    scale = below.where(0, exponent - 1)
    # The hidden bit adds 1 to the exponent, and so does a carry out of the rounding.
    bits = (scale << fraction_bits) + (guarded >> 2) + carries.where(exponent.number(1), 0)
    infinite = ~below & (exponent >= greatest)
    finite = infinite.where(exponent.number(greatest << fraction_bits), bits)
    assert finite.dtype is word
    return (finite | negative).bits(dtype)


def root(x: ExprTerm) -> ExprTerm:
    """Bit by bit: r is the root so far, and what is left of x above r**2 never exceeds 2·r."""
    fraction_bits, bias = _fraction_bits(x.dtype), _bias(x.dtype)
    of = parts(x)
    # An even distance of the exponent from the bias is halved; the significand takes up an odd one.
    is_odd = ((of.exponent + (bias & 1)) & 1).differs(0)
    radicand = is_odd.where(of.significand << 1, of.significand)
    half = _halved(of.exponent - bias - is_odd.where(of.exponent.number(1), 0))
    found, rest = of.significand.number(0), of.significand.number(0)
    for step in range(fraction_bits, -1, -1):
        position = 2 * step - fraction_bits  # of the next two bits of radicand << fraction_bits
        next_bits = (radicand >> position if position >= 0 else radicand << -position) & 3
        rest = (rest << 2) | next_bits
        trial = (found << 2) | 1
        fits = trial <= rest
        rest = fits.where(rest - trial, rest)
        found = (found << 1) | fits.where(found.number(1), 0)
    nearest = found + (rest > found).where(found.number(1), 0)
    bits = ((half + (bias - 1)) << fraction_bits) + nearest
    special = (x > 0.0) & (x < math.inf)
    return special.where(bits.bits(x.dtype), (x < 0.0).where(math.nan, x + x))


def quotient(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The quotient of the significands, unless an operand is zero, infinite or NaN."""
    word = x.dtype.unsigned
    negative = (x.bits(word) ^ y.bits(word)) & sign_mask(x)
    ordinary = packed(x.dtype, negative, *_long_division(x.dtype, parts(x), parts(y)))
    zero, infinite = negative.bits(x.dtype), (negative | x.number(math.inf).bits(word)).bits(x.dtype)
    size_x, size_y = magnitude(x), magnitude(y)
    x_is_zero, y_is_zero = size_x.equals(0.0), size_y.equals(0.0)
    x_is_infinite, y_is_infinite = size_x.equals(math.inf), size_y.equals(math.inf)
    undefined = x.differs(x) | y.differs(y) | (x_is_zero & y_is_zero) | (x_is_infinite & y_is_infinite)
    defined = (x_is_zero | y_is_infinite).where(zero, (x_is_infinite | y_is_zero).where(infinite, ordinary))
    return undefined.where(math.nan, defined)


def _long_division(dtype: DType, a: FloatFields, b: FloatFields) -> tuple[ExprTerm, ExprTerm]:
    """Exponent and significand of a / b, digit by digit; the first digit is 1."""
    smaller = a.significand < b.significand
    rest = smaller.where(a.significand << 1, a.significand)
    exponent = a.exponent - b.exponent + _bias(dtype) - smaller.where(rest.number(1), 0)
    digits = rest.number(0)
    for _ in range(_fraction_bits(dtype) + 3):
        fits = b.significand <= rest
        rest = fits.where(rest - b.significand, rest) << 1
        digits = (digits << 1) | fits.where(digits.number(1), 0)
    return exponent, digits | rest.differs(0).where(digits.number(1), 0)


def fused(x: ExprTerm, y: ExprTerm, z: ExprTerm) -> ExprTerm:
    """x · y + z for f32 in u64: the product is exact, and the addend, shifted to it, keeps what it loses in one bit."""
    a, b, c = parts(x), parts(y), parts(z)
    product = (a.significand.cast(u64) * b.significand.cast(u64)) << 14
    addend = c.significand.cast(u64) << 38
    # As multiples of 2**(exponent - 314), both have their highest bit at 60 … 62.
    exponent_of_product, exponent_of_addend = a.exponent + b.exponent, c.exponent + (314 - 188)
    distance = c.significand.equals(0).where(0, exponent_of_product - exponent_of_addend)
    addend_is_greater = _is_below(distance, 0)
    aligned_product = addend_is_greater.where(_shifted(product, -distance), product)
    aligned_addend = addend_is_greater.where(addend, _shifted(addend, distance))
    exponent = addend_is_greater.where(exponent_of_addend, exponent_of_product)
    sign_of_product = (x.bits(u32) ^ y.bits(u32)) & sign_mask(x)
    sign_of_addend = z.bits(u32) & sign_mask(z)
    same = sign_of_product.equals(sign_of_addend)
    product_wins = aligned_product > aligned_addend
    difference = product_wins.where(aligned_product - aligned_addend, aligned_addend - aligned_product)
    total = same.where(aligned_product + aligned_addend, difference)
    negative = (same | product_wins).where(sign_of_product, sign_of_addend)
    leading = total.op("clz")
    normal = total << (leading & 63)
    significand = (normal >> 38).cast(u32) | (normal & ((1 << 38) - 1)).differs(0).where(negative.number(1), 0)
    result = packed(f32, negative, exponent - leading.cast(u32) - (314 - 63 - 127), significand)
    result = total.equals(0).where(0.0, result)
    # Where an operand is infinite or NaN, or the product exactly zero, two ops give the same as one.
    finite = (magnitude(x) < math.inf) & (magnitude(y) < math.inf) & (magnitude(z) < math.inf)
    return (finite & x.differs(0.0) & y.differs(0.0)).where(result, x * y + z)


def _shifted(value: ExprTerm, count: ExprTerm) -> ExprTerm:
    """`value` shifted right by a u32 that may be great, with what is lost in the last bit."""
    capped = count.op("min", 63).cast(u64)
    return (value >> capped) | _sticky(value, capped)


def _sticky(value: ExprTerm, lost: ExprTerm) -> ExprTerm:
    """1 if any of the lowest `lost` bits is set."""
    mask = (value.number(1) << lost) - 1
    return (value & mask).differs(0).where(value.number(1), 0)


def _is_below(x: ExprTerm, limit: int) -> ExprTerm:
    """Whether an exponent, which is modulo the width, is less than a small number."""
    sign = 1 << (x.dtype.bits - 1)
    return ((x - limit) & sign).differs(0)


def _halved(x: ExprTerm) -> ExprTerm:
    """Half of an even number that may be below zero, modulo the width."""
    sign = 1 << (x.dtype.bits - 1)
    return (x >> 1) | (x & sign)


def _fraction_bits(dtype: DType) -> int:
    assert dtype.format is not None
    return dtype.format.precision - 1


def _bias(dtype: DType) -> int:
    assert dtype.format is not None
    return dtype.format.emax
