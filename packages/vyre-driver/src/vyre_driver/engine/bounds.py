"""Loop bounds that the host evaluates: expressions that have one value for a whole launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vyre_driver.device.profile import Extent
from vyre_driver.legalization.lowered import COUNTERS
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Length, Literal, Load, Select
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops.scalar import Scalar, bitcast, cast


@dataclass(frozen=True, slots=True)
class LaunchValues:
    """What the host knows: element counts by name, the grid, the subgroup size, the counters of open loops as u64."""

    lengths: Mapping[str, int]
    grid: Extent
    subgroup_size: int
    counters: list[int]


def evaluate(bound: Expr, values: LaunchValues) -> int:
    """The value of an integer expression of launch uniformity, by the exact meaning of every op."""
    known: dict[Expr, Scalar] = {}
    for node in postorder((bound,)):
        known[node] = _value(node, [known[arg] for arg in node.args], values)
    return int(known[bound])


def _value(node: Expr, args: list[Scalar], values: LaunchValues) -> Scalar:
    match node:
        case Literal():
            return node.value
        case Length(buffer):
            return values.lengths[buffer.name]
        case Id(IdKind.NUM_WORKGROUPS, axis):
            return values.grid[axis]
        case Id(IdKind.SUBGROUP_SIZE):
            return values.subgroup_size
        case Load(buffer) if buffer.name == COUNTERS:
            return values.counters[int(args[0])]
        case Apply(op):
            return op.evaluate(node.args[0].dtype, *args)
        case Select():
            return args[1] if args[0] else args[2]
        case Cast(dtype, value):
            return cast(value.dtype, dtype, args[0])
        case Bitcast(dtype, value):
            return bitcast(value.dtype, dtype, args[0])
        case _:
            raise AssertionError(f"{type(node).__name__} has no value before the launch")
