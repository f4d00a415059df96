"""The same launch in workgroups of another size, where that is proven to mean the same.

A program can tell workgroup sizes apart by ids within the grid of workgroups, by shared memory, barriers, subgroups,
and memory for each workgroup or invocation. One without these knows its global ids alone, and these are the same set
where the sizes divide the launch alike. Where a grid is rounded up, the invocations behind the last element must be
proven to do nothing: each of their stores and atomics is out of range, or behind a condition that is false for them.
"""

from __future__ import annotations

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.device.profile import Extent
from vyre_driver.plan.binding import dispatch_element_count_for_program
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.plan.launch_ranges import LaunchRanges
from vyre_foundation.ir.buffer import Memory, PerLaunch
from vyre_foundation.ir.expr import Expr, Id, IdKind
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Atomic,
    Barrier,
    Body,
    For,
    If,
    IndirectDispatch,
    Let,
    Region,
    Return,
    Stmt,
    Store,
    Subgroup,
    Trap,
    Var,
)
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.ranges import counted

_ASKING = {
    Barrier: "it has barriers",
    Subgroup: "it uses subgroups",
    Trap: "a trap records the invocation by its workgroup",
    IndirectDispatch: "a buffer has its grid, in workgroups",
}


def dependence(program: Program) -> str:
    """What in a program may depend on its workgroup size, "" for nothing."""
    if program.subgroup_size is not None:
        return "it uses subgroups"
    for kind, reason in _ASKING.items():
        if program.of(kind):
            return reason
    for buffer in program.buffers:
        if buffer.memory is Memory.WORKGROUP:
            return f"the invocations of a workgroup share {buffer.name}"
        if isinstance(buffer.count, PerLaunch):
            return f"the length of {buffer.name} depends on the launch"
    asked = {node.kind for node in program.code.of(Id)} - {IdKind.GLOBAL_ID}
    return f"it asks for its {min(kind.value for kind in asked)}" if asked else ""


def resized(
    plan: LaunchPlan, config: DispatchConfig, size: Extent, *, is_declared: bool = False
) -> DispatchConfig | None:
    """`config` for workgroups of `size` in place of those of `plan`; None where it is not proven to mean the same.

    With `is_declared` the caller answers for a program that may depend on the size; then only a grid that is given in
    workgroups must divide.
    """
    if config.workgroup_override is not None or plan.program.of(IndirectDispatch):
        return None
    if not is_declared and dependence(plan.program):
        return None
    own = plan.program.workgroup_size
    if config.grid_override is not None:
        grid = _divided(config.grid_override, own, size)
        return None if grid is None else config.replace(workgroup_override=size, grid_override=grid)
    chosen = config.replace(workgroup_override=size)
    if is_declared or _same_invocations(plan, size):
        return chosen
    return None


def _divided(grid: Extent, own: Extent, size: Extent) -> Extent | None:
    """The grid with as many invocations on each axis, None if there is none."""
    parts = [divmod(groups * old, new) for groups, old, new in zip(grid, own, size, strict=True)]
    if any(rest for _, rest in parts):
        return None
    (x, _), (y, _), (z, _) = parts
    return x, y, z


def _same_invocations(plan: LaunchPlan, size: Extent) -> bool:
    """Whether an inferred grid, which extends on x, has the same invocations, but for some that do nothing."""
    own = plan.program.workgroup_size
    if own[1:] != (1, 1) or size[1:] != (1, 1):
        return False
    count = dispatch_element_count_for_program(plan.program, plan.lengths)
    least, most = sorted(-(-count // width) * width for width in (own[0], size[0]))
    return least == most or _Idle(plan, Interval(least, most - 1)).is_idle()


class _Idle:
    """Whether the invocations with global ids on x in an interval change nothing."""

    def __init__(self, plan: LaunchPlan, x: Interval) -> None:
        self._plan, self._ranges = plan, LaunchRanges(plan, x)

    def is_idle(self) -> bool:
        """Whether none of their statements has an effect."""
        declared = [s.name for s in self._plan.program.statements if isinstance(s, (Let, Var, For))]
        return len(declared) == len(set(declared)) and self._body(self._plan.program.body) is not None

    def _body(self, body: Body) -> bool | None:
        """Whether all of them return in `body`; None if it may have an effect."""
        for stmt in body:
            has_returned = self._statement(stmt)
            if has_returned is None or has_returned:
                return has_returned
        return False

    def _statement(self, stmt: Stmt) -> bool | None:
        match stmt:
            case Let(name, value) if value.dtype.is_integer:
                self._ranges.learn(name, self._ranges.of(value))
            case Store(buffer, index) | Atomic(buffer=buffer, index=index):
                is_private = buffer.memory is Memory.PRIVATE
                return False if is_private or (stmt.checked and self._is_outside(buffer.name, index)) else None
            case Return():
                return True
            case Region(_, body):
                return self._body(body)
            case If(condition, then, orelse):
                return self._branches(condition, then, orelse)
            case For(name, start, stop, step, body):
                self._ranges.learn(name, counted(self._ranges.of(start), self._ranges.of(stop), step))
                return None if self._body(body) is None else False
        return False

    def _branches(self, condition: Expr, then: Body, orelse: Body) -> bool | None:
        low, high = self._ranges.of(condition)
        if low == high:
            return self._body(then if low else orelse)
        ends = [self._body(then), self._body(orelse)]
        return None if None in ends else all(ends)

    def _is_outside(self, buffer: str, index: Expr) -> bool:
        low, high = self._ranges.of(index)
        return low >= self._plan.lengths[buffer] or high < 0
