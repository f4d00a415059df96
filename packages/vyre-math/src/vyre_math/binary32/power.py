"""pow of f32: x**y for all pairs, in which no wrong rounding is known.

``|x|**y = e**(y ln |x|)``. The exponent may be 89, so it needs 7 bits more than the result has, and 30 more for the
right rounding. Most of it is f64; what f64 would round too early has its rounding error beside it, which is exact by
fma (`pairs.py`). Everything is done with half the exponent, and the result squared: an eighth of the cubic term, and of
its rounding error, is left.

1.  ``|x| = 2**e m`` with m around 1 or around c = 361/256, near sqrt(2). ``s = (m - c) / (m + c)`` is below 0.0884;
    difference and sum are exact, so the remainder is, and gives the rest of s.
2.  ``y/2 ln |x| = y t + y s + y s³/3 + y s⁵ r(s²)`` with t half of ``e ln 2 + ln c`` and r of degree 5. The first three
    are added in this order, which is that of their size unless t is 0, with their errors.
3.  From that sum, which is off by less than 0.0007, comes n: the nearest multiple of ``ln 2 / 2``. The high part of it
    has so few bits that the difference is exact. The fifth power, all errors and low parts are one f64; added to the
    difference, they leave a pair v below 0.174.
4.  ``e**v = 1 + v + v²/2 + v³ q(v)`` with q of degree 7. The first terms are ``1 + v (1 + v/2)``, each step with its
    error. The square is cut at 2**-40, exactly; what is below is one f64, less than 2**-8.
5.  Of that, what is nearer than 2**-58 to a multiple of 2**-57 is taken for it: where ``x**y`` is just the middle
    between two neighbours, or one of them, the rest is nothing but error. Then it is rounded to odd: truncated to 43
    bits less than that, and if there was more, the last bit is set. So the sum is exact in f64, the multiplication by
    2**n too, and the conversion to f32 rounds the power, not something rounded before.

The errors, of a result between 0.7 and 1.42, in the same order: the fifth power, less than 0.0007, has four roundings
that count and a polynomial within 2**-70; twice that is below 2**-60.5. The cubic term of 4., less than 2**-10, has
four, and q is within 2**-62: below 2**-59.4, being squared. The sums of low parts are below 2**-8.8 and rounded three
times: below 2**-60. All together less than 2**-58 of the value (in samples 2**-59.6 at most, 2**-62.3 on average). One
pair of arguments in 2**33 or so has a result nearer than that to a middle without being it, and may be rounded to the
wrong neighbour. None has been found: see `evidence/math`.

Special values: IEEE 754-2019, 9.2.1, for pow.
"""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple

from vyre_foundation import Value, constant, f32, f64, select, u64
from vyre_foundation.functions import abs, copysign, fma, is_nan, max, min, trunc
from vyre_math.binary32.exponential import ROUNDER, clamp
from vyre_math.constants import POW_ATANH, POW_CENTER, POW_EXP, POW_LN_2, POW_TURN, THIRD, TWO_LOG2_E
from vyre_math.pairs import Pair, ordered_sum, product_of
from vyre_math.polynomial import by_twos

LARGEST = float.fromhex("0x1.fffffep127")
"""Of the finite f32."""
HUGE = 2.0**32
"""A y beyond it takes every x but 1 beyond all limits."""
BIASED = ROUNDER + 1023.0
"""Added to an integer n, it leaves the exponent bits of 2**n in the low bits of the sum."""
LIMIT = 400.0
"""Beyond this exponent to base 2 everything overflows or underflows, whatever it is multiplied by."""
ROOT = 0x3FEA_E980_0000_0000
"""The bits of the least m, 0.841. From those half a unit of the exponent further on, m is around c: from 1.182."""
HALF = 1 << 51
SIGN = 1 << 63
EXPONENT = 0xFFF0_0000_0000_0000
INTEGER = 2.0**52
INTEGER_BITS = 0x4330_0000_0000_0000
"""The bits of 2**52: with an integer in its low bits, the sum of both."""
COARSE = 1.5 * 2.0**12
"""Added to a small number, it rounds it to a multiple of 2**-40."""
FINE = 1.5 * 2.0**-5
"""The same for 2**-57."""
CUT = (1 << 7) - 1
"""The bits in front of the last that is kept, if the lowest is 2**-57."""


class Power(NamedTuple):
    """``2**n (coarse - COARSE + low)``; `biased` is n + `BIASED`, `coarse` a multiple of 2**-40."""

    biased: Value
    coarse: Value
    low: Value


