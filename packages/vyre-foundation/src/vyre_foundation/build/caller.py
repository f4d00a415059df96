"""The line of the caller's source from which the builder was called."""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager
from types import FrameType

from vyre_foundation.build import arguments
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.origin import Line, Origin


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


def stated_line(file: object, line: object) -> Line:
    """A line of source that a frontend states; `BuildError` for what names none."""
    return arguments.text(file, "the file of a line"), arguments.integer(line, "the number of a line")


@contextmanager
def naming_errors(line: Line) -> Iterator[None]:
    """Errors name this line too, unless a block within has named another."""
    try:
        yield
    except VyreError as error:
        if error.origin is None:
            error.origin, place = line, str(Origin(*line))
            error.where = f"{place}: {error.where}" if error.where else place
        raise


_PACKAGE = caller.__code__.co_filename.removesuffix(f"build{os.sep}caller.py")
"""The folder of the package, with a separator at its end."""
