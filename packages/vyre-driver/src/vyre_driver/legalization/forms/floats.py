"""Classification and signs of floats by comparisons and bits; sqrt and fma through wider floats, or integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from vyre_driver.legalization.forms import soft
from vyre_driver.legalization.forms.odd import to_odd
from vyre_driver.legalization.forms.sign import magnitude, with_sign_of
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.dtype import f32, f64, u64


def is_nan(x: ExprTerm) -> ExprTerm:
    """NaN alone differs from itself."""
    return x.differs(x)


def is_inf(x: ExprTerm) -> ExprTerm:
    """Whether the magnitude is infinity."""
    return abs(x).equals(math.inf)


def is_finite(x: ExprTerm) -> ExprTerm:
    """Whether the magnitude is below infinity, which that of NaN is not."""
    return abs(x) < math.inf


def sign(x: ExprTerm) -> ExprTerm:
    """A zero and NaN are neither greater nor less than 0, and stay."""
    return (x > 0.0).where(1.0, (x < 0.0).where(-1.0, x))


def copysign(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The sign of NaN counts as positive."""
    return with_sign_of(magnitude(x), y.differs(y).where(0.0, y))


def sqrt(x: ExprTerm) -> ExprTerm:
    """Rounding the double root again is harmless: 53 >= 2 * 24 + 2."""
    if x.dtype is f32 and ("sqrt", f64) in x.forms.target.ops:
        return x.cast(f64).op("sqrt").cast(f32)
    return soft.root(x)


def fma(x: ExprTerm, y: ExprTerm, z: ExprTerm) -> ExprTerm | None:
    """The double product is exact, the double sum rounded to odd: rounding it to f32 is the only real rounding."""
    if x.dtype is not f32:
        return None
    if ("mul", f64) not in x.forms.target.ops:
        return soft.fused(x, y, z) if u64 in x.forms.target.arithmetic else None
    product, addend = x.cast(f64) * y.cast(f64), z.cast(f64)
    total = product + addend
    # Knuth's two-sum: total + error is exactly product + addend.
    part = total - product
    error = (product - (total - part)) + (addend - part)
    return to_odd(total, error).cast(f32)


RULES: Mapping[str, Callable[..., ExprTerm | None]] = {
    "is_nan": is_nan,
    "is_inf": is_inf,
    "is_finite": is_finite,
    "sign": sign,
    "copysign": copysign,
    "sqrt": sqrt,
    "fma": fma,
}
