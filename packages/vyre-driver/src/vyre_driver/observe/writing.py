"""What commands write: files that options name, and standard output. A place that cannot be written is one line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

from vyre_foundation.errors import VyreError

UNWRITABLE = 2
"""The exit status where standard output cannot be written; that of a file that cannot be written, too."""
INTERRUPTED = 130
"""The exit status after an interrupt from the keyboard: 128 and the number of SIGINT, as shells have it."""
CLOSED = 141
"""The exit status where the reader of standard output has gone: 128 and the number of SIGPIPE."""


def require_writable(path: Path, option: str) -> None:
    """Refuse a place that cannot be written, before anything runs. Folders that are missing are made by `writing`."""
    with named(path, option):
        if _exists(path) and path.is_dir():
            raise VyreError(f"{path} is a folder", where=option, fix="name a file in it")
        place = next((place for place in (path, *path.parents) if _exists(place)), None)
        if place is None:
            raise VyreError(f"{path} cannot be written: the working directory is gone", where=option, fix="change it")
        if place != path and not place.is_dir():
            raise VyreError(f"{place} is a file, not a folder", where=option, fix="name a file in a folder")
        if not os.access(place, os.W_OK if place == path else os.W_OK | os.X_OK):
            raise VyreError(f"{path} cannot be written", where=option, fix="name another file")


def _exists(path: Path) -> bool:
    """Whether there is something at a path. Raises `OSError` if the system cannot tell, as for a name that is too long.

    `Path.exists` does not, from Python 3.14 on.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """Make the folder of a file; then as `named`."""
    with named(path, option):
        path.parent.mkdir(parents=True, exist_ok=True)
        yield


@contextmanager
def named(path: Path, option: str) -> Iterator[None]:
    """Name the option and the file where writing fails, such as on a full disk."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        message, fix = f"{path} cannot be written: {reason}", "name another file, or make room"
        raise VyreError(message, where=option, fix=fix) from None


@contextmanager
def standard_output() -> Iterator[None]:
    """End the process in order where standard output cannot be written: with one line, and a documented status.

    A pipe whose reader has gone ends it without a line. Messages that standard error does not take are dropped, and the
    status is as with them.
    """
    with _messages():
        before = sys.stdout
        if before is None:  # a process may have been started without one
            yield
            return
        watched = _Watched(before)
        sys.stdout = cast("TextIO", watched)
        try:
            yield
        finally:
            try:
                watched.flush()
            finally:
                sys.stdout = before
            if watched.status is not None:
                raise SystemExit(watched.status)


@contextmanager
def _messages() -> Iterator[None]:
    before = sys.stderr
    if before is not None:
        sys.stderr = cast("TextIO", _Watched(before, ends=False))
    try:
        yield
    finally:
        if before is not None:
            sys.stderr.flush()
        sys.stderr = before


class _Watched:
    """A stream whose first failure ends the process, if it `ends`; what is written after it goes nowhere."""

    def __init__(self, stream: TextIO, *, ends: bool = True) -> None:
        self._stream, self._ends = stream, ends
        self.status: int | None = None
        """How the process has to end."""

    def write(self, text: str) -> int:
        with self._ending():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._ending():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _ending(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._discard()
            if not self._ends:
                return
            self.status = CLOSED if isinstance(error, BrokenPipeError) else UNWRITABLE
            if self.status == UNWRITABLE:
                reason = error.strerror or str(error)
                sys.stderr.write(f"standard output cannot be written: {reason}. Fix: send it to another place\n")
            raise SystemExit(self.status) from None

    def _discard(self) -> None:
        """Have the system drop what the stream still holds: it is flushed once more when the process ends."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
