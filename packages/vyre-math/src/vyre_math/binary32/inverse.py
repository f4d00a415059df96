"""asin, acos, atan of f32, correctly rounded.

An arc tangent is the angle of the point (1, ``|x|``), which is turned back by the nearest multiple of pi/4: to
(1 + x, x - 1) or (x, -1). What is left is below pi/8, and ``atan s = s + s³ p(s²)`` with p of degree 11.

Arc sine and cosine need no quotient. For ``|x| <= 1/2``, ``asin x = x + x³ q(x²)`` with q of degree 13, and ``acos x
= pi/2 - asin x``. Beyond, half the arc cosine is the arc sine of ``z = sqrt((1 - |x|) / 2)``, which is below 1/2
again, and exact under the root: ``acos |x| = 2 asin z``, ``asin |x| = pi/2 - acos |x|``.

The f64 in front of the rounding to f32 is off by less than 2**-50 of its value. All 2**32 inputs have been checked:
results that come nearer to the middle between two neighbours are right, or stand as exceptions.

Special values: asin and atan keep the sign of zero, acos 1 = +0, atan ±inf = ±pi/2; beyond ±1 asin and acos give NaN.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f32, f64, select
from vyre_foundation.functions import abs, copysign, sqrt
from vyre_math.binary32.exceptions import corrected
from vyre_math.constants import ASIN, ATAN, HALF_PI, PI, QUARTER_PI, TAN_EIGHTH_PI
from vyre_math.polynomial import horner

ATAN_EXCEPTIONS = {0x3D8D_6B23: +1}
ACOS_EXCEPTIONS = {0x3288_85A3: +1, 0x3982_6222: +1}


def atan(x: Value) -> Value:
    a = abs(x.cast(f64))
    is_steep, is_upright = a > TAN_EIGHTH_PI, a > 1 / TAN_EIGHTH_PI
    up = select(is_upright, -1.0, select(is_steep, a - 1.0, a))
    across = select(is_upright, a, select(is_steep, a + 1.0, constant(f64, 1.0)))
    turn = select(is_upright, HALF_PI, select(is_steep, constant(f64, QUARTER_PI), 0.0))
    s = up / across
    u = s * s
    y = (turn + (s + s * (u * horner(ATAN, u)))).cast(f32)
    return copysign(corrected(abs(x), y, ATAN_EXCEPTIONS), x)


def asin(x: Value) -> Value:
    is_far, y = _least(x)
    return copysign(select(is_far, HALF_PI - 2.0 * y, y).cast(f32), x)


def acos(x: Value) -> Value:
    is_far, y = _least(x)
    twice = 2.0 * y
    right = select(is_far, twice, HALF_PI - y)
    left = select(is_far, PI - twice, HALF_PI + y)
    return corrected(x, select(x < 0.0, left, right).cast(f32), ACOS_EXCEPTIONS)


def _least(x: Value) -> tuple[Value, Value]:
    """Whether ``|x| > 1/2``, and the arc sine of ``|x|``, or else half its arc cosine."""
    a = abs(x.cast(f64))
    is_far = a > 0.5
    square = select(is_far, 0.5 - 0.5 * a, a * a)
    z = select(is_far, sqrt(square), a)
    return is_far, z + z * (square * horner(ASIN, square))
