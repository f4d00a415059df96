"""pow of f32, correctly rounded: x**y.

``|x|**y = 2**(y log2 |x|)``, in f64, off by less than 2**-43 of its value. Where both ends of a slightly wider interval
round to the same f32, that is the power. Elsewhere, for one pair of arguments in 2**17, `math.pow_wide` decides.

1.  ``|x| = 2**e m`` with m around 1 or around c = 361/256, near sqrt(2). ``s = (m - c) / (m + c)`` is below 0.0884;
    difference and sum are exact.
2.  ``log2 |x| = (e + log2 c) + s (2/ln 2 + s² q(s²))`` with q of degree 5.
3.  ``y log2 |x| = n + f`` with an integer n and ``|f| <= 1/2``, and ``2**f = 1 + f p(f)`` with p of degree 9.
4.  2**n is made of its bits. The multiplication by it is exact, so the conversion to f32 is the only
    rounding, also where it overflows or underflows.

Special values: IEEE 754-2019, 9.2.1, for pow. `docs/math.md` has the bounds of the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, nan
from typing import NamedTuple

from vyre_foundation import Value, call, constant, f32, f64, select, u64
from vyre_foundation.functions import abs, copysign, fma, is_nan, max, min, sqrt, trunc
from vyre_foundation.ir.expr import Cast, Expr, Literal
from vyre_math.binary32.exponential import ONE, ROUNDER
from vyre_math.constants import POW_CENTER, POW_EXP2, POW_LOG2, POW_TURN, TWO_LOG2_E
from vyre_math.polynomial import by_twos

LARGEST = float.fromhex("0x1.fffffep127")
"""Of the finite f32."""
LIMIT = 400.0
"""Beyond this exponent to base 2 everything overflows or underflows."""
HUGE = 2.0**32
"""A y beyond it takes every x but 1 beyond this limit."""
MARGIN = 2.0**-42
"""More than the error of the f64 in front of the rounding, relative."""
ROOT = 0x3FEA_E980_0000_0000
"""The bits of the least m, 0.841. From those half a unit of the exponent further on, m is around c: from 1.182."""
HALF = 1 << 51
SIGN = 1 << 63
EXPONENT = 0xFFF0_0000_0000_0000
INTEGER = 2.0**52
INTEGER_BITS = 0x4330_0000_0000_0000
"""The bits of 2**52: with an integer in its low bits, the sum of both."""


class Decomposition(NamedTuple):
    """A number ``2**e m``; whether m is around c instead of 1."""

    e: Value
    minus_m: Value
    is_upper: Value


EXACT: Mapping[float, Callable[[Value], Value]] = {
    0.0:  lambda x: constant(f32, 1.0),
    0.5:  lambda x: select(x == -inf, constant(f32, inf), sqrt(x + 0.0)),
    1.0:  lambda x: x,
    2.0:  lambda x: x * x,
    -1.0: lambda x: 1.0 / x,
}  # fmt: skip
"""Powers that are one op, which is correctly rounded, too, and overflows, underflows and passes a NaN on as the power
does. The root of -0 and of -inf has another sign, or is none."""


def pow(x: Value, y: Value) -> Value:
    known = literal_of(y.expr)
    return power_of(x, y) if known is None or known not in EXACT else EXACT[known](x)


def literal_of(y: Expr) -> float | None:
    """The number that `y` is in the text of a program, also where it comes from a narrower type."""
    inner = y.value if isinstance(y, Cast) and y.value.dtype.is_float else y
    return float(inner.value) if isinstance(inner, Literal) else None


def power_of(x: Value, y: Value) -> Value:
    exponent = limited(factor(y) * logarithm(parts(x)))
    shifted = exponent + ROUNDER
    power = exponential(exponent - (shifted - ROUNDER)) * power_of_two(shifted)
    lower, upper = ((power * end).cast(f32) for end in (1 - MARGIN, 1 + MARGIN))
    return select(lower != upper, call("math.pow_wide", x, y), special(x, y, lower))


def parts(x: Value) -> Decomposition:
    """Those of ``|x|``; of something finite for infinities and NaN."""
    bits = min(abs(x), LARGEST).cast(f64).bitcast(u64)
    # The bit that keeps e from being negative makes m negative.
    above = bits + (SIGN - ROOT)
    e = ((above >> 52) | INTEGER_BITS).bitcast(f64) - (INTEGER + 2048.0)
    return Decomposition(e, (bits - (above & EXPONENT)).bitcast(f64), (above & HALF) != 0)


def logarithm(x: Decomposition) -> Value:
    """log2 x."""
    center = select(x.is_upper, constant(f64, POW_CENTER), 1.0)
    turn, turn_low = (select(x.is_upper, constant(f64, part), 0.0) for part in POW_TURN)
    s = (x.minus_m + center) / (x.minus_m - center)
    square = s * s
    slope = fma(square, by_twos(POW_LOG2, square, square * square), TWO_LOG2_E[0])
    return (x.e + turn) + fma(s, slope, turn_low)


def factor(y: Value) -> Value:
    """y, or a number with the same powers for infinities."""
    return max(min(y, HUGE), -HUGE).cast(f64)


def limited(exponent: Value) -> Value:
    """An exponent to base 2 with the same power in f32, small enough to compute with."""
    return max(min(exponent, LIMIT), -LIMIT)


def power_of_two(shifted: Value) -> Value:
    """2**n, from n with `ROUNDER` added."""
    return ((shifted.bitcast(u64) << 52) + ONE).bitcast(f64)


def exponential(f: Value) -> Value:
    """2**f for ``|f| <= 1/2``."""
    return fma(f, by_twos(POW_EXP2, f, f * f), 1.0)


def special(x: Value, y: Value, power: Value) -> Value:
    """The result from `power`, which is ``|x|**y`` for positive and finite ``|x|``, whatever it is elsewhere."""
    size = abs(x)
    extreme = select((y < 0.0) == (size == 0.0), constant(x.dtype, inf), 0.0)
    magnitude = select((size == 0.0) | (size == inf), extreme, power)
    half = y * 0.5
    is_integer = trunc(y) == y
    is_odd = is_integer & (trunc(half) != half)
    result = select(is_odd, copysign(magnitude, x), magnitude)
    is_one = (y == 0.0) | (x == 1.0)
    has_none = (x < 0.0) & (x > -inf) & ~is_integer
    return select(is_one | has_none | is_nan(x) | is_nan(y), select(is_one, constant(x.dtype, 1.0), nan), result)
