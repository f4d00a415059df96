"""How much work a launch is: a static estimate, in units of one cheap operation of one invocation.

An estimate is what an invocation does at most: both arms of a condition cost as the dearer one, a loop its greatest
number of rounds, as far as the lengths and the grid of the launch tell. Loops that data bound are thereby bounded by
their types, and `Cost.is_certain` says so. A unit is worth nothing by itself; a device learns its time from launches
that it has measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.plan.launch_ranges import LaunchRanges
from vyre_foundation.dtype import bf16, f16, f64, i64, u64
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Load, Local, Select
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, For, If, Let, Region, Stmt, Store, Subgroup
from vyre_foundation.ir.walk import expressions, postorder, statements
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
WORST_NS = 3.0
"""What a unit takes at worst, on a slow processor: an operation of integers that waits for the one before it."""
WORST_SLOW_NS = 50.0
"""The same of what depends on the data: half of an access that misses every cache; operations on floats, because some
processors do that of subnormal ones in microcode; elementary functions, because some values take another path."""
FAR = (Memory.STORAGE, Memory.PERSISTENT, Memory.SCRATCH)
"""What may be in no cache."""


@dataclass(frozen=True, slots=True)
class Cost:
    """`units` of the whole launch, all its repeats. `groups` is how many workgroups may run at once.

    `is_certain`: no loop runs less often than the estimate says, but for `break`. `longest_ns` bounds the time of all
    of it in one worker, whatever the data.
    """

    units: float
    groups: int
    is_certain: bool
    longest_ns: float


@dataclass(frozen=True, slots=True)
class WorkCount:
    """What a launch computes and moves at most, all its repeats.

    `operations` are operations of the language, each 1 whatever its type; addresses and conditions count too.
    `accessed_bytes` are those of all loads, stores and atomics of memory that the host sees. `moved_bytes` are the
    least that must come from memory and go there: each buffer once for reading and once for writing, and no more than
    is accessed. `is_certain` as for `Cost`.
    """

    operations: float
    accessed_bytes: float
    moved_bytes: float
    is_certain: bool


@dataclass(frozen=True, slots=True)
class Weights:
    """What is added up over a program: for expressions and accesses by what they are, for the rest a number each."""

    expression: Callable[[Expr], float]
    access: Callable[[Buffer], float]
    atomic: Callable[[Buffer], float]
    subgroup: float
    barrier: float
    round: float


def estimate(plan: LaunchPlan) -> Cost:
    """The work of one dispatch of `plan`."""
    launch = _Launch(plan)
    units, longest = launch.total(plan.program.memoised(_units))
    times = _invocations(plan)
    return Cost(units * times, plan.num_workgroups, launch.is_certain, longest * times)


def work(plan: LaunchPlan) -> WorkCount:
    """The operations and bytes of one dispatch of `plan`."""
    launch, times = _Launch(plan), _invocations(plan)
    operations, accessed = (total * times for total in launch.total(plan.program.memoised(_operations)))
    moved = min(accessed, float(_touched_bytes(plan) * plan.repeats))
    return WorkCount(operations, accessed, moved, launch.is_certain)


def _invocations(plan: LaunchPlan) -> int:
    """Those of all repeats."""
    return plan.num_workgroups * plan.program.workgroup_volume * plan.repeats


def _units(program: Program) -> _Counted:
    return _Counter(program, UNITS, LONGEST).body(program.body)


def _operations(program: Program) -> _Counted:
    return _Counter(program, OPERATIONS, ACCESSED).body(program.body)


def _touched_bytes(plan: LaunchPlan) -> int:
    """The bytes of the buffers that the program reads, and of those that it writes."""
    read = {node.buffer for node in plan.program.code.of(Load)}
    written: set[Buffer] = set()
    for stmt in statements(plan.program.body):
        if isinstance(stmt, (Store, Atomic)):
            written.add(stmt.buffer)
        if isinstance(stmt, Atomic):
            read.add(stmt.buffer)
    return sum(plan.byte_length(b.name) for buffers in (read, written) for b in buffers if b.memory.is_bound)


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a body costs: `totals` in each launch, and `parts` that a launch decides.

    These are loops, conditions that contain loops, and the locals that bound loops, in their order.
    """

    totals: Sequence[float]
    parts: Sequence[Let | _Loop | _Arms]


@dataclass(frozen=True, slots=True)
class _Loop:
    stmt: For
    body: _Counted
    overhead: Sequence[float]
    """What an iteration costs beside its body."""


@dataclass(frozen=True, slots=True)
class _Arms:
    then: _Counted
    orelse: _Counted


