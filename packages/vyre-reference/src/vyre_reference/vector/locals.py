"""Locals: the values that lanes have given to names.

A value is stored as it was computed, with the lanes that it was computed for, so straight-line code in a branch
never gathers or scatters. Only a name that is used by fewer lanes than declared it is spread over the whole chunk.
"""

from __future__ import annotations

import numpy as np

from vyre_reference.vector.lanes import Lanes
from vyre_reference.vector.registers import Values


class LaneValues:
    """`values` of `lanes`. `owned` says that nothing else refers to the array, so it may be written in place."""

    __slots__ = ("lanes", "owned", "values")

    def __init__(self, values: Values, lanes: Lanes, owned: bool = False) -> None:
        self.values, self.lanes, self.owned = values, lanes, owned


class Locals:
    """The slots of all names, for a chunk of lanes."""

    def __init__(self, everyone: Lanes) -> None:
        self._everyone = everyone
        self._slots: dict[str, LaneValues] = {}

    def declare(self, name: str, values: Values, lanes: Lanes) -> None:
        """Give `name` its first value, for the lanes that are active."""
        self._slots[name] = LaneValues(values, lanes)

    def read(self, name: str, lanes: Lanes) -> Values:
        """The values of `name` for `lanes`, which are among those that declared it."""
        slot = self._slots[name]
        if slot.lanes is lanes or slot.values.ndim == 0:
            slot.owned = False
            return slot.values
        return lanes.pick(self._spread(slot).values)

    def assign(self, name: str, values: Values, lanes: Lanes) -> None:
        """Change the values of `name` for `lanes`; the others keep theirs."""
        slot = self._slots[name]
        if slot.lanes is lanes:
            self._slots[name] = LaneValues(values, lanes)
            return
        self._spread(slot)
        if not slot.owned:
            slot.values, slot.owned = np.array(self._everyone.full(slot.values)), True
        slot.values[lanes.index] = values

    def _spread(self, slot: LaneValues) -> LaneValues:
        """Make the slot hold an element for every lane of the chunk; what lanes that never declared it get is noise."""
        if slot.lanes is not self._everyone:
            whole = np.empty(self._everyone.count, slot.values.dtype)
            whole[slot.lanes.index] = slot.values
            slot.values, slot.lanes, slot.owned = whole, self._everyone, True
        return slot
