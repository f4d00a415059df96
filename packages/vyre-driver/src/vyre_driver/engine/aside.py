"""Calls that may take long, on threads of their own: the caller waits on a lock.

What blocks in native code hears no signal of the host, and has no timeout; a lock of Python has both. A thread may be
left behind in a call that never ends, and so be there when the interpreter ends: what it calls must not need the
interpreter's lock on its way out, as `ctypes` does not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from vyre_driver.engine.pending import Ledger, WaitLimit, register
from vyre_driver.engine.port import LONGEST_WAIT


class AsyncCall(Ledger):
    """A call that begins now, and what it `gave` at its end. Until then it lives, and all that it refers to.

    `function` may not raise. At the end of the interpreter, when no thread starts, it is called here.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function: Callable[[], Any] | None = function
        self.gave: Any = None
        self.is_running = True
        self.ended = threading.Lock()
        self.ended.acquire()
        register(self)
        try:
            worker = _idle.pop() if _idle else CallThread()
        except IndexError:  # another thread was faster
            worker = CallThread()
        except RuntimeError:
            self.run()
            return
        worker.take(self)

    def run(self) -> None:
        """Run the call and publish its result."""
        function, self._function = self._function, None
        assert function is not None
        self.gave = function()
        self.is_running = False
        self.ended.release()

    def sweep(self) -> bool:
        """Whether the call is running."""
        return self.is_running

    def result(self, wait_limit: WaitLimit, stage: str) -> Any:
        """Wait for what the call gives. A deadline, an interrupt or the end of the device leave it running."""
        while self.is_running:
            self.ended.acquire(timeout=wait_limit.seconds(LONGEST_WAIT, stage))
        return self.gave


class CallThread:
    """A thread that makes one call after the other."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[AsyncCall] = SimpleQueue()
        threading.Thread(target=self._run, name="vyre-aside", daemon=True).start()

    def take(self, call: AsyncCall) -> None:
        """Run a call after those that were given before."""
        self._calls.put(call)

    def _run(self) -> None:
        while True:
            call = self._calls.get()
            call.run()
            del call
            _idle.append(self)


_idle: list[CallThread] = []
"""As many as there were calls at the same time."""


def idle_threads() -> int:
    """How many threads wait for a call."""
    return len(_idle)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # the threads stay in the parent
