"""pow of f32: x**y for all pairs, in which no wrong rounding is known.

``|x|**y = e**(y ln |x|)``. The exponent may be 89, so it needs 7 bits more than the result has, and 30 more for the
right rounding. Most of it is f64; pairs of them (`pairs.py`) are there for the terms that f64 would round too early.

1.  ``|x| = 2**e m`` with ``2**-1/4 <= m < 2**3/4``. An m in the upper half is multiplied by 181/256, near sqrt(1/2): a
    product that is exact. Then ``s = 2 (m - 1) / (m + 1)`` in a pair, below 0.174: its remainder is exact.
2.  ``ln m = s + s³/12 + s⁵ r(s²)``, the first two terms in pairs, r of degree 5 (`series.py`). ``e ln 2`` and the
    logarithm of the factor have high parts whose sum is exact.
3.  ``y/2 ln |x| = n/2 ln 2 + v + w/2``. v is exact and below 0.174; w is what the low parts leave, below 2**-10. So v
    does not wait for the polynomial of the logarithm: it is computed beside that of 4.
4.  ``e**v = 1 + v + v²/2 + v³ q(v)`` with q of degree 7, the first terms exact. ``|x|**y / 2**n`` is its square, times
    e**w by a polynomial of degree 5. For half the exponent the cubic term is an eighth, and so is its rounding error.
5.  The sum is rounded to odd into one f64: truncated, and if there was more, the last bit is set. So the conversion to
    f32 rounds the sum, not something rounded before. Where ``x**y`` is just the middle between two neighbours, or one
    of them, the low part is nothing but error and is left out.

The roundings add up to less than 2**-58 of the value (in samples 2**-59.7 at most, 2**-62.3 on average). One pair of
arguments in 2**33 or so has a result nearer than that to a middle without being it, and may be rounded to the wrong
neighbour. None has been found: see `evidence/math`.

Special values: IEEE 754-2019, 9.2.1, for pow.
"""

from __future__ import annotations

from math import inf, nan

from vyre_foundation import Value, constant, f32, f64, select, u64
from vyre_foundation.functions import abs, copysign, fma, is_nan, max, min, trunc
from vyre_math.binary32.exponential import ROUNDER, clamp
from vyre_math.binary32.series import odd_series
from vyre_math.constants import (
    LOG2_E,
    POW_ATANH,
    POW_EXP,
    POW_FACTOR,
    POW_LITTLE,
    POW_LN_2,
    POW_TURN,
    TWELFTH,
)
from vyre_math.pairs import Pair, odd_bits, ordered_sum, product_of
from vyre_math.polynomial import by_twos

LIMIT = 200.0
"""Beyond this exponent to base 2 everything overflows or underflows."""
HUGE = 2.0**32
"""Half of a y beyond it takes every x but 1 beyond the limit."""
LITTLE = 2.0**-10
"""More than the low part of half an exponent is, where the limit is kept."""
NEGLIGIBLE = 2.0**-58
"""A low part beside a number near 1 that may be nothing but error."""
ROOT = 0x3FEA_E89F_995A_D3AE
"""The bits of 2**-1/4."""
SIGN = 1 << 63
EXPONENT = 0xFFF0_0000_0000_0000
INTEGER = 2.0**52
INTEGER_BITS = 0x4330_0000_0000_0000
"""The bits of 2**52: with an integer in its low bits, the sum of both."""


def pow(x: Value, y: Value) -> Value:
    high, low = logarithm(min(abs(x), inf).cast(f64))
    half = clamp(y * 0.5, -HUGE, HUGE).cast(f64)
    t = product_of(high, half)
    n, power = power_of(Pair(t.high, fma(half, low, t.low)))
    bits = odd_bits(power, NEGLIGIBLE) + (n.bitcast(u64) << 52)
    return special(x, y, bits.bitcast(f64).cast(f32))


def logarithm(x: Value) -> Pair:
    """ln x for a positive f32 in f64, not in order. The bit that keeps e from being negative makes m negative."""
    bits = x.bitcast(u64)
    ahead = bits + (SIGN - ROOT)
    e = ((ahead >> 52) | INTEGER_BITS).bitcast(f64) - (INTEGER + 2048.0)
    minus_m = (bits - (ahead & EXPONENT)).bitcast(f64)
    is_upper = minus_m < -(2.0**0.25)

    def chosen(upper: float, lower: float) -> Value:
        return select(is_upper, constant(f64, upper), lower)

    difference = fma(minus_m, chosen(-POW_FACTOR, -1.0), -1.0)
    half_sum = fma(minus_m, chosen(-POW_FACTOR / 2, -0.5), 0.5)
    s = difference / half_sum
    # 1 - s/2 is 1 / half_sum.
    rest = fma(-s, half_sum, difference) * fma(s, -0.5, 1.0)
    z = odd_series(Pair(s, rest), TWELFTH, POW_ATANH)
    turn = fma(e, POW_LN_2[0], chosen(POW_TURN[0], 0.0))
    turn_low = fma(e, POW_LN_2[1], chosen(POW_TURN[1], 0.0))
    high, low = ordered_sum(turn, z.high)
    return Pair(high, z.low + (low + turn_low))


def power_of(half: Pair) -> tuple[Value, Pair]:
    """n with `ROUNDER` added, and a pair between 1/2 and 2 that makes e**(2 half) if multiplied by 2**n.

    Beyond the limit n is kept at it, and the pair is anything."""
    shifted = fma(half.high, 2 * LOG2_E, ROUNDER)
    n = shifted - ROUNDER
    v = fma(n, -POW_LN_2[0] / 2, half.high)
    low = clamp(half.low, -LITTLE, LITTLE)
    w = fma(n, -POW_LN_2[1], low + low)
    square = w * w
    little = fma(square, by_twos(POW_LITTLE, w, square), w)
    root = beyond_cubic(v)
    near = root.high + root.low
    high, low = product_of(root.high, root.high)
    low = fma(little, near * near, fma(root.low, fma(root.high, 2.0, root.low), low))
    return max(min(shifted, ROUNDER + LIMIT), ROUNDER - LIMIT), ordered_sum(high, low)


def beyond_cubic(v: Value) -> Pair:
    """e**v for ``|v| < 0.175``, the cubic term and all beyond in the low part."""
    square, square_low = product_of(v, v)
    linear, rest = ordered_sum(constant(f64, 1.0), v)
    high = fma(square, 0.5, linear)
    exact = fma(square_low, 0.5, rest + fma(square, 0.5, linear - high))
    return Pair(high, fma(v * square, by_twos(POW_EXP, v, square), exact))


def special(x: Value, y: Value, power: Value) -> Value:
    """The result from `power`, which is ``|x|**y`` for positive and finite ``|x|``, whatever it is elsewhere."""
    is_zero = x == 0.0
    extreme = select((y < 0.0) == is_zero, constant(x.dtype, inf), 0.0)
    magnitude = select(is_zero | (abs(x) == inf), extreme, power)
    half = y * 0.5
    is_integer = trunc(y) == y
    is_odd = is_integer & (trunc(half) != half)
    result = select(is_odd, copysign(magnitude, x), magnitude)
    is_one = (y == 0.0) | (x == 1.0)
    has_none = (x < 0.0) & (x > -inf) & ~is_integer
    return select(is_one | has_none | is_nan(x) | is_nan(y), select(is_one, constant(x.dtype, 1.0), nan), result)
