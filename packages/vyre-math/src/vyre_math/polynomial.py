"""Polynomials: by Horner's scheme, each step rounded twice, a product, then a sum; or in x², with steps that are
rounded once, half as many of which wait for each other."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation import Value
from vyre_foundation.functions import fma


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
