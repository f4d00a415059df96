"""asin, acos, atan of f64, off by less than 0.6 units in the last place.

The method is that for f32, with pairs for the point, its turned images, and the quotient. ``1 - x²`` is exact but for
the last bits of a pair, also where x is near to 1.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f64, select
from vyre_foundation.functions import abs, copysign
from vyre_math.constants import ATAN_64, EIGHTH_BOUND, EIGHTH_HIGH, EIGHTH_LOW, EIGHTH_TAN, PI_PAIR
from vyre_math.pairs import (
    Pair,
    chosen,
    exactly,
    negated,
    ordered_sum,
    pair,
    plus,
    product_of,
    quotient,
    scaled,
    square_root,
    sum_of,
)
from vyre_math.polynomial import horner

FLAT = 2.0**60
"""From here on atan is pi/2."""


def atan(x: Value) -> Value:
    a = abs(x)
    y = _angle(exactly(constant(f64, 1.0)), exactly(select(a > FLAT, FLAT, a))).high
    return copysign(select(x == 0.0, x, y), x)


def asin(x: Value) -> Value:
    a = abs(x)
    return copysign(select(x == 0.0, x, _angle(_leg(a), exactly(a)).high), x)


def acos(x: Value) -> Value:
    a = abs(x)
    y = _angle(exactly(a), _leg(a))
    return select(x < 0.0, plus(pair(PI_PAIR), negated(y)).high, y.high)


def _leg(x: Value) -> Pair:
    """sqrt(1 - x²)."""
    square = product_of(x, x)
    high, low = sum_of(constant(f64, 1.0), -square.high)
    return square_root(ordered_sum(high, low - square.low))


def _angle(a: Pair, b: Pair) -> Pair:
    """atan(b / a) for ``a, b >= 0``, not both 0."""
    turn, across, up = exactly(constant(f64, 0.0)), a, b
    for eighths in range(1, 5):
        is_beyond = b.high > a.high * EIGHTH_BOUND[eighths - 1]
        turned = _turned(a, b, eighths)
        across, up = chosen(is_beyond, turned[0], across), chosen(is_beyond, turned[1], up)
        turn = chosen(is_beyond, pair((EIGHTH_HIGH[eighths], EIGHTH_LOW[eighths])), turn)
    s = quotient(up, across)
    u = s.high * s.high
    return plus(turn, ordered_sum(s.high, s.low + s.high * (u * horner(ATAN_64, u))))


def _turned(a: Pair, b: Pair, eighths: int) -> tuple[Pair, Pair]:
    """The direction of (a, b) turned back by `eighths` times pi/8."""
    if eighths == 4:
        return b, negated(a)
    t = constant(f64, EIGHTH_TAN[eighths])
    return plus(a, scaled(b, t)), plus(b, negated(scaled(a, t)))
