"""Unevaluated sums of two f64, the second far below the first: some 100 bits, with nothing but sums and fma.

Error-free transformations after Dekker (Numerische Mathematik 18, 1971) and Knuth (TAOCP 2, 4.2.2). They are exact as
long as nothing overflows or underflows, because sums, products and fma are correctly rounded everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

from vyre_foundation import Value
from vyre_foundation.functions import fma


class Pair(NamedTuple):
    """high + low, where high is that sum rounded to f64, or nearly so."""

    high: Value
    low: Value


def sum_of(a: Value, b: Value) -> Pair:
    """a + b, exactly."""
    high = a + b
    back = high - a
    return Pair(high, (a - (high - back)) + (b - back))


def ordered_sum(a: Value, b: Value) -> Pair:
    """a + b, exactly, where a is not smaller in magnitude than b, or 0."""
    high = a + b
    return Pair(high, b - (high - a))


def product_of(a: Value, b: Value) -> Pair:
    """a b, exactly."""
    high = a * b
    return Pair(high, fma(a, b, -high))


def product(a: Pair, b: Pair) -> Pair:
    """a b, off by less than 2**-101 of it."""
    high, low = product_of(a.high, b.high)
    return ordered_sum(high, low + (a.high * b.low + a.low * b.high))
