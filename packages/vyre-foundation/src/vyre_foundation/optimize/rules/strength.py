"""Quotients and remainders by powers of two are shifts and masks.

Products are left alone: a multiplication costs what a shift costs, and what is known about indices is known about
products. Quotients by other literals are left alone too: every compiler below turns them into a high product, as it
finds best for its target.
"""

from __future__ import annotations

from vyre_foundation.dtype import DType
from vyre_foundation.ops.scalar import Scalar
from vyre_foundation.optimize.rules.rule import SIGNED_INTEGER, UNSIGNED_INTEGER, Test, rule
from vyre_foundation.optimize.rules.term import c, op, x


def _is_power_of_two(dtype: DType, value: Scalar) -> bool:
    number = int(value)
    return number > 0 and number & (number - 1) == 0


POWER_OF_TWO = Test("is a power of two", c, _is_power_of_two)

# fmt: off
RULES = (
    rule(UNSIGNED_INTEGER, x / c,  x >> op("ctz", c),  POWER_OF_TWO),
    rule(UNSIGNED_INTEGER, x % c,  x & (c - 1),        POWER_OF_TWO),
    rule(SIGNED_INTEGER,   x / c,  x >> op("ctz", c),  POWER_OF_TWO, x >= 0),
    rule(SIGNED_INTEGER,   x % c,  x & (c - 1),        POWER_OF_TWO, x >= 0),
)
# fmt: on
