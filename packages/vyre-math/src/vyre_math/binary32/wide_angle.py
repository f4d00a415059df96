"""atan2 of f32 in pairs of f64, for arguments at which the f64 of `polar.py` does not decide the rounding.

``atan s = s + s³ h(s²)`` for the quotient s that is left when the point has been turned back, below 0.168; s and h are
pairs. The angle is off by less than 2**-99 of its value. A quotient may be the midpoint of two subnormal f32; the angle
is below it, and so is the pair, because such a quotient is exact.

`docs/math.md` derives the bound, and says how near to a midpoint of two f32 an angle comes.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f32, f64
from vyre_math.binary32.polar import picked, special_angle, turned
from vyre_math.constants import ATAN2_HIGH, ATAN2_LOW, ATAN2_SERIES, ATAN2_SERIES_REST, HALF_PI_PAIR, PI_PAIR
from vyre_math.pairs import Pair, chosen, exactly, negated, ordered_sum, pair, product, quotient, rounded_to_odd
from vyre_math.polynomial import of_pairs


def atan2_wide(y: Value, x: Value) -> Value:
    point = turned(y, x)
    turn = Pair(picked(point, ATAN2_HIGH), picked(point, ATAN2_LOW))
    z = added(turn, arctangent(quotient(exactly(point.up), exactly(point.across))))
    quadrant = chosen(
        point.is_steep, pair(HALF_PI_PAIR), chosen(point.is_left, pair(PI_PAIR), exactly(constant(f64, 0.0)))
    )
    angle = added(quadrant, chosen(point.is_steep != point.is_left, negated(z), z))
    return special_angle(x, y, rounded_to_odd(angle).cast(f32))


def arctangent(s: Pair) -> Pair:
    """atan s for ``|s| < 0.168``."""
    square = product(s, s)
    return added(s, product(product(s, square), of_pairs(ATAN2_SERIES, ATAN2_SERIES_REST, square)))


def added(a: Pair, b: Pair) -> Pair:
    """a + b where a is the larger one, or 0."""
    high, low = ordered_sum(a.high, b.high)
    return ordered_sum(high, low + (a.low + b.low))
