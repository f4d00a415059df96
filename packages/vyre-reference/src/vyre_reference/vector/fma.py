"""x * y + z with one rounding, from operations that round each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vyre_reference.vector.registers import Values
from vyre_reference.vector.rounding import to_odd


def fma_f32(x: Values, y: Values, z: Values) -> Values:
    """The product is exact in f64; the sum is rounded to odd there, which makes the rounding to f32 the only one."""
    total, error = two_sum(x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64))
    return to_odd(total, error, np.uint64).astype(np.float32)


def fma_f64(x: Values, y: Values, z: Values) -> Values:
    """By error-free transformations where nothing can overflow or get lost below, in fractions elsewhere."""
    shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
    x, y, z = np.atleast_1d(*np.broadcast_arrays(x, y, z))
    zero_or_special = (x == 0) | (y == 0) | ~(np.isfinite(x) & np.isfinite(y) & np.isfinite(z))
    product_is_finite = np.isfinite(x) & np.isfinite(y)
    plain = np.where(product_is_finite & ~np.isfinite(z), z, x * y + z)
    result = np.where(zero_or_special, plain, _transformed(x, y, z))
    hard = np.flatnonzero(~zero_or_special & ~_is_tame(x, y))
    result[hard] = [_exact(*lane) for lane in zip(x[hard].tolist(), y[hard].tolist(), z[hard].tolist(), strict=True)]
    return result.reshape(shape)


def two_sum(x: Values, y: Values) -> tuple[Values, Values]:
    """x + y rounded, and the error (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def two_product(x: Values, y: Values) -> tuple[Values, Values]:
    """x * y rounded, and the error, through halves of 26 bits (Veltkamp, Dekker)."""
    product = x * y
    (x1, x0), (y1, y0) = _halves(x), _halves(y)
    return product, x0 * y0 - (((product - x1 * y1) - x0 * y1) - x1 * y0)


def _halves(x: Values) -> tuple[Values, Values]:
    spread = x * np.float64(2**27 + 1)
    high = spread - (spread - x)
    return high, x - high


def _transformed(x: Values, y: Values, z: Values) -> Values:
    """Boldo and Melquiond's emulation: the small parts are added to odd, the last addition rounds."""
    product, product_error = two_product(x, y)
    middle, middle_error = two_sum(z, product_error)
    total, total_error = two_sum(product, middle)
    small, small_error = two_sum(middle_error, total_error)
    result: Values = total + to_odd(small, small_error, np.uint64)
    return result


def _is_tame(x: Values, y: Values) -> Values:
    """Whether both parts of the product are normal numbers, and it is too small to make a finite sum infinite."""
    (_, ex), (_, ey) = np.frexp(x), np.frexp(y)
    return (np.abs(ex) < 400) & (np.abs(ey) < 400)


def _exact(x: float, y: float, z: float) -> float:
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact)  # correctly rounded, as Python divides integers; an exact zero is +0
    except OverflowError:
        return np.inf if exact > 0 else -np.inf
