"""pow of f32: x**y for all pairs, in which no wrong rounding is known.

``|x|**y = 2**(y log2 |x|)``. The exponent may be 128, so it needs 7 bits more than the result has, and 30 more for the
right rounding: everything that counts is computed in pairs of f64 (`pairs.py`).

1.  ``|x| = 2**e m`` with ``sqrt(1/2) <= m < sqrt(2)``, and ``s = (m - 1) / (m + 1)`` in a pair: remainders are exact.
2.  ``log2 m = 2/ln 2 (s + s³/3 + s⁵ r(s²))``. The first two terms are pairs, r is a polynomial of degree 7.
3.  ``y log2 |x| = n + f`` with an integer n, and with ``v = f ln 2``, ``2**f = 1 + v + v²/2 + v³/6 + v⁴ q(v)``. Here q
    has degree 9, and the terms before it are pairs.
4.  The pair is rounded to odd into one f64: truncated, and if there was more, the last bit is set. So the conversion to
    f32 rounds the sum, not something rounded before. Where ``x**y`` is just the middle between two neighbours, or one
    of them, the low part is nothing but error and is left out.

The pair is off by less than 2**-59 of its value where the exponent is large (measured: 2**-59.8), and by less than
2**-61 where y is so small that a result can be exact. One pair of arguments in 2**33 or so has a result nearer than
that to a middle without being it, and may be rounded to the wrong neighbour. None has been found: see `evidence/math`.

Special values: IEEE 754-2019, 9.2.1, for pow.
"""

from __future__ import annotations

from math import inf, nan

from vyre_foundation import Value, constant, f32, f64, select
from vyre_foundation.functions import abs, copysign, is_nan, trunc
from vyre_math.binary32.exponential import ROUNDER, clamp, power_of_two
from vyre_math.binary32.logarithm import parts
from vyre_math.constants import LN_2, POW_EXP, POW_LOG, TWO_LOG2_E, TWO_LOG2_E_3
from vyre_math.pairs import Pair, exactly, ordered_sum, pair, product, quotient, rounded_to_odd, scaled, sum_of
from vyre_math.polynomial import horner

LIMIT = 200.0
"""Beyond this exponent to base 2 everything overflows or underflows."""
HUGE = 2.0**64
"""A y beyond it takes every x but 1 beyond the limit, in f64 too."""
NEGLIGIBLE = 2.0**-61
"""A low part beside a number near 1 that may be nothing but error."""


def pow(x: Value, y: Value) -> Value:
    e, m = parts(abs(x))
    # m has so few bits that m - 1 and m + 1 are exact.
    s = quotient(exactly(m - 1.0), exactly(m + 1.0))
    exponent = scaled(plus_integer(e, log2_of_ratio(s)), clamp(y.cast(f64), -HUGE, HUGE))
    n, (high, low) = power_of(exponent)
    low = select(abs(low) < NEGLIGIBLE, 0.0, low)
    return special(x, y, (rounded_to_odd(Pair(high, low)) * n).cast(f32))


def log2_of_ratio(s: Pair) -> Pair:
    """log2 m from ``s = (m - 1) / (m + 1)``, for m between sqrt(1/2) and sqrt(2)."""
    u = product(s, s)
    third = pair(TWO_LOG2_E_3)
    high, low = ordered_sum(third.high, u.high * horner(POW_LOG, u.high))
    cubic = product(product(s, u), Pair(high, low + third.low))
    linear = product(s, pair(TWO_LOG2_E))
    high, low = ordered_sum(linear.high, cubic.high)
    return Pair(high, low + (linear.low + cubic.low))


def plus_integer(e: Value, a: Pair) -> Pair:
    """e + a."""
    high, low = sum_of(e, a.high)
    return ordered_sum(high, low + a.low)


def power_of(exponent: Pair) -> tuple[Value, Pair]:
    """2**n as one number and 2**f as a pair, for n + f = exponent. NaN gives anything."""
    is_beyond = abs(exponent.high) > LIMIT
    high = clamp(exponent.high, -LIMIT, LIMIT)
    shifted = high + ROUNDER
    f = ordered_sum(high - (shifted - ROUNDER), select(is_beyond, 0.0, exponent.low))
    v = product(f, pair(LN_2))
    square = product(v, v)
    cube = product(square, v)
    sixth = product(cube, pair((1 / 6, 1 / 6 * 2.0**-54)))
    tail = square.high * square.high * horner(POW_EXP, v.high)
    high, low = ordered_sum(square.high * 0.5, sixth.high)
    small = ordered_sum(high, low + (square.low * 0.5 + (sixth.low + tail)))
    high, low = sum_of(v.high, small.high)
    beyond = ordered_sum(high, low + (v.low + small.low))
    high, low = ordered_sum(constant(f64, 1.0), beyond.high)
    return power_of_two(shifted), ordered_sum(high, low + beyond.low)


def special(x: Value, y: Value, power: Value) -> Value:
    """The result from `power`, which is ``|x|**y`` for positive and finite ``|x|``, whatever it is elsewhere."""
    a, is_down = abs(x), y < 0.0
    zero, infinity = constant(x.dtype, 0.0), constant(x.dtype, inf)
    magnitude = select(a == 0.0, select(is_down, infinity, zero), power)
    magnitude = select(a == inf, select(is_down, zero, infinity), magnitude)
    magnitude = select(a == 1.0, 1.0, magnitude)
    half = y * 0.5
    is_integer = trunc(y) == y
    is_odd = is_integer & (trunc(half) != half)
    is_negative = copysign(constant(x.dtype, 1.0), x) < 0.0
    result = select(is_negative & is_odd, -magnitude, magnitude)
    has_none = (x < 0.0) & (x > -inf) & ~is_integer
    result = select(has_none | is_nan(x) | is_nan(y), nan, result)
    return select((y == 0.0) | (x == 1.0), 1.0, result)
