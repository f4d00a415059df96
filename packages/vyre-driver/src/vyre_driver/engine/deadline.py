"""The timeout of one dispatch: a point in time that every stage is measured against."""

from __future__ import annotations

import time

from vyre_driver.errors import BackendError, DispatchTimeout


class Deadline:
    """When a dispatch that begins now must have ended. Without a timeout every question is answered at once."""

    __slots__ = ("_backend", "_end", "_label", "_seconds")

    def __init__(self, seconds: float | None, backend: str, label: str | None = None) -> None:
        self._seconds, self._backend, self._label = seconds, backend, label
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def is_set(self) -> bool:
        return self._end is not None

    def remaining(self) -> float | None:
        """Seconds that are left, at least 0; None without a timeout."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self, stage: str) -> None:
        """Raise `DispatchTimeout` if the time is over after `stage`."""
        if self._end is not None and time.monotonic() >= self._end:
            raise self.passed(stage)

    def passed(self, stage: str) -> DispatchTimeout:
        """The error that says in which stage the time ran out."""
        assert self._seconds is not None
        return DispatchTimeout(self._seconds, stage, backend=self._backend, where=self._label or "")


class Patience:
    """How long the calls of a port may wait.

    `deadline` is that of the dispatch which the engine is in, None without one. `stopped` is the error that ends every
    wait, because another thread closes the device. A port asks before each part of a wait.
    """

    __slots__ = ("deadline", "stopped")

    def __init__(self) -> None:
        self.deadline: Deadline | None = None
        self.stopped: BackendError | None = None

    def part(self, longest: float, stage: str = "the kernels") -> float:
        """How many seconds to wait now for `stage`, at most `longest`; raises when nothing is left to wait for."""
        if self.stopped is not None:
            raise self.stopped
        if self.deadline is None:
            return longest
        remaining = self.deadline.remaining()
        if remaining is None:
            return longest
        if not remaining:
            raise self.deadline.passed(stage)
        return min(longest, remaining)
