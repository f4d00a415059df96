"""exp, exp2, exp10, expm1 of f32, correctly rounded.

An f32 is exact in f64. There ``x = n ln 2 + r`` with an integer n and ``|r| <= ln 2 / 2``, so ``e**x = 2**n e**r``:

1.  n comes from adding 1.5 · 2**52, which leaves it in the low bits of the sum, whatever its sign.
2.  ``n ln 2`` is subtracted in two parts; the high one has 33 bits, so its product with n and the difference are exact.
3.  ``e**r = 1 + (r + r² q(r))`` with a polynomial q of degree 9 and an error below 2**-56.
4.  2**n is made of its bits. It is a normal f64 for every x that is not clamped, so multiplying by it is
    exact, and the conversion to f32 is the only rounding that matters: it overflows and underflows by itself.

The f64 in front of that rounding is off by less than 2**-51 of its value. All 2**32 inputs have been checked: results
nearer than that to the middle between two neighbours in f32 are right, or stand as exceptions.

Special values: e**-inf = 0, e**inf = inf, e**±0 = 1, and NaN goes through every step. expm1(±0) = ±0.
"""

from __future__ import annotations

from vyre_foundation import Value, f32, f64, select, u64
from vyre_math.binary32.exceptions import corrected
from vyre_math.constants import EXP, LN_2_HIGH, LN_2_LOW, LN_10, LOG2_10, LOG2_E, LOG10_2_HIGH, LOG10_2_LOW
from vyre_math.polynomial import horner

ROUNDER = 1.5 * 2.0**52
"""Added to a small number, it rounds it to an integer, which is then the low bits of the sum."""
ONE = 0x3FF0_0000_0000_0000
"""The bits of 1.0."""
EXP2_EXCEPTIONS = {0x3B42_9D37: +1, 0xBCF3_A937: +1}


def exp(x: Value) -> Value:
    return exp_f64(clamp(x.cast(f64), -104.0, 89.0)).cast(f32)


def exp2(x: Value) -> Value:
    wide = clamp(x.cast(f64), -151.0, 129.0)
    shifted = wide + ROUNDER
    r = (wide - (shifted - ROUNDER)) * (LN_2_HIGH + LN_2_LOW)
    y = ((beyond_one(r) + 1.0) * power_of_two(shifted)).cast(f32)
    return corrected(x, y, EXP2_EXCEPTIONS)


def exp10(x: Value) -> Value:
    """10**x: n is a multiple of log10 2, and what is left is a power of ten, so of e."""
    wide = clamp(x.cast(f64), -46.0, 39.0)
    shifted = wide * LOG2_10 + ROUNDER
    n = shifted - ROUNDER
    r = ((wide - n * LOG10_2_HIGH) - n * LOG10_2_LOW) * LN_10
    return ((beyond_one(r) + 1.0) * power_of_two(shifted)).cast(f32)


def expm1(x: Value) -> Value:
    """e**x - 1, without the cancellation for small x."""
    return select(x == 0.0, x, expm1_f64(clamp(x.cast(f64), -104.0, 89.0)).cast(f32))


def exp_f64(x: Value) -> Value:
    """e**x in f64, for ``|x| < 700``."""
    shifted, r = reduced(x)
    return (beyond_one(r) + 1.0) * power_of_two(shifted)


def expm1_f64(x: Value) -> Value:
    """e**x - 1 in f64 for ``|x| < 700``, but +0 for -0: 2**n (e**r - 1) + (2**n - 1), where nothing cancels."""
    shifted, r = reduced(x)
    scale = power_of_two(shifted)
    return beyond_one(r) * scale + (scale - 1.0)


def clamp(x: Value, low: float, high: float) -> Value:
    """`x` between `low` and `high`, which have the result of what lies beyond them; NaN stays."""
    below = select(x > high, high, x)
    return select(below < low, low, below)


def reduced(x: Value) -> tuple[Value, Value]:
    """n with `ROUNDER` added, and r with ``x = n ln 2 + r``."""
    shifted = x * LOG2_E + ROUNDER
    n = shifted - ROUNDER
    return shifted, (x - n * LN_2_HIGH) - n * LN_2_LOW


def beyond_one(r: Value) -> Value:
    """e**r - 1 for ``|r| <= ln 2 / 2``."""
    return r + r * r * horner(EXP, r)


def power_of_two(shifted: Value) -> Value:
    """2**n, from n with `ROUNDER` added: shifted to where the exponent is, all its other bits are gone."""
    return ((shifted.bitcast(u64) << 52) + ONE).bitcast(f64)
