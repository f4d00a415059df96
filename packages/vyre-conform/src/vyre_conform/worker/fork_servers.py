"""Workers that begin as forks of a process with their imports (`fork_server`), which are most of what a start takes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Self

from vyre_conform.worker.child import Child, NoAnswer
from vyre_conform.worker.opening import NamedBy
from vyre_conform.worker.protocol import LEAVE, Closed
from vyre_driver import process

LEAVING_SECONDS = 5.0
"""How long a worker may take to shut its backend down."""
FORKS = sys.platform == "linux"
"""Elsewhere each worker is a process that is started: libraries of macOS do not work in forks, Windows has none."""


def begin(command: Sequence[str]) -> Child:
    """Start a process for workers: its compiler judges what it makes itself, not code that an earlier process left."""
    return Child(command, {"VYRE_CACHE": "off", **process.environment()})


class ForkServers:
    """Processes that have imported `modules`, and become workers."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._idle: list[Child] = []

    def begin(self, named_by: NamedBy, backend: str) -> Child:
        """The process of a worker that is about to say which backend it has."""
        if not FORKS:
            return begin(process.python("-m", "vyre_conform.worker", named_by.value, backend))
        forking = process.python("-m", "vyre_conform.worker.fork_server", *self._modules)
        try:
            child = self._idle.pop()
        except IndexError:
            child = begin(forking)
        with contextlib.suppress(Closed):  # then there is no first word either
            child.send({"named_by": named_by.value, "backend": backend})
        return child

    def end(self, child: Child) -> None:
        """End a worker. Its process is kept for another one, unless the worker died or does not end."""
        if FORKS and not child.has_ended:
            try:
                child.send(LEAVE)
                child.receive(LEAVING_SECONDS)
            except (Closed, NoAnswer):
                child.kill()
            else:
                child.forget()
                self._idle.append(child)
                return
        child.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._idle:
            self._idle.pop().stop()
