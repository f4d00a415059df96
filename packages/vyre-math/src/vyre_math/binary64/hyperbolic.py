"""sinh, cosh, tanh of f64, off by less than 0.8 units in the last place.

With ``E = e**|x| - 1`` as a pair:

    sinh |x| = (E + E / (E + 1)) / 2
    cosh x   = (e**|x| + 1 / e**|x|) / 2
    tanh |x| = D / (D + 2)               D = e**2|x| - 1

From 22 on the second terms of sinh and cosh do not count, and the halves of the first may be finite where those are
not.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f64, select
from vyre_foundation.functions import abs, copysign
from vyre_math.binary32.exponential import clamp
from vyre_math.binary64.exponential import beyond_one, exponent, power, power_of_two, reduced, times_power_of_two
from vyre_math.pairs import Pair, exactly, plus, quotient, scaled

INFINITE = 712.0
LARGE = 22.0
FLAT = 22.0
"""From here on tanh is 1."""


def sinh(x: Value) -> Value:
    a = clamp(abs(x), 0.0, INFINITE)
    e = _beyond_one(clamp(a, 0.0, LARGE))
    small = plus(e, quotient(e, _plus_number(e, 1.0))).high * 0.5
    return copysign(select(x == 0.0, x, select(a < LARGE, small, _half_exp(a))), x)


def cosh(x: Value) -> Value:
    a = clamp(abs(x), 0.0, INFINITE)
    e = _plus_number(_beyond_one(clamp(a, 0.0, LARGE)), 1.0)
    one = exactly(constant(f64, 1.0))
    return select(a < LARGE, plus(e, quotient(one, e)).high * 0.5, _half_exp(a))


def tanh(x: Value) -> Value:
    d = _beyond_one(clamp(abs(x), 0.0, FLAT) * 2.0)
    return copysign(select(x == 0.0, x, quotient(d, _plus_number(d, 2.0)).high), x)


def _beyond_one(x: Value) -> Pair:
    """e**x - 1 for ``0 <= x <= 44``."""
    shifted, r = reduced(x)
    scale = power_of_two(exponent(shifted))
    return plus(exactly(scale - 1.0), scaled(beyond_one(r), scale))


def _half_exp(x: Value) -> Value:
    shifted, r = reduced(x)
    return times_power_of_two(power(r).high, exponent(shifted) - 1)


def _plus_number(a: Pair, number: float) -> Pair:
    return plus(a, exactly(constant(f64, number)))
