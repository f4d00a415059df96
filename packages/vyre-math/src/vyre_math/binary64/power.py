"""pow of f64, off by less than 0.7 units in the last place.

``|x|**y = 2**(y log2 |x|)``, as for f32: the exponent may be 1074, so its pair has to be right to 2**-65 of its value,
for 2**-55 in the result. Special values: IEEE 754-2019, 9.2.1, for pow.
"""

from __future__ import annotations

from vyre_foundation import Value, select
from vyre_foundation.functions import abs
from vyre_math.binary32.exponential import ROUNDER, clamp
from vyre_math.binary32.power import HUGE, log2_of_ratio, plus_integer, special
from vyre_math.binary64.exponential import exponent, power, times_power_of_two
from vyre_math.binary64.logarithm import parts, ratio
from vyre_math.constants import LN_2
from vyre_math.pairs import ordered_sum, pair, product, scaled

LIMIT = 1100.0
"""Beyond this exponent to base 2 everything overflows or underflows."""


def pow(x: Value, y: Value) -> Value:
    e, m = parts(abs(x))
    t = scaled(plus_integer(e, log2_of_ratio(ratio(m))), clamp(y, -HUGE, HUGE))
    is_beyond = abs(t.high) > LIMIT
    high = clamp(t.high, -LIMIT, LIMIT)
    shifted = high + ROUNDER
    f = ordered_sum(high - (shifted - ROUNDER), select(is_beyond, 0.0, t.low))
    return special(x, y, times_power_of_two(power(product(f, pair(LN_2))).high, exponent(shifted)))
