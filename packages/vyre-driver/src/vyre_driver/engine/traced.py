"""A device port whose calls are spans of a trace, and counters whose phases are.

The engine has no code for traces: a traced backend is the same engine over another port. So a dispatch without a trace
costs what it would cost if there were none.

A traced port records nothing: what a sequence would replay at one call is launched one by one, so that each kernel has
its times. Kernels of one queue are in order, and their spans never overlap.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.pending import WaitLimit
from vyre_driver.engine.port import DevicePort, OpenPort, SourceUnit
from vyre_driver.errors import BackendError
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Target
from vyre_driver.observe.metrics import Counters
from vyre_driver.observe.trace import KernelRun, Trace, TraceSpan, Track, host_track
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.tune.candidate import TunedVariant
from vyre_foundation.dtype import DType

_PHASES = {"plan_ns": "plan", "lower_ns": "lower", "compile_ns": "find code", "bind_ns": "bind"}


class BoundLaunch(Protocol):
    """What the traced counters read of a launch that was prepared."""

    @property
    def plan(self) -> LaunchPlan:
        """The plan that it was made from."""

    @property
    def code(self) -> Any:
        """Its code, with the `module` of the port."""


class TracedCounters(Counters):
    """Counters whose phases are spans. They know which plan each module was prepared for."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._trace = trace
        self.plans_of: WeakKeyDictionary[TracedModule, dict[object, LaunchPlan]] = WeakKeyDictionary()
        """By module, and then by the grid and the lengths."""

    @contextmanager
    def timing(self, phase: str) -> Iterator[None]:
        """See `Counters.timing`."""
        with self._trace.span(_PHASES[phase], "engine"), super().timing(phase):
            yield

    def stage(self, name: str) -> AbstractContextManager[object]:
        """See `Counters.stage`."""
        return self._trace.span(name, "engine")

    def prepared(self, launch: BoundLaunch) -> None:
        """See `Counters.prepared`."""
        super().prepared(launch)
        plan = launch.plan
        self.plans_of.setdefault(launch.code.module, {})[plan.grid, tuple(plan.lengths.items())] = plan


@dataclass(slots=True, eq=False, weakref_slot=True)
class TracedModule:
    """A module of the inner port, and the queue that it was made for."""

    inner: Any
    queue: int


@dataclass(slots=True, eq=False)
class TracedLaunch:
    """A launch that was enqueued, at `began_ns` of the host. `awaited_ns` is when a wait for it has ended."""

    event: Any
    module: TracedModule
    kernel: str
    grid: Extent
    workgroup_size: Extent
    plan: LaunchPlan | None
    began_ns: int
    flow: int
    awaited_ns: int | None = None


class DeviceClock:
    """The difference between the clock of a device and that of the host, from what is certain.

    A kernel begins after the call that launches it has begun, and ends before a wait for it has ended. Each launch so
    bounds the difference from both sides. Where the bounds allow it, the clocks are the same; otherwise the kernel that
    followed its launch most closely began at once.
    """

    def __init__(self) -> None:
        self._low, self._high = -math.inf, math.inf

    def offset(self, launches: Sequence[tuple[int, int, int, int]]) -> int:
        """What to add to the times of a device, for launches as (host begin, host end, device begin, device end)."""
        new_low = max(host - device for host, _, device, _ in launches)
        new_high = min(host - device for _, host, _, device in launches)
        low, high = max(new_low, self._low), min(new_high, self._high)
        if low > high:  # the clocks drift apart: older bounds are worth nothing
            low, high = new_low, max(new_low, new_high)
        self._low, self._high = low, high
        return 0 if low <= 0 <= high else int(low)


