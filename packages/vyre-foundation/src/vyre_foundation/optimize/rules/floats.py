"""Floats: only what is exact for every number, for both zeros, for infinities, and for NaN, of which there is one.

The sign of a NaN cannot be observed, so signs may pass through. `x + 0.0` is not `x` (for -0.0 it is 0.0), but
`x + -0.0` and `x - 0.0` are. Sums and products keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from vyre_foundation.dtype import DType, f32, f64
from vyre_foundation.ops.scalar import Scalar, round_float
from vyre_foundation.optimize.rules.rule import FLOAT, RewriteRule, Test, any_of, rule
from vyre_foundation.optimize.rules.term import c, op, x, y, z

FUSED = any_of("f32, f64", (f32, f64))


def _has_exact_reciprocal(dtype: DType, value: Scalar) -> bool:
    """Powers of two whose reciprocal the type holds: both then round the same real number."""
    if value == 0 or not math.isfinite(value) or abs(math.frexp(value)[0]) != 0.5:
        return False
    reciprocal = round_float(dtype, 1 / float(value))
    return reciprocal != 0 and math.isfinite(reciprocal) and reciprocal * float(value) == 1


def _is_negative(dtype: DType, value: Scalar) -> bool:
    return value == value and math.copysign(1, value) < 0


def _roundings() -> Iterator[RewriteRule]:
    """What is integral stays what it is."""
    for outer in ("floor", "ceil", "trunc", "round"):
        for inner in ("floor", "ceil", "trunc", "round"):
            yield rule(FLOAT, op(outer, op(inner, x)), op(inner, x))


# fmt: off
RULES = (
    # Signs.
    rule(FLOAT, op("sub", -0.0, x),                     -x),
    rule(FLOAT, x + (-y),                               x - y),
    rule(FLOAT, x - (-y),                               x + y),
    rule(FLOAT, x * -1.0,                               -x),
    rule(FLOAT, x / -1.0,                               -x),
    rule(FLOAT, (-x) * (-y),                            x * y),
    rule(FLOAT, (-x) / (-y),                            x / y),
    rule(FLOAT, (-x) * c,                               x * (-c)),
    rule(FLOAT, (-x) / c,                               x / (-c)),
    rule(FLOAT, c / (-x),                               (-c) / x),
    rule(FLOAT, op("abs", -x),                          op("abs", x)),
    rule(FLOAT, op("abs", op("abs", x)),                op("abs", x)),
    rule(FLOAT, op("abs", op("copysign", x, y)),        op("abs", x)),
    rule(FLOAT, op("copysign", -x, y),                  op("copysign", x, y)),
    rule(FLOAT, op("copysign", op("abs", x), y),        op("copysign", x, y)),
    rule(FLOAT, op("copysign", op("copysign", x, z), y), op("copysign", x, y)),
    rule(FLOAT, op("copysign", x, x),                   x),
    rule(FLOAT, op("copysign", x, c),                   -op("abs", x),  Test("is negative", c, _is_negative)),
    rule(FLOAT, op("copysign", x, c),                   op("abs", x),
         Test("is not negative", c, lambda dtype, value: not _is_negative(dtype, value))),
    rule(FLOAT, op("sign", op("sign", x)),              op("sign", x)),
    # A product is cheaper than a quotient.
    rule(FLOAT, x / c,                                  x * (1.0 / c),
         Test("is a power of two with a reciprocal", c, _has_exact_reciprocal)),
    # Fused products.
    rule(FUSED, op("fma", x, 1.0, y),                   x + y),
    rule(FUSED, op("fma", 1.0, x, y),                   x + y),
    rule(FUSED, op("fma", x, -1.0, y),                  y - x),
    rule(FUSED, op("fma", x, y, -0.0),                  x * y),
    rule(FUSED, op("fma", -x, -y, z),                   op("fma", x, y, z)),
    *_roundings(),
)
# fmt: on
