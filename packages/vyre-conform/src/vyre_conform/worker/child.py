"""The parent's side of a child process that answers messages."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from vyre_conform.worker.protocol import Closed, receive, send
from vyre_driver import process

READ = 1 << 16
"""Bytes of standard error that are looked at."""
LAST_WORDS = 4000
"""Characters of a dead process's standard error that are kept."""
_REPORT = re.compile(r"^(?:Fatal Python error|Timeout \(|Traceback \(most recent call last\))", re.MULTILINE)
_EXTENSIONS = re.compile(r"^Extension modules: .*\n?", re.MULTILINE)


class NoAnswer(Exception):
    """Nothing came in time."""


@dataclass(frozen=True, slots=True)
class Death:
    """How a process ended, and the end of what it printed."""

    how: str
    words: str


class Child:
    """A running process. What it prints to standard error is kept for `death`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `stop`
        self._process = process.start(command, stdout=subprocess.PIPE, stderr=self._stderr, env=dict(environment))
        assert self._process.stdout is not None
        self._pump = _Pump(self._process.stdout)

    def send(self, message: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
        """`Closed` if the process has ended."""
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, message, blobs)
        except (OSError, ValueError) as error:  # on Windows a broken pipe may be an `OSError` of no other class
            raise Closed from error

    def receive(self, seconds: float) -> tuple[dict[str, Any], list[bytes]]:
        """`NoAnswer` after `seconds`; `Closed` if the process has ended."""
        self._pump.until = time.monotonic() + seconds
        return receive(self._pump)

    def death(self) -> Death:
        """How the process has ended; it has some seconds for that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5.0)
        process.end(self._process)
        code = self._process.returncode
        how = f"signal {_signal(-code)}" if code < 0 else f"exit status {code}"
        return Death(how, self._words())

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def forget(self) -> None:
        """Drop what it printed so far."""
        self._stderr.seek(0)
        self._stderr.truncate()

    def kill(self) -> None:
        """End the process at once, from any thread: another one that waits for it is told `Closed`."""
        process.end(self._process)

    def stop(self) -> None:
        """End the process, by force if it does not see that its input is closed."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.5)
        process.end(self._process)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()

    def _words(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - READ))
        return last_words(self._stderr.read().decode("utf-8", "replace"))


def last_words(printed: str) -> str:
    """The end of what a process printed. If Python reported its death, that report, with some lines before it."""
    printed = _EXTENSIONS.sub("", printed).strip()
    reports = [match.start() for match in _REPORT.finditer(printed)]
    start = max(0, len(printed) - LAST_WORDS)
    if reports:
        start = min(start, max(0, reports[-1] - LAST_WORDS // 4))
    return printed[start : start + LAST_WORDS].strip()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


class _Pump:
    """A pipe that a thread empties, so that a reader can stop waiting on every platform."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._held = bytearray()
        self.until = 0.0
        threading.Thread(target=self._run, args=(pipe,), daemon=True).start()

    def _run(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), 1 << 16):
                self._chunks.put(chunk)
        self._chunks.put(b"")

    def readline(self) -> bytes:
        while b"\n" not in self._held and self._more():
            pass
        return self._take(self._held.find(b"\n") + 1 or len(self._held))

    def read(self, size: int) -> bytes:
        while len(self._held) < size and self._more():
            pass
        return self._take(size)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def _more(self) -> bool:
        """Wait for the next chunk; False at the end of the pipe, `NoAnswer` when time is up."""
        try:
            chunk = self._chunks.get(timeout=max(0.0, self.until - time.monotonic()))
        except queue.Empty:
            raise NoAnswer from None
        self._held += chunk
        return bool(chunk)
