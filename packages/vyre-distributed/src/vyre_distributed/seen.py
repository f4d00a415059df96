"""What the workers of a cluster did, and when: one trace of all of them, and the costs of tasks by name.

Dask's scheduler knows when each task ran, moved data and used the disk; each worker adds the spans of its local
backend. Times are those of the clocks of the machines, which agree as well as the machines' clocks do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from dask.utils import key_split
from distributed import Client, default_client

from vyre_distributed.worker import WorkerSpans, begin_trace, end_trace
from vyre_driver.observe.trace import HOST, Trace, TraceSpan, Track

ACTIONS = ("compute", "transfer", "disk-read", "disk-write", "deserialize")


@dataclass(frozen=True, slots=True)
class TaskCost:
    """What the tasks of one name cost."""

    name: str
    """That of the tasks, without their numbers: of a program, of an algorithm, or one of Dask's own."""
    tasks: int
    """How many there were."""
    seconds: float
    """Of computing, of all of them together."""
    transfer_seconds: float
    """Of waiting for inputs from other workers."""
    disk_seconds: float
    """Of reading and writing what was spilled."""
    result_bytes: int
    """What they gave."""


class ClusterActivity:
    """The tasks that ran while `trace_workers` watched."""

    def __init__(self) -> None:
        self._records: list[Mapping[str, Any]] = []

    def costs(self) -> tuple[TaskCost, ...]:
        """The costs of tasks by name, the greatest first."""
        names: dict[str, list[Mapping[str, Any]]] = {}
        for record in self._records:
            names.setdefault(key_split(record["key"]), []).append(record)
        found = []
        for name, records in names.items():
            seconds = dict.fromkeys(ACTIONS, 0.0)
            for span in (span for record in records for span in record["startstops"]):
                seconds[span["action"]] = seconds.get(span["action"], 0.0) + span["stop"] - span["start"]
            disk = seconds["disk-read"] + seconds["disk-write"]
            size = sum(record.get("nbytes") or 0 for record in records)
            found.append(TaskCost(name, len(records), seconds["compute"], seconds["transfer"], disk, size))
        return tuple(sorted(found, key=lambda cost: -cost.seconds))

    def __str__(self) -> str:
        head = f"{'tasks':>7} {'compute s':>10} {'transfer s':>10} {'disk s':>8} {'MB':>8}  name"
        rows = [
            f"{c.tasks:7} {c.seconds:10.3f} {c.transfer_seconds:10.3f} {c.disk_seconds:8.3f}"
            f" {c.result_bytes / 1e6:8.1f}  {c.name}"
            for c in self.costs()
        ]
        return "\n".join([head, *rows])


@contextmanager
def trace_workers(trace: Trace, client: Client | None = None) -> Iterator[ClusterActivity]:
    """Add what all workers do inside the context to a trace.

    A worker is a process of the trace, with rows for tasks, transfers and the disk, and below them the rows of its
    backend. Workers use a fresh backend in the context, which compiles anew. A worker that starts in the context shows
    its tasks alone.

    Args:
        trace: Where the spans go, at the end of the context.
        client: A client; by default the current one of the process.

    Returns:
        The tasks and their costs, known after the context.
    """
    connected = default_client() if client is None else client
    connected.get_task_stream(count=0)  # the scheduler records from the first call on
    connected.run(begin_trace)
    activity, began = ClusterActivity(), time.time()
    try:
        yield activity
    finally:
        workers = connected.run(end_trace)
        activity._records = [*connected.get_task_stream(start=began)]
        for span in _merged(activity._records, workers):
            trace.add(span)


def _merged(records: Iterable[Mapping[str, Any]], workers: Mapping[str, WorkerSpans]) -> Iterator[TraceSpan]:
    """The spans of the scheduler's records and of the workers, on the clock of this process."""
    to_here = time.perf_counter_ns() - time.time_ns()
    names = {address: f"worker {spans.name} ({address})" for address, spans in workers.items()}
    rows: dict[tuple[str, str], list[TraceSpan]] = {}
    for record in records:
        process = names.get(record["worker"], f"worker ({record['worker']})")
        for span in record["startstops"]:
            row = {"compute": "tasks", "deserialize": "tasks", "transfer": "transfers"}.get(span["action"], "disk")
            begin, end = (int(span[when] * 1e9) + to_here for when in ("start", "stop"))
            name = key_split(record["key"]) if row == "tasks" else f"{span['action']} for {key_split(record['key'])}"
            facts = {"key": str(record["key"]), "status": record["status"], "result_bytes": record.get("nbytes")}
            rows.setdefault((process, row), []).append(
                TraceSpan(name, row, Track(process, row, 0), begin, max(begin, end), facts)
            )
    for spans in rows.values():
        yield from _side_by_side(spans)
    for address, worker in workers.items():
        for inner in worker.spans:
            thread = (
                inner.track.thread if inner.track.process == HOST else f"{inner.track.process} {inner.track.thread}"
            )
            track = Track(names[address], thread, inner.track.number)
            shift = worker.to_wall_ns + to_here
            yield replace(inner, track=track, begin_ns=inner.begin_ns + shift, end_ns=inner.end_ns + shift, flow=None)


def _side_by_side(spans: list[TraceSpan]) -> Iterator[TraceSpan]:
    """Spans of a row in as many rows as they need, so that none overlap."""
    ends: list[int] = []
    for span in sorted(spans, key=lambda span: span.begin_ns):
        number = next((n for n, end in enumerate(ends) if end <= span.begin_ns), len(ends))
        ends[number : number + 1] = [span.end_ns]
        yield replace(span, track=replace(span.track, thread=f"{span.track.thread} {number}", number=number - 100))
