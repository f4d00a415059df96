"""Walking a schedule: which kernels the host launches, in which order, with which loop counters.

The bounds of loops are expressions that have one value for a whole launch, which the host evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vyre_driver.device.profile import Extent
from vyre_driver.legalization.lowered import COUNTERS, KernelLaunch, Repeat, Step
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


@dataclass(frozen=True, slots=True)
class SetCounter:
    """Give the loop counter of a `Repeat` its value for the next iteration."""

    counter: int
    value: int


def walk(schedule: Sequence[Step], evaluate: Callable[[Expr], int]) -> Iterator[KernelLaunch | SetCounter]:
    """The launches of `schedule` in order, each iteration of a loop preceded by its counter.

    `evaluate` gives the bounds of a loop when it is entered; it may depend on the counters of the loops around it.
    Counters are unbounded integers here: a loop never wraps around.
    """
    for step in schedule:
        match step:
            case KernelLaunch():
                yield step
            case Repeat():
                for value in range(evaluate(step.start), evaluate(step.stop), step.step):
                    yield SetCounter(step.counter, value)
                    yield from walk(step.body, evaluate)


def straight(schedule: Sequence[Step]) -> tuple[int, ...] | None:
    """The kernels of a schedule in order, or None if a loop decides how many there are."""
    launches = [step.kernel for step in schedule if isinstance(step, KernelLaunch)]
    return tuple(launches) if len(launches) == len(schedule) else None


def counters_of(schedule: Sequence[Step]) -> int:
    """How many counters the loops of a schedule use."""
    most = 0
    for step in schedule:
        if isinstance(step, Repeat):
            most = max(most, step.counter + 1, counters_of(step.body))
    return most
