"""Bitwise ops, which on bool are the logical ones."""

from __future__ import annotations

from vyre_foundation.dtype import DType
from vyre_foundation.ops.scalar import Scalar
from vyre_foundation.optimize.rules.rule import BITS, INTEGER, Test, rule
from vyre_foundation.optimize.rules.term import c, d, x, y


def _is_low_mask(dtype: DType, value: Scalar) -> bool:
    return int(value) >= 0 and int(value) & (int(value) + 1) == 0


# fmt: off
RULES = (
    # An operand and its complement.
    rule(BITS, x & ~x,              0),
    rule(BITS, x | ~x,              "ones"),
    rule(BITS, x ^ ~x,              "ones"),
    rule(BITS, x ^ "ones",          ~x),
    rule(BITS, ~x ^ ~y,             x ^ y),
    rule(BITS, ~x ^ c,              x ^ ~c),
    rule(BITS, ~(x ^ c),            x ^ ~c),
    rule(BITS, ~x & ~y,             ~(x | y)),
    rule(BITS, ~x | ~y,             ~(x & y)),
    # An operand that is there twice.
    rule(BITS, (x ^ y) ^ y,         x),
    rule(BITS, x & (x | y),         x),
    rule(BITS, x | (x & y),         x),
    rule(BITS, x & (~x | y),        x & y),
    rule(BITS, x | (~x & y),        x | y),
    rule(BITS, (x | y) & ~y,        x & ~y),
    rule(BITS, (x & y) | ~y,        x | ~y),
    rule(BITS, (x & y) | (x & ~y),  x),
    rule(BITS, (x & c) | (x & d),   x & (c | d)),
    rule(BITS, (x & c) ^ (x & d),   x & (c ^ d)),
    # Complements and signs.
    rule(INTEGER, ~x + 1,           -x),
    rule(INTEGER, -(~x),            x + 1),
    rule(INTEGER, ~(-x),            x - 1),
    rule(INTEGER, ~(x - 1),         -x),
    rule(INTEGER, x - (x & y),      x & ~y),
    # A mask that changes nothing.
    rule(INTEGER, x & c,            x,           Test("is a mask of the lowest bits", c, _is_low_mask), x >= 0, x <= c),
)
# fmt: on
