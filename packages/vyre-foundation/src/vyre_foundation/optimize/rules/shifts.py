"""Shifts and rotates. A count is taken modulo the width *before* counts are added: 20 + 20 shifts everything out."""

from __future__ import annotations

from vyre_foundation.dtype import DType
from vyre_foundation.ops.scalar import Scalar
from vyre_foundation.optimize.rules.rule import INTEGER, SIGNED_INTEGER, UNSIGNED_INTEGER, Test, rule
from vyre_foundation.optimize.rules.term import c, d, op, x


def _is_not_below_width(dtype: DType, value: Scalar) -> bool:
    return not 0 <= value < dtype.bits


OUTSIDE = Test("is not below the width", c, _is_not_below_width)
COUNTS = (c >= 0, c <= "width - 1", d >= 0, d <= "width - 1")
COMBINED = (*COUNTS, c + d <= "width - 1")
BEYOND = (*COUNTS, c + d > "width - 1")

# fmt: off
RULES = (
    # Counts below the width.
    rule(INTEGER, x << c,           x << (c & "width - 1"),             OUTSIDE),
    rule(INTEGER, x >> c,           x >> (c & "width - 1"),             OUTSIDE),
    rule(INTEGER, op("rotl", x, c), op("rotl", x, c & "width - 1"),     OUTSIDE),
    rule(INTEGER, op("rotr", x, c), op("rotr", x, c & "width - 1"),     OUTSIDE),
    # One shift for two.
    rule(INTEGER,          (x << c) << d,  x << (c + d),                *COMBINED),
    rule(INTEGER,          (x << c) << d,  0,                           *BEYOND),
    rule(INTEGER,          (x >> c) >> d,  x >> (c + d),                *COMBINED),
    rule(UNSIGNED_INTEGER, (x >> c) >> d,  0,                           *BEYOND),
    rule(SIGNED_INTEGER,   (x >> c) >> d,  x >> "width - 1",            *BEYOND),
    rule(INTEGER, op("rotl", op("rotl", x, c), d), op("rotl", x, c + d)),
    rule(INTEGER, op("rotr", op("rotr", x, c), d), op("rotr", x, c + d)),
    rule(INTEGER, op("rotl", op("rotr", x, c), d), op("rotl", x, d - c)),
    rule(INTEGER, op("rotr", op("rotl", x, c), d), op("rotr", x, d - c)),
    # There and back is a mask.
    rule(UNSIGNED_INTEGER, (x << c) >> c,  x & ("ones" >> c)),
    rule(INTEGER,          (x >> c) << c,  x & ("ones" << c)),
    # Nothing to shift.
    rule(INTEGER, 0 << x,           0),
    rule(INTEGER, 0 >> x,           0),
    rule(INTEGER, op("rotl", 0, x), 0),
    rule(INTEGER, op("rotr", 0, x), 0),
    rule(SIGNED_INTEGER, "ones" >> x, "ones"),
)
# fmt: on
