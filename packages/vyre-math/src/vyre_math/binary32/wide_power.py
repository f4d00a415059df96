"""pow of f32 in pairs of f64, for arguments at which the f64 of `power.py` does not decide the rounding.

The logarithm of m, with ``x = 2**e m`` and m around c, which is 1 or 361/256, is ``ln c + 2 s + s³ h(s²)`` for
``s = (m - c) / (m + c)``, below 0.0884; s is three f64, and h a pair. The exponent ``y ln x - n ln 2`` is the sum of

    y (e ln 2 + ln c)    - n ln 2    y 2 s    y s³ h

Its leading terms cancel, so they are added without an error, and so are those that are 2**-53 of them. What is left is
below 0.35. ``e**z = 1 + z + z² g(z)``, where g is a pair, too. The power is off by less than 2**-100 of its value.

`docs/math.md` derives the bound, and says how near to a midpoint of two f32 a power comes.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f32, f64, select
from vyre_foundation.functions import abs, fma, max, min
from vyre_math.binary32.exponential import ROUNDER
from vyre_math.binary32.power import Decomposition, factor, limited, logarithm, parts, power_of_two, special
from vyre_math.constants import (
    POW_CENTER,
    POW_EXP_SERIES,
    POW_EXP_SERIES_REST,
    POW_LN_2,
    POW_LN_CENTER,
    POW_LOG_SERIES,
    POW_LOG_SERIES_REST,
)
from vyre_math.pairs import Pair, ordered_sum, product, product_of, rounded_to_odd, sum_of
from vyre_math.polynomial import of_pairs

EXACT = 2.0**-99
"""A power that is nearer than this to an f64 is that number."""
WIDEST = 0.5
"""More than what is left of an exponent that no limit has changed."""


def pow_wide(x: Value, y: Value) -> Value:
    base, wide_y = parts(x), factor(y)
    shifted = limited(wide_y * logarithm(base)) + ROUNDER
    z = exponent(base, wide_y, shifted - ROUNDER)
    is_inside = abs(z.high) < WIDEST
    power = exponential(Pair(max(min(z.high, WIDEST), -WIDEST), select(is_inside, z.low, 0.0)))
    exact = rounded_to_odd(Pair(power.high, select(abs(power.low) < EXACT, 0.0, power.low)))
    return special(x, y, (exact * power_of_two(shifted)).cast(f32))


def exponent(x: Decomposition, y: Value, n: Value) -> Pair:
    """``y ln x - n ln 2``."""
    center = select(x.is_upper, constant(f64, POW_CENTER), 1.0)
    s = three_parts(-x.minus_m - center, -x.minus_m + center)
    turn = [
        fma(x.e, unit, select(x.is_upper, constant(f64, part), 0.0))
        for unit, part in zip(POW_LN_2, POW_LN_CENTER, strict=True)
    ]
    beyond, twice = beyond_linear(Pair(s[0], s[1])), y + y
    turned, lower_turned = product_of(y, turn[0]), product_of(y, turn[1])
    linear, lower_linear = product_of(twice, s[0]), product_of(twice, s[1])
    cubic = product_of(y, beyond.high)
    large, rests = accurate_sum([turned.high, n * -POW_LN_2[0], linear.high, cubic.high])
    low_parts = [turned.low, linear.low, cubic.low, n * -POW_LN_2[1], lower_turned.high, lower_linear.high]
    small, rests = accurate_sum([*rests, *low_parts, y * beyond.low])
    last = fma(y, turn[2], n * -POW_LN_2[2]) + (lower_turned.low + lower_linear.low) + twice * s[2]
    high, low = sum_of(large, small)
    return ordered_sum(high, low + sum(rests, last))


def three_parts(a: Value, b: Value) -> tuple[Value, Value, Value]:
    """a / b as a sum of three f64, for numbers of few bits: the remainders are exact."""
    first = a / b
    rest = fma(-first, b, a)
    second = rest / b
    return first, second, fma(-second, b, rest) / b


def beyond_linear(s: Pair) -> Pair:
    """``2 atanh s - 2 s``."""
    square = product(s, s)
    return product(product(s, square), of_pairs(POW_LOG_SERIES, POW_LOG_SERIES_REST, square))


def exponential(z: Pair) -> Pair:
    """e**z for ``|z| < 0.35``."""
    beyond = product(product(z, z), of_pairs(POW_EXP_SERIES, POW_EXP_SERIES_REST, z))
    linear = sum_of(z.high, beyond.high)
    high, low = ordered_sum(constant(f64, 1.0), linear.high)
    return ordered_sum(high, low + (linear.low + (z.low + beyond.low)))


def accurate_sum(terms: list[Value]) -> tuple[Value, list[Value]]:
    """The sum of the terms, one after the other, and the errors of the steps."""
    total, *others = terms
    rests = []
    for term in others:
        total, rest = sum_of(total, term)
        rests.append(rest)
    return total, rests
