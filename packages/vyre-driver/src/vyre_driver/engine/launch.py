"""A dispatch with everything bound: code, memory, arguments, order. Running it decides nothing.

The order of the kernels is the schedule of the code. The host evaluates the bounds of its loops, each of which has one
value for a whole launch.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from vyre_driver.backend.results import TimedDispatchResult
from vyre_driver.device.profile import Extent
from vyre_driver.engine.buffer_pool import Allocation
from vyre_driver.engine.code import CompiledCode
from vyre_driver.engine.device import Device
from vyre_driver.engine.pending import Backlog, Deadline
from vyre_driver.engine.transfer import BYTES, Args, Form, Targets, Transfer
from vyre_driver.errors import Trapped
from vyre_driver.legalization.lowered import COUNTERS, KernelLaunch, Repeat, Step
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Length, Literal, Load, Select
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Trap
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops.scalar import Scalar, bitcast, cast

if TYPE_CHECKING:
    from vyre_driver.engine.bind import LaunchBinding


QUIET = 2**64 - 1


def raise_trap(tags: Sequence[str], sidecar: memoryview, program: Program) -> None:
    """Raise `Trapped` for the lowest (invocation, statement, code) that is recorded, if there is any.

    A record is ``invocation << 32 | code``; `tags` are those of the lowered statements in program order. Lowering may
    have copied and removed statements of `program`, the source, so its lines are found by the tag.
    """
    records = struct.unpack(f"<{len(tags)}Q", sidecar)
    trapped = [(r >> 32, statement, r & 0xFFFFFFFF) for statement, r in enumerate(records) if r != QUIET]
    if trapped:
        invocation, statement, code = min(trapped)
        tag = tags[statement]
        raise Trapped(tag, code, invocation, origins=_origins(program, tag), where=f"program {program.name!r}")


def _origins(program: Program, tag: str) -> tuple[Origin, ...]:
    """The lines that wrote the traps with this tag."""
    origins = program.origins
    if origins is None:
        return ()
    numbered = enumerate(program.statements)
    lines = [origins.statement(number) for number, stmt in numbered if isinstance(stmt, Trap) and stmt.tag == tag]
    return tuple(dict.fromkeys(lines))


class Runnable(Protocol):
    """What the dispatcher keeps for one shape of one program. `deadline` is None without a timeout."""

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """Device memory that it holds between dispatches."""

    def run(
        self, inputs: Sequence[Any], deadline: Deadline | None, form: Form, targets: Targets | None = None
    ) -> list[Any]:
        """One dispatch: the outputs; None for those that are in their target."""

    def run_timed(self, inputs: Sequence[Any], deadline: Deadline | None, form: Form) -> TimedDispatchResult:
        """The same with times, also the device's."""


@dataclass(frozen=True, slots=True)
class EmptyLaunch:
    """A grid without workgroups: the outputs are what they were before the dispatch, and no device is needed."""

    plan: LaunchPlan

    @property
    def owned(self) -> tuple[Allocation, ...]:
        return ()

    def run(
        self, inputs: Sequence[Any], deadline: Deadline | None, form: Form, targets: Targets | None = None
    ) -> list[Any]:
        given = dict(zip(self.plan.inputs, inputs, strict=True))
        outputs: list[Any] = []
        for layout, buffer in zip(self.plan.outputs, self.plan.program.outputs, strict=True):
            contents = given.get(layout.buffer)
            part = np.zeros(layout.size, np.uint8)
            if contents is not None and layout.size:
                part[:] = np.frombuffer(contents, np.uint8)[layout.start : layout.stop]
            outputs.append(part.data if form is BYTES else part.view(buffer.dtype.numpy))
        return outputs

    def run_timed(self, inputs: Sequence[Any], deadline: Deadline | None, form: Form) -> TimedDispatchResult:
        started = time.perf_counter_ns()
        outputs = self.run(inputs, deadline, form)
        return TimedDispatchResult(outputs=outputs, wall_ns=time.perf_counter_ns() - started)


