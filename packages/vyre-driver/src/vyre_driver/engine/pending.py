"""Work that a device has not ended: its deadline, everything that it uses, its size, and the handle to wait for it.

A kernel may run longer than the dispatch that launched it (after a timeout or an interrupt), than its pipeline, its
backend, and the interpreter. What it uses must live until it ends, so it is owned by the work and by nothing else: each
port keeps a `Ledger` of its work in flight, and while there is any, the ledger is referenced from here. What has ended
is released by the next call of any backend of the process.

At the end of the interpreter, work in flight is waited for, `EXIT` seconds at most. What still runs then keeps its
memory until the process has ended: it is referenced from the frame of a thread, and frames of daemon threads are never
cleared. The same holds in a forked process for what belongs to its parent. Some runtimes wait for their threads when
the process ends, so the exit handlers of libraries do not run then.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.results import Outputs
from vyre_driver.errors import BackendError, DispatchFailed, DispatchTimeout

if TYPE_CHECKING:
    from vyre_driver.engine.device import Device
    from vyre_driver.engine.launch import PreparedLaunch
    from vyre_driver.engine.launch_cache import CachedLaunch, LaunchCache
    from vyre_driver.engine.session import Session


PAUSE = 5e-5
"""Seconds that a thread which waits for the device leaves it to others."""
SLICE = 5e-3
"""Seconds that it keeps the device from them."""


class Deadline:
    """When a dispatch that begins now must have ended. Without a timeout every question is answered at once."""

    __slots__ = ("_backend", "_end", "_label", "_seconds")

    def __init__(self, seconds: float | None, backend: str, label: str | None = None) -> None:
        self._seconds, self._backend, self._label = seconds, backend, label
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def is_set(self) -> bool:
        return self._end is not None

    def remaining(self) -> float | None:
        """Seconds that are left, at least 0; None without a timeout."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self, stage: str) -> None:
        """Raise `DispatchTimeout` if the time is over after `stage`."""
        if self._end is not None and time.monotonic() >= self._end:
            raise self.passed(stage)

    def passed(self, stage: str) -> DispatchTimeout:
        """The error that says in which stage the time ran out."""
        assert self._seconds is not None
        return DispatchTimeout(self._seconds, stage, backend=self._backend, where=self._label or "")


class WaitLimit:
    """How long the calls of a port may wait.

    `deadline` is that of the dispatch which the engine is in, None without one. `stopped` is the error that ends every
    wait, because another thread closes the device. A port asks before each part of a wait.
    """

    __slots__ = ("deadline", "stopped")

    def __init__(self) -> None:
        self.deadline: Deadline | None = None
        self.stopped: BackendError | None = None

    def seconds(self, longest: float, stage: str = "the kernels") -> float:
        """How many seconds to wait now for `stage`, at most `longest`; raises when nothing is left to wait for."""
        if self.stopped is not None:
            raise self.stopped
        if self.deadline is None:
            return longest
        remaining = self.deadline.remaining()
        if remaining is None:
            return longest
        if not remaining:
            raise self.deadline.passed(stage)
        return min(longest, remaining)


EXIT = 1.0
"""Seconds that the end of the interpreter waits for work in flight."""
EXIT_PAUSE = 1e-3
"""Seconds between two looks at that work."""


class Ledger(ABC):
    """The work of one port that has not ended, with strong references to all that it uses; but not to the port."""

    @abstractmethod
    def sweep(self) -> bool:
        """Release what has ended. Whether there is work left. Called from any thread, at any time; never raises."""


_unfinished: set[Ledger] = set()
_abandoned: list[object] = []
"""In a forked process: what is of its parent."""
_keeper: threading.Thread | None = None


def register(ledger: Ledger) -> None:
    """Keep a ledger alive until a `sweep` finds nothing in it. To be called whenever work is added to it."""
    _unfinished.add(ledger)
    if _keeper is None:
        _start_keeper()


def sweep() -> None:
    """Release what has ended, of every port of the process."""
    for ledger in tuple(_unfinished):
        if not ledger.sweep():
            _unfinished.discard(ledger)
            if ledger.sweep():  # another thread has added work in between
                _unfinished.add(ledger)


def keep(thing: object) -> None:
    """Never release this, not even at the end of the interpreter."""
    _abandoned.append(thing)
    if _keeper is None:
        _start_keeper()


def _start_keeper() -> None:
    global _keeper
    locked = threading.Lock()
    locked.acquire()
    _keeper = threading.Thread(target=_hold, args=(locked, _unfinished, _abandoned), name="vyre-in-flight", daemon=True)
    with suppress(RuntimeError):  # at the end of the interpreter no thread starts
        _keeper.start()


