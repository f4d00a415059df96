"""Work in flight on devices: deadlines, and the ownership of everything that the work uses.

A kernel may outlive the dispatch that launched it (after a timeout or an interrupt), its pipeline, its backend, and the
interpreter. Everything that it uses must live until it ends, so the work owns it. Each port keeps a `Ledger` of its
work in flight, and this module refers to the ledger while there is any. The next call of any backend of the process
releases what work that has ended used.

At the end of the interpreter, work in flight is awaited for at most `EXIT` seconds. Work that still runs then keeps its
memory until the process has ended: the frame of a daemon thread refers to it, and such frames are never cleared. In a
forked process, the same applies to work of the parent. Some runtimes wait for their threads when the process ends, so
the exit handlers of libraries do not run in this case.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import BackendError, DispatchTimeout

PAUSE = 5e-5
"""Seconds that a thread which waits for the device leaves it to others."""
SLICE = 5e-3
"""Seconds that it keeps the device from them."""
LONGEST_WAIT = 0.05
"""Seconds of a part of a wait. A signal ends it at once, but what one thread tells another (`_thread.interrupt_main`,
or that the device is to be closed) is looked at after it."""


class Deadline:
    """The time at which a dispatch must have ended, if it has a timeout."""

    __slots__ = ("_backend", "_end", "_label", "_seconds")

    def __init__(self, seconds: float | None, backend: str, label: str | None = None) -> None:
        self._seconds, self._backend, self._label = seconds, backend, label
        self._end = None if seconds is None else time.monotonic() + seconds

    @classmethod
    def of(cls, config: DispatchConfig, backend: str) -> Deadline | None:
        """Return the deadline of a dispatch that begins now."""
        return None if config.timeout is None else cls(config.timeout, backend, config.label)

    def remaining(self) -> float | None:
        """Return the remaining seconds, at least 0; None without a timeout."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self, stage: str) -> None:
        """Raise `DispatchTimeout` if the deadline has passed after `stage`."""
        if self._end is not None and time.monotonic() >= self._end:
            raise self.passed(stage)

    def passed(self, stage: str) -> DispatchTimeout:
        """Return the error, which names the stage in which the deadline passed."""
        assert self._seconds is not None
        return DispatchTimeout(self._seconds, stage, backend=self._backend, where=self._label or "")


class WaitLimit:
    """The limit of waits in the calls of a port.

    `deadline` is that of the dispatch in the current thread, or None. `stopped` is an error that ends every wait,
    because another thread closes the device. A port checks both before each part of a wait.
    """

    __slots__ = ("_of_thread", "stopped")

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self.stopped: BackendError | None = None

    @property
    def deadline(self) -> Deadline | None:
        """The deadline of the calling thread."""
        return getattr(self._of_thread, "deadline", None)

    @deadline.setter
    def deadline(self, deadline: Deadline | None) -> None:
        self._of_thread.deadline = deadline

    def seconds(self, longest: float, stage: str = "the kernels") -> float:
        """Return the seconds for which to wait for `stage`, at most `longest`; raise the error if the wait must end."""
        if self.stopped is not None:
            raise self.stopped
        deadline = self.deadline
        remaining = None if deadline is None else deadline.remaining()
        if deadline is None or remaining is None:
            return longest
        if not remaining:
            raise deadline.passed(stage)
        return min(longest, remaining)


EXIT = 1.0
"""Seconds that the end of the interpreter waits for work in flight."""
EXIT_PAUSE = 1e-3
"""Seconds between two looks at that work."""


class Ledger(ABC):
    """The work of one port in flight, with strong references to everything that it uses, except the port."""

    @abstractmethod
    def sweep(self) -> bool:
        """Release work that has ended, and return whether work is left. Called from any thread; never raises."""


_unfinished: set[Ledger] = set()
_abandoned: list[object] = []
"""In a forked process: what is of its parent."""
_keeper: threading.Thread | None = None


def register(ledger: Ledger) -> None:
    """Keep a ledger alive until a `sweep` finds it empty. It must be called whenever work is added to the ledger."""
    _unfinished.add(ledger)
    if _keeper is None:
        _start_keeper()


def sweep() -> None:
    """Release the work that has ended of every port of the process."""
    for ledger in tuple(_unfinished):
        if not ledger.sweep():
            _unfinished.discard(ledger)
            if ledger.sweep():  # another thread has added work in between
                _unfinished.add(ledger)


def keep(thing: object) -> None:
    """Keep an object alive until the process ends, even after the end of the interpreter."""
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
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)  # on Windows a library has a name
        library.on_exit(library._exit, None)


def _after_fork() -> None:
    """In a forked process: what was in flight is the parent's, and may not be touched."""
    global _keeper
    _keeper = None
    if _unfinished:
        keep(tuple(_unfinished))
        _unfinished.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class AsyncCall(Ledger):
    """A call that may take long, on a thread of its own, and what it `gave` at its end.

    A call that blocks in native code hears no signal of the host and has no timeout; the lock that the caller waits on
    has both. The thread may be left behind in a call that never ends, and so be there when the interpreter ends:
    `function` must not need the interpreter's lock on its way out, as calls by `ctypes` do not. It may not raise. At
    the end of the interpreter, when no thread starts, the caller calls it.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function: Callable[[], Any] | None = function
        self.gave: Any = None
        self.is_running = True
        self.ended = threading.Lock()
        self.ended.acquire()
        register(self)
        try:
            worker = _idle.pop() if _idle else CallThread()
        except IndexError:  # another thread was faster
            worker = CallThread()
        except RuntimeError:
            self.run()
            return
        worker.take(self)

    def run(self) -> None:
        """Run the call and publish its result, which lives as long as the caller needs it."""
        function, self._function = self._function, None
        assert function is not None
        self.gave = function()
        _unfinished.discard(self)
        self.is_running = False
        self.ended.release()

    def sweep(self) -> bool:
        """Whether the call is running."""
        return self.is_running

    def result(self, wait_limit: WaitLimit, stage: str) -> Any:
        """Wait for what the call gives. A deadline, an interrupt or the end of the device leave it running."""
        while self.is_running:
            self.ended.acquire(timeout=wait_limit.seconds(LONGEST_WAIT, stage))
        return self.gave


class CallThread:
    """A thread that makes one call after the other."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[AsyncCall] = SimpleQueue()
        threading.Thread(target=self._run, name="vyre-aside", daemon=True).start()

    def take(self, call: AsyncCall) -> None:
        """Run a call after those that were given before."""
        self._calls.put(call)

    def _run(self) -> None:
        while True:
            call = self._calls.get()
            call.run()
            del call
            _idle.append(self)


_idle: list[CallThread] = []
"""As many as there were calls at the same time."""


def idle_threads() -> int:
    """How many threads wait for a call."""
    return len(_idle)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # the threads stay in the parent
