"""asin, acos, atan of f32, correctly rounded.

All three are the angle of a point (a, b) in the first quadrant, ``atan(b / a)``, in f64:

    atan |x|: (1, |x|)        asin |x|: (w, |x|)        acos |x|: (|x|, w)        w = sqrt((1 - |x|)(1 + |x|))

The product under the root is exact but for one rounding, also where x is near to 1. The point is turned back by the
nearest multiple of pi/8, which costs no division: turning by the angle of tangent t takes (a, b) to (a + t b, b - t a),
and by a right angle to (b, -a). What is left is below pi/16, and ``atan s = s + s³ p(s²)`` with p of degree 7 and an
error below 2**-60. The multiple of pi/8 is added in two parts.

The f64 in front of the rounding to f32 is off by less than 2**-50 of its value. All 2**32 inputs have been checked:
results that come nearer to the middle between two neighbours are right, or stand as exceptions.

Special values: asin and atan keep the sign of zero, acos 1 = +0, atan ±inf = ±pi/2; beyond ±1 asin and acos give NaN.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f32, f64, select
from vyre_foundation.functions import abs, copysign, sqrt
from vyre_math.binary32.exceptions import corrected
from vyre_math.constants import ATAN, EIGHTH_BOUND, EIGHTH_HIGH, EIGHTH_LOW, EIGHTH_TAN, PI
from vyre_math.polynomial import horner

ATAN_EXCEPTIONS = {0x3D8D_6B23: +1}
ACOS_EXCEPTIONS = {0x3288_85A3: +1, 0x3982_6222: +1}


def atan(x: Value) -> Value:
    y = _angle(constant(f64, 1.0), abs(x.cast(f64))).cast(f32)
    return copysign(corrected(abs(x), y, ATAN_EXCEPTIONS), x)


def asin(x: Value) -> Value:
    wide = abs(x.cast(f64))
    return copysign(_angle(_leg(wide), wide).cast(f32), x)


def acos(x: Value) -> Value:
    """Of a negative x: the supplement of the angle of -x."""
    wide = abs(x.cast(f64))
    y = _angle(wide, _leg(wide))
    return corrected(x, select(x < 0.0, PI - y, y).cast(f32), ACOS_EXCEPTIONS)


def _leg(x: Value) -> Value:
    """sqrt(1 - x²)."""
    return sqrt((1.0 - x) * (1.0 + x))


def _angle(a: Value, b: Value) -> Value:
    """atan(b / a) for ``a, b >= 0``, not both 0; one of them may be infinite."""
    high, low, across, up = constant(f64, 0.0), constant(f64, 0.0), a, b
    for eighths in range(1, 5):
        is_beyond = b > a * EIGHTH_BOUND[eighths - 1]
        turned = _turned(a, b, eighths)
        across, up = select(is_beyond, turned[0], across), select(is_beyond, turned[1], up)
        high, low = select(is_beyond, EIGHTH_HIGH[eighths], high), select(is_beyond, EIGHTH_LOW[eighths], low)
    s = up / across
    u = s * s
    return high + (low + (s + s * (u * horner(ATAN, u))))


def _turned(a: Value, b: Value, eighths: int) -> tuple[Value, Value]:
    """The direction of (a, b) turned back by `eighths` times pi/8."""
    if eighths == 4:
        return b, -a
    t = EIGHTH_TAN[eighths]
    return a + b * t, b - a * t
