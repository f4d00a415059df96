"""log, log2, log10, log1p of f32, correctly rounded.

``x = 2**e m`` with ``sqrt(1/2) <= m < sqrt(2)``, so ``log x = e log 2 + log m``, and

    log m = 2 atanh s,  s = (m - 1) / (m + 1),  atanh s = s + s³ q(s²)

with a polynomial q of degree 7 and an error below 2**-61. In f64 m - 1 and m + 1 are exact. ``e log 2`` is added in two
parts, of which the high one is exact, and where e is not 0 its share outweighs the other, so little cancels.

The f64 in front of the rounding to f32 is off by less than 2**-50 of its value. All 2**32 inputs have been checked:
results that come nearer to the middle between two neighbours are right, or stand as exceptions.

Special values: log ±0 = -inf, log inf = inf, log 1 = +0, and below zero NaN; log1p the same for x + 1, and ±0 for ±0.
"""

from __future__ import annotations

from math import inf, nan

from vyre_foundation import Value, constant, f32, f64, i32, i64, select, u32, u64
from vyre_math.binary32.exceptions import corrected
from vyre_math.constants import ATANH, LN_2_HIGH, LN_2_LOW, LOG2_E, LOG10_2_HIGH, LOG10_2_LOW, LOG10_E
from vyre_math.polynomial import horner

SQRT_HALF = 0x3F35_04F3
"""The bits of sqrt(1/2) in f32."""
SQRT_HALF_HIGH = 0x3FE6_A09E
"""The upper half of those in f64."""
SMALLEST_NORMAL = 0x0080_0000
LOG_EXCEPTIONS = {0x3C41_3D3A: -1, 0x4117_8FEB: -1, 0x4C5D_65A5: +1, 0x65D8_90D3: +1, 0x6F31_A8EC: +1}
LOG10_EXCEPTIONS = {0x0EFE_EE7A: +1}
LOG1P_EXCEPTIONS = {
    0x3540_0003: +1,
    0x3710_001B: +1,
    0x4107_8FEB: -1,
    0x65D8_90D3: +1,
    0x6F31_A8EC: +1,
    0xB53F_FFFD: -1,
    0xB70F_FFE5: -1,
    0xBB0E_C8C4: +1,
}


def log(x: Value) -> Value:
    e, m = parts(x)
    y = e * LN_2_HIGH + (e * LN_2_LOW + _log_of_ratio(m - 1.0, m + 1.0))
    return corrected(x, special(x, y.cast(f32)), LOG_EXCEPTIONS)


def log2(x: Value) -> Value:
    e, m = parts(x)
    return special(x, (e + _log_of_ratio(m - 1.0, m + 1.0) * LOG2_E).cast(f32))


def log10(x: Value) -> Value:
    e, m = parts(x)
    y = e * LOG10_2_HIGH + (e * LOG10_2_LOW + _log_of_ratio(m - 1.0, m + 1.0) * LOG10_E)
    return corrected(x, special(x, y.cast(f32)), LOG10_EXCEPTIONS)


def log1p(x: Value) -> Value:
    """log(1 + x). For x around 0, where 1 + x would lose its bits: s = x / (x + 2)."""
    wide = x.cast(f64)
    near = (wide > -0.25) & (wide < 0.4)
    bits = (wide + 1.0).bitcast(u64)
    e = ((bits >> 32).cast(u32) - SQRT_HALF_HIGH).bitcast(i32) >> 20
    m = (bits - (e.cast(i64).bitcast(u64) << 52)).bitcast(f64)
    n = select(near, 0.0, e.cast(f64))
    ratio = _log_of_ratio(select(near, wide, m - 1.0), select(near, wide + 2.0, m + 1.0))
    y = special(x, (n * LN_2_HIGH + (n * LN_2_LOW + ratio)).cast(f32), pole=-1.0)
    return corrected(x, select(x == 0.0, x, y), LOG1P_EXCEPTIONS)


def parts(x: Value) -> tuple[Value, Value]:
    """e and m with ``x = 2**e m``, both in f64. A subnormal is made normal first."""
    is_subnormal = x.bitcast(u32) < SMALLEST_NORMAL
    bits = select(is_subnormal, x * 2.0**23, x).bitcast(u32)
    e = (bits - SQRT_HALF).bitcast(i32) >> 23
    m = (bits - (e.bitcast(u32) << 23)).bitcast(f32)
    return e.cast(f64) - select(is_subnormal, constant(f64, 23.0), 0.0), m.cast(f64)


def _log_of_ratio(difference: Value, sum: Value) -> Value:
    """log m = 2 atanh(difference / sum), where those are m - 1 and m + 1."""
    s = difference / sum
    u = s * s
    twice = s + s
    return twice + twice * (u * horner(ATANH, u))


def special(x: Value, y: Value, pole: float = 0.0) -> Value:
    """`y`; -inf at the `pole`, NaN below it, inf at inf. All of the type of x."""
    return select(x > pole, select(x == inf, x, y), select(x == pole, constant(x.dtype, -inf), nan))
