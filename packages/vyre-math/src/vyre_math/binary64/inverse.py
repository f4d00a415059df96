"""asin, acos, atan of f64, off by less than 0.6 units in the last place.

The points are those for f32, in pairs, and so is their angle (`angle.py`). ``1 - x²`` is exact but for the last bits of
a pair, also where x is near to 1.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f64, select
from vyre_foundation.functions import abs, copysign
from vyre_math.angle import angle
from vyre_math.constants import PI_PAIR
from vyre_math.pairs import Pair, exactly, negated, ordered_sum, pair, plus, product_of, square_root, sum_of

FLAT = 2.0**60
"""From here on atan is pi/2."""


def atan(x: Value) -> Value:
    a = abs(x)
    y = angle(exactly(constant(f64, 1.0)), exactly(select(a > FLAT, FLAT, a))).high
    return copysign(select(x == 0.0, x, y), x)


def asin(x: Value) -> Value:
    a = abs(x)
    return copysign(select(x == 0.0, x, angle(_leg(a), exactly(a)).high), x)


def acos(x: Value) -> Value:
    a = abs(x)
    y = angle(exactly(a), _leg(a))
    return select(x < 0.0, plus(pair(PI_PAIR), negated(y)).high, y.high)


def _leg(x: Value) -> Pair:
    """sqrt(1 - x²)."""
    square = product_of(x, x)
    high, low = sum_of(constant(f64, 1.0), -square.high)
    return square_root(ordered_sum(high, low - square.low))
