"""A dispatch with everything bound: device memory, uploads, fills, arguments, readbacks. Running it decides nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Protocol

import numpy as np

from vyre_driver.backend.results import Outputs, TimedDispatchResult
from vyre_driver.device.profile import Extent
from vyre_driver.engine.bounds import LaunchValues, evaluate
from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.code import Code
from vyre_driver.engine.device import Allocation, Device
from vyre_driver.engine.schedule import SetCounter, counters_of, walk
from vyre_driver.engine.traps import raise_trap
from vyre_driver.lower.lowered import Launch
from vyre_driver.plan.launch import LaunchPlan


class Runnable(Protocol):
    """What the dispatcher keeps for one shape of one program."""

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """Device memory that it holds between dispatches."""

    def run(self, inputs: Sequence[memoryview], deadline: Deadline, *, timed: bool) -> TimedDispatchResult:
        """One dispatch. `timed` asks the device for its part of the time."""


@dataclass(frozen=True, slots=True)
class EmptyLaunch:
    """A grid without workgroups: the outputs are what they were before the dispatch, and no device is needed."""

    plan: LaunchPlan

    @property
    def owned(self) -> tuple[Allocation, ...]:
        return ()

    def run(self, inputs: Sequence[memoryview], deadline: Deadline, *, timed: bool) -> TimedDispatchResult:
        started = time.perf_counter_ns()
        given = dict(zip(self.plan.inputs, inputs, strict=True))
        outputs = []
        for layout in self.plan.outputs:
            contents = given.get(layout.buffer)
            part = bytearray(layout.size) if contents is None else bytearray(contents[layout.start : layout.stop])
            outputs.append(memoryview(part))
        return TimedDispatchResult(outputs=outputs, wall_ns=time.perf_counter_ns() - started)


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """One kernel with its arguments; `args` stays one object, so a port sees that nothing changed."""

    name: str
    workgroup_size: Extent
    args: tuple[Any, ...]


@dataclass(slots=True, kw_only=True)
class Prepared:
    """A launch over memory of its own. `owned` is freed with it; persistent memory of a pipeline is not in it.

    `uploads` are (memory, position of the input), `fills` (memory, byte, size), `readbacks` (memory, start, stop) in
    the order of the outputs. `lengths` are the element counts by the code's names. `straight` is the order of the
    kernels where no loop of the host decides it, else None.
    """

    device: Device
    code: Code
    plan: LaunchPlan
    owned: tuple[Allocation, ...]
    uploads: tuple[tuple[Allocation, int], ...]
    fills: tuple[tuple[Allocation, int, int], ...]
    kernels: tuple[BoundKernel, ...]
    readbacks: tuple[tuple[Allocation, int, int], ...]
    lengths: Mapping[str, int]
    straight: tuple[int, ...] | None
    traps: Allocation | None
    counters: Allocation | None

    def run(self, inputs: Sequence[memoryview], deadline: Deadline, *, timed: bool) -> TimedDispatchResult:
        started = time.perf_counter_ns()
        self._upload(inputs)
        deadline.check("upload")
        events = self._launch(deadline, timed)
        enqueued = time.perf_counter_ns()
        self._wait(events, deadline, timed)
        self._raise_trap()
        outputs = self._read_back()
        ended = time.perf_counter_ns()
        return TimedDispatchResult(
            outputs=outputs,
            wall_ns=ended - started,
            device_ns=self._elapsed(events) if timed else None,
            enqueue_ns=enqueued - started,
            wait_ns=ended - enqueued,
        )

    def _upload(self, inputs: Sequence[memoryview]) -> None:
        for allocation, position in self.uploads:
            self.device.copy_in(allocation, inputs[position])
        for allocation, byte, size in self.fills:
            self.device.fill(allocation, byte, size)

    def _launch(self, deadline: Deadline, timed: bool) -> list[Any]:
        """Enqueue everything; all events if `timed`, else the last one."""
        port, counters = self.device.port, self.device.counters
        events: list[Any] = []
        for index in self._order():
            deadline.check("launch")
            kernel = self.kernels[index]
            event = port.launch(
                self.code.module, kernel.name, self.plan.grid, kernel.workgroup_size, kernel.args, timed=timed
            )
            counters.launches += 1
            if not timed:
                events.clear()
            events.append(event)
        return events

    def _order(self) -> Iterator[int]:
        """Which kernels to launch, as often as the plan repeats them."""
        if self.straight is None:
            return self._walk()
        return chain.from_iterable(repeat(self.straight, self.plan.repeats))

    def _walk(self) -> Iterator[int]:
        """The same with loops of the host: their counters are written to the device as the launches are taken."""
        schedule = self.code.executable.schedule
        subgroup_size = self.plan.program.subgroup_size or 1
        values = LaunchValues(self.lengths, self.plan.grid, subgroup_size, [0] * counters_of(schedule))
        for _ in range(self.plan.repeats):
            for step in walk(schedule, lambda bound: evaluate(bound, values)):
                match step:
                    case Launch(kernel):
                        yield kernel
                    case SetCounter(counter, value):
                        values.counters[counter] = value % 2**64
                        self._write_counter(counter, value % 2**64)

    def _write_counter(self, counter: int, bits: int) -> None:
        if self.counters is not None:
            self.device.copy_in(self.counters, memoryview(bits.to_bytes(8, "little")), 8 * counter)

    def _wait(self, events: Sequence[Any], deadline: Deadline, timed: bool) -> None:
        """Reading back waits by itself; wait here where nothing is read, or when somebody asks how long."""
        reads = self.traps is not None or any(stop > start for _, start, stop in self.readbacks)
        if not events or (reads and not timed and not deadline.is_set):
            return
        if not self.device.port.wait(events[-1], deadline.remaining()):
            raise deadline.passed("the kernels")

    def _raise_trap(self) -> None:
        if self.traps is not None:
            tags = self.code.executable.traps
            sidecar = memoryview(bytearray(8 * len(tags)))
            self.device.copy_out(self.traps, sidecar)
            raise_trap(tags, sidecar, f"program {self.plan.program.name!r}")

    def _read_back(self) -> Outputs:
        outputs = []
        for allocation, start, stop in self.readbacks:
            view = np.empty(stop - start, np.uint8).data
            self.device.copy_out(allocation, view, start)
            outputs.append(view)
        return outputs

    def _elapsed(self, events: Sequence[Any]) -> int | None:
        total = 0
        for event in events:
            nanoseconds = self.device.port.elapsed(event)
            if nanoseconds is None:
                return None
            total += nanoseconds
        return total
