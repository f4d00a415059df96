"""Sums, products and quotients of integers, modulo the width unless a condition says that nothing wraps."""

from __future__ import annotations

from vyre_foundation.dtype import DType
from vyre_foundation.ops.scalar import Scalar
from vyre_foundation.optimize.rules.rule import INTEGER, SIGNED_INTEGER, UNSIGNED_INTEGER, Fits, Test, rule
from vyre_foundation.optimize.rules.term import c, d, ne, op, x, y, z


def _is_less_negated(dtype: DType, value: Scalar) -> bool:
    """Whether -c is a smaller number of the width than c: 2**32 - 1 and -1 are, 1 and the least value are not."""
    return (int(value) & ((1 << dtype.bits) - 1)) > 1 << (dtype.bits - 1)


NEGATED = Test("is less when negated", c, _is_less_negated)

# fmt: off
RULES = (
    # One literal in a sum, added or subtracted as a small number: then bounds see that nothing wraps.
    rule(INTEGER, x + c,              x - (-c),          NEGATED),
    rule(INTEGER, x - c,              x + (-c),          NEGATED),
    rule(INTEGER, (x - c) + d,        x + (d - c)),
    rule(INTEGER, (x + c) - d,        x + (c - d)),
    rule(INTEGER, (x - c) - d,        x - (c + d)),
    rule(INTEGER, (c - x) + d,        (c + d) - x),
    rule(INTEGER, (c - x) - d,        (c - d) - x),
    rule(INTEGER, c - (x + d),        (c - d) - x),
    rule(INTEGER, c - (x - d),        (c + d) - x),
    rule(INTEGER, c - (d - x),        x + (c - d)),
    # Terms that cancel.
    rule(INTEGER, (x + y) - y,        x),
    rule(INTEGER, (x - y) + y,        x),
    rule(INTEGER, x - (x - y),        y),
    rule(INTEGER, x - (x + y),        -y),
    rule(INTEGER, (x - y) - x,        -y),
    rule(INTEGER, (x + y) - (x + z),  y - z),
    rule(INTEGER, (x - z) - (y - z),  x - y),
    rule(INTEGER, (x - y) - (x - z),  z - y),
    rule(INTEGER, (x - y) + (y - z),  x - z),
    rule(INTEGER, (x - y) + (z + y),  x + z),
    # Signs.
    rule(INTEGER, 0 - x,              -x),
    rule(INTEGER, x + (-y),           x - y),
    rule(INTEGER, x - (-y),           x + y),
    rule(INTEGER, (-x) - c,           (-c) - x),
    rule(INTEGER, -(x - y),           y - x),
    rule(INTEGER, -(x + c),           (-c) - x),
    rule(INTEGER, x * "ones",         -x),
    rule(INTEGER, (-x) * (-y),        x * y),
    rule(INTEGER, (-x) * c,           x * (-c)),
    rule(INTEGER, -(x * c),           x * (-c)),
    rule(SIGNED_INTEGER, op("abs", -x), op("abs", x)),
    rule(INTEGER, op("abs", op("abs", x)), op("abs", x)),
    # Multiples of one thing.
    rule(INTEGER, x * c + x,          x * (c + 1)),
    rule(INTEGER, x * c - x,          x * (c - 1)),
    rule(INTEGER, x - x * c,          x * (1 - c)),
    rule(INTEGER, x * c + x * d,      x * (c + d)),
    rule(INTEGER, x * c - x * d,      x * (c - d)),
    # Quotients and remainders.
    rule(INTEGER, 0 / x,              0),
    rule(INTEGER, 0 % x,              0),
    rule(INTEGER, x / y,              0,                 x >= 0, x < y),
    rule(INTEGER, x % y,              x,                 x >= 0, x < y),
    rule(INTEGER, (x * y) / y,        x,                 y > 0, Fits(x * y)),
    rule(INTEGER, (x * y) % y,        0,                 Fits(x * y)),
    rule(INTEGER, (x * c + y) / c,    x + y / c,         c > 0, x >= 0, y >= 0, Fits(x * c + y)),
    rule(INTEGER, (x * c + y) % c,    y % c,             c > 0, x >= 0, y >= 0, Fits(x * c + y)),
    rule(INTEGER, (x / c) / d,        x / (c * d),       c > 0, d > 0, Fits(c * d)),
    rule(INTEGER, x - (x / c) * c,    x % c,             ne(c, 0)),
    rule(INTEGER, (x / c) * c + x % c, x,                ne(c, 0)),
    # What saturates, or takes a magnitude, where there is nothing to do.
    rule(INTEGER, op("add_sat", x, y), x + y,            Fits(x + y)),
    rule(INTEGER, op("sub_sat", x, y), x - y,            Fits(x - y)),
    rule(INTEGER, op("mul_sat", x, y), x * y,            Fits(x * y)),
    rule(INTEGER, op("mul_high", x, y), 0,               x >= 0, y >= 0, Fits(x * y)),
    rule(INTEGER, op("abs", x),       x,                 x >= 0),
    rule(INTEGER, op("abs", x),       -x,                x <= 0),
    rule(INTEGER, op("abs_diff", x, x), 0),
    rule(UNSIGNED_INTEGER, op("abs_diff", x, y), x - y,  x >= y),
)
# fmt: on
