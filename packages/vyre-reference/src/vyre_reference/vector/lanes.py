"""Lanes: which invocations run in lockstep, and which of them are active.

Only active lanes are computed: under divergence an expression has one element for each active lane, not a masked array.
So nothing is ever evaluated for an invocation that does not evaluate it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt

from vyre_reference.vector.registers import Bools, Values

Index = npt.NDArray[np.intp]


class Lanes:
    """Some lanes of a chunk, ascending; `index` is None for all of them."""

    __slots__ = ("_picked", "count", "index")

    def __init__(self, count: int, index: Index | None = None) -> None:
        self.count, self.index = count, index
        self._picked: dict[Hashable, Values] = {}

    def pick(self, whole: Values) -> Values:
        """The elements of these lanes, from one for every lane of the chunk (or one for all)."""
        return whole if self.index is None or whole.ndim == 0 else whole.take(self.index)

    def picked(self, key: Hashable, whole: Callable[[], Values]) -> Values:
        """`pick` of something that never changes, known by `key`; done once."""
        if self.index is None:
            return whole()
        values = self._picked.get(key)
        if values is None:
            values = self._picked[key] = self.pick(whole())
        return values

    def full(self, values: Values) -> Values:
        """`values` with one element for each of these lanes, also where they are uniform."""
        return np.broadcast_to(values, (self.count,)) if values.ndim == 0 else values

    def split(self, condition: Values) -> tuple[Lanes, Lanes]:
        """Where `condition` holds, and where it does not."""
        if condition.ndim == 0:
            return (self, NO_LANES) if condition else (NO_LANES, self)
        return self._where(condition), self._where(~condition)

    def _where(self, condition: Bools) -> Lanes:
        chosen = np.flatnonzero(condition)
        if chosen.size == self.count:
            return self
        return Lanes(chosen.size, chosen if self.index is None else self.index.take(chosen))

    def union(self, parts: Sequence[Lanes]) -> Lanes:
        """The union of disjoint parts of these lanes."""
        parts = [part for part in parts if part.count]
        if sum(part.count for part in parts) == self.count:
            return self
        if len(parts) < 2:
            return parts[0] if parts else NO_LANES
        index = np.sort(np.concatenate([part.index for part in parts if part.index is not None]))
        return Lanes(index.size, index)


NO_LANES = Lanes(0, np.empty(0, np.intp))
