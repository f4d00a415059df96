"""rsqrt and cbrt of f32, correctly rounded.

``rsqrt x = 1 / sqrt(x)``, with both steps correctly rounded in f64: the result is off by less than 2**-52.

cbrt: for ``a = |x|``, ``z = a**(-1/3)`` is found from a guess by iteration without division. With ``e = 1 - a z³``,
``z (1 + e/3 + 2/9 e² + 14/81 e³ + …)`` is nearer: from the guess, good to 5 bits, to 15, then 45, then all of f64. The
guess divides the exponent by -3, on the upper half of the bits, which are roughly a logarithm. ``cbrt a = a z²``.

All 2**32 inputs of both have been checked: no result is so near to the middle between two neighbours in f32 that it is
rounded to the wrong one.

Special values: rsqrt ±0 = ±inf, rsqrt inf = 0, below zero NaN; cbrt keeps zeros and infinities.
"""

from __future__ import annotations

from vyre_foundation import Value, constant, f32, f64, select, u32, u64
from vyre_foundation.functions import abs, copysign, is_inf, mul_high, sqrt

GUESS = 0x553E_F0FF
"""4/3 of the bias of the exponent, and a fraction that makes the worst error of the guess small."""
THIRD = 0x5555_5556
"""2**32 / 3, rounded up."""
SERIES = ((1 / 3, 2 / 9, 14 / 81), (1 / 3, 2 / 9), (1 / 3,))
"""Of (1 - e)**(-1/3) - 1, from e on: the terms for each iteration."""


def rsqrt(x: Value) -> Value:
    return (1.0 / sqrt(x.cast(f64))).cast(f32)


def cbrt(x: Value) -> Value:
    a = abs(x.cast(f64))
    z = inverse_cube_root(a)
    return select((x == 0.0) | is_inf(x), x, copysign((a * z * z).cast(f32), x))


def inverse_cube_root(a: Value) -> Value:
    """a**(-1/3) for a positive, normal f64, off by a few units in the last place."""
    upper = (a.bitcast(u64) >> 32).cast(u32)
    z = ((GUESS - mul_high(upper, constant(u32, THIRD))).cast(u64) << 32).bitcast(f64)
    for terms in SERIES:
        e = 1.0 - a * z * z * z
        *lower, total = (constant(f64, term) for term in terms)
        for term in reversed(lower):
            total = e * total + term
        z = z + z * (e * total)
    return z
