"""Floats to integral floats. A result of zero keeps the sign of the operand; infinities and NaN pass."""

from __future__ import annotations

import math
from collections.abc import Callable

from vyre_foundation.dtype import FLOATS, DType, f32, f64
from vyre_foundation.ops.definition import Meaning, Op, Result, at


def integral(to_int: Callable[[float], int]) -> Meaning:
    """The meaning of an op that rounds to an integer by `to_int`."""

    def meaning(dtype: DType, x: float) -> float:
        return math.copysign(float(to_int(x)), x) if math.isfinite(x) else x

    return meaning


_SAME = Result.SAME
INF = math.inf

# fmt: off
FLOOR = Op("floor", 80, 1, FLOATS, _SAME, integral(math.floor), "the greatest integer not above x",
           witnesses=at(f32, (-0.5, -1.0), (-0.0, -0.0), (1.5, 1.0), (-INF, -INF)) + at(f64, (2.0**53 + 2, 2.0**53 + 2)))
CEIL  = Op("ceil",  81, 1, FLOATS, _SAME, integral(math.ceil),  "the least integer not below x",
           witnesses=at(f32, (-0.5, -0.0), (0.5, 1.0), (1e-45, 1.0)))
TRUNC = Op("trunc", 82, 1, FLOATS, _SAME, integral(math.trunc), "x without its fraction",
           witnesses=at(f32, (-1.5, -1.0), (-0.5, -0.0), (INF, INF)))
ROUND = Op("round", 83, 1, FLOATS, _SAME, integral(round),      "the integer nearest to x, ties to even",
           witnesses=at(f32, (0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0)))
# fmt: on

ROWS = (FLOOR, CEIL, TRUNC, ROUND)
