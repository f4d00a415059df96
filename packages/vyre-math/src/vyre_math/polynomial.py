"""Polynomials, by Horner's scheme or in x².

A step of Horner's scheme is rounded twice, a product, then a sum. Steps in x² are rounded once, and half as many of
them wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation import Value, constant, f64
from vyre_foundation.functions import fma
from vyre_math.pairs import Pair, ordered_sum, product_of


def horner(coefficients: Sequence[float], x: Value) -> Value:
    """c[0] + c[1] x + c[2] x² + …, for at least two coefficients."""
    *lower, last = coefficients
    total = x * last + lower.pop()
    for c in reversed(lower):
        total = x * total + c
    return total


def by_twos(coefficients: Sequence[float], x: Value, square: Value) -> Value:
    """(c[0] + c[1] x) + x² ((c[2] + c[3] x) + …), for at least three coefficients, from x and x²."""
    last = coefficients[-1] if len(coefficients) % 2 else None
    *lower, total = (fma(x, odd, even) for even, odd in zip(coefficients[::2], coefficients[1::2], strict=False))
    total = total if last is None else fma(square, last, total)
    for c in reversed(lower):
        total = fma(square, total, c)
    return total


def of_pairs(pairs: Sequence[tuple[float, float]], rest: Sequence[float], x: Pair) -> Pair:
    """Evaluate c[0] + c[1] x + c[2] x² + …, for falling terms.

    The first coefficients, `pairs`, are in two parts and the others, `rest`, in one.
    """
    total = Pair(horner(rest, x.high), constant(f64, 0.0))
    for c in reversed(pairs):
        high, low = product_of(total.high, x.high)
        low = fma(total.high, x.low, fma(total.low, x.high, low))
        high, rounding = ordered_sum(constant(f64, c[0]), high)
        total = Pair(high, rounding + (low + c[1]))
    return total
