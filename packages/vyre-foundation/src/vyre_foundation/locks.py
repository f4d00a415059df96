"""Locks that are free after a fork, whose child does not have the threads that held them, and after an interrupt."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


class ForkGuard:
    """Has a `lock` that is free in a forked process, whichever thread of the parent held it.

    What that thread was changing stays as it was then. So each step under the lock has to leave something valid, as
    entries of tables are. Calls of libraries with locks of their own need `forks_wait_for`.
    """

    __slots__ = ("__weakref__", "_make", "lock")

    def __init__(self, make: Callable[[], AbstractContextManager[Any]] = threading.Lock) -> None:
        self._make = make
        self.lock = make()
        _guards.add(self)

    def renew(self) -> None:
        """Make the lock anew."""
        self.lock = self._make()


_guards: weakref.WeakSet[ForkGuard] = weakref.WeakSet()


def _after_fork() -> None:
    for guard in tuple(_guards):
        guard.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def forks_wait_for(lock: threading.RLock) -> None:
    """Let forks wait until no other thread holds `lock`, which is held during calls of a library.

    The child would inherit the library's own locks in the locked state. A thread that holds `lock` takes no other that
    forks wait for.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def acquire_into(taken: list[bool], lock: threading.Lock | threading.RLock, seconds: float | None = None) -> None:
    """Acquire a lock, waiting `seconds` at most, and append to `taken` whether it was acquired.

    A signal handler may raise an error after any call, so also between a call of `acquire` and the statement that uses
    its result. Here, acquiring and appending are one call. Release the lock in a `finally` block that makes no other
    call before, as in ``if taken and taken[0]: lock.release()``. Where no time limit is needed, ``with lock:`` is safe
    too.
    """
    taken.extend(map(lock.acquire, (True,), (-1 if seconds is None else seconds,)))
