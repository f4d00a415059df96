"""A row of resident dispatches that is enqueued without a wait, or replayed as a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vyre_driver.backend.resources import ResidentDispatchStep
from vyre_driver.engine.device import Device
from vyre_driver.engine.kept import Kept
from vyre_foundation.record import record

MAX_ENQUEUED = 8192
"""Launches that are enqueued before the host waits: runtimes keep something for each."""

WORTHWHILE = 64
"""Launches that a recording of a short part is made to have."""

Steps = Sequence[ResidentDispatchStep]
Resolve = Callable[[ResidentDispatchStep], Kept]
"""What finds the launch of a step whose grid is known only when the steps before it are done."""


@record(slots=True, eq=False)
class Part:
    """The `launches` of some steps; None for one that is found when it is reached. `runs` counts those before.

    The steps come with each call: they hold handles, whose last reference ends the memory. A `recording` is of so many
    `rounds` that it is long enough to be worth a call.
    """

    launches: Sequence[Kept | None]
    recording: Any = None
    rounds: int = 1
    recorded: int = 0
    runs: int = 0

    def play(self, device: Device, steps: Steps, times: int, resolve: Resolve) -> Any:
        """Enqueue everything that often: the last event, None if there was none."""
        event, enqueued = None, 0
        if times > 1 and any(kept is not None and kept.is_new for kept in self.launches):
            event = self._enqueue(steps, resolve)  # new code may be compiled again now, which a replay cannot wait for
            self.runs, times, enqueued = self.runs + 1, times - 1, len(steps)
        if device.port.records and times + self.runs > 1 and self.recording is None and self._is_fixed():
            self._record(device, steps, resolve, min(times, max(1, WORTHWHILE // len(steps))))
        self.runs += times
        while times > 0 and steps:
            is_replayed = self.recording is not None and self.rounds <= times
            event = self._replay(device) if is_replayed else self._enqueue(steps, resolve)
            rounds = self.rounds if is_replayed else 1
            times, enqueued = times - rounds, enqueued + rounds * len(steps)
            if event is not None and times and enqueued >= MAX_ENQUEUED:
                device.counters.waits += 1
                device.port.wait(event)
                enqueued = 0
        return event

    def forget(self, device: Device) -> None:
        """See `Recorded`."""
        if self.recording is not None:
            recording, self.recording = self.recording, None
            device.port.forget(recording)

    def _is_fixed(self) -> bool:
        """Whether all of it is launches and fills that are always the same, and there is a launch among them."""
        orders = [None if kept is None else kept.prepared.straight for kept in self.launches]
        return None not in orders and any(orders)

    def _enqueue(self, steps: Steps, resolve: Resolve) -> Any:
        event = None
        for step, kept in zip(steps, self.launches, strict=True):
            event = (kept or resolve(step)).prepared.enqueue((), None) or event
        return event

    def enqueue_timed(self, steps: Steps, resolve: Resolve) -> list[Any]:
        """Enqueue everything once, with a clock around each launch: the events."""
        self.runs += 1
        events: list[Any] = []
        for step, kept in zip(steps, self.launches, strict=True):
            events += (kept or resolve(step)).prepared.enqueue_timed((), None)
        return events

    def _record(self, device: Device, steps: Steps, resolve: Resolve, rounds: int) -> None:
        counters = device.counters
        launched, filled = counters.launches, counters.fills

        def enqueue() -> None:
            for _ in range(rounds):
                self._enqueue(steps, resolve)

        self.recording, self.rounds = device.port.record(enqueue), rounds
        self.recorded, counters.launches, counters.fills = counters.launches - launched, launched, filled
        for kept in dict.fromkeys(self.launches):
            assert kept is not None
            kept.parts.append(self)

    def _replay(self, device: Device) -> Any:
        device.counters.launches += self.recorded
        device.counters.replays += 1
        return device.port.replay(self.recording)
