"""hypot and atan2 of f32: the length and the angle of a point.

hypot is correctly rounded for all pairs, and needs no proof by trial. Squares of f32 are exact in f64, and their sum is
exact as a pair. The root of that pair is rounded to odd: the rest ``x² + y² - r²`` has the right sign, because r² is
taken from the sum without an error. So the conversion to f32 rounds the true length, not something rounded before.

atan2 rounds the angle (`angle.py`) to odd. It is off by less than 2**-56 of its value, so one pair of arguments in
2**31 or so has a result that is nearer than that to the middle between two neighbours, and may be rounded to the wrong
one. None has been found: see `evidence/math`. A small quotient may be such a middle itself, and the angle is below it:
there the low part is the cubic term, which has the right sign.

Special values: IEEE 754-2019, 9.2.1: an infinite part makes the length +inf, whatever the other is; atan2 takes the
signs of zeros for the quadrant, and infinities for directions.
"""

from __future__ import annotations

from math import inf, nan

from vyre_foundation import Value, constant, f32, f64, select
from vyre_foundation.functions import copysign, is_inf, is_nan
from vyre_math.angle import angle, corner, mirrored
from vyre_math.pairs import exactly, rounded_to_odd, square_root, sum_of


def hypot(x: Value, y: Value) -> Value:
    a, b = x.cast(f64), y.cast(f64)
    length = rounded_to_odd(square_root(sum_of(a * a, b * b)))
    return special_length(x, y, length.cast(f32))


def atan2(y: Value, x: Value) -> Value:
    a, b = corner(x.cast(f64), y.cast(f64))
    z = rounded_to_odd(mirrored(x, angle(exactly(a), exactly(b))))
    return special_angle(x, y, z.cast(f32))


def special_length(x: Value, y: Value, length: Value) -> Value:
    """`length`, or what infinities and NaN make of it. All of one type."""
    length = select(is_nan(x) | is_nan(y), nan, length)
    return select(is_inf(x) | is_inf(y), constant(x.dtype, inf), length)


def special_angle(x: Value, y: Value, z: Value) -> Value:
    """The angle z with the sign of y, or NaN. All of one type."""
    return select(is_nan(x) | is_nan(y), nan, copysign(z, y))
