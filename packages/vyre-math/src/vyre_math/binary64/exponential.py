"""exp, exp2, exp10, expm1 of f64, off by less than 0.8 units in the last place.

As for f32, ``e**x = 2**n e**r`` with ``|r| <= ln 2 / 2``, but r is a pair: what the high part of ``n ln 2`` leaves is
exact, the rest is subtracted without loss. ``e**r = 1 + r + r²/2 + r³ q(r)``, where q has degree 9 and an error below
2**-61. Only the last term is rounded, and it is less than 0.008. 2**n is multiplied in two steps, because its
exponent may be beyond those of f64. A subnormal result is rounded before, in the right place.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f64, i32, select, u32, u64
from vyre_foundation.functions import fma
from vyre_math.binary32.exponential import ROUNDER, clamp
from vyre_math.constants import (
    EXP_64,
    LN_2,
    LN_2_HIGH,
    LN_2_LOW,
    LN_10_PAIR,
    LOG2_10,
    LOG2_E,
    LOG10_2_HIGH,
    LOG10_2_LOW,
)
from vyre_math.pairs import Pair, ordered_sum, pair, plus, product, product_of, rounded_below, scaled, sum_of
from vyre_math.polynomial import horner

LOWEST, HIGHEST = -746.0, 710.0
"""Beyond these e**x is 0 or infinite."""
FADED = -60.0
"""Below this e**x - 1 is -1."""
BIAS = 1023
SMALLEST_EXPONENT = -1022
SMALLEST_NORMAL = 2.0**SMALLEST_EXPONENT


def exp(x: Value) -> Value:
    shifted, r = reduced(clamp(x, LOWEST, HIGHEST))
    return with_exponent(power(r), exponent(shifted))


def exp2(x: Value) -> Value:
    wide = clamp(x, -1076.0, 1025.0)
    shifted = wide + ROUNDER
    r = scaled(pair(LN_2), wide - (shifted - ROUNDER))
    return with_exponent(power(r), exponent(shifted))


def exp10(x: Value) -> Value:
    wide = clamp(x, -325.0, 309.0)
    shifted = wide * LOG2_10 + ROUNDER
    n = shifted - ROUNDER
    r = product(sum_of(wide - n * LOG10_2_HIGH, -(n * LOG10_2_LOW)), pair(LN_10_PAIR))
    return with_exponent(power(r), exponent(shifted))


def expm1(x: Value) -> Value:
    """2**n ((1 - 2**-n) + (e**r - 1)); with n = 0 the first part vanishes."""
    shifted, r = reduced(clamp(x, FADED, HIGHEST))
    n = exponent(shifted)
    rest = plus(sum_of(constant(f64, 1.0), -power_of_two(-select(n > 100, 100, n))), beyond_one(r))
    return select(x == 0.0, x, times_power_of_two(rest.high, n))


def reduced(x: Value) -> tuple[Value, Pair]:
    """n with `ROUNDER` added, and r with ``x = n ln 2 + r``."""
    shifted = x * LOG2_E + ROUNDER
    n = shifted - ROUNDER
    return shifted, sum_of(x - n * LN_2_HIGH, -(n * LN_2_LOW))


def power(r: Pair) -> Pair:
    """e**r for ``|r| <= ln 2 / 2``."""
    beyond = beyond_one(r)
    high, low = ordered_sum(constant(f64, 1.0), beyond.high)
    return ordered_sum(high, low + beyond.low)


def beyond_one(r: Pair) -> Pair:
    """e**r - 1 for ``|r| <= ln 2 / 2``."""
    square = product_of(r.high, r.high)
    cubic = square.high * (r.high * horner(EXP_64, r.high))
    high, low = ordered_sum(r.high, square.high * 0.5)
    return ordered_sum(high, low + (fma(square.low, 0.5, fma(r.high, r.low, cubic)) + r.low))


def exponent(shifted: Value) -> Value:
    """n as i32, from n with `ROUNDER` added."""
    return shifted.bitcast(u64).cast(u32).bitcast(i32)


def power_of_two(n: Value) -> Value:
    """2**n for ``-1022 <= n <= 1023``."""
    return ((n + BIAS).bitcast(u32).cast(u64) << 52).bitcast(f64)


def with_exponent(a: Pair, n: Value) -> Value:
    """The pair around 1, times 2**n, as the nearest f64."""
    nearest = times_power_of_two(a.high, n)
    subnormal = rounded_below(power_of_two(SMALLEST_EXPONENT - n), a)
    return select(nearest < SMALLEST_NORMAL, times_power_of_two(subnormal, n), nearest)


def times_power_of_two(x: Value, n: Value) -> Value:
    """x 2**n for ``-2000 < n < 2000``; the first of two steps is exact for x around 1."""
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)
