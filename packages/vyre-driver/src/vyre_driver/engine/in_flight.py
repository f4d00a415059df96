"""Work that devices have not ended, and everything that it uses.

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
from abc import ABC, abstractmethod
from contextlib import suppress

EXIT = 1.0
"""Seconds that the end of the interpreter waits for work in flight."""
PAUSE = 1e-3


class Ledger(ABC):
    """The work of one port that has not ended, with strong references to all that it uses; but not to the port."""

    @abstractmethod
    def sweep(self) -> bool:
        """Release what has ended. Whether there is work left. Called from any thread, at any time; never raises."""


_unfinished: set[Ledger] = set()
_kept: list[object] = []
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
    _kept.append(thing)
    if _keeper is None:
        _start_keeper()


def _start_keeper() -> None:
    global _keeper
    locked = threading.Lock()
    locked.acquire()
    _keeper = threading.Thread(target=_hold, args=(locked, _unfinished, _kept), name="vyre-in-flight", daemon=True)
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
        time.sleep(PAUSE)
        sweep()
    if _unfinished or _kept:
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
