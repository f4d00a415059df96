"""One backend in one process: started, asked, and replaced when it dies or does not answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vyre_conform.case import Launch
from vyre_conform.outcome import Crashed, Outcome, TimedOut
from vyre_conform.worker.child import Child, NoAnswer
from vyre_conform.worker.fork_servers import ForkServers, begin
from vyre_conform.worker.opening import NamedBy
from vyre_conform.worker.protocol import Closed, Hello, launch_message, outcome_of, preparation_message
from vyre_driver import process
from vyre_foundation.ir.program import Program

START_SECONDS = 120.0
GRACE_S = 2.0
"""Seconds that a worker has beyond those of a launch, to print where it hangs and end itself."""


class Cancelled(Exception):
    """The worker was told to stop by another thread."""


@dataclass(slots=True, eq=False)
class Worker:
    """One backend in one process. `ask` never raises for what the backend does; a dead process is started again.

    `backend` is the id of an installed backend or, if it is `named_by` the caller, ``module:attribute``.
    """

    backend: str
    seconds: float = 60.0
    """How long one launch may take."""
    command: tuple[str, ...] = field(default_factory=lambda: tuple(process.python("-m", "vyre_conform.worker")))
    named_by: NamedBy = NamedBy.FILE
    fork_servers: ForkServers | None = None
    """What begins the process instead of `command`."""
    starts: int = field(default=0, init=False)
    _child: Child | None = field(default=None, init=False)
    _is_cancelled: bool = field(default=False, init=False)

    def start(self) -> Hello:
        """The worker's first words; a `problem` if there is no backend."""
        self.stop()
        self.starts += 1
        if self.fork_servers is None:
            child = begin([*self.command, self.named_by.value, self.backend])
        else:
            child = self.fork_servers.begin(self.named_by, self.backend)
        self._child = child
        if self._is_cancelled:
            child.kill()
        try:
            message, _ = child.receive(START_SECONDS)
        except (Closed, NoAnswer) as error:
            if isinstance(error, NoAnswer):
                child.kill()
            died = child.death()
            problem = f"its process did not start: {died.how}"
            return Hello(self.backend, problem=problem, fix="repair what its last words name", log=died.words)
        return Hello(**message)

    def ask(self, launch: Launch, repeats: int = 2) -> Outcome:
        """The outcome of a launch, `Crashed` or `TimedOut` included."""
        return self._told(launch_message(launch, repeats), self.seconds)

    def prepare(self, programs: Sequence[Program]) -> Outcome:
        """Compile programs in one call, for launches that follow: nothing is returned, or what went wrong.

        In any case each program can be asked for, and is compiled alone then. Each of them may take as long as a
        launch.
        """
        return self._told(preparation_message(programs), self.seconds * len(programs))

    def cancel(self) -> None:
        """From another thread: end the process, and let every call raise `Cancelled` from now on."""
        self._is_cancelled = True
        child = self._child
        if child is not None:
            child.kill()

    def _told(self, message: tuple[dict[str, Any], list[bytes]], seconds: float) -> Outcome:
        if self._child is None:
            hello = self.start()
            if hello.problem:
                self.stop()
                self._require_not_cancelled()
                return Crashed(hello.problem, hello.log or hello.fix)
        self._require_not_cancelled()
        assert self._child is not None
        facts, blobs = message
        started = time.monotonic()
        try:
            self._child.send(facts | {"seconds": seconds}, blobs)
            return outcome_of(*self._child.receive(seconds + GRACE_S))
        except (Closed, NoAnswer) as error:
            if isinstance(error, NoAnswer):
                self._child.kill()
            died = self._child.death()
            self.stop()
            self._require_not_cancelled()
            if time.monotonic() - started >= seconds:
                return TimedOut(seconds, died.words)
            return Crashed(died.how, died.words)

    def _require_not_cancelled(self) -> None:
        if self._is_cancelled:
            raise Cancelled

    def stop(self) -> None:
        """End the process, if there is one."""
        child, self._child = self._child, None
        if child is None:
            return
        if self.fork_servers is None:
            child.stop()
        else:
            self.fork_servers.end(child)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
