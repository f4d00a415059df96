"""Comparisons. There are two orders, `<` and `<=`: the other two are these with their sides exchanged.

A comparison with a NaN is false, and `ne` is true. So for floats `x == x` says something, and the opposite of `<` is
not `>=`.
"""

from __future__ import annotations

from collections.abc import Iterator

from vyre_foundation.optimize.rules.rule import ANY, BITS, BOOL, FLOAT, INTEGER, NUMBER, RewriteRule, rule
from vyre_foundation.optimize.rules.term import FALSE, TRUE, c, d, eq, ne, op, x, y, z

INF, NAN = float("inf"), float("nan")


def _equalities() -> Iterator[RewriteRule]:
    """What is true of both `eq` and `ne`: each side may be changed by what can be undone."""
    for same in eq, ne:
        yield rule(BITS, same(x ^ y, 0), same(x, y))
        yield rule(BITS, same(x ^ c, d), same(x, c ^ d))
        yield rule(BITS, same(~x, c), same(x, ~c))
        yield rule(BITS, same(~x, ~y), same(x, y))
        yield rule(NUMBER, same(-x, c), same(x, -c))
        yield rule(NUMBER, same(-x, -y), same(x, y))
        yield rule(INTEGER, same(x - y, 0), same(x, y))
        yield rule(INTEGER, same(x + c, d), same(x, d - c))
        yield rule(INTEGER, same(x - c, d), same(x, d + c))
        yield rule(INTEGER, same(c - x, d), same(x, c - d))
        yield rule(INTEGER, same(x + y, y), same(x, 0))
        yield rule(INTEGER, same(x + z, y + z),  same(x, y))  # fmt: skip


def _classes() -> Iterator[RewriteRule]:
    """The sign says nothing about the class of a float."""
    for id in ("is_nan", "is_inf", "is_finite"):
        yield rule(FLOAT, op(id, -x), op(id, x))
        yield rule(FLOAT, op(id, op("abs", x)), op(id, x))


# fmt: off
RULES = (
    # Two orders for four.
    rule(NUMBER,  x > y,         y < x),
    rule(NUMBER,  x >= y,        y <= x),
    # One value on both sides.
    rule(BITS,    eq(x, x),      TRUE),
    rule(BITS,    ne(x, x),      FALSE),
    rule(NUMBER,  x < x,         FALSE),
    rule(INTEGER, x <= x,        TRUE),
    # What ranges decide.
    rule(INTEGER, x < y,         TRUE,     x < y),
    rule(INTEGER, x < y,         FALSE,    x >= y),
    rule(INTEGER, x <= y,        TRUE,     x <= y),
    rule(INTEGER, x <= y,        FALSE,    x > y),
    rule(INTEGER, eq(x, y),      FALSE,    ne(x, y)),
    rule(INTEGER, ne(x, y),      TRUE,     ne(x, y)),
    # Opposites.
    rule(INTEGER, ~(x < y),      y <= x),
    rule(INTEGER, ~(x <= y),     y < x),
    rule(ANY,     ~eq(x, y),     ne(x, y)),
    rule(ANY,     ~ne(x, y),     eq(x, y)),
    # Two comparisons of the same values.
    rule(NUMBER,  (x < y) | eq(x, y),        x <= y),
    rule(INTEGER, (x <= y) & ne(x, y),       x < y),
    rule(NUMBER,  (x <= y) & (y <= x),       eq(x, y)),
    # Truth values.
    rule(BOOL,    eq(x, TRUE),   x),
    rule(BOOL,    eq(x, FALSE),  ~x),
    rule(BOOL,    ne(x, TRUE),   ~x),
    rule(BOOL,    ne(x, FALSE),  x),
    # Floats.
    rule(FLOAT,   -x < -y,       y < x),
    rule(FLOAT,   -x <= -y,      y <= x),
    rule(FLOAT,   eq(x, NAN),    FALSE),
    rule(FLOAT,   ne(x, NAN),    TRUE),
    rule(FLOAT,   x < NAN,       FALSE),
    rule(FLOAT,   x <= NAN,      FALSE),
    rule(FLOAT,   op("lt", NAN, x), FALSE),
    rule(FLOAT,   op("le", NAN, x), FALSE),
    rule(FLOAT,   x < -INF,      FALSE),
    rule(FLOAT,   op("lt", INF, x), FALSE),
    *_equalities(),
    *_classes(),
)
# fmt: on
