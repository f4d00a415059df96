"""rsqrt and cbrt of f64, off by less than 0.51 units in the last place.

rsqrt: ``y = 1 / sqrt(x)`` is off by little more than one unit; the exact rest ``1 - x y²`` gives the correction. cbrt:
as for f32, and then the exact rest ``a - t³`` corrects t.
"""

from __future__ import annotations

from math import inf

from vyre_foundation import Value, constant, f64, select
from vyre_foundation.functions import abs, copysign, fma, is_inf, sqrt
from vyre_math.binary32.roots import inverse_cube_root
from vyre_math.pairs import product_of, scaled

TINY, HUGE, SCALE = 2.0**-900, 2.0**900, 2.0**100
"""Below TINY, x is multiplied by SCALE³, and divided by it above HUGE, so that no part of t³ under- or overflows."""


def rsqrt(x: Value) -> Value:
    y = 1.0 / sqrt(x)
    high, low = product_of(x, y)
    rest = fma(-high, y, 1.0) - low * y
    return select((x > 0.0) & (x < inf), y + y * (rest * 0.5), y)


def cbrt(x: Value) -> Value:
    is_tiny, is_huge = abs(x) < TINY, abs(x) > HUGE
    a = abs(x) * select(is_tiny, constant(f64, SCALE**3), select(is_huge, constant(f64, SCALE**-3), 1.0))
    z = inverse_cube_root(a)
    t = a * z * z
    cube = scaled(product_of(t, t), t)
    rest = (a - cube.high) - cube.low
    y = t + rest * (z * z * (1 / 3))
    y = y * select(is_tiny, constant(f64, 1 / SCALE), select(is_huge, constant(f64, SCALE), 1.0))
    return select((x == 0.0) | is_inf(x), x, copysign(y, x))
