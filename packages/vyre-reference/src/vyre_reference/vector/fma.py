"""x * y + z with one rounding, from operations that round each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vyre_reference.vector.registers import Values
from vyre_reference.vector.rounding import to_odd

LEAST, MOST = 2.0**-900, 2.0**900
"""Of products whose parts are surely normal numbers."""


def fma_f32(x: Values, y: Values, z: Values) -> Values:
    """The product is exact in f64; the sum is rounded to odd there, which makes the rounding to f32 the only one."""
    total, error = two_sum(x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64))
    return to_odd(total, error, np.int64).astype(np.float32)


def fma_f64(x: Values, y: Values, z: Values) -> Values:
    """By error-free transformations where nothing can overflow or get lost below, in fractions elsewhere."""
    result = _transformed(x, y, z)
    wild = ~_is_tame(x * y, result)
    return _mended(result, wild, x, y, z) if wild.any() else result


def two_sum(x: Values, y: Values) -> tuple[Values, Values]:
    """x + y rounded, and the error (Knuth): ``(x - (total - part)) + (y - part)`` for the part of the total that is y.

    In place, here and below: arrays that come and go cost more than what is computed in them.
    """
    total = x + y
    part = total - x
    error = y - part
    part -= total
    part += x
    error += part
    return total, error


def two_product(x: Values, y: Values) -> tuple[Values, Values]:
    """x * y rounded, and the error, through halves of 26 bits (Veltkamp, Dekker)."""
    product = x * y
    (x1, x0), (y1, y0) = _halves(x), _halves(y)
    error = x1 * y1
    error -= product
    error += x0 * y1
    error += x1 * y0
    error += x0 * y0
    return product, error


def _halves(x: Values) -> tuple[Values, Values]:
    high = x * np.float64(2**27 + 1)
    high -= high - x
    return high, x - high


def _transformed(x: Values, y: Values, z: Values) -> Values:
    """Boldo and Melquiond's emulation: the small parts are added to odd, the last addition rounds."""
    product, product_error = two_product(x, y)
    middle, middle_error = two_sum(z, product_error)
    total, total_error = two_sum(product, middle)
    total += to_odd(*two_sum(middle_error, total_error), np.int64)
    return total


def _is_tame(product: Values, result: Values) -> Values:
    """Whether both parts of the product are normal numbers, and nothing has overflown."""
    size = np.abs(product)
    return (size > LEAST) & (size < MOST) & np.isfinite(result)


def _mended(result: Values, wild: Values, x: Values, y: Values, z: Values) -> Values:
    """`result` with the lanes that are `wild` computed again: zeros and what is not finite plainly, others exactly."""
    shape = result.shape
    lanes = np.flatnonzero(wild)
    x, y, z = (np.broadcast_to(operand, shape).reshape(-1)[lanes] for operand in (x, y, z))
    product_is_finite = np.isfinite(x) & np.isfinite(y)
    again = np.where(product_is_finite & ~np.isfinite(z), z, x * y + z)
    hard = np.flatnonzero(product_is_finite & np.isfinite(z) & (x != 0) & (y != 0))
    again[hard] = [_exact(*lane) for lane in zip(x[hard].tolist(), y[hard].tolist(), z[hard].tolist(), strict=True)]
    mended = np.array(result).reshape(-1)
    mended[lanes] = again
    return mended.reshape(shape)


def _exact(x: float, y: float, z: float) -> float:
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact)  # correctly rounded, as Python divides integers; an exact zero is +0
    except OverflowError:
        return np.inf if exact > 0 else -np.inf
