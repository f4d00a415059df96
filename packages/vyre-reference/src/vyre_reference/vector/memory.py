"""Memory: the elements of every buffer as one NumPy array, and the bounds rule for many indices at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_reference.vector.chunk import Chunk
from vyre_reference.vector.lanes import Lanes
from vyre_reference.vector.registers import Bools, Values, decode, encode, register, stored


class VectorCells:
    """The elements of one buffer.

    Workgroup and private memory of a chunk is one array: each workgroup or lane has `count` elements of it, and
    `origins` tells every lane where its own begin (None: one array for all).
    """

    __slots__ = ("array", "buffer", "count", "origins")

    def __init__(self, buffer: Buffer, array: Values, count: int, origins: Values | None = None) -> None:
        self.buffer, self.array, self.count, self.origins = buffer, array, count, origins

    def locate(self, index: Values, lanes: Lanes) -> tuple[Values, Bools | bool]:
        """Positions in the array, and which of them are in bounds (True: all; False: none)."""
        if index.ndim == 0:
            inside: Bools | bool = 0 <= int(index) < self.count
            positions = np.asarray(index.astype(np.intp))
        else:
            positions = index.astype(np.intp)
            as_unsigned = positions.view(np.uintp)  # a negative index, and one beyond intp, is a great one
            inside = _all_some_none(as_unsigned < self.count) if as_unsigned.max() >= self.count else True
        if self.origins is not None and inside is not False:
            positions = positions + lanes.picked(self, lambda: self.origins)
        return positions, inside

    def load(self, positions: Values, inside: Bools | bool) -> Values:
        """The elements at `positions`, 0 where they are out of bounds."""
        if inside is True:
            return decode(self.buffer.dtype, self.array.take(positions))
        values: Values = np.zeros(positions.shape, register(self.buffer.dtype))
        if inside is not False:
            values[inside] = decode(self.buffer.dtype, self.array.take(positions[inside]))
        return values if values.ndim else values[()]

    def store(self, positions: Values, inside: Bools | bool, values: Values, lanes: Lanes) -> None:
        """Replace the elements at `positions`, where they are in bounds; of equal positions the last lane's counts."""
        if inside is False:
            return
        raw = encode(self.buffer.dtype, values)
        if positions.ndim == 0:
            self.array[positions] = lanes.full(raw)[-1]
        elif inside is True:
            self.array[positions] = raw
        else:
            self.array[positions[inside]] = raw if raw.ndim == 0 else raw[inside]


def _all_some_none(mask: Bools) -> Bools | bool:
    return mask if mask.any() else False


def own_memory(chunk: Chunk) -> dict[Buffer, VectorCells]:
    """Zeroed workgroup and private memory for a chunk."""
    cells = {}
    for buffer in chunk.plan.program.buffers:
        if buffer.memory is Memory.WORKGROUP:
            cells[buffer] = _divided(buffer, chunk, chunk.groups)
        elif buffer.memory is Memory.PRIVATE:
            cells[buffer] = _divided(buffer, chunk, chunk.all.count)
    return cells


def _divided(buffer: Buffer, chunk: Chunk, owners: int) -> VectorCells:
    """One array in which each of the owners of a chunk, consecutive lanes all, has the elements of `buffer`."""
    count = chunk.plan.lengths[buffer.name]
    origins = np.repeat(np.arange(owners) * count, chunk.all.count // owners)
    return VectorCells(buffer, np.zeros(owners * count, stored(buffer.dtype)), count, origins)


def bound_memory(views: Mapping[Buffer, memoryview]) -> dict[Buffer, VectorCells]:
    """The caller's bytes and the program's constants."""
    cells = {}
    for buffer, view in views.items():
        array = np.frombuffer(view, stored(buffer.dtype)) if view.nbytes else np.zeros(0, stored(buffer.dtype))
        cells[buffer] = VectorCells(buffer, array, array.size)
    return cells
