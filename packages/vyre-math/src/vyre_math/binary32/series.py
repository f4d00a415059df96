"""Odd functions of a quotient below 1/5, ``s + k s³ + s⁵ r(s²)``, as a sum of two f64 that is off by less than 2**-62.

The quotient of two f64 is a pair, whose low part counts with the function's slope there. The cubic term is computed
exactly and rounded to a pair. What is left is so small that f64 is enough for it; it stays in the low part of the sum,
which is therefore not below the last place of the high one: who needs that orders them (`pairs.ordered_sum`).
"""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation import constant, f64
from vyre_foundation.functions import fma
from vyre_math.pairs import Pair, ordered_sum, product_of
from vyre_math.polynomial import by_twos


def odd_series(s: Pair, cubic: tuple[float, float], rest: Sequence[float]) -> Pair:
    """The function with k in two parts and the coefficients of r, for ``|s| < 1/5``."""
    k, k_low = cubic
    u, u_low = product_of(s.high, s.high)
    cube, cube_low = product_of(s.high, u)
    third, third_low = product_of(cube, constant(f64, k))
    third_low = fma(fma(s.high, u_low, cube_low), k, third_low)
    high, low = ordered_sum(s.high, third)
    slope = fma(u, 3 * k, 1.0)
    beyond = fma(u, by_twos(rest, u, u * u), k_low)
    return Pair(high, fma(cube, beyond, fma(s.low, slope, low + third_low)))
