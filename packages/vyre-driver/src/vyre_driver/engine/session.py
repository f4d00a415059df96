"""The way to a device: one dispatch at a time, on a device that is open and not lost."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.received import require_kind
from vyre_driver.engine.device import Device
from vyre_driver.engine.pending import PAUSE, Deadline, WaitLimit, keep
from vyre_driver.engine.port import DevicePort, OpenPort
from vyre_driver.errors import BackendError, DeviceLost, DispatchFailed, StaleHandle
from vyre_driver.pipeline.store import shared_store
from vyre_foundation.locks import acquire_into

if TYPE_CHECKING:
    from vyre_driver.observe.metrics import Counters


A = TypeVar("A")
T = TypeVar("T")

LONGEST_BACKOFF = 5e-2
"""Seconds."""
CLOSING = 2.0
"""Seconds that closing a device waits for another thread's call to end."""


FORKED = "its device was opened before this process was forked"
"""Why a handle or a backend of the parent cannot be used."""

_sessions: weakref.WeakSet[Session] = weakref.WeakSet()
_forked: set[str] = set()
"""In a forked process: the backends whose device its parent had opened, and whose runtime does not work here. Its
threads and locks are not here, so nothing may be called, not even to give the device back: it is leaked."""


def _after_fork() -> None:
    """In a new process: no device that is open belongs to it, and the threads that held locks do not exist here."""
    for session in tuple(_sessions):
        if session.device is not None:
            if not session.device.port.works_after_fork:
                _forked.add(session.backend)
            session.device.end = FORKED
            caches = [cache.abandoned() for cache in tuple(session.caches)]
            keep((session.device, session.device.residents.abandoned(), caches))
        session.device = None
        session.lock, session.is_busy, session.queued, session.others = threading.RLock(), False, [], []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True, slots=True)
class Unlocked(Generic[T]):
    """The rest of a dispatch, which needs no lock: `Session.run` calls it after it has released the device."""

    call: Callable[[], T]


class DeviceCache(Protocol):
    """What keeps launches, and so memory of the device. The lock is held for every call."""

    def forget(self, device: Device, resource: int) -> None:
        """Free every launch over a resident resource that is no more."""

    def reclaim(self, device: Device) -> None:
        """Free what is not in use."""

    def release(self, device: Device) -> None:
        """Free everything."""

    def abandoned(self) -> object:
        """Forget what belongs to the parent of a forked process, and free none of it: what the caller keeps alive."""


