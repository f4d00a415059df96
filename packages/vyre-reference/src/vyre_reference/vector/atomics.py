"""Atomics of many lanes at once, with the results they have when the lanes come one after the other, ascending."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vyre_foundation.ir.stmt import AtomicOp
from vyre_reference.vector.lanes import Index
from vyre_reference.vector.registers import Bools, Values

# fmt: off
FOLDS: Mapping[AtomicOp, np.ufunc] = {
    AtomicOp.ADD: np.add,
    AtomicOp.AND: np.bitwise_and,
    AtomicOp.OR:  np.bitwise_or,
    AtomicOp.XOR: np.bitwise_xor,
    AtomicOp.MIN: np.minimum,
    AtomicOp.MAX: np.maximum,
}
# fmt: on


def update(
    op: AtomicOp, array: Values, positions: Index, values: Values, expected: Values, *, wanted: bool
) -> Values | None:
    """Apply the atomics to `array`; the old values, or None where nobody wants them and they are not known.

    `positions`, `values` and `expected` have one element for each lane; `expected` counts for `COMPARE_EXCHANGE`.
    """
    if op is AtomicOp.COMPARE_EXCHANGE:
        return _compare_exchange(array, positions, values, expected)
    if not wanted and op in FOLDS:
        FOLDS[op].at(array, positions, values)
        return None
    return _in_order(op, array, positions, values)


def _in_order(op: AtomicOp, array: Values, positions: Index, values: Values) -> Values:
    """Bring the lanes of each position together, in order, and fold along these runs."""
    order = np.argsort(_narrow(positions, array.size), kind="stable")
    positions, values = positions.take(order), values.take(order)
    starts = np.concatenate(([True], positions[1:] != positions[:-1]))
    ends = np.concatenate((starts[1:], [True]))
    before = array.take(positions)
    if op is AtomicOp.EXCHANGE:
        after = values
    else:
        after = FOLDS[op](before, _fold_runs(FOLDS[op], values, starts))
    sorted_old = np.where(starts, before, np.roll(after, 1))
    array[positions[ends]] = after[ends]
    old = np.empty_like(sorted_old)
    old[order] = sorted_old
    return old


def _fold_runs(fold: Callable[..., Any], values: Values, starts: Bools) -> Values:
    """For every element, the fold of its run up to and with it, in steps of doubling length."""
    place = np.arange(values.size)
    in_run = place - np.maximum.accumulate(np.where(starts, place, 0))
    folded, longest, distance = values, in_run.max(), 1
    while distance <= longest:
        reaches = in_run[distance:] >= distance
        further = fold(folded[:-distance], folded[distance:])
        folded = np.concatenate((folded[:distance], np.where(reaches, further, folded[distance:])))
        distance *= 2
    return folded


def _compare_exchange(array: Values, positions: Index, values: Values, expected: Values) -> Values:
    """One after the other: what a lane finds depends on whether the one before succeeded."""
    touched = dict(zip(positions.tolist(), array.take(positions).tolist(), strict=True))
    old = []
    for position, value, expects in zip(positions.tolist(), values.tolist(), expected.tolist(), strict=True):
        found = touched[position]
        old.append(found)
        if found == expects:
            touched[position] = value
    array[list(touched)] = list(touched.values())
    return np.array(old, array.dtype)


def _narrow(positions: Index, size: int) -> Values:
    """The positions in a type that NumPy sorts by radix, where they fit."""
    return positions.astype(np.uint16) if size <= 1 << 16 else positions
