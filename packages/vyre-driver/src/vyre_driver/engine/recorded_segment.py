"""Steps of a sequence that are enqueued without a wait, or replayed as recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vyre_driver.backend.resources import ResidentDispatchStep
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import PreparedLaunch
from vyre_driver.engine.launch_cache import CachedLaunch
from vyre_driver.engine.pending import Backlog

MOST_RECORDED = 1024
"""Launches of a recording of more than one step: the host may wait between two of them."""

WORTHWHILE = 64
"""Launches that a recording of a short part is made to have."""

Steps = Sequence[ResidentDispatchStep]
Resolve = Callable[[ResidentDispatchStep], CachedLaunch]
"""What finds the launch of a step whose grid is known only when the steps before it are done."""


class Segments:
    """The `launches` of some steps; None for one that is found when it is reached.

    The steps come with each call: they hold handles, whose last reference ends the memory.
    """

    __slots__ = ("_runs", "_segments")

    def __init__(self, launches: Sequence[PreparedLaunch | None]) -> None:
        self._segments = [RecordedSegment(start, some) for start, some in _cut(launches)]
        self._runs = 0

    def play(
        self, device: Device, steps: Steps, times: int, resolve: Resolve, backlog: Backlog, *, is_new: bool
    ) -> None:
        """Enqueue everything that often. Where code `is_new` it may be compiled again, which a replay cannot wait for:
        then the first time is not recorded."""
        if times > 1 and is_new:
            self.enqueue(steps, resolve, backlog)
            times -= 1
        if device.port.records and times + self._runs > 1:
            for segment in self._segments:
                segment.record(device, steps, resolve, min(times, max(1, WORTHWHILE // len(steps))))
        self._runs += times
        while times > 0 and steps:
            done = 1
            for segment in self._segments:
                if segment.recording is not None and segment.iterations <= times:
                    done = segment.replay(device, backlog)
                else:
                    segment.enqueue(steps, resolve, backlog)
            times -= done

    def enqueue(self, steps: Steps, resolve: Resolve, backlog: Backlog) -> None:
        """Enqueue everything once, one by one."""
        self._runs += 1
        for segment in self._segments:
            segment.enqueue(steps, resolve, backlog)

    def forget(self, device: Device) -> None:
        """Give the recordings back: one of the launches is about to end."""
        for segment in self._segments:
            segment.forget(device)


@dataclass(slots=True, eq=False)
class RecordedSegment:
    """The launches of some steps that follow each other, from the step of the number `start` on.

    A `recording` is of so many `iterations` that it is long enough to be worth a call, and of `recorded` launches. A
    segment that is not all of its part is long enough: its recording has one iteration.
    """

    start: int
    launches: Sequence[PreparedLaunch | None]
    recording: Any = None
    iterations: int = 1
    recorded: int = 0

    def enqueue(self, steps: Steps, resolve: Resolve, backlog: Backlog | None) -> None:
        """Enqueue everything once."""
        for number, launch in enumerate(self.launches, self.start):
            (launch or resolve(steps[number]).prepared).enqueue((), None, None, backlog)

    def record(self, device: Device, steps: Steps, resolve: Resolve, iterations: int) -> None:
        """Record that many iterations, if there is no recording, and all of it is always the same."""
        if self.recording is not None or not self._is_fixed():
            return
        counters = device.counters
        launched, filled = counters.launches, counters.fills

        def enqueue() -> None:
            for _ in range(iterations):
                self.enqueue(steps, resolve, None)

        self.recording, self.iterations = device.port.record(enqueue), iterations
        self.recorded, counters.launches, counters.fills = counters.launches - launched, launched, filled

    def replay(self, device: Device, backlog: Backlog) -> int:
        """Enqueue what was recorded. How many iterations that were."""
        device.counters.launches += self.recorded
        device.counters.replays += 1
        backlog.add(device.port.replay(self.recording), self.recorded)
        return self.iterations

    def forget(self, device: Device) -> None:
        """Give the recording back, if there is one."""
        if self.recording is not None:
            recording, self.recording = self.recording, None
            device.port.forget(recording)

    def _is_fixed(self) -> bool:
        """Whether all of it is launches and fills that are always the same, and there is a launch among them."""
        orders = [None if launch is None else launch.straight for launch in self.launches]
        return None not in orders and any(orders)


def _cut(launches: Sequence[PreparedLaunch | None]) -> Iterator[tuple[int, Sequence[PreparedLaunch | None]]]:
    """The segments of a part: where they start, and their launches."""
    start, launched = 0, 0
    for number, launch in enumerate(launches):
        kernels = 1 if launch is None else len(launch.straight or ())
        if number > start and launched + kernels > MOST_RECORDED:
            yield start, launches[start:number]
            start, launched = number, 0
        launched += kernels
    if len(launches) > start:
        yield start, launches[start:]
