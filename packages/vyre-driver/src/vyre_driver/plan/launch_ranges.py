"""What integers and conditions can be in one launch: its lengths and its grid bound more than a program alone does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Literal, Local
from vyre_foundation.ir.walk import postorder
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.intervals import COMPARED, apply

if TYPE_CHECKING:
    from vyre_driver.plan.launch import LaunchPlan


class LaunchRanges:
    """Bounds of expressions in one launch. `x` bounds the global ids on x further: to some of the invocations."""

    def __init__(self, plan: LaunchPlan, x: Interval | None = None) -> None:
        self._plan, self._x = plan, x
        self._known: dict[Expr, Interval] = {}
        self._seen: set[Expr] = set()
        self._locals: dict[str, Interval] = {}

    def learn(self, local: str, interval: Interval) -> None:
        """Bound a local whose declaration was met, before the first expression that reads it."""
        self._locals[local] = interval

    def of(self, root: Expr) -> Interval:
        """The bounds of an integer, or of a condition as 0 … 1."""
        for node in postorder((root,), self._seen):
            if node.dtype.is_integer or node.dtype is bool_:
                self._known[node] = self._of_node(node)
        return self._known[root]

    def _of_node(self, node: Expr) -> Interval:
        x, y, z = self._plan.grid
        groups, sizes = (x, y, z), self._plan.program.workgroup_size
        low, high = self._plan.facts.ranges.get(node, (node.dtype.lowest, node.dtype.highest))
        match node:
            case Literal():
                return Interval(int(node.value), int(node.value))
            case Length(buffer):
                return Interval(self._plan.lengths[buffer.name], self._plan.lengths[buffer.name])
            case Id(IdKind.NUM_WORKGROUPS, axis):
                return Interval(groups[axis], groups[axis])
            case Id(IdKind.WORKGROUP_ID, axis):
                found = Interval(0, groups[axis] - 1)
            case Id(IdKind.GLOBAL_ID, 0) if self._x is not None:
                return self._x
            case Id(IdKind.GLOBAL_ID, axis):
                found = Interval(0, groups[axis] * sizes[axis] - 1)
            case Local(name):
                found = self._locals.get(name, Interval(low, high))
            case Apply(op, args) if op.id in COMPARED and all(arg in self._known for arg in args):
                found = COMPARED[op.id](*[self._known[arg] for arg in args])
            case Apply(op, args) if all(arg in self._known for arg in args):
                found = apply(op, args[0].dtype, *[self._known[arg] for arg in args])
            case Cast(dtype, value) if dtype.is_integer and value in self._known and _fits(dtype, self._known[value]):
                found = self._known[value]
            case _:
                return Interval(low, high)
        return Interval(max(low, found.low), min(high, found.high))


def _fits(dtype: DType, bounds: Iterable[int]) -> bool:
    return all(dtype.lowest <= bound <= dtype.highest for bound in bounds)
