"""sin, cos, tan of f32, correctly rounded, for arguments of every size.

``|x| = n pi/2 + r`` with ``|r| <= pi/4``; n modulo 4 says which of ±sin r, ±cos r is the result. On that interval

    sin r = r + r³ p(r²),  cos r = 1 - (r²/2 - r⁴ q(r²))

with polynomials of degree 5 and errors below 2**-56. Below pi/4 r is x itself. Above, multiples of pi/2 are removed in
integers, as Payne and Hanek do it (ACM SIGNUM Newsletter 18, 1983): ``x = m 2**k`` with 24 bits in m, and of 2/pi, as a
string of bits, only those are needed that stand from 2**(1 - k) on, because earlier ones make multiples of four quarter
turns. 96 bits from there times m give n in two bits and the rest of the quarter turn in 62 more.

An f32 can come within 2**-30 of a multiple of pi/2, which leaves some 32 correct bits in r. All 2**32 inputs have been
checked: results that come too near to the middle between two neighbours are right, or stand as exceptions.

Special values: sin and tan keep the sign of zero; infinities and NaN give NaN.
"""

from __future__ import annotations

from math import nan

from vyre_foundation import Value, constant, f32, f64, i32, select, u32, u64
from vyre_foundation.functions import abs, is_finite
from vyre_math.binary32.exceptions import corrected
from vyre_math.constants import COS, HALF_PI_2_62, QUARTER_PI, SIN, TWO_OVER_PI
from vyre_math.polynomial import horner
from vyre_math.table import slice_of

MANTISSA, HIDDEN, MAGNITUDE = 0x7F_FFFF, 0x80_0000, 0x7FFF_FFFF
FIRST_EXPONENT = 126
"""The biased exponent of the least argument that is reduced; its bits of 2/pi begin at the start of the table."""
HALF_TURN = 0x2000_0000
"""Half of pi/2, in units of the upper word of a reduced argument."""
SIN_EXCEPTIONS = {0x4619_9998: -1}
COS_EXCEPTIONS = {0x5922_AA80: +1, 0x5F18_B878: -1, 0x6115_CB11: +1}
"""Of ``|x|``."""


def sin(x: Value) -> Value:
    n, r = _reduced(x)
    y = negated(select(is_even(n), _sin(r), _cos(r)).cast(f32), (n & 2) != 0)
    return special(x, negated(corrected(abs(x), y, SIN_EXCEPTIONS), _is_negative(x)))


def cos(x: Value) -> Value:
    n, r = _reduced(x)
    y = negated(select(is_even(n), _cos(r), _sin(r)).cast(f32), ((n + 1) & 2) != 0)
    return special(x, corrected(abs(x), y, COS_EXCEPTIONS))


def tan(x: Value) -> Value:
    """sin r / cos r, or -cos r / sin r in an odd quadrant."""
    n, r = _reduced(x)
    s, c = _sin(r), _cos(r)
    is_upright = is_even(n)
    y = (select(is_upright, s, c) / select(is_upright, c, s)).cast(f32)
    return special(x, negated(y, ~is_upright ^ _is_negative(x)))


def _sin(r: Value) -> Value:
    u = r * r
    return r + r * (u * horner(SIN, u))


def _cos(r: Value) -> Value:
    u = r * r
    return 1.0 - (0.5 * u - u * u * horner(COS, u))


def _reduced(x: Value) -> tuple[Value, Value]:
    """n (u32, 0 … 3) and r (f64) with ``|x| = n pi/2 + r``, where x is finite."""
    bits = x.bitcast(u32) & MAGNITUDE
    m = ((bits & MANTISSA) | HIDDEN).cast(u64)
    high, middle, low = (word.cast(u64) for word in _two_over_pi_from((bits >> 23) - FIRST_EXPONENT))
    turn = (m * high << 32) + m * middle + (m * low >> 32)
    n = ((turn >> 32).cast(u32) + HALF_TURN) >> 30
    rest = turn - (n.cast(u64) << 62)
    # As two signed words, which all devices convert; the lowest bit is beyond what f64 could hold.
    upper, lower = (rest >> 32).cast(u32).bitcast(i32), (rest.cast(u32) >> 1).bitcast(i32)
    r = (upper.cast(f64) * 2.0**32 + lower.cast(f64) * 2.0) * HALF_PI_2_62
    magnitude = abs(x.cast(f64))
    is_small = magnitude < QUARTER_PI
    return select(is_small, constant(u32, 0), n), select(is_small, magnitude, r)


def _two_over_pi_from(start: Value) -> tuple[Value, Value, Value]:
    """96 bits of `TWO_OVER_PI` from bit `start`, at most 128, as three words."""
    words = slice_of([constant(u32, word) for word in TWO_OVER_PI], start >> 5, count=4, highest=4)
    shift = start & 31
    first, second, third = ((words[i] << shift) | (words[i + 1] >> 1 >> (31 - shift)) for i in range(3))
    return first, second, third


def is_even(n: Value) -> Value:
    """Whether a quadrant has the sine where the sine is, and not the cosine."""
    return (n & 1) == 0


def _is_negative(x: Value) -> Value:
    return (x.bitcast(u32) >> 31) != 0


def negated(y: Value, is_negated: Value) -> Value:
    """`y` with its sign changed or not."""
    return select(is_negated, -y, y)


def special(x: Value, y: Value) -> Value:
    """`y`, or NaN where x is not finite."""
    return select(is_finite(x), y, nan)
