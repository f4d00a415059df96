"""Comparisons and classifications: every result is a bool. A comparison with NaN is false, `ne` is true."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping

from vyre_foundation.dtype import DTYPES, FLOATS, NUMBERS, bool_, f32, i8, u8
from vyre_foundation.ops.definition import Laws, Op, Result, at

INF, NAN = math.inf, math.nan
_BOOL = Result.BOOL
_COMMUTES = Laws(commutative=True)

# fmt: off
EQ = Op("eq", 64, 2, DTYPES,  _BOOL, lambda t, x, y: operator.eq(x, y), "x == y", laws=_COMMUTES, float_laws=_COMMUTES,
        witnesses=at(u8, (255, 255, True), (0, 1, False)) + at(bool_, (True, True, True)) + at(f32, (NAN, NAN, False), (0.0, -0.0, True)))
NE = Op("ne", 65, 2, DTYPES,  _BOOL, lambda t, x, y: operator.ne(x, y), "x != y", laws=_COMMUTES, float_laws=_COMMUTES,
        witnesses=at(u8, (255, 255, False), (0, 1, True)) + at(bool_, (True, False, True)) + at(f32, (NAN, NAN, True), (0.0, -0.0, False)))
LT = Op("lt", 66, 2, NUMBERS, _BOOL, lambda t, x, y: operator.lt(x, y), "x < y",
        witnesses=at(u8, (0, 255, True), (255, 0, False)) + at(i8, (-1, 0, True)) + at(f32, (NAN, 1.0, False), (-0.0, 0.0, False), (-INF, INF, True)))
LE = Op("le", 67, 2, NUMBERS, _BOOL, lambda t, x, y: operator.le(x, y), "x <= y",
        witnesses=at(u8, (255, 255, True)) + at(i8, (-1, 0, True), (0, -1, False)) + at(f32, (NAN, NAN, False), (0.0, -0.0, True)))
GT = Op("gt", 68, 2, NUMBERS, _BOOL, lambda t, x, y: operator.gt(x, y), "x > y",
        witnesses=at(u8, (255, 0, True)) + at(i8, (0, -1, True)) + at(f32, (1.0, NAN, False), (INF, -INF, True)))
GE = Op("ge", 69, 2, NUMBERS, _BOOL, lambda t, x, y: operator.ge(x, y), "x >= y",
        witnesses=at(u8, (0, 0, True), (0, 1, False)) + at(i8, (-128, 127, False)) + at(f32, (NAN, 0.0, False), (-0.0, 0.0, True)))
IS_NAN    = Op("is_nan",    70, 1, FLOATS, _BOOL, lambda t, x: x != x,              "whether x is a NaN",
        witnesses=at(f32, (NAN, True), (INF, False), (0.0, False)))
IS_INF    = Op("is_inf",    71, 1, FLOATS, _BOOL, lambda t, x: math.isinf(x),       "whether x is an infinity",
        witnesses=at(f32, (-INF, True), (NAN, False), (3.4028234663852886e38, False)))
IS_FINITE = Op("is_finite", 72, 1, FLOATS, _BOOL, lambda t, x: math.isfinite(x),    "whether x is neither infinite nor NaN",
        witnesses=at(f32, (INF, False), (NAN, False), (1e-45, True)))
# fmt: on

ROWS = (EQ, NE, LT, LE, GT, GE, IS_NAN, IS_INF, IS_FINITE)

MIRRORED: Mapping[str, str] = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""The comparison that gives the same with its operands exchanged."""
NEGATED: Mapping[str, str] = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
"""The comparison that holds where this one does not. Of floats only `eq` and `ne`: others are all false with a NaN."""
ORDERED = frozenset({"lt", "le", "gt", "ge"})
"""The comparisons that say which operand is less."""
