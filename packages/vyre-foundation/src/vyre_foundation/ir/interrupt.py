"""How a deadline ends a walk over a long program: a check that the walks of `ir.walk` call once in many statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

STRIDE = 1024
"""Statements and expressions that walks visit between two checks."""


class _Countdown:
    __slots__ = ("_check", "_left")

    def __init__(self, check: Callable[[], None]) -> None:
        self._check, self._left = check, STRIDE

    def step(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self._left = STRIDE
            self._check()


_COUNTDOWN: ContextVar[_Countdown | None] = ContextVar("countdown", default=None)


@contextmanager
def interruptible(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` after every `STRIDE` statements and expressions that this thread walks over inside of the block.

    `check` may raise, which ends the walk and what it is part of.
    """
    token = _COUNTDOWN.set(_Countdown(check))
    try:
        yield
    finally:
        _COUNTDOWN.reset(token)


def visited() -> None:
    """Count one statement or expression of a walk."""
    countdown = _COUNTDOWN.get()
    if countdown is not None:
        countdown.step()
