"""How much an evaluation may do, so that no program can hold the oracle for ever."""

from __future__ import annotations

import time

from vyre_driver.errors import DispatchTimeout
from vyre_reference.errors import OutOfFuel


class Budget:
    """Fuel and time. A step is one statement, or one iteration of a loop, of one invocation; None means no limit.

    `OutOfFuel` is raised when the steps are spent, `DispatchTimeout` for `backend` when `seconds` have passed since the
    budget was made. Both evaluators count the same steps.
    """

    __slots__ = ("_deadline", "backend", "left", "seconds", "steps")

    def __init__(self, steps: int | None = None, seconds: float | None = None, backend: str = "reference") -> None:
        self.steps, self.seconds, self.backend = steps, seconds, backend
        self.left = steps
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def spend(self, steps: int = 1) -> None:
        """Take `steps` from what is left."""
        if self.left is not None:
            assert self.steps is not None
            self.left -= steps
            if self.left < 0:
                raise OutOfFuel(self.steps)
        if self._deadline is not None and time.monotonic() > self._deadline:
            assert self.seconds is not None
            raise DispatchTimeout(self.seconds, "the evaluation", backend=self.backend)