class _Counter:
    """Adds up one program, by each of some weights.

    An expression costs where it is first evaluated, and again in a sibling block.
    """

    def __init__(self, program: Program, *weights: Weights) -> None:
        self._weights = weights
        self._bounding = _bounding(program)
        self._evaluated: set[Expr] = set()

    def body(self, body: Body) -> _Counted:
        evaluated: list[Expr] = []
        totals = [0.0] * len(self._weights)
        parts: list[Let | _Loop | _Arms] = []
        for stmt in body:
            nodes = postorder(expressions(stmt), self._evaluated)
            evaluated += nodes
            own = self._of_statement(stmt)
            parts += own.parts
            for n, weights in enumerate(self._weights):
                totals[n] += own.totals[n] + sum(map(weights.expression, nodes))
        self._evaluated.difference_update(evaluated)
        return _Counted(totals, parts)

    def _of_statement(self, stmt: Stmt) -> _Counted:
        match stmt:
            case Let(name, value) if name in self._bounding and value.dtype.is_integer:
                return _Counted(self._each(lambda weights: 0.0), [stmt])
            case Store(buffer):
                return _Counted(self._each(lambda weights: weights.access(buffer)), ())
            case Atomic(buffer=buffer):
                is_shared = buffer.memory is Memory.STORAGE
                return _Counted(self._each(lambda w: w.atomic(buffer) if is_shared else w.access(buffer)), ())
            case Subgroup():
                return _Counted(self._each(lambda weights: weights.subgroup), ())
            case Barrier():
                return _Counted(self._each(lambda weights: weights.barrier), ())
            case If(_, then, orelse):
                arms = _Arms(self.body(then), self.body(orelse))
                if arms.then.parts or arms.orelse.parts:
                    return _Counted(self._each(lambda weights: 0.0), [arms])
                return _Counted(list(map(max, arms.then.totals, arms.orelse.totals)), ())
            case Region(_, body):
                return self.body(body)
            case For():
                loop = _Loop(stmt, self.body(stmt.body), self._each(lambda weights: weights.round))
                return _Counted(self._each(lambda weights: 0.0), [loop])
        return _Counted(self._each(lambda weights: 0.0), ())

    def _each(self, number: Callable[[Weights], float]) -> list[float]:
        return [number(weights) for weights in self._weights]


class _Launch:
    """Adds up loops by how often they run in one launch."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._ranges = LaunchRanges(plan)
        self._lets: dict[str, Expr] = {}
        self.is_certain = True

    def total(self, counted: _Counted) -> list[float]:
        totals = list(counted.totals)
        for part in counted.parts:
            match part:
                case Let(name, value):
                    self._lets[name] = value
                    self._ranges.learn(name, self._ranges.of(value))
                case _Arms(then, orelse):
                    totals = _sum(totals, map(max, self.total(then), self.total(orelse)))
                case _Loop():
                    totals = _sum(totals, self._of_loop(part))
        return totals

    def _of_loop(self, counted_loop: _Loop) -> list[float]:
        loop = counted_loop.stmt
        start, stop = self._ranges.of(loop.start), self._ranges.of(loop.stop)
        self._ranges.learn(loop.name, counted(start, stop, loop.step))
        distance = min(stop.high - start.low, self._beyond(loop.start, loop.stop))
        most = max(0, math.ceil(distance / loop.step))
        least = max(0, math.ceil((stop.low - start.high) / loop.step))
        self.is_certain &= most <= 2 * least + 1
        return [most * each for each in _sum(self.total(counted_loop.body), counted_loop.overhead)]

    def _beyond(self, start: Expr, stop: Expr) -> float:
        """How far a stop is beyond the start at most: ``start + x``, or the least of that and another value.

        Where the sum wraps, the stop is before the start.
        """
        match self._value(stop):
            case Apply(op, (a, b)) if op.id == "min":
                return min(self._beyond(start, a), self._beyond(start, b))
            case Apply(op, (a, b)) if op.id == "add":
                other = (
                    b if self._value(a) == self._value(start) else a if self._value(b) == self._value(start) else None
                )
                return math.inf if other is None else self._ranges.of(other).high
        return math.inf

    def _value(self, node: Expr) -> Expr:
        """What an immutable local is bound to."""
        while isinstance(node, Local) and node.name in self._lets:
            node = self._lets[node.name]
        return node


def _sum(a: Iterable[float], b: Iterable[float]) -> list[float]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _bounding(program: Program) -> set[str]:
    """The locals on which the bounds of loops depend. Ranges of others are not needed, and take time to compute."""
    names, seen = set[str](), set[Expr]()
    for stmt in reversed(program.statements):  # a local is declared before it is read
        if isinstance(stmt, For) or (isinstance(stmt, Let) and stmt.name in names):
            names |= {node.name for node in postorder(expressions(stmt), seen) if isinstance(node, Local)}
    return names


def _of_expression(node: Expr) -> float:
    match node:
        case Load(buffer):
            return _access(buffer)
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


def _access(buffer: Buffer) -> float:
    return ACCESS + buffer.dtype.size / BYTES


def _longest_of_expression(node: Expr) -> float:
    match node:
        case Load(buffer):
            return _longest_access(buffer)
        case Call():
            worst = WORST_SLOW_NS
        case Apply(_, (first, *_)) | Cast(_, first) if first.dtype.is_float:
            worst = WORST_SLOW_NS
        case _:
            worst = WORST_NS
    return worst * _of_expression(node)


def _longest_access(buffer: Buffer) -> float:
    return (WORST_SLOW_NS if buffer.memory in FAR else WORST_NS) * _access(buffer)


def _operation(node: Expr) -> float:
    return 1.0 if isinstance(node, (Apply, Select, Cast, Call)) else 0.0


def _loaded_bytes(node: Expr) -> float:
    return _accessed_bytes(node.buffer) if isinstance(node, Load) else 0.0


def _accessed_bytes(buffer: Buffer) -> float:
    return float(buffer.dtype.size) if buffer.memory.is_bound else 0.0


UNITS = Weights(_of_expression, _access, lambda buffer: ATOMIC, SUBGROUP, BARRIER, ROUND)
LONGEST = Weights(
    _longest_of_expression,
    _longest_access,
    lambda buffer: WORST_SLOW_NS * ATOMIC,
    WORST_SLOW_NS * SUBGROUP,
    WORST_NS * BARRIER,
    WORST_NS * ROUND,
)
OPERATIONS = Weights(_operation, lambda buffer: 0.0, lambda buffer: 1.0, 1.0, 0.0, 0.0)
ACCESSED = Weights(_loaded_bytes, _accessed_bytes, lambda buffer: 2.0 * buffer.dtype.size, 0.0, 0.0, 0.0)
