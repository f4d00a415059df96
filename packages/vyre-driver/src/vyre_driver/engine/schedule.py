"""Walking a schedule: which kernels the host launches, in which order, with which loop counters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from vyre_driver.legalization.lowered import KernelLaunch, Repeat, Step
from vyre_foundation.ir.expr import Expr


@dataclass(frozen=True, slots=True)
class SetCounter:
    """Give the loop counter of a `Repeat` its value for the next round."""

    counter: int
    value: int


def walk(schedule: Sequence[Step], evaluate: Callable[[Expr], int]) -> Iterator[KernelLaunch | SetCounter]:
    """The launches of `schedule` in order, each round of a loop preceded by its counter.

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
