"""Loops: the trip count of each lane, and the counter of an iteration."""

from __future__ import annotations

import numpy as np

from vyre_foundation.dtype import DType
from vyre_foundation.ir.stmt import trip_count
from vyre_reference.vector.lanes import NO_LANES, Lanes
from vyre_reference.vector.registers import Values, register


class LoopCounter:
    """The iterations of a `For` over integers of type `dtype`: start, start + step, … below stop, without wrapping."""

    def __init__(self, dtype: DType, start: Values, stop: Values, step: int, lanes: Lanes, everyone: Lanes) -> None:
        self._dtype, self._step = dtype, step
        self._trips: int | Values
        if start.ndim == 0 and stop.ndim == 0:
            self._start, self._trips = start, trip_count(int(start), int(stop), step)
        else:
            self._start = _spread(lanes.full(start), lanes, everyone)
            self._trips = _spread(_trips(lanes.full(start), lanes.full(stop), step), lanes, everyone)

    def split(self, lanes: Lanes, iteration: int) -> tuple[Lanes, Lanes]:
        """The lanes that run this iteration, and those that have no more."""
        if isinstance(self._trips, int):
            return (lanes, NO_LANES) if iteration < self._trips else (NO_LANES, lanes)
        return lanes.split(lanes.pick(self._trips) > iteration)

    def counter(self, lanes: Lanes, iteration: int) -> Values:
        """The counter of an iteration that `lanes` run, where it fits its type."""
        distance = np.uint64(iteration * self._step % 2**64).astype(register(self._dtype))
        return np.add(lanes.pick(self._start), distance)


def _trips(start: Values, stop: Values, step: int) -> Values:
    """The distance of two integers of any type fits the u64."""
    distance = stop.astype(np.uint64) - start.astype(np.uint64)
    longest = np.uint64(min(step, 2**64 - 1))
    return np.where(start < stop, (distance - np.uint64(1)) // longest + np.uint64(1), np.uint64(0))


def _spread(values: Values, lanes: Lanes, everyone: Lanes) -> Values:
    """An element for every lane of the chunk, from those of `lanes`."""
    if lanes is everyone:
        return values
    whole = np.zeros(everyone.count, values.dtype)
    whole[lanes.index] = values
    return whole
