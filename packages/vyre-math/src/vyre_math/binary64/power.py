"""pow of f64, off by less than 0.7 units in the last place.

``|x|**y = 2**(y log2 |x|)``. The exponent may be 1074, so its pair has to be right to 2**-65 of its value, for 2**-55
in the result. ``log2 m = 2/ln 2 (s + s³/3 + s⁵ r(s²))`` for ``s = (m - 1) / (m + 1)``, where the first two terms are
pairs and r is a polynomial of degree 7. Special values: IEEE 754-2019, 9.2.1, for pow.
"""

from __future__ import annotations

from vyre_foundation import Value, select
from vyre_foundation.functions import abs
from vyre_math.binary32.exponential import ROUNDER, clamp
from vyre_math.binary32.power import special
from vyre_math.binary64.exponential import exponent, power, with_exponent
from vyre_math.binary64.logarithm import parts, ratio
from vyre_math.constants import LN_2, POW_LOG, TWO_LOG2_E, TWO_LOG2_E_3
from vyre_math.pairs import Pair, ordered_sum, pair, product, scaled, sum_of
from vyre_math.polynomial import horner

LIMIT = 1100.0
"""Beyond this exponent to base 2 everything overflows or underflows."""
HUGE = 2.0**64
"""A y beyond it takes every x but 1 beyond the limit."""


def pow(x: Value, y: Value) -> Value:
    e, m = parts(abs(x))
    t = scaled(plus_integer(e, log2_of_ratio(ratio(m))), clamp(y, -HUGE, HUGE))
    is_beyond = abs(t.high) > LIMIT
    high = clamp(t.high, -LIMIT, LIMIT)
    shifted = high + ROUNDER
    f = ordered_sum(high - (shifted - ROUNDER), select(is_beyond, 0.0, t.low))
    return special(x, y, with_exponent(power(product(f, pair(LN_2))), exponent(shifted)))


def log2_of_ratio(s: Pair) -> Pair:
    """log2 m from ``s = (m - 1) / (m + 1)``, for m between sqrt(1/2) and sqrt(2)."""
    u = product(s, s)
    third = pair(TWO_LOG2_E_3)
    high, low = ordered_sum(third.high, u.high * horner(POW_LOG, u.high))
    cubic = product(product(s, u), Pair(high, low + third.low))
    linear = product(s, pair(TWO_LOG2_E))
    high, low = ordered_sum(linear.high, cubic.high)
    return Pair(high, low + (linear.low + cubic.low))


def plus_integer(e: Value, a: Pair) -> Pair:
    """e + a."""
    high, low = sum_of(e, a.high)
    return ordered_sum(high, low + a.low)
