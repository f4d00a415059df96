"""Which queue of a device takes a launch: small ones go where a launch is cheap, large ones where many workers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vyre_driver.device.queue import Queue
from vyre_driver.plan.cost import Cost

LONGEST_BLOCKING = 0.1
"""Seconds that the host may be blocked, by a queue that it cannot leave or in a wait that it cannot: an interrupt or
a timeout gets through at the end."""
WORTHWHILE = 1.1
"""How many times faster another queue must seem at best before it is tried in place of one that was measured."""


@dataclass(frozen=True, slots=True)
class QueueVerdict:
    """The position of a queue, and why it was chosen."""

    queue: int
    reason: str


def choose_queue(queues: Sequence[Queue], cost: Cost, ns_per_unit: float) -> QueueVerdict:
    """The queue that is expected to be done first, when one worker takes `ns_per_unit` for a unit of the estimate."""
    if len(queues) == 1:
        return QueueVerdict(0, "the only queue")
    work = cost.units * ns_per_unit
    usable = usable_queues(queues, cost)
    predicted = {n: queues[n].predicted_ns(work, cost.groups) for n in usable}
    best = min(usable, key=predicted.__getitem__)
    words = "estimated" if cost.is_certain else "at most, by an estimate,"
    reason = f"{words} {duration(work)} of work for one worker, {cost.groups} workgroups: {_all(queues, predicted)}"
    if len(usable) < len(queues):
        reason += "; so much must be interruptible"
    return QueueVerdict(best, reason)


def queue_of_sequence(
    queues: Sequence[Queue], costs: Sequence[tuple[Cost, int]], ns_per_unit: float, *, beside: bool = False
) -> int:
    """The queue that is expected to be done first with launches one after another: each cost, and how often it comes.

    A queue costs its `launch_ns` for each of them, and the host can leave between two. With `beside` the host has other
    work meanwhile: a queue that keeps it is used only where there is no other.
    """
    usable = usable_queues(queues, max((cost for cost, _ in costs), key=lambda cost: cost.units))
    if beside:
        usable = [number for number in usable if queues[number].is_interruptible] or usable

    def predicted_ns(number: int) -> float:
        queue = queues[number]
        return sum(times * queue.predicted_ns(cost.units * ns_per_unit, cost.groups) for cost, times in costs)

    return min(usable, key=predicted_ns)


def review_queue(queues: Sequence[Queue], cost: Cost, measured: Mapping[int, float]) -> QueueVerdict:
    """The queue to use now that some are `measured` (ns of a whole launch by position, at least one).

    What was not measured gets the benefit of the doubt (`at_best_ns`), and must be worth a trial then.
    """
    usable = usable_queues(queues, cost)
    here = min((n for n in measured if n in usable), key=measured.__getitem__, default=next(iter(measured)))
    expected = {
        n: measured.get(n, WORTHWHILE * at_best_ns(queues[here], queues[n], cost.groups, measured[here]))
        for n in usable
    }
    best = min(expected, key=expected.__getitem__, default=here)
    times = ", ".join(f"{queues[n].name!r} {duration(ns)}" for n, ns in sorted(measured.items()))
    if best in measured:
        return QueueVerdict(best, f"measured: {times}")
    return QueueVerdict(best, f"measured: {times}, so {queues[best].name!r} could be faster")


def at_best_ns(here: Queue, there: Queue, groups: int, measured: float) -> float:
    """The shortest time to expect in another queue: more workers share all the work, fewer have not been needed."""
    workers, others = (max(1, min(queue.workers, groups)) for queue in (here, there))
    return there.launch_ns + max(0.0, measured - here.launch_ns) * min(1.0, workers / others)


def usable_queues(queues: Sequence[Queue], cost: Cost) -> list[int]:
    """The queues that may take this much work: the host must be able to leave long ones. All, if there is none."""
    is_short = cost.longest_ns <= 1e9 * LONGEST_BLOCKING
    fitting = [n for n, queue in enumerate(queues) if queue.is_interruptible or is_short]
    return fitting or list(range(len(queues)))


def competing_queues(queues: Sequence[Queue], cost: Cost) -> list[int]:
    """The usable queues, without those that another one dominates: it has as many workers, and launches cost less."""
    usable = usable_queues(queues, cost)

    def facts(number: int) -> tuple[int, float]:
        return max(1, min(queues[number].workers, cost.groups)), -queues[number].launch_ns

    def is_dominated(number: int) -> bool:
        pairs = [(facts(other), facts(number)) for other in usable]
        return any(a[0] >= b[0] and a[1] > b[1] for a, b in pairs)

    return [number for number in usable if not is_dominated(number)]


def _all(queues: Sequence[Queue], predicted: Mapping[int, float]) -> str:
    return ", ".join(f"{queues[n].name!r} {duration(ns)}" for n, ns in predicted.items())


def duration(ns: float) -> str:
    """Nanoseconds in the unit that fits."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
