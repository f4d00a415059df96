"""hypot and atan2 of f32, correctly rounded: the length and the angle of a point.

hypot needs no proof by trial. Squares of f32 are exact in f64, and their sum is exact as a pair. The root of that pair
is rounded to odd: the rest ``x² + y² - r²`` has the right sign, because r² is taken from the sum without an error. So
the conversion to f32 rounds the true length, not something rounded before.

atan2 takes the smaller of the two parts over the larger one, and turns that direction back by one of two whose tangents
have so few bits that no number is rounded. What is left is a quotient below 0.168, ``atan s = s + s³ p(s²)`` with p of
degree 7. In f64 the angle is off by less than 2**-50 of its value. Where both ends of a slightly wider interval round
to the same f32, that is the result. Elsewhere, for one pair of arguments in 2**24, `math.atan2_wide` decides.

Special values: IEEE 754-2019, 9.2.1: an infinite part makes the length +inf, whatever the other is; atan2 takes the
signs of zeros for the quadrant, and infinities for directions. `docs/math.md` has the bounds of the errors.
"""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple

from vyre_foundation import Value, call, constant, f32, f64, select
from vyre_foundation.functions import abs, copysign, fma, is_inf, is_nan
from vyre_math.constants import ATAN2, ATAN2_BOUND, ATAN2_HIGH, ATAN2_TAN, HALF_PI, PI
from vyre_math.pairs import rounded_to_odd, square_root, sum_of
from vyre_math.polynomial import by_twos

FAR = 2.0**300
"""In the place of infinity: nothing finite counts beside it, and it has a direction together with itself."""
MARGIN = 2.0**-49
"""More than the error of the f64 in front of the rounding, relative."""


def hypot(x: Value, y: Value) -> Value:
    a, b = x.cast(f64), y.cast(f64)
    length = rounded_to_odd(square_root(sum_of(a * a, b * b)))
    return special_length(x, y, length.cast(f32))


class Turned(NamedTuple):
    """A point (x, y) with the smaller of ``|x|`` and ``|y|`` over the larger one, and then turned back.

    `is_beyond` says by which of the directions that was: the first, the second.
    """

    across: Value
    up: Value
    is_beyond: tuple[Value, Value]
    is_steep: Value
    is_left: Value


def atan2(y: Value, x: Value) -> Value:
    point = turned(y, x)
    s = point.up / point.across
    u = s * s
    z = picked(point, ATAN2_HIGH) + fma(s, u * by_twos(ATAN2, u, u * u), s)
    quadrant = select(point.is_steep, HALF_PI, select(point.is_left, constant(f64, PI), 0.0))
    angle = quadrant + select(point.is_steep != point.is_left, -z, z)
    lower, upper = ((angle * end).cast(f32) for end in (1 - MARGIN, 1 + MARGIN))
    return select(lower != upper, call("math.atan2_wide", y, x), special_angle(x, y, lower))


def turned(y: Value, x: Value) -> Turned:
    """No number is rounded on the way."""
    a, b = (abs(part).cast(f64) for part in (x, y))
    a, b = (select(part > FAR, FAR, part) for part in (a, b))
    is_steep, is_left = b > a, copysign(constant(f32, 1.0), x) < 0.0
    near, far = select(is_steep, a, b), select(is_steep, b, a)
    far = select(far < 1 / FAR, 1 / FAR, far)
    first, second = (near > far * bound for bound in ATAN2_BOUND)
    point = Turned(far, near, (first, second), is_steep, is_left)
    tangent = picked(point, ATAN2_TAN)
    return point._replace(across=fma(tangent, near, far), up=fma(-tangent, far, near))


def picked(point: Turned, parts: tuple[float, float]) -> Value:
    """The one of the direction by which the point was turned back; 0 if it was not."""
    is_first, is_second = point.is_beyond
    return select(is_second, parts[1], select(is_first, constant(f64, parts[0]), 0.0))


def special_length(x: Value, y: Value, length: Value) -> Value:
    """`length`, or what infinities and NaN make of it. All of one type."""
    length = select(is_nan(x) | is_nan(y), nan, length)
    return select(is_inf(x) | is_inf(y), constant(x.dtype, inf), length)


def special_angle(x: Value, y: Value, z: Value) -> Value:
    """The angle z with the sign of y, or NaN. All of one type."""
    return select(is_nan(x) | is_nan(y), nan, copysign(z, y))