class Session:
    """The thread that holds `lock` may ask for the device; the first one that does opens it.

    `lost` is why the device went away, if it did. Only the owner of the session closes it. `is_busy`: a thread is in a
    dispatch, which without the lock is a hint. `queued` has an entry for each thread that waits for the lock after a
    backoff, `others` for each that waits for it or runs without it. `caches` are all that hold memory of the device.

    An interrupt may follow any call, and leaves the lock free: see `acquire_into`. Each dispatch sets anew what an
    interrupt may have left.
    """

    __slots__ = (
        *(
            "__weakref__",
            "_counters",
            "_limited",
            "_open_port",
            "backend",
            "device",
            "caches",
            "is_busy",
            "is_shut_down",
        ),
        *("lock", "lost", "others", "queued"),
    )

    def __init__(self, backend: str, open_port: OpenPort, counters: Counters) -> None:
        self.backend, self._open_port, self._counters = backend, open_port, counters
        self.lock = threading.RLock()
        self.device: Device | None = None
        self.caches: weakref.WeakSet[DeviceCache] = weakref.WeakSet()
        self.lost: DeviceLost | None = None
        self.is_shut_down = False
        self.is_busy = False
        self.queued: list[None] = []
        self.others: list[None] = []
        self._limited: WaitLimit | None = None
        _sessions.add(self)

    def run(
        self,
        work: Callable[[Device, Deadline | None, A], T | Unlocked[T]],
        call: A,
        config: DispatchConfig,
        expected: Device | None,
    ) -> T:
        """``work(device, deadline, call)``, one dispatch, with the device locked. The timeout begins now.

        If `work` returns the rest of it as `Unlocked`, that runs after the lock is released.

        A hit in a launch cache costs as little as can be: what only finished work used is released by calls that do
        more.
        """
        if config.timeout is not None or self.is_busy or self.queued or self._limited is not None:
            deadline = Deadline.of(config, self.backend)
            backs_off = deadline is None and (self.is_busy or bool(self.queued))
            with self.locked(deadline, expected, backs_off=backs_off) as device:
                self.is_busy = True
                result = work(device, deadline, call)
        else:
            with self.lock:
                try:
                    found = self.device
                    if (
                        found is None
                        or found.dropped
                        or found.abandoned
                        or self.lost is not None
                        or self.is_shut_down
                        or (expected is not found and expected is not None)
                    ):
                        found = self.require(expected)
                    self.is_busy = True
                    result = work(found, None, call)
                except DeviceLost as error:
                    self.lost = error
                    raise
                finally:
                    self.is_busy = False
                    if self.is_shut_down:
                        self._close()
        return result.call() if isinstance(result, Unlocked) else result

    def _end_call(self) -> None:
        """Before the device is unlocked: if another thread has shut the backend down meanwhile, close it."""
        if self._limited is not None:
            self._limited.deadline = None
            self._limited = None
        if self.is_shut_down:
            self._close()

    def _limit_waits(self, device: Device, deadline: Deadline | None) -> None:
        """Let the waits of the device end at the deadline, until the device is unlocked."""
        self._limited = device.port.wait_limit
        self._limited.deadline = deadline

    def _acquire(self, deadline: Deadline | None, taken: list[bool]) -> None:
        """Take the lock, and note in `taken` whether it was free in time."""
        remaining = None if deadline is None else deadline.remaining()
        acquire_into(taken, self.lock, None if remaining is None else min(remaining, threading.TIMEOUT_MAX))
        if not taken[0]:
            assert deadline is not None
            raise deadline.passed("waiting for another dispatch")

    def _acquire_after_backoff(self, taken: list[bool]) -> None:
        """Take the lock for a short dispatch while others want it too: sleep a little before queueing for it.

        A thread that queues for a lock is handed it when it is given back, also if it cannot run yet. If all queue,
        every dispatch waits for a switch of threads. A sleeping thread lets the others go on, for `LONGEST_BACKOFF`
        seconds at most; then it queues, which makes the threads sleep that held the lock last.
        """
        end = time.monotonic() + LONGEST_BACKOFF
        try:
            self.others.append(None)  # within `try`: an interrupt may follow at once
            time.sleep(PAUSE)
            while (self.is_busy or self.queued) and time.monotonic() < end:
                time.sleep(PAUSE)
            try:
                self.queued.append(None)
                acquire_into(taken, self.lock)
            finally:
                self.queued.pop()
        finally:
            self.others.pop()

    def require(self, expected: Device | None = None, handle: str = "the pipeline") -> Device:
        """The open device, swept. `expected` is the one that `handle` was made for. The caller holds the lock."""
        device = self.device
        if device is None or self.lost is not None or self.is_shut_down:
            device = self._opened()
        if expected is not None and expected is not device:
            raise StaleHandle(handle, expected.end, fix="make it again on the device that is open now")
        while device.dropped:
            number = device.dropped.popleft()
            self.forget_resource(device, number)
            device.residents.drop(number)
        device.sweep()
        return device

    @contextmanager
    def locked(
        self,
        deadline: Deadline | None = None,
        expected: Device | None = None,
        handle: str = "the pipeline",
        *,
        backs_off: bool = False,
    ) -> Iterator[Device]:
        """The device under the lock, which is waited for no longer than the deadline allows; nor is anything else.

        A call within a dispatch of the same thread is refused: it would have the lock twice, and its memory is in use.
        """
        taken: list[bool] = []
        try:
            if backs_off:
                self._acquire_after_backoff(taken)
            else:
                self._acquire(deadline, taken)
            if self.is_busy:
                reason = "a signal handler calls the backend while the same thread is in a dispatch of it"
                fix = "note the signal, and dispatch when the call has returned; or acquire another backend for it"
                raise DispatchFailed(reason, backend=self.backend, fix=fix)
            try:
                device = self.require(expected, handle)
                self._limit_waits(device, deadline)
                yield device
            except DeviceLost as error:
                self.lost = error
                raise
            finally:
                self.is_busy = False
                self._end_call()
        finally:
            if taken and taken[0]:  # no call before the release: an interrupt may follow it
                self.lock.release()

    def forget_resource(self, device: Device, number: int) -> None:
        """End every launch over a resident resource that is about to be freed."""
        for cache in tuple(self.caches):
            cache.forget(device, number)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def shut_down(self) -> None:
        """Close the device for good. A call of another thread that does not end in time closes it at its end."""
        self.is_shut_down = True
        self._close_in_time("it was shut down")

    def reopen(self) -> None:
        """Close what is left of the device, so that the next use opens it."""
        if not self._close_in_time("its device was closed to be opened again"):
            reason = "another thread's call did not end, which a compiler may be the reason of"
            raise DispatchFailed(reason, backend=self.backend, fix="wait for it, or acquire a fresh backend")
        self.lost = None

    def _close_in_time(self, reason: str) -> bool:
        """Take the lock, from other threads too if they wait for the device, and close it.

        Whether the lock was there in time; it is not for a signal handler within a dispatch.
        """
        device = self.device
        if device is not None:
            stopped: BackendError = StaleHandle(f"backend {self.backend!r}", reason, fix="dispatch again")
            device.port.wait_limit.stopped = stopped
        taken: list[bool] = []
        try:
            acquire_into(taken, self.lock, CLOSING)
            if not taken[0] or self.is_busy:
                return False
            self._close()
            return True
        finally:
            if taken and taken[0]:
                self.lock.release()

    def _close(self) -> None:
        """Free what every dispatcher holds, then the device itself."""
        device, self.device = self.device, None
        if device is not None:
            limit = device.port.wait_limit
            stopped, limit.stopped = limit.stopped, None
            for cache in tuple(self.caches):
                cache.release(device)
            device.close()
            limit.stopped = stopped  # ends the waits of threads that do not hold the lock

    def _opened(self) -> Device:
        if self.is_shut_down:
            raise StaleHandle(f"backend {self.backend!r}", "it was shut down", fix="acquire it again")
        if self.lost is not None:
            raise DeviceLost(self.backend, str(self.lost.fields["reason"]))
        if self.backend in _forked:
            fix = "start the process with multiprocessing's 'spawn' method, or open the backend in the child alone"
            raise StaleHandle(f"backend {self.backend!r}", FORKED, fix=fix)
        if self.device is None:
            self.device = self._open()
        return self.device

    def _open(self) -> Device:
        opened = require_kind(self.backend, self._open_port(), DevicePort, "open_port")  # type: ignore[type-abstract]
        port: DevicePort[Any, Any, Any] = opened
        this = weakref.ref(self)

        def reclaim() -> None:
            session = this()
            if session is not None:
                session._reclaim()

        try:
            return Device(port, self._counters, reclaim, shared_store(), self._open_port, self.others, self.backend)
        except BaseException:
            port.close()
            raise

    def _reclaim(self) -> None:
        """The device is full: free every cached launch that is not in use."""
        if self.device is not None:
            for cache in tuple(self.caches):
                cache.reclaim(self.device)
