"""sin, cos, tan of f32, correctly rounded, for arguments of every size.

The argument is measured in periods, of which only the fraction counts, so whole ones are removed while the product of
x and ``1/period`` is made, after Payne and Hanek (ACM SIGNUM Newsletter 18, 1983): bits of the constant that make
nothing but whole periods are left out. Of the others, the first 29 and the next 29 have exact products with the 24 bits
of x in f64, from which whole numbers are removed without an error; the rest are one f64. Which bits these are depends
on the size of x, in four ranges (`PERIODS`).

Then multiples of half a period are removed, which change the sign, or make a tangent a cotangent, and

    sin r = r + r³ p(r²),  cos r = 1 - (r²/2 - r⁴ q(r²))

The period of sin and cos leaves ``|r| <= pi/2``, where p has degree 7, and a cosine is the sine of a quarter of a
period more. The period of tan leaves ``|r| <= pi/4``, where degrees of 5 do. All errors are below 2**-56.

An f32 can come within 2**-30 of a multiple of pi/2, where some 30 bits of r are left, which is enough. All 2**32 inputs
have been checked: results that come too near to the middle between two neighbours are right, or stand as exceptions.

Special values: sin and tan keep the sign of zero; infinities become NaN where whole periods are removed.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f32, f64, select
from vyre_foundation.functions import abs
from vyre_math.binary32.exceptions import corrected
from vyre_math.binary32.exponential import ROUNDER
from vyre_math.constants import COS, PERIODS, PI, SIN, SIN_HALF_TURN, TWO_PI
from vyre_math.polynomial import horner

SECOND, WIDTH = 2.0**52, 2.0**28
"""Where the second range of arguments begins, in units of period / pi, and how wide a range is."""
HALVES = ROUNDER / 2
"""Added to a small number, it rounds it to a multiple of a half."""
SIN_EXCEPTIONS = {0x4619_9998: -1, 0x55CA_FB2A: +1}
COS_EXCEPTIONS = {0x5922_AA80: +1, 0x5F18_B878: -1, 0x6115_CB11: +1, 0x7908_CD73: -1}
"""Of ``|x|``."""


def sin(x: Value) -> Value:
    y = corrected(abs(x), _sine(x.cast(f64) * 0.5, offset=0.0), SIN_EXCEPTIONS)
    return select(x == 0.0, x, y)


def cos(x: Value) -> Value:
    return corrected(abs(x), _sine(x.cast(f64) * 0.5, offset=0.25), COS_EXCEPTIONS)


def tan(x: Value) -> Value:
    is_odd, fraction = _reduced(x.cast(f64), offset=0.0)
    r = fraction * PI
    u = r * r
    s, c = r + r * (u * horner(SIN, u)), 1.0 - (0.5 * u - u * u * horner(COS, u))
    return select(x == 0.0, x, (select(is_odd, -c, s) / select(is_odd, s, c)).cast(f32))


def _sine(x: Value, offset: float) -> Value:
    """sin 2x, or that of so much of a period more."""
    is_odd, fraction = _reduced(x, offset)
    r = fraction * TWO_PI
    u = r * r
    y = r + r * (u * horner(SIN_HALF_TURN, u))
    return select(is_odd, -y, y).cast(f32)


def _reduced(x: Value, offset: float) -> tuple[Value, Value]:
    """Reduce ``x / pi + offset`` by multiples of a half; the result is a quarter at most, and a little.

    Returns:
        Whether the multiple is odd, and what remains.
    """
    first, second, third = _parts_for(abs(x))
    high, low = _fraction(x * first), _fraction(x * second)
    total = high + low
    halves = ((total + offset if offset else total) + HALVES) - HALVES
    is_odd = abs(halves) == 0.5
    return is_odd, ((high - (halves - offset if offset else halves)) + low) + x * third


def _fraction(x: Value) -> Value:
    """x without the nearest whole number, for ``|x| < 2**51``."""
    return x - ((x + ROUNDER) - ROUNDER)


def _parts_for(magnitude: Value) -> list[Value]:
    """The parts of 1 / pi that count for a number of this size."""
    parts = [constant(f64, part) for part in PERIODS[0]]
    for number, others in enumerate(PERIODS[1:]):
        is_beyond = magnitude >= SECOND * WIDTH**number
        parts = [select(is_beyond, other, part) for part, other in zip(parts, others, strict=True)]
    return parts
