"""Atomics of many lanes at once, with the results they have when the lanes come one after the other, ascending."""

from __future__ import annotations

from collections.abc import Mapping

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
INVERSES: Mapping[AtomicOp, np.ufunc] = {
    AtomicOp.ADD: np.subtract,
    AtomicOp.XOR: np.bitwise_xor,
}
# fmt: on


def update(
    op: AtomicOp, array: Values, positions: Index, values: Values, expected: Values, *, wanted: bool
) -> Values | None:
    """Apply the atomics to `array`; the old values, or None where they are not wanted and are not known.

    `positions`, `values` and `expected` have one element for each lane; `expected` counts for `COMPARE_EXCHANGE`.
    """
    if op is AtomicOp.COMPARE_EXCHANGE:
        return _compare_exchange(array, positions, values, expected)
    if not wanted and op in FOLDS:
        FOLDS[op].at(array, positions, values)
        return None
    return _in_order(op, array, positions, values)


def _in_order(op: AtomicOp, array: Values, positions: Index, values: Values) -> Values:
    """Group the lanes by position, in order, and fold along these runs."""
    order = np.argsort(_narrow(positions, array.size), kind="stable")
    positions, values = positions.take(order), values.take(order)
    starts = np.concatenate(([True], positions[1:] != positions[:-1]))
    found = array.take(positions)
    written = values if op is AtomicOp.EXCHANGE else FOLDS[op](found, _fold_runs(op, values, starts))
    last = np.concatenate((starts[1:], [True]))
    array[positions[last]] = written[last]
    found[1:] = np.where(starts[1:], found[1:], written[:-1])
    old = np.empty_like(found)
    old[order] = found
    return old


def _fold_runs(op: AtomicOp, values: Values, starts: Bools) -> Values:
    """For every element, the fold of its run up to and with it."""
    firsts = np.flatnonzero(starts)
    first = np.repeat(firsts, np.diff(firsts, append=starts.size))
    if op in INVERSES:
        total = FOLDS[op].accumulate(values, dtype=values.dtype)
        before = INVERSES[op](total, values)
        return INVERSES[op](total, before.take(first))
    in_run = np.arange(values.size) - first
    longest, distance = in_run.max(), 1
    while distance <= longest:
        further = np.flatnonzero(in_run >= distance)
        values[further] = FOLDS[op](values.take(further - distance), values.take(further))
        distance *= 2
    return values


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
