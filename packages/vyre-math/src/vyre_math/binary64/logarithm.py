"""log, log2, log10, log1p of f64, off by less than 0.6 units in the last place.

As for f32, ``x = 2**e m`` and ``log m = 2 atanh s`` with ``s = (m - 1) / (m + 1)``, here with a pair for s. ``atanh s
= s + s³ q(s²)``, where q has degree 8 and an error below 2**-60; the second term is less than a hundredth of the
first, so it may be rounded. Of 1 + x in log1p the rounding error is kept and goes into both parts of the quotient,
which gives just x / (x + 2) for small x.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f64, i32, i64, select, u32, u64
from vyre_foundation.functions import abs
from vyre_math.binary32.logarithm import SQRT_HALF_HIGH, special
from vyre_math.binary64.exponential import SMALLEST_NORMAL
from vyre_math.constants import ATANH_64, LN_2, LOG2_E_PAIR, LOG10_2, LOG10_E_PAIR
from vyre_math.pairs import Pair, exactly, ordered_sum, pair, plus, product, quotient, scaled, sum_of
from vyre_math.polynomial import horner

LINEAR = 2.0**-54
"""Below this log(1 + x) is nearest to x."""


def log(x: Value) -> Value:
    e, m = parts(x)
    return special(x, plus(scaled(pair(LN_2), e), _log_of(m)).high)


def log2(x: Value) -> Value:
    e, m = parts(x)
    return special(x, plus(exactly(e), product(_log_of(m), pair(LOG2_E_PAIR))).high)


def log10(x: Value) -> Value:
    e, m = parts(x)
    return special(x, plus(scaled(pair(LOG10_2), e), product(_log_of(m), pair(LOG10_E_PAIR))).high)


def log1p(x: Value) -> Value:
    z = sum_of(constant(f64, 1.0), x)
    e, m = parts(z.high)
    # 2**-e, but where e is so large that the low part does not count.
    scale = ((1023 - e.cast(i32)).bitcast(u32).cast(u64) << 52).bitcast(f64)
    low = select(x > 2.0**60, 0.0, z.low * scale)
    y = plus(scaled(pair(LN_2), e), _log_of(m, low)).high
    return select(abs(x) < LINEAR, x, special(x, y, pole=-1.0))


def parts(x: Value) -> tuple[Value, Value]:
    """e and m with ``x = 2**e m`` and ``sqrt(1/2) <= m < sqrt(2)``, for positive and finite x."""
    is_subnormal = x < SMALLEST_NORMAL
    bits = select(is_subnormal, x * 2.0**54, x).bitcast(u64)
    e = ((bits >> 32).cast(u32) - SQRT_HALF_HIGH).bitcast(i32) >> 20
    m = (bits - (e.cast(i64).bitcast(u64) << 52)).bitcast(f64)
    return e.cast(f64) - select(is_subnormal, constant(f64, 54.0), 0.0), m


def ratio(m: Value, low: Value | None = None) -> Pair:
    """(m - 1) / (m + 1), where `low` is what m lacks."""
    above = sum_of(m, constant(f64, 1.0))
    if low is None:
        return quotient(exactly(m - 1.0), above)
    return quotient(sum_of(m - 1.0, low), ordered_sum(above.high, above.low + low))


def _log_of(m: Value, low: Value | None = None) -> Pair:
    s = ratio(m, low)
    s = Pair(s.high + s.high, s.low + s.low)
    u = s.high * s.high * 0.25
    return ordered_sum(s.high, s.low + s.high * (u * horner(ATANH_64, u)))
