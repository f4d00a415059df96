"""Handles of submitted dispatches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING

import lazy_loader

from vyre_driver.backend.config import require_wait
from vyre_driver.backend.results import OutputBuffers, Outputs, replace_output_buffers_preserving_slots

if TYPE_CHECKING:
    import asyncio
else:
    # Its import takes longer than the rest of this package, and only callers who await need it.
    asyncio = lazy_loader.load("asyncio")

SHORTEST_PAUSE, LONGEST_PAUSE = 2e-5, 2e-3
"""The shortest and the longest interval, in seconds, between two checks of an awaited dispatch."""


class PendingDispatch(ABC):
    """A submitted dispatch.

    The handle keeps the inputs alive as long as they are needed. `await_result` raises failures of the device. It may
    be called again, and then returns the same outputs or raises the same error. Handles may be awaited in any order,
    from any thread, or not at all. After an interrupt or a timeout, the dispatch stays in flight.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'ready' if self.is_ready() else 'in flight'}>"

    @abstractmethod
    def is_ready(self) -> bool:
        """Return whether `await_result` would return without waiting."""

    @abstractmethod
    def await_result(self, timeout: float | None = None) -> Outputs:
        """Wait for the dispatch.

        Args:
            timeout: The limit of the wait in seconds. None: no limit. 0: check once, without waiting.

        Returns:
            The outputs in binding order.

        Raises:
            DispatchTimeout: The dispatch has not ended in time.
            InvalidInput: `timeout` is not a valid number of seconds.
            BackendError: The dispatch failed.
        """

    def await_result_into(self, outputs: OutputBuffers, timeout: float | None = None) -> None:
        """Wait as `await_result`, and store the outputs as `VyreBackend.dispatch_borrowed_into`."""
        replace_output_buffers_preserving_slots(outputs, self.await_result(timeout))

    def __await__(self) -> Generator[None, None, Outputs]:
        """Await the outputs in an event loop of asyncio, which checks the dispatch at increasing intervals."""
        pause = 0.0
        while not self.is_ready():
            yield from asyncio.sleep(pause).__await__()
            pause = min(2 * pause + SHORTEST_PAUSE, LONGEST_PAUSE)
        return self.await_result()


class ReadyPending(PendingDispatch):
    """A dispatch that ended before its handle was returned."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def is_ready(self) -> bool:
        """Return True."""
        return True

    def await_result(self, timeout: float | None = None) -> Outputs:
        """Return the outputs. `timeout` is only checked."""
        require_wait(timeout)
        return self._outputs
