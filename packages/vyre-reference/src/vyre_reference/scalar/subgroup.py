"""Collectives of one subgroup: the values of its lanes in, what each lane gets out.

The order of every fold is fixed, so floats give the same bits everywhere. A NaN that is exchanged is the canonical one;
here a NaN has no payload until it is stored, so there is nothing to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from vyre_foundation.dtype import DType
from vyre_foundation.ir.stmt import SubgroupOp
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, wrap

Combine = Callable[[Scalar, Scalar], Scalar]


def collective(op: SubgroupOp, dtype: DType, values: Sequence[Scalar], selected: Sequence[int]) -> list[Scalar]:
    """What each lane gets. `values` are of type `dtype`; `selected` has each lane's lane or mask, if the op has one."""
    lanes = range(len(values))
    match op.family:
        case "reduce":
            return butterfly(combination(op, dtype), values)
        case "inclusive_scan":
            return scan(combination(op, dtype), values)
        case "exclusive_scan":
            return [identity(op, dtype), *scan(combination(op, dtype), values)[:-1]]
        case "broadcast" | "shuffle":
            return [values[selected[lane] % len(values)] for lane in lanes]
        case "shuffle_xor":
            return [values[lane ^ selected[lane] % len(values)] for lane in lanes]
        case "ballot":
            return [sum(1 << lane for lane in lanes if values[lane])] * len(values)
        case "any":
            return [any(values)] * len(values)
        case "all":
            return [all(values)] * len(values)
        case family:
            raise AssertionError(family)


def butterfly(combine: Combine, values: Sequence[Scalar]) -> list[Scalar]:
    """Every lane folds with the lane at distance size/2, …, 2, 1, its own value first."""
    folded = list(values)
    distance = len(folded) // 2
    while distance:
        folded = [combine(own, folded[lane ^ distance]) for lane, own in enumerate(folded)]
        distance //= 2
    return folded


def scan(combine: Combine, values: Sequence[Scalar]) -> list[Scalar]:
    """Every lane folds with the lane 1, 2, 4, … below it, as long as there is one; the other's value first."""
    folded = list(values)
    distance = 1
    while distance < len(folded):
        below = folded[:-distance]
        folded[distance:] = [combine(other, own) for other, own in zip(below, folded[distance:], strict=True)]
        distance *= 2
    return folded


def combination(op: SubgroupOp, dtype: DType) -> Combine:
    """Give the function of two values by which a reduction or scan combines."""
    row = OPS[str(op.combine)]
    return lambda x, y: row.evaluate(dtype, x, y)


def identity(op: SubgroupOp, dtype: DType) -> Scalar:
    """What lane 0 gets of an exclusive scan."""
    match op.combine:
        case "min":
            return math.inf if dtype.is_float else dtype.highest
        case "max":
            return -math.inf if dtype.is_float else dtype.lowest
        case "and":
            return wrap(dtype, -1)
        case _:
            return 0.0 if dtype.is_float else 0
