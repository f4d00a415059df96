"""How much work a launch is: a static estimate, in units of one cheap operation of one invocation.

An estimate is what an invocation does at most: both arms of a condition cost as the dearer one, a loop its greatest
number of rounds, as far as the lengths and the grid of the launch tell. Loops that data bound are thereby bounded by
their types, and `Cost.is_certain` says so. A unit is worth nothing by itself; a device learns its time from launches
that it has measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.dtype import DType, bf16, f16, f64, i64, u64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, For, If, Let, Region, Stmt, Store, Subgroup
from vyre_foundation.ir.walk import expressions, postorder
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.intervals import apply
from vyre_foundation.validate.ranges import counted

ESTIMATE = 1
"""Changes with what a unit is: times that were learned for another are worth nothing."""

# fmt: off
OPS = {
    "div": 20, "rem": 20, "mul_high": 4, "sqrt": 6,
    "popcount": 4, "clz": 4, "ctz": 4, "reverse_bits": 4, "mul_sat": 4,
}
"""Of integers and roots; every other op is 1."""
FLOAT_DIVISION = 4
WIDE           = {f64: 2, i64: 2, u64: 2, f16: 6, bf16: 6}
"""How much dearer arithmetic is in types of 64 bits, and in those that are computed in another."""
CALL           = 30   # an elementary function
ACCESS         = 1    # of memory, beside its bytes
BYTES          = 4    # in one unit
ATOMIC         = 20
SUBGROUP       = 30
BARRIER        = 4
ROUND          = 2    # of a loop, beside its body
# fmt: on


@dataclass(frozen=True, slots=True)
class Cost:
    """`units` of the whole launch, all its repeats. `groups` is how many workgroups may run at once.

    `is_certain`: no loop runs less often than the estimate says, but for `break`.
    """

    units: float
    groups: int
    is_certain: bool


def estimate(plan: LaunchPlan) -> Cost:
    """The work of one dispatch of `plan`."""
    count = _Count(plan)
    per_invocation = count.body(plan.program.body)
    invocations = plan.num_workgroups * plan.program.workgroup_volume
    return Cost(per_invocation * invocations * plan.repeats, plan.num_workgroups, count.is_certain)


class _Count:
    """Adds up one program. An expression costs where it is first evaluated, and again in a sibling block."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._plan = plan
        self._known: dict[Expr, Interval] = {}
        self._locals: dict[str, Interval] = {}
        self._evaluated: set[Expr] = set()
        self.is_certain = True

    def body(self, body: Body) -> float:
        evaluated: list[Expr] = []
        total = 0.0
        for stmt in body:
            for node in postorder(expressions(stmt), self._evaluated):
                evaluated.append(node)
                total += _of_expression(node)
            total += self._of_statement(stmt)
        self._evaluated.difference_update(evaluated)
        return total

    def _of_statement(self, stmt: Stmt) -> float:
        match stmt:
            case Let(name, value) if value.dtype.is_integer:
                self._locals[name] = self._bounds(value)
            case Store(buffer):
                return _access(buffer.dtype)
            case Atomic(buffer=buffer):
                return ATOMIC if buffer.memory is Memory.STORAGE else _access(buffer.dtype)
            case Subgroup():
                return SUBGROUP
            case Barrier():
                return BARRIER
            case If(_, then, orelse):
                return max(self.body(then), self.body(orelse))
            case Region(_, body):
                return self.body(body)
            case For():
                return self._of_loop(stmt)
        return 0.0

    def _of_loop(self, loop: For) -> float:
        start, stop = self._bounds(loop.start), self._bounds(loop.stop)
        self._locals[loop.name] = counted(start, stop, loop.step)
        most = max(0, math.ceil((stop.high - start.low) / loop.step))
        least = max(0, math.ceil((stop.low - start.high) / loop.step))
        self.is_certain &= most <= 2 * least + 1
        return most * (self.body(loop.body) + ROUND)

    def _bounds(self, root: Expr) -> Interval:
        """What an integer can be in this launch."""
        for node in postorder((root,), set(self._known)) if root not in self._known else ():
            if node.dtype.is_integer:
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
            case Id(IdKind.GLOBAL_ID, axis):
                found = Interval(0, groups[axis] * sizes[axis] - 1)
            case Local(name):
                found = self._locals.get(name, Interval(low, high))
            case Apply(op, args) if args[0].dtype.is_integer:
                found = apply(op, args[0].dtype, *[self._known[arg] for arg in args])
            case Cast(dtype, value) if value in self._known and _fits(dtype, self._known[value]):
                found = self._known[value]
            case _:
                return Interval(low, high)
        return Interval(max(low, found.low), min(high, found.high))


def _of_expression(node: Expr) -> float:
    match node:
        case Load(buffer):
            return _access(buffer.dtype)
        case Apply(op, args):
            operand = args[0].dtype
            weight = FLOAT_DIVISION if op.id == "div" and operand.is_float else OPS.get(op.id, 1)
            return weight * WIDE.get(operand, 1)
        case Select() | Cast():
            return WIDE.get(node.dtype, 1)
        case Call():
            return CALL * WIDE.get(node.dtype, 1)
        case _:
            return 0.0


def _access(dtype: DType) -> float:
    return ACCESS + dtype.size / BYTES


def _fits(dtype: DType, bounds: Iterable[int]) -> bool:
    return all(dtype.lowest <= bound <= dtype.highest for bound in bounds)
