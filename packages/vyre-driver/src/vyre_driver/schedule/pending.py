"""Handles of submitted launches of graphs."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Generator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

from vyre_driver.backend.config import require_wait
from vyre_driver.backend.pending import LONGEST_PAUSE, SHORTEST_PAUSE
from vyre_driver.errors import DispatchTimeout, StaleHandle
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    import asyncio

    from vyre_driver.backend.typed import Array
else:
    # Its import takes longer than the rest of this package, and only callers who await need it.
    import lazy_loader

    asyncio = lazy_loader.load("asyncio")

Arrays: TypeAlias = "dict[str, Array]"


class PendingGraph:
    """A launch of a graph. Its inputs may not change before it has ended.

    `result` may be called again, and then returns the same arrays or raises the same error. Handles may be awaited in
    any order, from any thread, or not at all. After an interrupt or a timeout, the launch stays pending. If an asyncio
    task is cancelled while it awaits the launch, the launch is cancelled.
    """

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._ended = threading.Event()
        self._arrays: Arrays = {}
        self._error: BaseException | None = None
        self._is_cancelled = False
        _submitted.add(self)

    def __repr__(self) -> str:
        return f"<PendingGraph on {self._backend!r}: {'ready' if self.is_ready() else 'in flight'}>"

    def is_ready(self) -> bool:
        """Return whether `result` would return without waiting."""
        return self._ended.is_set()

    def cancel(self) -> bool:
        """Request that the launch ends before its next call of the backend: the next sequence, or batch of a loop.

        Returns:
            Whether it has not ended yet. `result` then raises `LaunchCancelled`, unless there was no next call.
        """
        self._is_cancelled = True
        return not self.is_ready()

    def is_cancelled(self) -> bool:
        """Return whether `cancel` was called."""
        return self._is_cancelled

    def result(self, timeout: float | None = None) -> Arrays:
        """Wait for the launch.

        Args:
            timeout: The limit of the wait in seconds. None: no limit. 0: check once, without waiting.

        Returns:
            The outputs by name.

        Raises:
            InvalidInput: `timeout` is not a number of seconds, or negative.
            DispatchTimeout: The time has passed; the launch is still pending.
            BackendError: A node failed; the error names it. Contents of resident buffers that the graph writes are
                undefined, and a note of the error names those.
            LaunchCancelled: The launch was cancelled; the same holds.
        """
        require_wait(timeout)
        if not self._ended.wait(timeout):
            assert timeout is not None
            raise DispatchTimeout(timeout, "the launch of a graph", backend=self._backend)
        if self._error is not None:
            raise self._error
        return self._arrays

    def wait(self) -> None:
        """Wait for the launch, and leave its outcome to `result`."""
        self._ended.wait()

    def __await__(self) -> Generator[None, None, Arrays]:
        """Let the event loop of asyncio run other tasks until the launch has ended."""
        pause = 0.0
        while not self.is_ready():
            try:
                yield from asyncio.sleep(pause).__await__()
            except asyncio.CancelledError:
                self.cancel()
                raise
            pause = min(2 * pause + SHORTEST_PAUSE, LONGEST_PAUSE)
        return self.result()

    def settle(self, run: Callable[[], Arrays]) -> None:
        """Store the result or the error of `run` as the outcome. For the thread that runs the launch."""
        if self.is_ready():  # in a forked process
            return
        try:
            self._arrays = run()
        except BaseException as error:  # every wait raises it
            self._error = error
        self._ended.set()

    def abandon(self) -> None:
        """Let waits raise an error. For a forked process, in which the thread that runs the launch does not exist."""
        if not self.is_ready():
            reason = "it was submitted before this process was forked"
            self._error = StaleHandle("the launch of a graph", reason, fix="compile and launch the graph in the child")
            self._ended = threading.Event()
            self._ended.set()


_submitted: weakref.WeakSet[PendingGraph] = weakref.WeakSet()


def _after_fork() -> None:
    for pending in tuple(_submitted):
        pending.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class LaunchThread:
    """A thread that runs launches one after another. The first launch starts it.

    It is a daemon: at the end of the interpreter the engine decides how long work in flight is waited for.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[tuple[PendingGraph, Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._guard = ForkGuard()

    def submit(self, pending: PendingGraph, run: Callable[[], Arrays]) -> None:
        """Run a launch after all earlier ones."""
        with self._guard.lock:
            self._work.put((pending, run))
            if self._thread is None or not self._thread.is_alive():  # a forked process has no threads
                self._thread = threading.Thread(target=_serve, args=(self._work,), name=self._name, daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # at the end of the interpreter no thread starts
                    self._work.get()
                    pending.settle(run)

    def end(self) -> None:
        """End the thread after all submitted launches."""
        self._work.put(None)


def _serve(work: SimpleQueue[tuple[PendingGraph, Callable[[], Arrays]] | None]) -> None:
    while (entry := work.get()) is not None:
        pending, run = entry
        pending.settle(run)
        del entry, pending, run
