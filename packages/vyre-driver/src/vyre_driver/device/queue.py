"""A queue: one of the ways in which a device runs launches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Where launches can go. All queues of a device share its memory, its compiler and its results.

    `workers` is how many workgroups run at once. `launch_ns` is what a launch costs beside its work: enqueueing, waking
    who does it, and being woken at its end. `is_interruptible`: the host can stop waiting, so interrupts and timeouts
    get through; it cannot where the caller's own thread does the work.
    """

    name: str
    workers: int = 1
    launch_ns: float = 0.0
    is_interruptible: bool = True

    def predicted_ns(self, work_ns: float, groups: int) -> float:
        """How long a launch takes that is `work_ns` for one worker."""
        return self.launch_ns + work_ns / max(1, min(self.workers, groups))
