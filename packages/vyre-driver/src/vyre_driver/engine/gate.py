"""The way to a device: one dispatch at a time, on a device that is open and not lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Device
from vyre_driver.errors import DeviceLost, StaleHandle

PAUSE, PATIENCE = 5e-5, 5e-2
"""Seconds."""


class Gate:
    """Whoever holds `lock` may ask for the device, which is opened by the first who does.

    `lost` is why the device went away, if it did. Only the owner of the gate closes it. `is_busy` is a hint that
    somebody is in a short dispatch, `queued` has an entry for everybody who waits for the lock after some patience.
    """

    __slots__ = ("_open", "backend", "device", "is_busy", "is_shut_down", "lock", "lost", "queued")

    def __init__(self, backend: str, open_device: Callable[[], Device]) -> None:
        self.backend, self._open = backend, open_device
        self.lock = threading.RLock()
        self.device: Device | None = None
        self.lost: DeviceLost | None = None
        self.is_shut_down = False
        self.is_busy = False
        self.queued: list[None] = []

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The lock for a short dispatch, while others want it too: sleep a little before queueing for it.

        A thread that queues for a lock is handed it when it is given back, also if it can not run yet. If all queue,
        every dispatch waits for a switch of threads. Who sleeps lets others go on, for `PATIENCE` seconds at most; who
        has slept so long queues, and sends those to sleep that have just had a turn.
        """
        end = time.monotonic() + PATIENCE
        time.sleep(PAUSE)
        while (self.is_busy or self.queued) and time.monotonic() < end:
            time.sleep(PAUSE)
        self.queued.append(None)
        try:
            self.lock.acquire()
        finally:
            self.queued.pop()
        try:
            yield
        finally:
            self.lock.release()

    def require(self, expected: Device | None = None, handle: str = "the pipeline") -> Device:
        """The open device, swept. `expected` is the one that `handle` was made for. The caller holds the lock."""
        device = self.device
        if device is None or self.lost is not None:
            device = self._opened()
        if expected is not None and expected is not device:
            raise StaleHandle(handle, "its device was closed", fix="make it again on the device that is open now")
        device.sweep()
        return device

    @contextmanager
    def session(
        self, deadline: Deadline | None = None, expected: Device | None = None, handle: str = "the pipeline"
    ) -> Iterator[Device]:
        """The device under the lock, which is waited for no longer than the deadline allows."""
        remaining = None if deadline is None else deadline.remaining()
        if not self.lock.acquire(timeout=-1 if remaining is None else min(remaining, threading.TIMEOUT_MAX)):
            assert deadline is not None
            raise deadline.passed("waiting for another dispatch")
        try:
            yield self.require(expected, handle)
        except DeviceLost as error:
            self.lost = error
            raise
        finally:
            self.lock.release()

    def _opened(self) -> Device:
        if self.is_shut_down:
            raise StaleHandle(f"backend {self.backend!r}", "it was shut down", fix="acquire it again")
        if self.lost is not None:
            raise DeviceLost(self.backend, str(self.lost.fields["reason"]))
        if self.device is None:
            self.device = self._open()
        return self.device