@dataclass(slots=True, kw_only=True)
class PreparedLaunch:
    """A launch over memory of its own; persistent memory of a pipeline is not freed with it.

    `kernels` are the entry points with their grids and workgroup sizes. `straight` is the order of the kernels where no
    loop of the host decides it, else None. No launch takes more than `longest` seconds, whatever its data. `once`
    launches and waits, where there is one launch and reading the outputs does not wait.
    """

    binding: LaunchBinding
    device: Device
    code: CompiledCode
    plan: LaunchPlan
    transfer: Transfer
    kernels: tuple[tuple[str, Extent, Extent], ...]
    straight: tuple[int, ...] | None
    longest: float
    once: Callable[[Sequence[Any]], None] | None
    traps: Allocation | None
    counters: Allocation | None

    @property
    def owned(self) -> tuple[Allocation, ...]:
        return self.transfer.owned

    def run(
        self, inputs: Sequence[Any], deadline: Deadline | None, form: Form, targets: Targets | None = None
    ) -> list[Any]:
        transfer, once = self.transfer, self.once
        if once is not None and deadline is None:
            values = transfer.begin(inputs, targets) if transfer.moves else ()
            if self.traps is not None:
                self.arm()
            once(values)
            counters = self.device.counters
            counters.launches += 1
            counters.waits += 1
        else:
            self._wait(self.begin(inputs, deadline, targets), deadline)
        if self.traps is not None:
            self.raise_trap()
        if targets is not None:
            return transfer.results_into(targets)
        return transfer.results(form) if transfer.moves else []

    def begin(self, inputs: Sequence[Any], deadline: Deadline | None, targets: Targets | None = None) -> Any:
        """Enqueue everything without waiting: the last event, None if there was nothing to launch."""
        self.arm()
        return self.enqueue(inputs, deadline, targets, Backlog(self.device, deadline))

    def enqueue(
        self,
        inputs: Sequence[Any],
        deadline: Deadline | None,
        targets: Targets | None = None,
        backlog: Backlog | None = None,
    ) -> Any:
        """The same with a record of traps that is what the dispatches before have left. Without a `backlog`, which may
        wait for launches before, it is for recordings alone."""
        event, timed = None, backlog is not None and backlog.is_timed
        for event in self._launches(self.transfer.bring(inputs, targets), deadline, timed=timed):
            if backlog is not None:
                backlog.add(event)
        return event

    def end(self) -> list[Any]:
        """The outputs as bytes, of what was submitted and has completed."""
        self.raise_trap()
        return self.transfer.results(BYTES)

    def end_into(self, targets: Targets) -> list[memoryview | None]:
        """The same; None for those that are in their target."""
        self.raise_trap()
        return self.transfer.results_into(targets)

    def run_timed(self, inputs: Sequence[Any], deadline: Deadline | None, form: Form) -> TimedDispatchResult:
        started = time.perf_counter_ns()
        self.arm()
        backlog = Backlog(self.device, deadline, is_timed=True)
        event = self.enqueue(inputs, deadline, None, backlog)
        enqueued = time.perf_counter_ns()
        if event is not None:
            self._await(event, deadline)
        self.raise_trap()
        outputs = self.transfer.results(form)
        ended = time.perf_counter_ns()
        return TimedDispatchResult(
            outputs=outputs,
            wall_ns=ended - started,
            device_ns=backlog.elapsed(),
            enqueue_ns=enqueued - started,
            wait_ns=ended - enqueued,
        )

    def _launches(self, args: Sequence[Args], deadline: Deadline | None, *, timed: bool) -> Iterator[Any]:
        """Enqueue everything, kernel by kernel: the events."""
        port, counters, module = self.device.port, self.device.counters, self.code.module
        if deadline is not None:
            deadline.check("upload")
        for index in self._order():
            if deadline is not None:
                deadline.check("launch")
            name, grid, workgroup_size = self.kernels[index]
            event = port.launch(module, name, grid, workgroup_size, args[index], timed=timed, longest=self.longest)
            counters.launches += 1
            yield event

    def _order(self) -> Iterable[int]:
        """Which kernels to launch, as often as the plan repeats them."""
        if self.straight is None:
            return self._walk()
        if self.plan.repeats == 1:
            return self.straight
        return chain.from_iterable(self.straight for _ in range(self.plan.repeats))

    def _walk(self) -> Iterator[int]:
        """The same with loops of the host: their counters are written to the device as the launches are taken."""
        schedule = self.code.executable.schedule
        subgroup_size = self.plan.program.subgroup_size or 1
        values = LaunchValues(self.binding.lengths, self.plan.grid, subgroup_size, [0] * counters_of(schedule))
        for _ in range(self.plan.repeats):
            for step in walk(schedule, lambda bound: evaluate(bound, values)):
                match step:
                    case KernelLaunch(kernel):
                        yield kernel
                    case SetCounter(counter, value):
                        values.counters[counter] = value % 2**64
                        self._write_counter(counter, value % 2**64)

    def _write_counter(self, counter: int, bits: int) -> None:
        if self.counters is not None:
            self.device.copy_in(self.counters, memoryview(bits.to_bytes(8, "little")), 8 * counter)

    def _wait(self, event: Any, deadline: Deadline | None) -> None:
        """Reading the outputs waits by itself; wait here where they are not read, or not for ever.

        Reading the record of traps waits for the kernels that can trap, and there may be others behind them.
        """
        if event is None:
            return
        if deadline is not None or not self.transfer.reads:
            self._await(event, deadline)
        else:
            self.device.counters.waits += 1

    def _await(self, event: Any, deadline: Deadline | None) -> None:
        self.device.counters.waits += 1
        if deadline is None:
            self.device.port.wait(event)
        elif not self.device.port.wait(event, deadline.remaining()):
            raise deadline.passed("the kernels")

    def arm(self) -> None:
        """Make the record of traps empty."""
        if self.traps is not None:
            self.device.fill(self.traps, 0xFF, 8 * len(self.code.executable.traps))

    def raise_trap(self) -> None:
        """Raise what the record of traps says; the kernels have ended."""
        if self.traps is not None:
            tags = self.code.executable.traps
            sidecar = memoryview(bytearray(8 * len(tags)))
            self.device.copy_out(self.traps, sidecar)
            raise_trap(tags, sidecar, self.plan.program)


