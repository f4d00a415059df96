"""Profiling of the kernels of a dispatch or a graph: times, bytes and operations, relative to the roofs of the device.

The dispatch runs on a separate traced backend: once, including the work of a first dispatch, and then until the choice
of its queue is settled and `seconds` have passed. Times are measured by the device, and are medians over the runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import innermost
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.device.profile import Extent
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.graph.nodes import BufferKind, Graph
from vyre_driver.observe.live import traced
from vyre_driver.observe.progress import progress
from vyre_driver.observe.trace import KernelRun, Trace
from vyre_driver.plan.cost import work
from vyre_driver.policy.queue import duration
from vyre_driver.profiling import SECONDS
from vyre_driver.profiling.charts import bars, roofline
from vyre_driver.profiling.explain import explain, explain_graph
from vyre_driver.profiling.roofs import Roofs, roofs_of
from vyre_driver.profiling.verdicts import DispatchVerdict, verdict_lines, verdict_table
from vyre_driver.schedule.compiled import compile_graph
from vyre_foundation.ir.program import Program
from vyre_foundation.markup import escaped, folded, fragment, page, table

HEAD = (
    *("kernel", "queue", "launches", "time", "bytes", "GB/s", "memory"),
    *("operations", "Gop/s", "arithmetic", "limit"),
)
"""The columns of the table of kernels."""
LEAST_RUNS, MOST_RUNS = 5, 1000
WARM_RUNS = 12
"""Before anything counts: by then the queue of most launches is settled."""
FAR, ABOVE = 0.1, 1.2
"""Shares of a roof: far below it; and so far above that the bytes cannot come from memory."""
PHASES = ("plan", "optimize", "legalize", "emit", "compile", "load code", "bind")
"""The spans of a first dispatch that a profile shows."""


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """All launches of one program with one grid and one set of lengths.

    `ns` is the median time of a launch on the device, including all kernels of the program; None on a device without a
    clock. `launches` is the number of launches in one run. `operations` and `moved_bytes` are those of one launch; they
    are upper bounds unless `is_certain`, because loops may depend on data (see `plan.cost.WorkCount`), and None if the
    launch is not of a program. The shares are relative to the roofs, and None if either is unknown.
    """

    program: str
    queue: str
    grid: Extent
    kernels: int
    launches: int
    ns: float | None
    moved_bytes: float | None
    operations: float | None
    is_certain: bool
    memory_share: float | None
    arithmetic_share: float | None

    def __repr__(self) -> str:
        limit = f", limited by {self.limit}" if self.limit else ""
        return f"<KernelProfile of {self.program!r}: {self.launches} × {_time(self.ns)} on {self.queue!r}{limit}>"

    @property
    def bytes_per_second(self) -> float | None:
        """The bytes that it moves per second."""
        return None if self.moved_bytes is None or not self.ns else self.moved_bytes / self.ns * 1e9

    @property
    def operations_per_second(self) -> float | None:
        """The operations per second."""
        return None if self.operations is None or not self.ns else self.operations / self.ns * 1e9

    @property
    def intensity(self) -> float | None:
        """The operations for each moved byte."""
        return None if not self.moved_bytes or self.operations is None else self.operations / self.moved_bytes

    @property
    def limit(self) -> str:
        """The nearest roof: "memory", "caches" (more than memory can provide) or "arithmetic".

        It is "neither" if both are far, so that latency or the launch is the limit; "" if a roof is unknown.
        """
        if self.memory_share is None or self.arithmetic_share is None:
            return ""
        if max(self.memory_share, self.arithmetic_share) < FAR:
            return "neither"
        if self.arithmetic_share > self.memory_share:
            return "arithmetic"
        return "memory" if self.memory_share < ABOVE else "caches"


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchProfile:
    """The profile of a dispatch or a graph.

    `wall_ns` is the median time of a run on the host. `first_ns` is the time of the first run, whose parts are
    `phases`, in nanoseconds. `kernels` is ordered by time, the longest first.
    """

    name: str
    backend: str
    device: str
    runs: int
    wall_ns: float
    first_ns: int
    phases: Mapping[str, int]
    kernels: tuple[KernelProfile, ...]
    roofs: Roofs | None
    verdicts: tuple[DispatchVerdict, ...]

    @property
    def device_ns(self) -> float | None:
        """The time of all kernels of one run; None on a device without a clock."""
        times = [None if kernel.ns is None else kernel.ns * kernel.launches for kernel in self.kernels]
        return None if None in times else sum(time for time in times if time is not None)

    def __repr__(self) -> str:
        device = self.device_ns
        busy = "" if device is None else f", {_time(device)} on the device"
        return f"<Profile of {self.name!r} on {self.backend!r}: {_time(self.wall_ns)} a run{busy}>"

    def __str__(self) -> str:
        """Tables: kernels, the first run, and the verdicts."""
        lines = [repr(self)[1:-1], "", *_columns([HEAD, *map(_row, self.kernels)])]
        if self.roofs is not None:
            lines.append(f"roofs: {self.roofs}")
        parts = ", ".join(f"{name} {_time(ns)}" for name, ns in self.phases.items())
        lines += ["", f"first run: {_time(self.first_ns)}" + (f": {parts}" if parts else "")]
        if self.verdicts:
            lines += ["", *verdict_lines(self.verdicts)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        times = [
            (k.program, k.ns * k.launches, f"{_time(k.ns)} × {k.launches}") for k in self.kernels if k.ns is not None
        ]
        parts = [bars(times)] if times else []
        parts.append(table(HEAD, map(_row, self.kernels), range(2, len(HEAD) - 1)))
        if self.roofs is not None:
            points = [
                (k.program, k.intensity, k.operations_per_second)
                for k in self.kernels
                if k.intensity and k.operations_per_second
            ]
            parts.append(roofline(points, self.roofs.bytes_per_second, self.roofs.operations_per_second))
            parts.append(escaped(f"roofs: {self.roofs}"))
        phases = [(name, float(ns), _time(ns)) for name, ns in self.phases.items()]
        parts.append(folded(f"first run: {_time(self.first_ns)}", bars(phases)))
        parts.append(folded(f"{len(self.verdicts)} verdicts", verdict_table(self.verdicts)))
        busy = "" if self.device_ns is None else f", {_time(self.device_ns)} on the device"
        note = f"on {self.backend} ({self.device}): {_time(self.wall_ns)} a run{busy}"
        return fragment(f"profile of {self.name}", note, *parts)

    def to_html(self) -> str:
        """Return the profile as a self-contained HTML page."""
        return page(f"{self.name} on {self.backend}", self._repr_html_())

    def to_json(self) -> dict[str, Any]:
        """Return the profile as a JSON object."""
        kernels = []
        for kernel in self.kernels:
            derived = {name: getattr(kernel, name) for name in ("bytes_per_second", "operations_per_second", "limit")}
            kernels.append({**asdict(kernel), **derived})
        found = {name: getattr(self, name) for name in ("name", "backend", "device", "runs", "wall_ns", "first_ns")}
        roofs = None if self.roofs is None else asdict(self.roofs)
        verdicts = [verdict.to_json() for verdict in self.verdicts]
        parts = {"phases": dict(self.phases), "kernels": kernels, "roofs": roofs, "verdicts": verdicts}
        return {**found, "device_ns": self.device_ns, **parts}


def profile(
    program: Program,
    arrays: Mapping[str, object],
    backend: VyreBackend,
    config: DispatchConfig = DEFAULT_CONFIG,
    *,
    seconds: float = SECONDS,
    roofs: bool = True,
) -> DispatchProfile:
    """Profile the dispatches of a program.

    Args:
        program: The program.
        arrays: The inputs by buffer name.
        backend: The backend of the device. It is not used itself: the device is opened a second time.
        config: The options of the dispatches.
        seconds: How long to run, after the first runs; at least five runs count.
        roofs: Whether to measure the roofs of the device if they are not known, which takes about a second.

    Returns:
        The profile.

    Raises:
        UnsupportedFeature: The backend does not use the engine, so its kernels are not known.
        InvalidInput: An input, which the error names, is missing, unknown, or of another type.
    """
    ordered_inputs(program, arrays)

    def runner(watched: VyreBackend) -> tuple[Callable[[], object], Callable[[], tuple[DispatchVerdict, ...]]]:
        return (
            lambda: watched.dispatch_arrays(program, arrays, config),
            lambda: explain(program, arrays, watched, config).verdicts,
        )

    return _profiled(program.name, backend, runner, seconds, roofs=roofs)


def profile_graph(
    graph: Graph,
    arrays: Mapping[str, object],
    backend: VyreBackend,
    *,
    fusion: bool = True,
    seconds: float = SECONDS,
    roofs: bool = True,
) -> DispatchProfile:
    """Profile the launches of a graph.

    Args:
        graph: The graph. It has no resident buffers: their memory would belong to another backend.
        arrays: The inputs by name.
        backend: As for `profile`.
        fusion: As for `compile_graph`.
        seconds: As for `profile`.
        roofs: As for `profile`.

    Returns:
        The profile. Kernels are launched one by one, where a launch of the graph may replay them at one call.

    Raises:
        InvalidGraph: With all findings.
        UnsupportedFeature: As for `profile`; or the graph has resident buffers.
    """
    if graph.of(BufferKind.RESIDENT):
        fix = "record the graph with inputs and outputs in their place"
        raise UnsupportedFeature("profiles of graphs with resident buffers", backend=backend.id(), fix=fix)

    def runner(watched: VyreBackend) -> tuple[Callable[[], object], Callable[[], tuple[DispatchVerdict, ...]]]:
        run = compile_graph(graph, watched, fusion=fusion)
        return lambda: run.run(arrays), lambda: explain_graph(run).verdicts

    return _profiled(graph.name, backend, runner, seconds, roofs=roofs)


def _profiled(
    name: str,
    backend: VyreBackend,
    runner: Callable[[VyreBackend], tuple[Callable[[], object], Callable[[], tuple[DispatchVerdict, ...]]]],
    seconds: float,
    *,
    roofs: bool,
) -> DispatchProfile:
    inner = innermost(backend)
    if not isinstance(inner, EngineBackend):
        fix = "name a backend that compiles, such as those that `vyre backends` lists as automatic"
        raise UnsupportedFeature("profiles: nothing knows its kernels", backend=backend.id(), fix=fix)
    trace = Trace()
    watched = traced(inner, trace)
    try:
        started = time.perf_counter_ns()
        run, verdicts = runner(watched)
        run()
        first_ns = time.perf_counter_ns() - started
        phases = _phases(trace)
        with progress(f"profile {name}", 3) as done:
            for _ in range(WARM_RUNS):
                run()
            done(1)
            trace.kernels.clear()
            walls = _timed(run, seconds)
            kernels = tuple(trace.kernels)
            done(1)
            found = roofs_of(inner, measure=roofs)
            done(1)
        made = DispatchProfile(
            name=name,
            backend=backend.id(),
            device=watched.device_profile().device,
            runs=len(walls),
            wall_ns=median(walls),
            first_ns=first_ns,
            phases=phases,
            kernels=_kernels(kernels, len(walls), found),
            roofs=found,
            verdicts=(*_code(phases), *(verdict for verdict in verdicts() if verdict.subject != "code")),
        )
    finally:
        watched.shutdown()
    return made


def _timed(run: Callable[[], object], seconds: float) -> list[int]:
    """The times of many runs."""
    walls: list[int] = []
    end = time.perf_counter() + seconds
    while len(walls) < LEAST_RUNS or (time.perf_counter() < end and len(walls) < MOST_RUNS):
        started = time.perf_counter_ns()
        run()
        walls.append(time.perf_counter_ns() - started)
    return walls


def _phases(trace: Trace) -> dict[str, int]:
    """The time of each phase until now, for those that came."""
    totals = dict.fromkeys(PHASES, 0)
    for span in trace.spans():
        if span.name in totals and span.category in ("engine", "device"):
            totals[span.name] += span.end_ns - span.begin_ns
    return {name: ns for name, ns in totals.items() if ns}


def _code(phases: Mapping[str, int]) -> Iterator[DispatchVerdict]:
    """Where the code of the first run came from; later ones have it in memory."""
    if "compile" in phases:
        yield DispatchVerdict("code", "compiled", "the store had none", {"ns": phases["compile"]})
    elif "load code" in phases:
        reason = "an earlier process has compiled it"
        yield DispatchVerdict("code", "loaded from the store", reason, {"ns": phases["load code"]})


def _kernels(runs: Sequence[KernelRun], times: int, roofs: Roofs | None) -> tuple[KernelProfile, ...]:
    """One profile for all launches that are alike, the longest first."""
    alike: dict[object, list[KernelRun]] = {}
    for run in runs:
        lengths = None if run.plan is None else (run.plan.grid, tuple(run.plan.lengths.items()))
        alike.setdefault((run.program, lengths), []).append(run)
    found = [_kernel(part, share * times, roofs) for group in alike.values() for part, share in _by_queue(group)]
    return tuple(sorted(found, key=lambda kernel: -(kernel.ns or 0) * kernel.launches))


def _by_queue(group: Sequence[KernelRun]) -> Iterator[tuple[Sequence[KernelRun], float]]:
    """The launches of each queue, and the share of the runs that they are of.

    Where a queue has taken the place of another, the launches of the last one alone count: its choice is settled.
    """
    queues: dict[str, list[int]] = {}
    for position, run in enumerate(group):
        queues.setdefault(run.queue, []).append(position)
    last = queues[group[-1].queue]
    if last[-1] - last[0] + 1 == len(last):  # no other queue has launched in between
        yield [group[position] for position in last], len(last) / len(group)
        return
    for positions in queues.values():
        yield [group[position] for position in positions], 1.0


def _kernel(group: Sequence[KernelRun], times: float, roofs: Roofs | None) -> KernelProfile:
    by_name: dict[str, list[int | None]] = {}
    for run in group:
        by_name.setdefault(run.kernel, []).append(run.device_ns)
    first, fewest = group[0], min(map(len, by_name.values()))
    # A program may be split into several kernels, which may run several times in one dispatch.
    medians = [_median(ns) for ns in by_name.values()]
    per_launch = [len(ns) / fewest for ns in by_name.values()]
    ns = None if None in medians else sum(m * n for m, n in zip(medians, per_launch, strict=True) if m is not None)
    done = None if first.plan is None else work(first.plan)
    moved, operations = (None, None) if done is None else (done.moved_bytes, done.operations)
    return KernelProfile(
        program=first.program,
        queue=first.queue,
        grid=first.grid if first.plan is None else first.plan.grid,
        kernels=len(by_name),
        launches=max(1, round(fewest / times)),
        ns=ns,
        moved_bytes=moved,
        operations=operations,
        is_certain=done is not None and done.is_certain,
        memory_share=None if roofs is None else _share_of(moved, ns, roofs.bytes_per_second),
        arithmetic_share=None if roofs is None else _share_of(operations, ns, roofs.operations_per_second),
    )


def _share_of(amount: float | None, ns: float | None, roof: float) -> float | None:
    return None if amount is None or not ns else amount / ns * 1e9 / roof


def _median(times: Sequence[int | None]) -> float | None:
    known = [time for time in times if time is not None]
    return median(known) if len(known) == len(times) else None


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _row(kernel: KernelProfile) -> tuple[str, ...]:
    most = "" if kernel.is_certain else "≤ "
    name = kernel.program if kernel.kernels == 1 else f"{kernel.program} ({kernel.kernels} kernels)"
    return (
        name,
        kernel.queue,
        str(kernel.launches),
        _time(kernel.ns),
        most + _count(kernel.moved_bytes),
        _count(kernel.bytes_per_second, 1e9),
        _share(kernel.memory_share),
        most + _count(kernel.operations),
        _count(kernel.operations_per_second, 1e9),
        _share(kernel.arithmetic_share),
        kernel.limit,
    )


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text, numbers = slice(2), slice(2, -1)
    return [
        "  ".join(
            [
                *map(str.ljust, row[text], widths[text]),
                *map(str.rjust, row[numbers], widths[numbers]),
                row[-1],
            ]
        ).rstrip()
        for row in rows
    ]


def _time(ns: float | None) -> str:
    return "–" if ns is None else duration(ns)


def _count(number: float | None, unit: float | None = None) -> str:
    """A number in a unit, or with the prefix that fits."""
    if number is None:
        return "–"
    if unit is not None:
        return f"{number / unit:.3g}"
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {prefix}"
    return f"{number:.0f}"


def _share(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
