"""Polynomials by Horner's scheme, each step rounded twice: a product, then a sum."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation import Value


def horner(coefficients: Sequence[float], x: Value) -> Value:
    """c[0] + c[1] x + c[2] x² + …, for at least two coefficients."""
    *lower, last = coefficients
    total = x * last + lower.pop()
    for c in reversed(lower):
        total = x * total + c
    return total
