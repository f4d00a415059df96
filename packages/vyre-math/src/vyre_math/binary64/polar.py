"""hypot and atan2 of f64, off by less than 0.51 and 0.6 units in the last place.

Both take the point nearer to 1 or away from it, by a power of two, so that squares and products neither over- nor
underflow. Where y is so much smaller than x that the angle is the quotient, that is taken as it is: it may be
subnormal, and is rounded once then.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f64, select
from vyre_foundation.functions import abs, max
from vyre_math.angle import angle, corner, mirrored
from vyre_math.binary32.polar import special_angle, special_length
from vyre_math.binary64.exponential import SMALLEST_NORMAL
from vyre_math.pairs import Pair, chosen, exactly, ordered_sum, plus, product_of, rounded_below, square_root

TINY, HUGE, SCALE = 2.0**-400, 2.0**400, 2.0**600
FLAT = 2.0**-60
"""Below it an angle is its tangent."""


def hypot(x: Value, y: Value) -> Value:
    a, b, scale = _near_one(abs(x), abs(y))
    length = square_root(plus(product_of(a, a), product_of(b, b)))
    high, low = ordered_sum(length.high, length.low)
    nearest = high / scale
    subnormal = rounded_below(constant(f64, SMALLEST_NORMAL * SCALE), Pair(high, low)) / scale
    return special_length(x, y, select(nearest < SMALLEST_NORMAL, subnormal, nearest))


def atan2(y: Value, x: Value) -> Value:
    a, b = corner(x, y)
    tangent = b / a
    across, up, _ = _near_one(a, b)
    z = chosen(tangent < FLAT, exactly(tangent), angle(exactly(across), exactly(up)))
    return special_angle(x, y, mirrored(x, z).high)


def _near_one(a: Value, b: Value) -> tuple[Value, Value, Value]:
    """Both times a power of two, and that power."""
    most = max(a, b)
    scale = select(most < TINY, constant(f64, SCALE), select(most > HUGE, constant(f64, 1 / SCALE), 1.0))
    return a * scale, b * scale, scale