def pow(x: Value, y: Value) -> Value:
    biased, v = half_exponent(min(abs(x), LARGEST).cast(f64), clamp(y, -HUGE, HUGE).cast(f64))
    return special(x, y, max(rounded(Power(biased, *square_of_exp(v))), 0.0))


def ratio(x: Value) -> tuple[Value, Value, Pair]:
    """e, whether m is around c, and s in a pair, for a positive x. The bit that keeps e from being negative makes m
    negative, and so difference and sum."""
    bits = x.bitcast(u64)
    ahead = bits + (SIGN - ROOT)
    e = ((ahead >> 52) | INTEGER_BITS).bitcast(f64) - (INTEGER + 2048.0)
    minus_m = (bits - (ahead & EXPONENT)).bitcast(f64)
    is_upper = (ahead & HALF) != 0
    center = select(is_upper, constant(f64, POW_CENTER), 1.0)
    difference, total = minus_m + center, minus_m - center
    s = difference / total
    # 1 - s is -2c / total.
    quarter = select(is_upper, constant(f64, 0.5 / POW_CENTER), 0.5)
    return e, is_upper, Pair(s, fma(-s, total, difference) * fma(s, quarter, -quarter))


def half_exponent(x: Value, y: Value) -> tuple[Value, Pair]:
    """n with `BIASED` added, and v with ``y/2 ln x = n/2 ln 2 + v``."""
    e, is_upper, s = ratio(x)
    turn, turn_low = (
        fma(e, unit, select(is_upper, constant(f64, part), 0.0)) for unit, part in zip(POW_LN_2, POW_TURN, strict=True)
    )
    third, third_low = THIRD
    turned, linear, square = product_of(y, turn), product_of(y, s.high), product_of(s.high, s.high)
    u = square.high
    cube = product_of(linear.high, u)
    near = ordered_sum(turned.high, linear.high)
    high = fma(cube.high, third, near.high)
    biased = fma(high, TWO_LOG2_E[0], BIASED)
    n = biased - BIASED
    rest = fma(n, -POW_LN_2[1], fma(cube.high, third, near.high - high))
    low = fma(y * s.low, u + 1.0, fma(y, turn_low, turned.low))
    low = fma(cube.high * u, by_twos(POW_ATANH, u, u * u), fma(cube.high, third_low, low))
    lower = fma(linear.low, fma(u, third, 1.0), near.low)
    lower = fma(fma(linear.high, square.low, cube.low), third, lower)
    return biased, ordered_sum(fma(n, -POW_LN_2[0], high), low + lower + rest)


def square_of_exp(v: Pair) -> Pair:
    """e**(2 v) for ``|v| < 0.174``: a multiple of 2**-40 with `COARSE` added, and what is below."""
    slope = fma(v.high, 0.5, 1.0)
    high = fma(v.high, slope, 1.0)
    slope_low = fma(v.high, 0.5, 1.0 - slope)
    rest = fma(high, v.low, fma(v.high, slope, 1.0 - high))
    square = v.high * v.high
    low = fma(v.high * square, by_twos(POW_EXP, v.high, square), v.high * slope_low)
    coarse = fma(high, high, COARSE)
    twice = high + high
    return Pair(coarse, fma(twice + low, low, fma(twice, rest, fma(high, high, COARSE - coarse))))


def rounded(power: Power) -> Value:
    """The power as an f32. NaN and too much of either sign in its low part become something finite or inf."""
    fine = max(power.low + FINE, FINE / 2).bitcast(u64)
    odd = (fine | ((fine & CUT) + CUT)) & ((1 << 64) - 1 - CUT)
    bits = max(min(power.biased, BIASED + LIMIT), BIASED - LIMIT).bitcast(u64)
    scale = (bits << 52).bitcast(f64)
    return fma(scale, odd.bitcast(f64), (power.coarse - (COARSE + FINE)) * scale).cast(f32)


def special(x: Value, y: Value, power: Value) -> Value:
    """The result from `power`, which is ``|x|**y`` for positive and finite ``|x|``, whatever it is elsewhere."""
    size = abs(x)
    extreme = select((y < 0.0) == (size == 0.0), constant(x.dtype, inf), 0.0)
    magnitude = select((size == 0.0) | (size == inf), extreme, power)
    half = y * 0.5
    is_integer = trunc(y) == y
    is_odd = is_integer & (trunc(half) != half)
    result = select(is_odd, copysign(magnitude, x), magnitude)
    is_one = (y == 0.0) | (x == 1.0)
    has_none = (x < 0.0) & (x >= -LARGEST) & ~is_integer
    return select(is_one | has_none | is_nan(x) | is_nan(y), select(is_one, constant(x.dtype, 1.0), nan), result)
