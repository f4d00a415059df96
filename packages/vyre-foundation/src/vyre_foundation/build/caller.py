"""The line of the caller's source from which the builder was called."""

from __future__ import annotations

import os
import sys
from collections.abc import Container
from types import FrameType

from vyre_foundation.ir.origin import Line


def caller_frame() -> FrameType:
    """The innermost frame that is not of this package."""
    frame = sys._getframe(2)  # this function and the one that asks are of this package
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def caller() -> Line:
    """Its file and line. Every statement asks, so there is no call in it that can be left out."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def caller_outside(packages: Container[str]) -> Line:
    """The file and line of the innermost frame whose module is in none of some packages."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in packages and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


_PACKAGE = caller.__code__.co_filename.removesuffix(f"build{os.sep}caller.py")
"""The folder of the package, with a separator at its end."""
