"""Traces for trace viewers: the work of each thread of the host and of each queue of a device over time.

A trace is a list of spans. `Trace.write` makes the trace-event JSON that Perfetto (ui.perfetto.dev) and
``chrome://tracing`` open. Host times are those of `time.perf_counter_ns`; the times of kernels are moved to that clock.
"""

from __future__ import annotations

import atexit
import itertools
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vyre_driver.observe.calls import CallRecord
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    from vyre_driver.device.profile import Extent
    from vyre_driver.plan.launch import LaunchPlan

MAX_SPANS = 1_000_000
"""Spans that a trace keeps. Later ones are counted and dropped: viewers open no larger files."""
HOST = "host"
"""The process of a trace whose tracks are the threads of this process."""


@dataclass(frozen=True, slots=True)
class Track:
    """A row of a trace: a thread of the host, or a queue of a device. `number` distinguishes rows of the same name."""

    process: str
    thread: str
    number: int


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """An interval on a track. Spans of one track are nested or disjoint.

    A viewer shows the `facts`, and an arrow from the host to the device between spans with the same `flow`.
    """

    name: str
    category: str
    track: Track
    begin_ns: int
    end_ns: int
    facts: Mapping[str, object] = field(default_factory=dict)
    flow: int | None = None


@dataclass(frozen=True, slots=True)
class KernelRun:
    """One launch of a kernel that has ended.

    `device_ns` is its time by the clock of the device. It is None if the device has no clock; then `begin_ns` and
    `end_ns` are times of the host, from the launch to the end of the wait. `plan` is None for a kernel that the engine
    did not bind, such as one of a proof.
    """

    program: str
    kernel: str
    device: str
    queue: str
    grid: Extent
    workgroup_size: Extent
    begin_ns: int
    end_ns: int
    device_ns: int | None
    plan: LaunchPlan | None


class Trace:
    """Collects spans from any thread."""

    def __init__(self, most: int = MAX_SPANS) -> None:
        self._most, self._guard = most, ForkGuard()
        self._spans: list[TraceSpan] = []
        self._flows = itertools.count(1)
        self.began_ns = time.perf_counter_ns()
        """The zero of the times in the file."""
        self.kernels: list[KernelRun] = []
        """The launches of kernels that have ended, in the order of their ends."""
        self.dropped = 0
        """Spans that came after the trace was full."""

    def __repr__(self) -> str:
        dropped = f", {self.dropped} dropped" if self.dropped else ""
        return f"<Trace: {len(self._spans)} spans, {len(self.kernels)} kernels{dropped}>"

    @contextmanager
    def span(self, name: str, category: str, **facts: object) -> Iterator[dict[str, object]]:
        """Return a context that adds a span of this thread.

        Args:
            name: The name in the viewer.
            category: Its category, such as "engine" or "call".
            **facts: Facts that the viewer shows.

        Returns:
            The facts. More can be added before the context ends.
        """
        begin = time.perf_counter_ns()
        try:
            yield facts
        except BaseException as error:
            facts["error"] = f"{type(error).__name__}: {error}"
            raise
        finally:
            self.add(TraceSpan(name, category, host_track(), begin, time.perf_counter_ns(), facts))

    def add(self, span: TraceSpan) -> None:
        """Add a span that has ended."""
        with self._guard.lock:
            if len(self._spans) < self._most:
                self._spans.append(span)
            else:
                self.dropped += 1

    def add_kernel(self, run: KernelRun) -> None:
        """Add a launch of a kernel that has ended."""
        with self._guard.lock:
            if len(self.kernels) < self._most:
                self.kernels.append(run)

    def next_flow(self) -> int:
        """Return a new number for spans that an arrow joins."""
        return next(self._flows)

    def spans(self) -> tuple[TraceSpan, ...]:
        """Return all spans that have ended, in no particular order."""
        with self._guard.lock:
            return tuple(self._spans)

    def to_json(self) -> dict[str, Any]:
        """Return the trace as a document of the trace-event format, with times in microseconds."""
        spans = sorted(self.spans(), key=lambda span: (span.begin_ns, -span.end_ns))
        tracks = sorted({span.track for span in spans}, key=lambda t: (t.process != HOST, t.process, t.number))
        processes = {name: number for number, name in enumerate(dict.fromkeys(t.process for t in tracks), start=1)}
        threads = {track: number for number, track in enumerate(tracks, start=1)}
        events: list[dict[str, Any]] = []
        for name, pid in processes.items():
            shown = f"{name} (process {os.getpid()})" if name == HOST else name
            events.append(_metadata("process_name", pid, 0, {"name": shown}))
            events.append(_metadata("process_sort_index", pid, 0, {"sort_index": pid}))
        for track, tid in threads.items():
            events.append(_metadata("thread_name", processes[track.process], tid, {"name": track.thread}))
            events.append(_metadata("thread_sort_index", processes[track.process], tid, {"sort_index": tid}))
        for span in spans:
            place = {"pid": processes[span.track.process], "tid": threads[span.track]}
            ts = (span.begin_ns - self.began_ns) / 1e3
            complete = {"ph": "X", "name": span.name, "cat": span.category, "ts": ts, **place}
            events.append({**complete, "dur": (span.end_ns - span.begin_ns) / 1e3, "args": dict(span.facts)})
            if span.flow is not None:
                arrow = {"name": "launch", "cat": "launch", "id": span.flow, "ts": ts, **place}
                events.append({"ph": "s", **arrow} if span.track.process == HOST else {"ph": "f", "bp": "e", **arrow})
        about = {"producer": "vyre", "dropped_spans": str(self.dropped)}
        return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file, as JSON.

        Args:
            path: The file. ``{pid}`` in its name becomes the id of this process.

        Raises:
            OSError: The file cannot be written.
        """
        text = json.dumps(self.to_json(), default=str)
        trace_file(path).write_text(text + "\n", "utf-8")


def trace_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of this process: ``{pid}`` in `path` is replaced by its id."""
    return Path(str(path).replace("{pid}", str(os.getpid())))


def host_track() -> Track:
    """Return the track of the calling thread."""
    thread = threading.current_thread()
    return Track(HOST, thread.name, thread.ident or 0)


def trace_calls(trace: Trace) -> Callable[[CallRecord], Any]:
    """Return an observer of calls (see `observe.calls`) that adds a span for each call.

    Args:
        trace: Where the spans go.
    """

    @contextmanager
    def observe(call: CallRecord) -> Iterator[None]:
        name = f"{call.method} {call.program}".rstrip()
        known: dict[str, object] = {"backend": call.backend, "input_bytes": call.input_bytes}
        if call.label:
            known["label"] = call.label
        with trace.span(name, "call", **known) as facts:
            yield
            facts["output_bytes"] = call.output_bytes

    return observe


@cache
def process_trace(path: str) -> Trace:
    """Return the trace of this process for a file, which is written when the interpreter ends.

    Args:
        path: As for `Trace.write`.
    """
    trace, process = Trace(), os.getpid()

    def write() -> None:
        if os.getpid() != process:  # a forked child has the spans of its parent
            return
        try:
            trace.write(path)
        except OSError as error:
            fix = "set VYRE_TRACE to a file that can be written"
            reason = error.strerror or error
            logging.getLogger("vyre.trace").error("%s: the trace is lost: %s. Fix: %s", trace_file(path), reason, fix)

    atexit.register(write)
    return trace


def _metadata(name: str, pid: int, tid: int, args: Mapping[str, object]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": args}
