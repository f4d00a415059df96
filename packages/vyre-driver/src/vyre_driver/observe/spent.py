"""Where the time of a backend's calls goes, by method and program: a table for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.observe.calls import CallRecord

PHASES = ("plan", "lower", "compile", "bind")
"""What a warm dispatch does not do: the `…_ns` of a backend's counters."""
TIMED = ("enqueue", "wait", "device")
"""What timed dispatches tell of the rest."""
COUNTED = ("plans", "compiles", "prepares", "launches", "waits")


@dataclass(slots=True)
class CallTotals:
    """The calls of one method for one program. `ns` are times by phase, `counts` are what the backend has counted.

    Times of `TIMED` are there if all calls of the row are known to have them.
    """

    calls: int
    wall_ns: int
    ns: dict[str, int]
    counts: dict[str, int]

    @property
    def rest_ns(self) -> int:
        """The time of no phase: copies, enqueueing, waiting."""
        return self.wall_ns - sum(self.ns[phase] for phase in PHASES)


class Spent:
    """An observer for `observed`, which adds up the calls that it sees; those of other threads blur its counts.

    Args:
        backend: Its counters say what a call has done.
    """

    def __init__(self, backend: VyreBackend) -> None:
        self._backend = backend
        self.rows: dict[tuple[str, str], CallTotals] = {}
        """By method and name of the program, in the order of their first calls."""

    @contextmanager
    def __call__(self, call: CallRecord) -> Iterator[None]:
        """Attribute to `call` what the metrics of the backend gain while it runs."""
        before = self._backend.backend_metric_snapshot()
        try:
            yield
        finally:
            after = self._backend.backend_metric_snapshot()
            self._add(call, {name: value - before.get(name, 0) for name, value in after.items()})

    def __str__(self) -> str:
        """Milliseconds of each row, and what was counted: what takes most comes first."""
        head = ("method", "program", "calls", "ms", *PHASES, "rest", *TIMED, *COUNTED)
        rows = sorted(self.rows.items(), key=lambda item: -item[1].wall_ns)
        lines = [head, *(_line(method, program, row) for (method, program), row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([*map(str.ljust, line[:2], widths[:2]), *map(str.rjust, line[2:], widths[2:])]) for line in lines
        )

    def _add(self, call: CallRecord, counted: dict[str, int]) -> None:
        ns = {phase: counted.get(f"{phase}_ns", 0) for phase in PHASES}
        times = (call.enqueue_ns, call.wait_ns, call.device_ns)
        ns |= {name: time for name, time in zip(TIMED, times, strict=True) if time is not None}
        counts = {name: counted.get(name, 0) for name in COUNTED}
        row = self.rows.get((call.method, call.program))
        if row is None:
            self.rows[call.method, call.program] = CallTotals(1, call.wall_ns, ns, counts)
            return
        row.calls += 1
        row.wall_ns += call.wall_ns
        row.ns = {name: row.ns[name] + ns[name] for name in row.ns if name in ns}
        row.counts = {name: row.counts[name] + counts[name] for name in COUNTED}


def _line(method: str, program: str, row: CallTotals) -> tuple[str, ...]:
    times = [row.wall_ns, *(row.ns[phase] for phase in PHASES), row.rest_ns, *(row.ns.get(name) for name in TIMED)]
    shown = ["–" if time is None else f"{time / 1e6:.3f}" for time in times]
    return method, program, str(row.calls), *shown, *(str(row.counts[name]) for name in COUNTED)
