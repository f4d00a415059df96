"""Floats to integral floats by adding and subtracting 2**(precision-1), where the fraction has no room.

From that magnitude on, a float is integral already, and infinities and NaN fail the comparison too: they stay.
"""

from __future__ import annotations

from vyre_driver.legalization.forms.sign import magnitude, with_sign_of
from vyre_driver.legalization.forms.term import ExprTerm


def round_to_even(x: ExprTerm) -> ExprTerm:
    """(|x| + 2**23) - 2**23 for f32: the addition rounds to an integer, ties to even."""
    size = magnitude(x)
    return _small(size).where(with_sign_of(_integral(size), x), x)


def trunc(x: ExprTerm) -> ExprTerm:
    """Round |x|, and take 1 back where that rounded up."""
    size = magnitude(x)
    nearest = _integral(size)
    down = (nearest > size).where(nearest - 1.0, nearest)
    return _small(size).where(with_sign_of(down, x), x)


def floor(x: ExprTerm) -> ExprTerm:
    """Round to even, and subtract 1 where that is above `x`."""
    nearest = round_to_even(x)
    return (nearest > x).where(nearest - 1.0, nearest)


def ceil(x: ExprTerm) -> ExprTerm:
    """Rounding -0.7 up gives -1 + 1 = +0, which has to be -0: the sign of a result is that of x."""
    nearest = round_to_even(x)
    up = (nearest < x).where(nearest + 1.0, nearest)
    return _small(magnitude(x)).where(with_sign_of(magnitude(up), x), x)


def _integral(size: ExprTerm) -> ExprTerm:
    limit = _limit(size)
    return (size + limit) - limit


def _small(size: ExprTerm) -> ExprTerm:
    return size < _limit(size)


def _limit(x: ExprTerm) -> float:
    assert x.dtype.format is not None
    return 2.0 ** (x.dtype.format.precision - 1)


RULES = {"round": round_to_even, "trunc": trunc, "floor": floor, "ceil": ceil}
