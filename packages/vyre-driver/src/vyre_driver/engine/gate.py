"""The way to a device: one dispatch at a time, on a device that is open and not lost."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Device
from vyre_driver.errors import DeviceLost, StaleHandle

PAUSE, PATIENCE = 5e-5, 5e-2
"""Seconds."""


_gates: weakref.WeakSet[Gate] = weakref.WeakSet()
_forked: dict[str, Device] = {}
"""In a forked process: the backends whose device its parent had opened. The threads and locks of the runtime are not
here, so nothing may be called, not even to give the device back: it is kept."""


def _leave_behind() -> None:
    """In a new process: no device that is open belongs to it, and whoever held a lock is not here."""
    for gate in tuple(_gates):
        if gate.device is not None:
            _forked[gate.backend] = gate.device
        gate.device = None
        gate.lock, gate.is_busy, gate.queued = threading.RLock(), False, []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)


class Gate:
    """Whoever holds `lock` may ask for the device, which is opened by the first who does.

    `lost` is why the device went away, if it did. Only the owner of the gate closes it. `is_busy` is a hint that
    somebody is in a short dispatch, `queued` has an entry for everybody who waits for the lock after some patience.
    """

    __slots__ = ("__weakref__", "_open", "backend", "device", "is_busy", "is_shut_down", "lock", "lost", "queued")

    def __init__(self, backend: str, open_device: Callable[[], Device]) -> None:
        self.backend, self._open = backend, open_device
        self.lock = threading.RLock()
        self.device: Device | None = None
        self.lost: DeviceLost | None = None
        self.is_shut_down = False
        self.is_busy = False
        self.queued: list[None] = []
        _gates.add(self)

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
        if self.backend in _forked:
            reason = "its device was opened before this process was forked"
            fix = "start the process with multiprocessing's 'spawn' method, or open the backend in the child alone"
            raise StaleHandle(f"backend {self.backend!r}", reason, fix=fix)
        if self.device is None:
            self.device = self._open()
        return self.device
