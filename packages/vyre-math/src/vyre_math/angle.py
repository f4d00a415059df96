"""The angle of a point (a, b) in the first quadrant, ``atan(b / a)``, as a pair of f64.

It is off by less than 2**-56 (measured: 2**-56.96).

The point is turned back by the nearest multiple of pi/8, which costs no division, and ``atan s = s + s³ p(s²)`` for the
quotient s that is left, below tan(pi/16). Only the polynomial is computed in f64, and it is a seventieth of the result.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f64, select
from vyre_foundation.functions import abs, copysign, is_inf
from vyre_math.constants import ATAN_64, EIGHTH_BOUND, EIGHTH_HIGH, EIGHTH_LOW, EIGHTH_TAN, PI_PAIR
from vyre_math.pairs import Pair, chosen, exactly, negated, ordered_sum, pair, plus, quotient, scaled
from vyre_math.polynomial import horner


def angle(a: Pair, b: Pair) -> Pair:
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


# ── any quadrant ─────────────────────────────────────────────────────────────────────────────────────────────────────


def corner(x: Value, y: Value) -> tuple[Value, Value]:
    """Give a finite point other than (0, 0) in the direction of (|x|, |y|).

    For zeros that is (1, 0); for infinities it is on a diagonal or an axis.
    """
    a, b = abs(x), abs(y)
    is_far = is_inf(a) | is_inf(b)
    a, b = (select(is_far, select(is_inf(c), constant(f64, 1.0), 0.0), c) for c in (a, b))
    return select((a == 0.0) & (b == 0.0), 1.0, a), b


def mirrored(x: Value, z: Pair) -> Pair:
    """The angle z of (|x|, |y|) as the one of (x, |y|), where -0 is on the left."""
    is_left = copysign(constant(x.dtype, 1.0), x) < 0.0
    return chosen(is_left, plus(pair(PI_PAIR), negated(z)), z)
