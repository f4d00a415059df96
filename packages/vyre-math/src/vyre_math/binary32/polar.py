"""hypot and atan2 of f32: the length and the angle of a point.

hypot is correctly rounded for all pairs, and needs no proof by trial. Squares of f32 are exact in f64, and their sum is
exact as a pair. The root of that pair is rounded to odd: the rest ``x² + y² - r²`` has the right sign, because r² is
taken from the sum without an error. So the conversion to f32 rounds the true length, not something rounded before.

atan2 takes the smaller of the two parts over the larger one, and turns that direction back by one of two whose tangents
have so few bits that no number is rounded. What is left is a quotient below 0.168, ``atan s = s - s³/3 + s⁵
r(s²)`` with the first two terms in pairs and r of degree 6 (`series.py`). The angles are added in pairs, and the sum is
rounded to odd. It is off by less than 2**-61 of its value (measured: 2**-62.5), so one pair of arguments in 2**36 or so
has a result that is nearer than that to the middle between two neighbours, and may be rounded to the wrong one. None
has been found: see `evidence/math`. A small quotient may be such a middle itself, and the angle is below it: there the
low part is the cubic term, which has the right sign.

Special values: IEEE 754-2019, 9.2.1: an infinite part makes the length +inf, whatever the other is; atan2 takes the
signs of zeros for the quadrant, and infinities for directions.
"""

from __future__ import annotations

from math import inf, nan

from vyre_foundation import Value, constant, f32, f64, select
from vyre_foundation.functions import abs, copysign, fma, is_inf, is_nan
from vyre_math.binary32.series import odd_series
from vyre_math.constants import (
    ATAN2,
    ATAN2_BOUND,
    ATAN2_HIGH,
    ATAN2_LOW,
    ATAN2_TAN,
    HALF_PI_PAIR,
    MINUS_THIRD,
    PI_PAIR,
)
from vyre_math.pairs import Pair, chosen, negated, ordered_sum, rounded_to_odd, square_root, sum_of

FAR = 2.0**300
"""In the place of infinity: nothing finite counts beside it, and it has a direction together with itself."""


def hypot(x: Value, y: Value) -> Value:
    a, b = x.cast(f64), y.cast(f64)
    length = rounded_to_odd(square_root(sum_of(a * a, b * b)))
    return special_length(x, y, length.cast(f32))


def atan2(y: Value, x: Value) -> Value:
    a, b = (abs(part).cast(f64) for part in (x, y))
    a, b = (select(part > FAR, FAR, part) for part in (a, b))
    is_steep = b > a
    is_left = copysign(constant(f32, 1.0), x) < 0.0
    z = slope_angle(select(is_steep, a, b), select(is_steep, b, a))
    z = chosen(is_steep != is_left, negated(z), z)
    turn, turn_low = (
        select(is_steep, half, select(is_left, constant(f64, whole), 0.0))
        for half, whole in zip(HALF_PI_PAIR, PI_PAIR, strict=True)
    )
    high, low = ordered_sum(turn, z.high)
    return special_angle(x, y, rounded_to_odd(ordered_sum(high, low + (z.low + turn_low))).cast(f32))


def slope_angle(near: Value, far: Value) -> Pair:
    """atan(near / far), not in order, for ``near <= far``; 0 for zeros."""
    far = select(far < 1 / FAR, 1 / FAR, far)
    is_first, is_second = (near > far * bound for bound in ATAN2_BOUND)

    def picked(first: float, second: float) -> Value:
        return select(is_second, second, select(is_first, constant(f64, first), 0.0))

    tangent = picked(*ATAN2_TAN)
    up, across = fma(-tangent, far, near), fma(tangent, near, far)
    inverse = 1.0 / across
    s = up * inverse
    z = odd_series(Pair(s, fma(-s, across, up) * inverse), MINUS_THIRD, ATAN2)
    high, low = ordered_sum(picked(*ATAN2_HIGH), z.high)
    return Pair(high, low + (z.low + picked(*ATAN2_LOW)))


def special_length(x: Value, y: Value, length: Value) -> Value:
    """`length`, or what infinities and NaN make of it. All of one type."""
    length = select(is_nan(x) | is_nan(y), nan, length)
    return select(is_inf(x) | is_inf(y), constant(x.dtype, inf), length)


def special_angle(x: Value, y: Value, z: Value) -> Value:
    """The angle z with the sign of y, or NaN. All of one type."""
    return select(is_nan(x) | is_nan(y), nan, copysign(z, y))