class TracedPort(DevicePort[TracedModule, Any, TracedLaunch]):
    """Hands every call on to `inner`: those that take time are spans of their thread, kernels are spans of a queue."""

    emitter_version = ""
    is_traced = True

    def __init__(self, inner: DevicePort[Any, Any, Any], trace: Trace, counters: TracedCounters) -> None:
        self._inner, self._trace, self._counters = inner, trace, counters
        self.shares_host_memory = inner.shares_host_memory
        self.allocates_zeros = inner.allocates_zeros
        self.works_after_fork = inner.works_after_fork
        self.keeps_failures = inner.keeps_failures
        self.moves_code = inner.moves_code
        self._profile: DeviceProfile | None = None
        self._clock = DeviceClock()
        self._launched: deque[TracedLaunch] = deque()
        self._free_ns: dict[int, int] = {}

    @property
    def wait_limit(self) -> WaitLimit:
        """The inner port's."""
        return self._inner.wait_limit

    @property
    def package(self) -> str:
        """The inner port's: compiled code is the same."""
        return self._inner.package

    # ── what the device is ───────────────────────────────────────────────────────────────────────────────────────────

    def probe(self) -> DeviceProfile:
        with self._trace.span("open device", "device"):
            self._profile = self._inner.probe()
            return self._profile

    def target(self) -> Target:
        return self._inner.target()

    def show(self, lowered: Lowered) -> bool:
        with self._trace.span("prove operations", "device"):
            return self._inner.show(lowered)

    def show_everything(self) -> bool:
        with self._trace.span("prove operations", "device"):
            return self._inner.show_everything()

    # ── compile ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def emitter(self) -> str:
        return self._inner.emitter()

    def spellings(self) -> tuple[TunedVariant, ...]:
        return self._inner.spellings()

    def measure_spellings(self) -> tuple[TunedVariant, ...]:
        return self._inner.measure_spellings()

    def natives(self) -> Mapping[tuple[str, DType], str]:
        return self._inner.natives()

    def emit(self, lowered: Lowered) -> SourceUnit:
        with self._trace.span("emit", "engine", kernels=len(lowered.kernels)):
            return self._inner.emit(lowered)

    def compile(self, unit: SourceUnit, queue: int = 0) -> TracedModule:
        with self._trace.span("compile", "device", language=unit.language, characters=len(unit.text)):
            return TracedModule(self._inner.compile(unit, queue), queue)

    def for_queue(self, module: TracedModule, queue: int) -> TracedModule:
        if queue == module.queue:
            return module
        return TracedModule(self._inner.for_queue(module.inner, queue), queue)

    def describe(self, unit: SourceUnit) -> tuple[str, ...]:
        return self._inner.describe(unit)

    def binary(self, module: TracedModule) -> bytes | None:
        with self._trace.span("store code", "device"):
            return self._inner.binary(module.inner)

    def load(self, binary: bytes, queue: int = 0) -> TracedModule:
        with self._trace.span("load code", "device", bytes=len(binary)):
            return TracedModule(self._inner.load(binary, queue), queue)

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def allocate(self, size: int) -> Any:
        with self._trace.span("allocate", "memory", bytes=size):
            return self._inner.allocate(size)

    def fill(self, memory: Any, byte: int, size: int) -> None:
        with self._trace.span("fill", "memory", bytes=size):
            self._inner.fill(memory, byte, size)

    def copy_in(self, memory: Any, data: memoryview, offset: int = 0) -> None:
        with self._trace.span("upload", "memory", bytes=data.nbytes):
            self._inner.copy_in(memory, data, offset)

    def copy_out(self, memory: Any, into: memoryview, offset: int = 0) -> None:
        with self._trace.span("readback", "memory", bytes=into.nbytes):
            self._inner.copy_out(memory, into, offset)
        self._collect()

    def in_place(self, data: memoryview) -> Any | None:
        return self._inner.in_place(data)

    def wrap(self, foreign: object) -> Any | None:
        return self._inner.wrap(foreign)

    def export(self, memory: Any, size: int) -> object:
        return self._inner.export(memory, size)

    def free(self, memory: Any) -> None:
        self._inner.free(memory)

    # ── launch ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def launch(
        self,
        module: TracedModule,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[Any],
        *,
        timed: bool = False,
        longest: float = math.inf,
    ) -> TracedLaunch:
        began, flow = time.perf_counter_ns(), self._trace.next_flow()
        event = self._inner.launch(module.inner, kernel, grid, workgroup_size, args, timed=True, longest=longest)
        ended = time.perf_counter_ns()
        plan = self._plan(module, grid, args)
        name = kernel if plan is None else plan.program.name
        facts = {"kernel": kernel, "grid": list(grid)}
        self._trace.add(TraceSpan(f"launch {name}", "launch", host_track(), began, ended, facts, flow))
        launch = TracedLaunch(event, module, kernel, grid, workgroup_size, plan, began, flow)
        self._launched.append(launch)
        return launch

    def submit(self, event: TracedLaunch) -> None:
        self._inner.submit(event.event)

    def cancel(self, event: TracedLaunch) -> None:
        self._inner.cancel(event.event)

    def side_by_side(self, module: TracedModule, kernel: str, workgroup_size: Extent) -> int:
        return self._inner.side_by_side(module.inner, kernel, workgroup_size)

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, event: TracedLaunch, timeout: float | None = None) -> bool:
        with self._trace.span("wait", "wait") as facts:
            has_ended = self._inner.wait(event.event, timeout)
            facts["ended"] = has_ended
        if has_ended:
            event.awaited_ns = time.perf_counter_ns()
            self._collect()
        return has_ended

    def finish(self, timeout: float | None = None) -> bool:
        with self._trace.span("wait", "wait"):
            has_ended = self._inner.finish(timeout)
        if has_ended:
            self._collect()
        return has_ended

    def query(self, event: TracedLaunch) -> bool:
        return self._inner.query(event.event)

    def elapsed(self, event: TracedLaunch) -> int | None:
        return self._inner.elapsed(event.event)

    def times(self, event: TracedLaunch) -> tuple[int, int] | None:
        return self._inner.times(event.event)

    def close(self) -> None:
        self._collect()
        self._launched.clear()
        self._inner.close()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _plan(self, module: TracedModule, grid: Extent, args: Sequence[Any]) -> LaunchPlan | None:
        """The plan of a launch: of several for one module, that with the grid and the lengths that the kernel gets."""
        plans = list(self._counters.plans_of.get(module, {}).values())
        if len(plans) > 1:
            given = {arg for arg in args if isinstance(arg, int)}
            plans = [plan for plan in plans if given <= set(plan.lengths.values())] or plans
            plans.sort(key=lambda plan: plan.grid == grid)
        return plans[-1] if plans else None

    def _collect(self) -> None:
        """Add the kernels that have ended, the oldest first."""
        ended: list[TracedLaunch] = []
        try:
            while self._launched and self._inner.query(self._launched[0].event):
                ended.append(self._launched.popleft())
        except BackendError:  # of a kernel that failed, which nothing more is known about
            self._launched.popleft()
        if ended:
            self._add(ended, time.perf_counter_ns())

    def _add(self, launches: Sequence[TracedLaunch], now: int) -> None:
        awaited = [launch.awaited_ns or now for launch in launches]
        for n in range(len(awaited) - 2, -1, -1):  # the wait for a later one of a queue is one for an earlier
            awaited[n] = min(awaited[n], awaited[n + 1])
        known = [self._inner.times(launch.event) for launch in launches]
        pairs = [(li.began_ns, end, *t) for li, end, t in zip(launches, awaited, known, strict=True) if t is not None]
        offset = self._clock.offset(pairs) if pairs else 0
        for launch, end, times in zip(launches, awaited, known, strict=True):
            device_ns = self._inner.elapsed(launch.event)
            self._add_kernel(launch, end, None if times is None else (times[0] + offset, times[1] + offset), device_ns)

    def _add_kernel(
        self, launch: TracedLaunch, awaited: int, times: tuple[int, int] | None, device_ns: int | None
    ) -> None:
        queue = launch.module.queue
        free = self._free_ns.get(queue, 0)
        if times is None:  # it began at its launch, or behind the kernel before it
            begin = max(launch.began_ns, free)
            end = max(begin, awaited) if device_ns is None else begin + device_ns
        else:
            begin = max(times[0], free)
            end = max(begin, times[1])
        self._free_ns[queue] = end
        profile, plan = self._profile, launch.plan
        device = "device" if profile is None else f"{profile.backend}: {profile.device or 'device'}"
        names = () if profile is None else profile.queues
        queue_name = names[queue].name if queue < len(names) else f"queue {queue}"
        program = launch.kernel if plan is None else plan.program.name
        clock = "host" if device_ns is None else "device" if times is not None else "device, placed by the host"
        facts = {
            "kernel": launch.kernel,
            "grid": list(launch.grid),
            "workgroup_size": list(launch.workgroup_size),
            "clock": clock,
        }
        track = Track(device, queue_name, queue)
        self._trace.add(TraceSpan(program, "kernel", track, begin, end, facts, launch.flow))
        self._trace.add_kernel(
            KernelRun(
                program=program,
                kernel=launch.kernel,
                device=device,
                queue=queue_name,
                grid=launch.grid,
                workgroup_size=launch.workgroup_size,
                begin_ns=begin,
                end_ns=end,
                device_ns=device_ns,
                plan=plan,
            )
        )


@dataclass(frozen=True, slots=True)
class TracedOpening:
    """Opens a device as a traced port. A child process, which has no trace, opens it without one."""

    open_port: OpenPort
    trace: Trace
    counters: TracedCounters

    def __call__(self) -> DevicePort[Any, Any, Any]:
        """Open the device."""
        return TracedPort(self.open_port(), self.trace, self.counters)

    def __reduce__(self) -> tuple[Any, tuple[OpenPort]]:
        return _itself, (self.open_port,)


def _itself(open_port: OpenPort) -> OpenPort:
    return open_port
