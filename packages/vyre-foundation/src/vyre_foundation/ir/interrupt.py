"""How a deadline ends a walk over a long program: a check that the walks of `ir.walk` call once in many statements."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STRIDE = 1024
"""Statements and expressions that walks visit between two checks."""
COUNTED = 64
"""Statements and expressions that a walk counts together. Walks over fewer count as one: most of them are short."""


class _Countdown:
    __slots__ = ("_check", "_left")

    def __init__(self, check: Callable[[], None]) -> None:
        self._check, self._left = check, STRIDE

    def step(self, count: int) -> None:
        self._left -= count
        if self._left <= 0:
            self._left = STRIDE
            self._check()


class _Local(threading.local):
    # A context variable is inherited by threads that the block starts, on free-threaded builds of Python.
    countdown: _Countdown | None = None


_local = _Local()


@contextmanager
def interruptible(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` after every `STRIDE` statements and expressions that this thread walks over inside of the block.

    `check` may raise, which ends the walk and what it is part of.
    """
    outer, _local.countdown = _local.countdown, _Countdown(check)
    try:
        yield
    finally:
        _local.countdown = outer


def visited(count: int = 1) -> None:
    """Count statements or expressions of a walk."""
    countdown = _local.countdown
    if countdown is not None:
        countdown.step(count)
