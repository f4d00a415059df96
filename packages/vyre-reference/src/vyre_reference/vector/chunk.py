"""Chunks: consecutive workgroups whose lanes run in lockstep, and the ids of those lanes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.cached import cached_property
from vyre_foundation.ir.expr import Id, IdKind
from vyre_foundation.ir.stmt import Barrier, Scope
from vyre_foundation.ir.walk import statements
from vyre_reference.vector.lanes import Lanes
from vyre_reference.vector.registers import Values

LANES = 1 << 14
"""As many lanes as keep a handful of arrays in the nearest caches."""


class Chunk:
    """`groups` workgroups from number `first` on. Lanes are ordered by workgroup, then by local id, x fastest."""

    def __init__(self, plan: LaunchPlan, first: int, groups: int) -> None:
        self.plan, self.first, self.groups = plan, first, groups
        self.volume = plan.program.workgroup_volume
        self.all = Lanes(groups * self.volume)
        self._ids: dict[Id, Values] = {}

    def id(self, node: Id) -> Values:
        """The value of an id for every lane, or one for all."""
        values = self._ids.get(node)
        if values is None:
            values = self._ids[node] = self._id(node.kind, node.axis)
        return values

    def _id(self, kind: IdKind, axis: int) -> Values:
        nothing = np.zeros((), np.uint32)
        match kind:
            case IdKind.GLOBAL_ID:
                origin = self._group(axis) * np.uint32(self.plan.program.workgroup_size[axis])
                return self._grid(origin, self._local(axis))
            case IdKind.LOCAL_ID:
                return self._grid(nothing, self._local(axis))
            case IdKind.WORKGROUP_ID:
                return self._grid(self._group(axis), nothing)
            case IdKind.NUM_WORKGROUPS:
                return np.uint32(self.plan.grid[axis])
            case IdKind.SUBGROUP_LANE:
                return self._grid(nothing, np.arange(self.volume, dtype=np.uint32) % np.uint32(self._width))
            case IdKind.SUBGROUP_SIZE:
                return np.uint32(self._width)

    @cached_property
    def numbers(self) -> Values:
        """The linear global id of every lane."""
        (gx, gy, _), (sx, sy, _) = self.plan.grid, self.plan.program.workgroup_size
        x, y, z = (self.id(Id(IdKind.GLOBAL_ID, axis)).astype(np.int64) for axis in range(3))
        return (z * (gy * sy) + y) * (gx * sx) + x

    @property
    def _width(self) -> int:
        return self.plan.program.subgroup_size or 1

    def _grid(self, of_group: Values, of_lane: Values) -> Values:
        """The sum of a value for each group, or for all, and of one for each lane of a group, or for all."""
        total = of_group.reshape(-1, 1) + of_lane.reshape(1, -1)
        return np.broadcast_to(total, (self.groups, self.volume)).reshape(-1)

    def _group(self, axis: int) -> Values:
        return _coordinate(np.arange(self.first, self.first + self.groups), self.plan.grid, axis)

    def _local(self, axis: int) -> Values:
        return _coordinate(np.arange(self.volume), self.plan.program.workgroup_size, axis)


def _coordinate(numbers: Values, extent: tuple[int, int, int], axis: int) -> Values:
    stride = (1, extent[0], extent[0] * extent[1])[axis]
    return (numbers // stride % extent[axis]).astype(np.uint32)


def chunks(plan: LaunchPlan) -> Iterator[Chunk]:
    """The workgroups in order, about `LANES` lanes at a time; all at once where they have to wait for each other."""
    total = plan.num_workgroups
    meets = Barrier(Scope.GRID) in statements(plan.program.body)
    step = total if meets else max(1, LANES // plan.program.workgroup_volume)
    for first in range(0, total, max(1, step)):
        yield Chunk(plan, first, min(step, total - first))
