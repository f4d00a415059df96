"""sinh, cosh, tanh of f32, correctly rounded.

All three come from the exponential of ``|x|`` in f64, and the sign is put on in the end. With ``E = e**|x| - 1``, which
is as exact for small x as for large ones, and ``e**-|x| = 1 / (E + 1)``:

    sinh |x| = (E + E / (E + 1)) / 2
    cosh x   = (e**|x| + 1 / e**|x|) / 2
    tanh |x| = D / (D + 2)               D = e**2|x| - 1

Nothing cancels: the f64 in front of the rounding to f32 is off by less than 2**-50 of its value. All 2**32 inputs have
been checked: results nearer than that to the middle between two neighbours are right, or stand as exceptions.

Special values: sinh and tanh keep the sign of zero, cosh ±0 = 1, cosh ±inf = inf, tanh ±inf = ±1.
"""

from __future__ import annotations

from vyre_foundation import Value, f32, f64
from vyre_foundation.functions import abs, copysign
from vyre_math.binary32.exceptions import corrected
from vyre_math.binary32.exponential import clamp, exp_f64, expm1_f64

INFINITE = 90.0
"""From here on sinh and cosh overflow in f32."""
FLAT = 20.0
"""From here on tanh is 1, even in f64."""
SINH_EXCEPTIONS = {0x3A12_85FF: -1}


def sinh(x: Value) -> Value:
    e = expm1_f64(_magnitude(x, INFINITE))
    y = (0.5 * (e + e / (e + 1.0))).cast(f32)
    return copysign(corrected(abs(x), y, SINH_EXCEPTIONS), x)


def cosh(x: Value) -> Value:
    e = exp_f64(_magnitude(x, INFINITE))
    return (0.5 * (e + 1.0 / e)).cast(f32)


def tanh(x: Value) -> Value:
    d = expm1_f64(_magnitude(x, FLAT) * 2.0)
    return copysign((d / (d + 2.0)).cast(f32), x)


def _magnitude(x: Value, limit: float) -> Value:
    """``|x|`` in f64, at most `limit`; NaN stays."""
    return clamp(abs(x.cast(f64)), 0.0, limit)
