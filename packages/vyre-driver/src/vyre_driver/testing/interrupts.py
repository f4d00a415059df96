"""Interrupts at every place of a call where Python handles signals: at the start of a function and after a call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

_FINALIZERS = {"__del__", "remove"}
"""Functions that the interpreter calls for objects that are freed, and whose errors it ignores."""
_ENTER = "__enter__"
"""What a `with` statement calls before its block protects what that acquires. Python 3.14 handles signals in between.
No caller can do anything about that (python/cpython#148874)."""


def interrupted_everywhere(call: Callable[[], object], most: int = 400) -> Iterator[int]:
    """Make a call again and again, and raise `KeyboardInterrupt` at its first place, then at its second, and so on.

    Only places in modules of vyre count. Other threads are not interrupted.

    Args:
        call: What to call.
        most: The greatest number of places. If there are more, places at equal distances are interrupted.

    Yields:
        The number of each place, after its interrupt.
    """
    places = _run(call, None)
    for place in range(0, places, max(1, -(-places // most))):
        with suppress(KeyboardInterrupt):
            _run(call, place)
        yield place


def in_thread(call: Callable[[], T], seconds: float = 60.0) -> T:
    """Return what a call returns in another thread, or raise what it raises.

    A thread that does not end is left behind, and does not keep the process.

    Raises:
        TimeoutError: The call has not ended after `seconds`.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            raise
        raise TimeoutError(f"a call from another thread has not ended after {seconds:g} s") from None


def _run(call: Callable[[], object], interrupted: int | None) -> int:
    """Make a call with an interrupt at one place, or at none. How many places it has passed."""
    passed = 0

    def seen(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal passed
        is_place = event == "call" or (event == "c_return" and getattr(argument, "__name__", None) != _ENTER)
        if is_place and _counts(frame):
            if passed == interrupted:
                sys.setprofile(None)
                raise KeyboardInterrupt
            passed += 1

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(before)
    return passed


def _counts(frame: FrameType) -> bool:
    if not str(frame.f_globals.get("__name__", "")).startswith("vyre"):
        return False
    caller: FrameType | None = frame
    while caller is not None:
        if caller.f_code.co_name in _FINALIZERS:
            return False
        caller = caller.f_back
    return True
