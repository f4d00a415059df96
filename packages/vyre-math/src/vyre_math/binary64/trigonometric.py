"""sin, cos, tan of f64, off by less than 0.9 units in the last place, for arguments of every size.

Above pi/4, multiples of pi/2 are removed in integers, as Payne and Hanek do it (ACM SIGNUM Newsletter 18, 1983): of
2/pi, as a string of bits, only those are needed that make no multiples of four quarter turns. 192 of them times the
53 bits of x are a number of quarter turns, of which the upper 128 bits are kept. An f64 can come within 2**-62 of a
multiple of pi/2, so at least 60 bits of r are right; r is a pair. In

    sin r = r - r³/6 + r⁵ p(r²),  cos r = 1 - r²/2 + r⁴ q(r²)

the second terms are pairs; what is rounded is less than a fortieth of the result.
"""

from __future__ import annotations

from math import nan

from vyre_foundation import Value, constant, f64, i32, select, u32, u64
from vyre_foundation.functions import abs, fma, is_finite, mul_high
from vyre_math.constants import COS_64, HALF_PI_PAIR, MINUS_SIXTH, QUARTER_PI, SIN_64, TWO_OVER_PI_64
from vyre_math.pairs import Pair, chosen, ordered_sum, pair, product, product_of, quotient, scaled, sum_of
from vyre_math.polynomial import horner
from vyre_math.table import slice_of

MANTISSA, HIDDEN = 2**52 - 1, 2**52
FIRST_EXPONENT = 1022
"""The biased exponent of the least argument that is reduced; its bits of 2/pi begin at the start of the table."""


def sin(x: Value) -> Value:
    n, r = _reduced(x)
    y = _negated(chosen(_is_even(n), _sin(r), _cos(r)).high, (n & 2) != 0)
    return _special(x, _negated(y, _is_negative(x)))


def cos(x: Value) -> Value:
    n, r = _reduced(x)
    y = chosen(_is_even(n), _cos(r), _sin(r)).high
    return _special(x, _negated(y, ((n + 1) & 2) != 0))


def tan(x: Value) -> Value:
    n, r = _reduced(x)
    s, c = _sin(r), _cos(r)
    is_upright = _is_even(n)
    y = quotient(chosen(is_upright, s, c), chosen(is_upright, c, s)).high
    y = select(x == 0.0, 0.0, y)
    return _special(x, _negated(y, ~is_upright ^ _is_negative(x)))


def _sin(r: Pair) -> Pair:
    u = product_of(r.high, r.high)
    cube = scaled(u, r.high)
    second = product(cube, pair(MINUS_SIXTH))
    high, low = ordered_sum(r.high, second.high)
    beyond = fma(cube.high, u.high * horner(SIN_64, u.high), r.low * (1.0 - 0.5 * u.high))
    return ordered_sum(high, low + (second.low + beyond))


def _cos(r: Pair) -> Pair:
    u = product_of(r.high, r.high)
    high, low = ordered_sum(constant(f64, 1.0), u.high * -0.5)
    return ordered_sum(high, low + (u.high * u.high * horner(COS_64, u.high) - (u.low * 0.5 + r.high * r.low)))


def _reduced(x: Value) -> tuple[Value, Pair]:
    """n (u32, 0 … 3) and r with ``|x| = n pi/2 + r``, where x is finite."""
    a = abs(x)
    bits = a.bitcast(u64)
    m = (bits & MANTISSA) | HIDDEN
    high, middle, low = _two_over_pi_from((bits >> 52).cast(u32) - FIRST_EXPONENT)
    below = m * middle
    lower = below + mul_high(m, low)
    carry = select(lower < below, constant(u64, 1), 0)
    upper = m * high + mul_high(m, middle) + carry
    n = ((upper >> 61).cast(u32) + 1) >> 1
    upper = upper - (n.cast(u64) << 62)
    # Four words, each exact in f64. The upper two are far below 2**-1 only if r is small, and then the others count.
    words = [_signed_word(upper >> 32), _word(upper), _word(lower >> 32), _word(lower)]
    first = sum_of(words[0] * 2.0**32, words[1])
    second = words[2] * 2.0**-32 + words[3] * 2.0**-64
    fraction = sum_of(first.high, first.low + second)
    r = product(Pair(fraction.high * 2.0**-62, fraction.low * 2.0**-62), pair(HALF_PI_PAIR))
    is_small = a < QUARTER_PI
    n = select(is_small, constant(u32, 0), n & 3)
    return n, Pair(select(is_small, a, r.high), select(is_small, 0.0, r.low))


def _two_over_pi_from(start: Value) -> tuple[Value, Value, Value]:
    """192 bits of `TWO_OVER_PI_64` from bit `start`, at most 1024, as three words."""
    words = slice_of([constant(u64, word) for word in TWO_OVER_PI_64], start >> 6, count=4, highest=16)
    shift = (start & 63).cast(u64)
    first, second, third = ((words[i] << shift) | (words[i + 1] >> 1 >> (63 - shift)) for i in range(3))
    return first, second, third


def _word(bits: Value) -> Value:
    """The lower half as a number."""
    return bits.cast(u32).cast(f64)


def _signed_word(bits: Value) -> Value:
    return bits.cast(u32).bitcast(i32).cast(f64)


def _is_even(n: Value) -> Value:
    """Whether a quadrant has the sine where the sine is, and not the cosine."""
    return (n & 1) == 0


def _negated(y: Value, is_negated: Value) -> Value:
    """`y` with its sign changed or not."""
    return select(is_negated, -y, y)


def _special(x: Value, y: Value) -> Value:
    """`y`, or NaN where x is not finite."""
    return select(is_finite(x), y, nan)


def _is_negative(x: Value) -> Value:
    return (x.bitcast(u64) >> 63) != 0
