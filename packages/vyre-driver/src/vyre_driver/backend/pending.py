"""Dispatches that have begun."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator

from vyre_driver.backend.results import OutputBuffers, Outputs, replace_output_buffers_preserving_slots


class PendingDispatch(ABC):
    """A dispatch in flight. It keeps nothing of the caller's inputs; failures on the device come from the await.

    `await_result` may be called again: it gives the same outputs, or raises the same error.
    """

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether `await_result` would return at once."""

    @abstractmethod
    def await_result(self, timeout: float | None = None) -> Outputs:
        """The outputs; `DispatchTimeout` when they are not there within `timeout` seconds."""

    def await_result_into(self, outputs: OutputBuffers, timeout: float | None = None) -> None:
        """As `await_result`, into slots of the caller."""
        replace_output_buffers_preserving_slots(outputs, self.await_result(timeout))

    def __await__(self) -> Generator[None, None, Outputs]:
        """Give the event loop its turn until the outputs are there."""
        while not self.is_ready():
            yield
        return self.await_result()


class ReadyPending(PendingDispatch):
    """A dispatch that ended before its handle was made."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def is_ready(self) -> bool:
        return True

    def await_result(self, timeout: float | None = None) -> Outputs:
        return self._outputs
