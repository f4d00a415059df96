"""What a backend did, counted exactly: each number is raised in one place, where the thing happens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from typing import Any


@dataclass(slots=True)
class Counters:
    """Counts since the backend began; they only grow. The caller holds the backend's lock.

    `plans`, `compiles`, `loads` and `prepares` count what a warm dispatch does not do. `loads` are modules from the
    store, `saves` modules that went there, `refused_loads` those that the device did not take back; the `missed_…` say
    why the store had nothing. `replays` are rows of launches that were enqueued as one, `waits` how often the host
    waited for launches to end. `copies_beside` are those copies for which launches that were enqueued were not waited
    for. What the device holds for the engine now is `bytes_allocated - bytes_freed`.

    The four `…_ns` are nanoseconds of what a warm dispatch does not do: checking and planning, legalizing and printing,
    the device's compiler and the cache, memory and arguments.
    """

    dispatches: int = 0
    failures: int = 0
    plans: int = 0
    compiles: int = 0
    loads: int = 0
    saves: int = 0
    refused_loads: int = 0
    missed_empty_cache: int = 0
    missed_program_changed: int = 0
    missed_dispatch_policy_changed: int = 0
    missed_device_or_runtime_changed: int = 0
    missed_key_absent: int = 0
    prepares: int = 0
    launches: int = 0
    replays: int = 0
    waits: int = 0
    fills: int = 0
    copies_in: int = 0
    copies_out: int = 0
    copies_beside: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    allocations: int = 0
    frees: int = 0
    bytes_allocated: int = 0
    bytes_freed: int = 0
    plan_ns: int = 0
    lower_ns: int = 0
    compile_ns: int = 0
    bind_ns: int = 0

    @contextmanager
    def timing(self, phase: str) -> Iterator[None]:
        """Add the time of the context to one of the `…_ns`, without what the context adds to the others."""
        started, before = time.perf_counter_ns(), self._phases_ns()
        try:
            yield
        finally:
            took = time.perf_counter_ns() - started - (self._phases_ns() - before)
            setattr(self, phase, getattr(self, phase) + took)

    def stage(self, name: str) -> AbstractContextManager[object]:
        """A context around a part of a phase. It counts nothing: a subclass may."""
        return nullcontext()

    def prepared(self, launch: Any) -> None:
        """Count a launch that was prepared. A subclass may look at it."""
        self.prepares += 1

    def _phases_ns(self) -> int:
        return self.plan_ns + self.lower_ns + self.compile_ns + self.bind_ns

    def snapshot(self) -> dict[str, int]:
        """All counts by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
