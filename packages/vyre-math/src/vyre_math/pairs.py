"""Unevaluated sums of two f64, the second far below the first: some 100 bits, with nothing but sums and fma.

Error-free transformations after Dekker (Numerische Mathematik 18, 1971) and Knuth (TAOCP 2, 4.2.2). They are exact as
long as nothing overflows or underflows, because sums, products and fma are correctly rounded everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

from vyre_foundation import Value, constant, f64, select, u64
from vyre_foundation.functions import abs, fma, sqrt


class Pair(NamedTuple):
    """high + low, where high is that sum rounded to f64, or nearly so."""

    high: Value
    low: Value


def pair(values: tuple[float, float]) -> Pair:
    """Give two numbers as a constant pair."""
    return Pair(constant(f64, values[0]), constant(f64, values[1]))


def exactly(x: Value) -> Pair:
    """Give a value as a pair without an error."""
    return Pair(x, constant(f64, 0.0))


def negated(a: Pair) -> Pair:
    """Give the pair of the opposite sign, exactly."""
    return Pair(-a.high, -a.low)


def chosen(condition: Value, if_true: Pair, if_false: Pair) -> Pair:
    """Give one of two pairs by a condition."""
    return Pair(select(condition, if_true.high, if_false.high), select(condition, if_true.low, if_false.low))


# ── exact ────────────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── nearly exact ─────────────────────────────────────────────────────────────────────────────────────────────────────


def plus(a: Pair, b: Pair) -> Pair:
    """a + b, off by less than 2**-101 of the larger of the two."""
    high, low = sum_of(a.high, b.high)
    return ordered_sum(high, low + (a.low + b.low))


def product(a: Pair, b: Pair) -> Pair:
    """a b, off by less than 2**-101 of it."""
    high, low = product_of(a.high, b.high)
    return ordered_sum(high, low + (a.high * b.low + a.low * b.high))


def scaled(a: Pair, b: Value) -> Pair:
    """a b for a number b, off by less than 2**-104 of it."""
    high, low = product_of(a.high, b)
    return ordered_sum(high, low + a.low * b)


def quotient(a: Pair, b: Pair) -> Pair:
    """a / b, off by less than 2**-99 of it."""
    high = a.high / b.high
    back = product_of(high, b.high)
    rest = ((a.high - back.high) - back.low) + (a.low - high * b.low)
    return ordered_sum(high, rest / b.high)


def square_root(a: Pair) -> Pair:
    """The root of a, off by less than 2**-100 of it; 0 for 0."""
    high = sqrt(a.high)
    back = product_of(high, high)
    rest = ((a.high - back.high) - back.low) + a.low
    return Pair(high, select(high == 0.0, 0.0, rest / (high + high)))


# ── back to one number ───────────────────────────────────────────────────────────────────────────────────────────────


def rounded_below(power: Value, a: Pair) -> Value:
    """A pair that is not negative as a multiple of the last place of `power`, a power of two above it.

    So subnormal results are rounded once: `power` times what makes it the least normal number, and the rest exactly.
    """
    high, low = ordered_sum(power, a.high)
    return (high + (low + a.low)) - power


def rounded_to_odd(a: Pair) -> Value:
    """A pair that is not negative as one f64: truncated, its last bit set if something was cut off.

    Rounding that to a type with at least two bits less gives what rounding the pair would.
    """
    bits = a.high.bitcast(u64)
    below = select(a.low < 0.0, bits - 1, bits)
    return select(abs(a.low) > 0.0, below | 1, below).bitcast(f64)
