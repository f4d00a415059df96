"""Interrupts at every place of a call where Python handles signals: at the start of a function and after a call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

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
