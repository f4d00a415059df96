"""Positions: which invocation this is, and the ids that it sees."""

from __future__ import annotations

from dataclasses import dataclass

from vyre_driver.backend.config import Extent
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.expr import IdKind


@dataclass(slots=True)
class GridPosition:
    """Invocation `lane` of workgroup `group`, both counted with x fastest.

    `number` is the linear global id, ``(gz*GY + gy)*GX + gx`` over the extents of the whole launch.
    """

    group: int
    lane: int
    number: int
    workgroup_id: Extent
    local_id: Extent
    global_id: Extent

    def id(self, plan: LaunchPlan, kind: IdKind, axis: int) -> int:
        """The value of an id; axis 0, 1, 2 is x, y, z."""
        match kind:
            case IdKind.GLOBAL_ID:
                return self.global_id[axis]
            case IdKind.LOCAL_ID:
                return self.local_id[axis]
            case IdKind.WORKGROUP_ID:
                return self.workgroup_id[axis]
            case IdKind.NUM_WORKGROUPS:
                return plan.grid[axis]
            case IdKind.SUBGROUP_LANE:
                return self.lane % (plan.program.subgroup_size or 1)
            case IdKind.SUBGROUP_SIZE:
                return plan.program.subgroup_size or 1


def position_of(plan: LaunchPlan, group: int, lane: int) -> GridPosition:
    """Where an invocation of a launch is."""
    (gx, gy, gz), (lx, ly, lz) = unravel(group, plan.grid), unravel(lane, plan.program.workgroup_size)
    (columns, rows, _), (sx, sy, sz) = plan.grid, plan.program.workgroup_size
    x, y, z = gx * sx + lx, gy * sy + ly, gz * sz + lz
    number = (z * rows * sy + y) * columns * sx + x
    return GridPosition(group, lane, number, (gx, gy, gz), (lx, ly, lz), (x, y, z))


def unravel(number: int, extent: Extent) -> Extent:
    """The coordinates of element `number` of a box."""
    x, y, _ = extent
    return number % x, number // x % y, number // x // y
