"""Dispatches that have begun."""

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
"""Seconds between two looks at a dispatch that is awaited."""


class PendingDispatch(ABC):
    """A dispatch in flight.

    It keeps what it needs of the caller's inputs alive; failures on the device are raised by the await.

    `await_result` may be called again: it gives the same outputs, or raises the same error. Handles may be awaited in
    any order, from any thread, or not at all. An interrupt, or the end of `timeout`, leaves the dispatch in flight.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'ready' if self.is_ready() else 'in flight'}>"

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether `await_result` would return at once."""

    @abstractmethod
    def await_result(self, timeout: float | None = None) -> Outputs:
        """The outputs; `DispatchTimeout` when they are not there within `timeout` seconds.

        With a `timeout` of 0 it asks once and does not wait; `InvalidInput` for one that is no number of seconds.
        """

    def await_result_into(self, outputs: OutputBuffers, timeout: float | None = None) -> None:
        """As `await_result`, into slots of the caller."""
        replace_output_buffers_preserving_slots(outputs, self.await_result(timeout))

    def __await__(self) -> Generator[None, None, Outputs]:
        """Let the event loop of asyncio go on until the outputs are there. It is asked less and less often."""
        pause = 0.0
        while not self.is_ready():
            yield from asyncio.sleep(pause).__await__()
            pause = min(2 * pause + SHORTEST_PAUSE, LONGEST_PAUSE)
        return self.await_result()


class ReadyPending(PendingDispatch):
    """A dispatch that ended before its handle was made."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def is_ready(self) -> bool:
        """Always true."""
        return True

    def await_result(self, timeout: float | None = None) -> Outputs:
        """The outputs, at once; `timeout` is only checked."""
        require_wait(timeout)
        return self._outputs
