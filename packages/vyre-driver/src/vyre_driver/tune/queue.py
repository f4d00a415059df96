"""Which queue the dispatches of one shape take: an estimate decides first, measurements revise it, and then it stays.

Trying another queue costs a compilation for it, unless code moves from one to the other. So a queue that seems faster
is tried when the time that it would have saved until then has paid for that; what it then takes decides for good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vyre_driver.device.queue import Queue
from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
from vyre_driver.plan.cost import ESTIMATE, Cost
from vyre_driver.policy.queue import at_best_ns, choose_queue, review_queue

RUNS = 5
"""How many runs are measured after the first one, which also compiles and faults memory in. Their median counts: what a
launch takes at best, on an idle processor, is not what it takes."""
NS_PER_UNIT = 0.02
SLOWEST, FASTEST = 2.0, 0.005
"""What one worker takes for a unit of the estimate, before anything was measured, and the ends of what is believed."""
LEAST_WORK_NS = 50_000.0
"""Shorter work teaches nothing: the launch around it varies by as much."""
TRUST = 0.25
"""How far one measurement moves the rate, as a power."""


MOVED = 1.2
"""A rate is kept for later processes when it has changed by this factor since it was last kept."""


@dataclass(slots=True)
class Rate:
    """What one worker of a device takes for a unit of estimated work, learned from what was measured.

    `keep` is told of it when it has moved.
    """

    ns_per_unit: float = NS_PER_UNIT
    keep: Callable[[float], None] = lambda ns_per_unit: None
    _cached: float = field(init=False)

    def __post_init__(self) -> None:
        self._cached = self.ns_per_unit

    @classmethod
    def of(cls, known: DeviceSignatureTable, device: tuple[str, ...], *, keeps: bool = True) -> Rate:
        """The rate that earlier processes have learned on this device, and that later ones begin with if it `keeps`."""
        signature = DeviceSignature(device, f"ns for a unit of estimate {ESTIMATE}")
        ns_per_unit = known.get(signature, _believable) or NS_PER_UNIT
        return cls(ns_per_unit, (lambda learned: known.put(signature, repr(learned).encode())) if keeps else _forget)

    def learn(self, cost: Cost, work_ns: float) -> None:
        """Enter a launch that took `work_ns` of one worker."""
        if cost.is_certain and cost.units > 0 and work_ns >= LEAST_WORK_NS:
            seen = min(max(work_ns / cost.units, FASTEST), SLOWEST)
            self.ns_per_unit *= (seen / self.ns_per_unit) ** TRUST
            if not 1 / MOVED < self.ns_per_unit / self._cached < MOVED:
                self._cached = self.ns_per_unit
                self.keep(self.ns_per_unit)


def _forget(ns_per_unit: float) -> None:
    """Keep nothing."""


def _believable(cached: bytes) -> float:
    rate = float(cached)
    if not FASTEST <= rate <= SLOWEST:
        raise ValueError(f"{rate} ns is no rate")
    return rate


class QueueChoice:
    """The verdict for one shape of one program. While `is_watching`, every run is to be timed and entered.

    `measured` is what runs took, in nanoseconds, by queue, and `shortest` what the shortest of them did. If the device
    `moves_code`, another queue costs no compilation.
    """

    __slots__ = (
        "_cost",
        "_first",
        "_moves_code",
        "_queues",
        "_rate",
        "_runs",
        "_times",
        "_wait",
        "is_watching",
        "measured",
        "shortest",
        "verdict",
    )

    def __init__(self, queues: Sequence[Queue], cost: Cost, rate: Rate, *, moves_code: bool = False) -> None:
        self._queues, self._cost, self._rate, self._moves_code = queues, cost, rate, moves_code
        self.verdict = choose_queue(queues, cost, rate.ns_per_unit)
        self.is_watching = len(queues) > 1
        self.measured: dict[int, float] = {}
        self.shortest: dict[int, float] = {}
        self._times: list[int] = []
        self._runs, self._first, self._wait = 0, 0, 0.0

    def took(self, ns: int) -> bool:
        """Enter the time of a run. Whether the verdict names another queue from now on."""
        self._runs += 1
        here = self.verdict.queue
        if self._runs == 1:
            self._first = ns
            return False
        self._times = [*self._times[-2 * RUNS :], ns]
        if self._runs <= RUNS or self._runs < self._wait:
            return False
        self.measured[here], self.shortest[here] = float(np.median(self._times)), min(self._times)
        if self._runs == RUNS + 1:
            self._learn()
        return self._review()

    def _learn(self) -> None:
        queue = self._queues[self.verdict.queue]
        work = self.measured[self.verdict.queue] - queue.launch_ns
        self._rate.learn(self._cost, work * max(1, min(queue.workers, self._cost.groups)))

    def _review(self) -> bool:
        here, verdict = self.verdict.queue, review_queue(self._queues, self._cost, self.measured)
        is_untried = verdict.queue not in self.measured
        if is_untried and self._runs < (wait := self._pays_after(verdict.queue)):
            self._wait = wait
            return False
        self.verdict = verdict
        self.is_watching = is_untried
        self._times = []
        self._runs, self._first, self._wait = 0, 0, 0.0
        return verdict.queue != here

    def _pays_after(self, other: int) -> float:
        """After how many runs the time that `other` would have saved is what its first run will cost."""
        if self._moves_code:
            return 0.0
        here = self.verdict.queue
        best = self.measured[here]
        saved = best - at_best_ns(self._queues[here], self._queues[other], self._cost.groups, best)
        return (self._first - best) / saved if saved > 0 else math.inf
