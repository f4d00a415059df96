"""Collectives of all subgroups at once: one row for each subgroup, one column for each lane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vyre_foundation.dtype import DType
from vyre_foundation.ir.stmt import SubgroupOp
from vyre_reference.vector.ops import function
from vyre_reference.vector.registers import Values, register

Combine = Callable[[Values, Values], Values]


def collective(op: SubgroupOp, dtype: DType, width: int, values: Values, selected: Values) -> Values:
    """What every lane gets. `values` and `selected` (lane or mask, u32) have an element for each lane of workgroups."""
    rows = values.reshape(-1, width)
    lane = np.arange(width)
    chosen = (selected % np.uint32(width)).astype(np.intp).reshape(-1, width)
    match op.family:
        case "reduce":
            result = _butterfly(function(str(op.combine), dtype), rows)
        case "inclusive_scan":
            result = _scan(function(str(op.combine), dtype), rows)
        case "exclusive_scan":
            result = np.empty_like(rows)
            result[:, 1:] = _scan(function(str(op.combine), dtype), rows)[:, :-1]
            result[:, 0] = _identity(str(op.combine), dtype)
        case "broadcast" | "shuffle":
            result = np.take_along_axis(rows, chosen, axis=1)
        case "shuffle_xor":
            result = np.take_along_axis(rows, lane ^ chosen, axis=1)
        case "ballot":
            result = _everywhere((rows.astype(np.uint64) << lane.astype(np.uint64)).sum(axis=1, dtype=np.uint64), rows)
        case "any":
            result = _everywhere(np.any(rows, axis=1), rows)
        case "all":
            result = _everywhere(np.all(rows, axis=1), rows)
        case family:
            raise AssertionError(family)
    return result.reshape(-1)


def _butterfly(combine: Combine, rows: Values) -> Values:
    lane = np.arange(rows.shape[1])
    distance = rows.shape[1] // 2
    while distance:
        rows = combine(rows, rows[:, lane ^ distance])
        distance //= 2
    return rows


def _scan(combine: Combine, rows: Values) -> Values:
    distance = 1
    while distance < rows.shape[1]:
        rows = np.concatenate((rows[:, :distance], combine(rows[:, :-distance], rows[:, distance:])), axis=1)
        distance *= 2
    return rows


def _everywhere(of_row: Values, rows: Values) -> Values:
    return np.broadcast_to(of_row[:, np.newaxis], rows.shape)


def _identity(combine: str, dtype: DType) -> Values:
    """What lane 0 gets of an exclusive scan."""
    lowest, highest = (-np.inf, np.inf) if dtype.is_float else (dtype.lowest, dtype.highest)
    ones = -1 if dtype.is_signed else dtype.highest
    identity = {"min": highest, "max": lowest, "and": ones}.get(combine, 0)
    return register(dtype).type(identity)