@dataclass(frozen=True, slots=True)
class LaunchValues:
    """What the host knows: element counts by name, the grid, the subgroup size, the counters of open loops as u64."""

    lengths: Mapping[str, int]
    grid: Extent
    subgroup_size: int
    counters: list[int]


def evaluate(bound: Expr, values: LaunchValues) -> int:
    """The value of an integer expression of launch uniformity, by the exact meaning of every op."""
    known: dict[Expr, Scalar] = {}
    for node in postorder((bound,)):
        known[node] = _value(node, [known[arg] for arg in node.args], values)
    return int(known[bound])


def _value(node: Expr, args: list[Scalar], values: LaunchValues) -> Scalar:
    match node:
        case Literal():
            return node.value
        case Length(buffer):
            return values.lengths[buffer.name]
        case Id(IdKind.NUM_WORKGROUPS, axis):
            return values.grid[axis]
        case Id(IdKind.SUBGROUP_SIZE):
            return values.subgroup_size
        case Load(buffer) if buffer.name == COUNTERS:
            return values.counters[int(args[0])]
        case Apply(op):
            return op.evaluate(node.args[0].dtype, *args)
        case Select():
            return args[1] if args[0] else args[2]
        case Cast(dtype, value):
            return cast(value.dtype, dtype, args[0])
        case Bitcast(dtype, value):
            return bitcast(value.dtype, dtype, args[0])
        case _:
            raise AssertionError(f"{type(node).__name__} has no value before the launch")


@dataclass(frozen=True, slots=True)
class SetCounter:
    """Give the loop counter of a `Repeat` its value for the next iteration."""

    counter: int
    value: int


def walk(schedule: Sequence[Step], evaluate: Callable[[Expr], int]) -> Iterator[KernelLaunch | SetCounter]:
    """The launches of `schedule` in order, each iteration of a loop preceded by its counter.

    `evaluate` gives the bounds of a loop when it is entered; it may depend on the counters of the loops around it.
    Counters are unbounded integers here: a loop never wraps around.
    """
    for step in schedule:
        match step:
            case KernelLaunch():
                yield step
            case Repeat():
                for value in range(evaluate(step.start), evaluate(step.stop), step.step):
                    yield SetCounter(step.counter, value)
                    yield from walk(step.body, evaluate)


def straight(schedule: Sequence[Step]) -> tuple[int, ...] | None:
    """The kernels of a schedule in order, or None if a loop decides how many there are."""
    launches = [step.kernel for step in schedule if isinstance(step, KernelLaunch)]
    return tuple(launches) if len(launches) == len(schedule) else None


def counters_of(schedule: Sequence[Step]) -> int:
    """How many counters the loops of a schedule use."""
    most = 0
    for step in schedule:
        if isinstance(step, Repeat):
            most = max(most, step.counter + 1, counters_of(step.body))
    return most
