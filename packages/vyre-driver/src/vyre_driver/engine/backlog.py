"""How many launches are in flight: runtimes keep something for each, so the host does not run ahead without bound."""

from __future__ import annotations

from typing import Any

from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Device

MOST_LAUNCHES = 8192


class Backlog:
    """Launches that follow each other, entered as they are enqueued. At most `MOST_LAUNCHES` are in flight,
    or little more where some were recorded together.

    The host waits for the older half while the newer is in flight, so the device never runs dry. Interrupts, the
    deadline and the end of the device end such a wait. With `is_timed` the launches' times on the device add up.
    """

    __slots__ = ("_deadline", "_device", "_launches", "_ns", "_older", "_untimed", "is_timed", "last")

    def __init__(self, device: Device, deadline: Deadline | None = None, *, is_timed: bool = False) -> None:
        self._device, self._deadline, self.is_timed = device, deadline, is_timed
        self._launches = 0
        self._older: Any = None
        self._untimed: list[Any] = []
        self._ns: int | None = 0
        self.last: Any = None
        """The event of the last launch, None before the first."""

    def add(self, event: Any, launches: int = 1) -> None:
        """Enter launches of which the last has this event, right after it was enqueued."""
        self.last = event
        self._launches += launches
        if self.is_timed:
            self._untimed.append(event)
        if self._launches >= MOST_LAUNCHES // 2:
            self._device.port.begun(event)
            older, self._older, self._launches = self._older, event, 0
            if older is not None:
                self._wait(older)

    def elapsed(self) -> int | None:
        """Nanoseconds of all launches together, None if the device does not know one of them. All have ended."""
        self._add_times(len(self._untimed))
        return self._ns

    def _wait(self, event: Any) -> None:
        self._device.counters.waits += 1
        if not self._device.port.wait(event, None if self._deadline is None else self._deadline.remaining()):
            assert self._deadline is not None
            raise self._deadline.passed("the kernels")
        if self.is_timed:
            self._add_times(self._untimed.index(event) + 1)

    def _add_times(self, events: int) -> None:
        """Add the times of the oldest launches, which have ended: nothing else is kept of them."""
        for event in self._untimed[:events]:
            time = self._device.port.elapsed(event)
            self._ns = None if time is None or self._ns is None else self._ns + time
        del self._untimed[:events]