def _hold(locked: threading.Lock, *things: object) -> None:
    """Keep `things` in this frame."""
    locked.acquire()


@atexit.register
def _drain() -> None:
    end = time.monotonic() + EXIT
    sweep()
    while _unfinished and time.monotonic() < end:
        time.sleep(EXIT_PAUSE)
        sweep()
    if _unfinished or _abandoned:
        _skip_exit_handlers()


def _skip_exit_handlers() -> None:
    """Let ``exit(status)`` of the C library be ``_exit(status)``, where it has `on_exit`."""
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.on_exit(library._exit, None)


def _leave_behind() -> None:
    """In a forked process: what was in flight is the parent's, and may not be touched."""
    global _keeper
    _keeper = None
    if _unfinished:
        keep(tuple(_unfinished))
        _unfinished.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)


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
            self._device.port.submit(event)
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
        """Add the times of the oldest launches, which have ended: nothing else of them is needed."""
        for event in self._untimed[:events]:
            time = self._device.port.elapsed(event)
            self._ns = None if time is None or self._ns is None else self._ns + time
        del self._untimed[:events]


class PendingLaunch(PendingDispatch):
    """A dispatch that was submitted. It keeps its inputs, which the device may be reading.

    A failure ends it: every later wait raises it again. An interrupt, or the end of a caller's time limit, does not.
    Without a wait, its memory is freed with the last reference to it; the port keeps that until the end of the
    work which uses it.
    """

    def __init__(
        self,
        session: Session,
        launches: LaunchCache,
        cached: CachedLaunch,
        launch: PreparedLaunch,
        event: Any,
        inputs: Sequence[Any],
        deadline: Deadline | None,
    ) -> None:
        self._session, self._launch_cache, self._cached = session, launches, cached
        self._launch, self._event = launch, event
        self._inputs, self._deadline = inputs, deadline
        self._outcome: Outputs | BackendError | None = None
        self._dropped = weakref.finalize(self, cached.device.abandon, launch.owned)
        self._dropped.atexit = False

    def is_ready(self) -> bool:
        if self._outcome is not None:
            return True
        if not self._session.lock.acquire(blocking=False):
            return False
        try:
            device = self._cached.device
            if self._session.device is not device or self._session.lost is not None:
                return True
            return self._event is None or device.port.query(self._event)
        except BackendError:  # the wait will raise it
            return True
        finally:
            self._session.lock.release()

    def await_result(self, timeout: float | None = None) -> Outputs:
        limit = None if timeout is None else Deadline(timeout, self._session.backend)
        while self._outcome is None:
            self._wait(limit)
        if isinstance(self._outcome, BackendError):
            raise self._outcome
        return self._outcome

    def _wait(self, limit: Deadline | None) -> None:
        """Wait a little, and take the results if they are there."""
        with self._session.locked(limit, self._cached.device, "the pending dispatch") as device:
            if self._outcome is not None:
                return
            try:
                if self._has_completed(device, limit):
                    self._outcome = self._complete(device)
            except BackendError as error:
                self._failed(device, error)
            if self._outcome is not None:
                return
        if limit is not None:
            limit.check("the kernels")
        time.sleep(PAUSE)

    def _has_completed(self, device: Device, limit: Deadline | None) -> bool:
        device.counters.waits += 1
        ends = [deadline.remaining() for deadline in (limit, self._deadline) if deadline is not None]
        longest = min([SLICE, *(seconds for seconds in ends if seconds is not None)])
        if self._event is None or device.port.wait(self._event, longest):
            return True
        if self._deadline is not None and not self._deadline.remaining():
            raise self._deadline.passed("the kernels")
        return False

    def _complete(self, device: Device) -> Outputs:
        self._launch_cache.require_trust()
        try:
            outputs = self._launch.end()
        except BackendError:
            raise
        except BaseException as error:  # some of the outputs may be taken
            self._failed(
                device, DispatchFailed(f"{type(error).__name__} during readback", backend=self._session.backend)
            )
            raise
        self._dropped.detach()
        self._launch_cache.ran(device, self._cached)
        self._launch_cache.settle(device, self._cached)
        self._launch_cache.give_back(device, self._cached, self._launch)
        self._inputs = ()
        return outputs

    def _failed(self, device: Device, error: BackendError) -> None:
        self._dropped.detach()
        self._launch_cache.failed(device, self._cached, error, self._launch)
        self._outcome, self._inputs = error, ()
