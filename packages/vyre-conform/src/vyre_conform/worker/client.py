"""The parent's side: a process that is started, asked, and replaced when it dies or does not answer."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from vyre_conform.case import Launch
from vyre_conform.outcome import Crashed, Outcome, TimedOut
from vyre_conform.worker.protocol import (
    Closed,
    Hello,
    launch_message,
    outcome_of,
    preparation_message,
    receive,
    send,
)
from vyre_foundation.ir.program import Program

START_SECONDS = 120.0
LAST_WORDS = 2000
"""Characters of a dead worker's standard error that are kept."""


class NoAnswer(Exception):
    """Nothing came in time."""


@dataclass(slots=True)
class Worker:
    """One backend in one process. `ask` never raises for what the backend does; a dead process is started again."""

    backend: str
    seconds: float = 60.0
    """How long one launch may take."""
    command: tuple[str, ...] = (sys.executable, "-m", "vyre_conform.worker")
    starts: int = field(default=0, init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _pump: _Pump | None = field(default=None, init=False)
    _stderr: IO[bytes] | None = field(default=None, init=False)

    def start(self) -> Hello:
        """The worker's first words; a `problem` if there is no backend."""
        self.stop()
        self.starts += 1
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `stop`
        self._process = subprocess.Popen(
            [*self.command, self.backend],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            # Code of an earlier process would be judged instead of what the compiler makes today.
            env={"VYRE_CACHE": "off", **os.environ},
            # An interrupt from the keyboard is for the parent: a worker that it ended would be a crash of the backend.
            process_group=0,
        )
        assert self._process.stdout is not None
        self._pump = _Pump(self._process.stdout)
        try:
            message, _ = self._receive(START_SECONDS)
        except (Closed, NoAnswer):
            died = self._obituary()
            return Hello(
                self.backend, problem=f"the worker did not start: {died.how}", fix=died.words or "run it alone"
            )
        return Hello(**message)

    def ask(self, launch: Launch, repeats: int = 2) -> Outcome:
        """The outcome of a launch, `Crashed` or `TimedOut` included."""
        return self._told(launch_message(launch, repeats), self.seconds)

    def prepare(self, programs: Sequence[Program]) -> Outcome:
        """Compile programs together, for launches that follow: nothing is returned, or what went wrong. Whatever that
        is, each program can be asked for, and is compiled alone then. Each of them may take as long as a launch."""
        return self._told(preparation_message(programs), self.seconds * len(programs))

    def _told(self, message: tuple[dict[str, Any], list[bytes]], seconds: float) -> Outcome:
        if self._process is None:
            hello = self.start()
            if hello.problem:
                self.stop()
                return Crashed(hello.problem, hello.fix)
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, *message)
            return outcome_of(*self._receive(seconds))
        except NoAnswer:
            self.stop()
            return TimedOut(seconds)
        except (Closed, BrokenPipeError, ConnectionResetError):
            died = self._obituary()
            self.stop()
            return died

    def stop(self) -> None:
        """End the process, by force if it does not see that its input is closed."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
            try:
                process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _receive(self, seconds: float) -> tuple[dict[str, Any], list[bytes]]:
        assert self._pump is not None
        self._pump.until = time.monotonic() + seconds
        return receive(self._pump)

    def _obituary(self) -> Crashed:
        """How the process ended, and what it said last."""
        assert self._process is not None
        assert self._stderr is not None
        try:
            code = self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        self._stderr.seek(0)
        return Crashed(how, self._stderr.read().decode("utf-8", "replace")[-LAST_WORDS:].strip())


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
