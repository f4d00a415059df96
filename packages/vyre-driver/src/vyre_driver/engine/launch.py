"""A launch with everything bound: code, memory, arguments, order. Running it decides nothing.

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

from vyre_driver.backend.resources import meet
from vyre_driver.backend.results import TimedDispatchResult, addresses_of
from vyre_driver.device.profile import Extent
from vyre_driver.engine.code import CompiledCode
from vyre_driver.engine.device import Device
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import Allocation
from vyre_driver.engine.transfer import BYTES, Args, Form, OutputViews, Targets, Transfer
from vyre_driver.errors import Trapped
from vyre_driver.legalization.schedule import COUNTERS, KernelLaunch, Repeat, Step
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Length, Literal, Load, Select
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Trap
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops.scalar import Scalar, bitcast, cast

if TYPE_CHECKING:
    from vyre_driver.engine.bind import LaunchBinding


NO_TRAP = 2**64 - 1
BRIEF_NS = 15_000
"""What a launch takes at most that keeps the locks of the interpreter and the device: about as much as giving them to
another thread and taking them back."""
SMALL = 2**16
"""Bytes of all outputs of a dispatch. A copy of no more takes less time than finding out whether the device can write
to the caller's memory."""


def raise_trap(tags: Sequence[str], sidecar: memoryview, program: Program) -> None:
    """Raise `Trapped` for the lowest (invocation, statement, code) that is recorded, if there is any.

    A record is ``invocation << 32 | code``; `tags` are those of the lowered statements in program order. Lowering may
    have copied and removed statements of `program`, the source, so its lines are found by the tag.
    """
    records = struct.unpack(f"<{len(tags)}Q", sidecar)
    trapped = [(r >> 32, statement, r & 0xFFFFFFFF) for statement, r in enumerate(records) if r != NO_TRAP]
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


MOST_LAUNCHES = 8192


class Backlog:
    """Launches that follow each other, of which at most about `MOST_LAUNCHES` are in flight.

    Launches are added as they are enqueued; those of a recording are added together. The host waits for the older half
    while the newer is in flight, so the device never runs dry. Interrupts, the deadline and the end of the device end
    such a wait. With `is_timed` the launches' times on the device add up.
    """

    __slots__ = ("_deadline", "_launches", "_ns", "_older", "_untimed", "device", "is_timed", "last")

    def __init__(self, device: Device, deadline: Deadline | None = None, *, is_timed: bool = False) -> None:
        self.device, self._deadline, self.is_timed = device, deadline, is_timed
        self._launches = 0
        self._older: Any = None
        self._untimed: list[Any] = []
        self._ns: int | None = 0
        self.last: Any = None
        """The event of the last launch, None before the first."""

    def add(self, event: Any, launches: int = 1) -> None:
        """Add launches right after they were enqueued. `event` is that of the last."""
        self.last = event
        self._launches += launches
        if self.is_timed:
            self._untimed.append(event)
        if self._launches >= MOST_LAUNCHES // 2:
            self.device.port.submit(event)
            older, self._older, self._launches = self._older, event, 0
            if older is not None:
                self._wait(older)

    def elapsed(self) -> int | None:
        """Nanoseconds of all launches together, which have ended; None if the device does not know one of them."""
        self._add_times(len(self._untimed))
        return self._ns

    def _wait(self, event: Any) -> None:
        self.device.counters.waits += 1
        if not self.device.port.wait(event, None if self._deadline is None else self._deadline.remaining()):
            assert self._deadline is not None
            raise self._deadline.passed("the kernels")
        if self.is_timed:
            self._add_times(self._untimed.index(event) + 1)

    def _add_times(self, events: int) -> None:
        """Add up the times of the oldest launches, which have ended, and forget their events."""
        for event in self._untimed[:events]:
            time = self.device.port.elapsed(event)
            self._ns = None if time is None or self._ns is None else self._ns + time
        del self._untimed[:events]


class Runnable(Protocol):
    """What the cache keeps for one key. `deadline` is None without a timeout."""

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """Device memory that it holds between dispatches."""

    def run(
        self, inputs: Sequence[Any], deadline: Deadline | None, form: Form, views: OutputViews | None = None
    ) -> list[Any]:
        """One dispatch: the outputs; None for those that are made in `views`."""

    def run_timed(self, inputs: Sequence[Any], deadline: Deadline | None) -> TimedDispatchResult:
        """The same with times, also the device's; the outputs are bytes."""


@dataclass(frozen=True, slots=True)
class EmptyLaunch:
    """A grid without workgroups: the outputs are what they were before the dispatch, and no device is needed."""

    plan: LaunchPlan

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """No memory."""
        return ()

    def run(
        self, inputs: Sequence[Any], deadline: Deadline | None, form: Form, views: OutputViews | None = None
    ) -> list[Any]:
        """The contents of the inputs that are outputs too, and zeros."""
        given = dict(zip(self.plan.inputs, inputs, strict=True))
        outputs: list[Any] = []
        for layout, buffer in zip(self.plan.outputs, self.plan.program.outputs, strict=True):
            contents = given.get(layout.buffer)
            part = np.zeros(layout.size, np.uint8)
            if contents is not None and layout.size:
                part[:] = np.frombuffer(contents, np.uint8)[layout.start : layout.stop]
            outputs.append(part.data if form is BYTES else part.view(buffer.dtype.numpy))
        return outputs

    def run_timed(self, inputs: Sequence[Any], deadline: Deadline | None) -> TimedDispatchResult:
        """The same with the time of the host."""
        started = time.perf_counter_ns()
        outputs = self.run(inputs, deadline, BYTES)
        return TimedDispatchResult(outputs=outputs, wall_ns=time.perf_counter_ns() - started)


@dataclass(slots=True, kw_only=True)
class PreparedLaunch:
    """A launch over memory of its own; persistent memory of a pipeline is not freed with it.

    `kernels` are the entry points with their grids and workgroup sizes. `order` is the order of the kernels where no
    loop of the host decides it, else None. `is_one`: it is one launch. No launch takes more than `longest` seconds,
    whatever its data. `runner` launches and waits, where there is one launch and reading the outputs does not wait.
    `output_bytes` is the size of all outputs. If it `outlives_call`, a dispatch need not wait for its end. `event` is
    that of the newest launch of the present dispatch, if the runner is not used.
    """

    binding: LaunchBinding
    device: Device
    code: CompiledCode
    plan: LaunchPlan
    transfer: Transfer
    kernels: tuple[tuple[str, Extent, Extent], ...]
    order: tuple[int, ...] | None
    is_one: bool
    longest: float
    traps: Allocation | None
    counters: Allocation | None
    output_bytes: int
    runner: Callable[[Sequence[Any]], None] | None = None
    outlives_call: bool = False
    event: Any = None

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """Device memory that it holds between dispatches."""
        return self.transfer.owned

    def use_runner(self, *, is_brief: bool) -> None:
        """Ask the port for the runner. A launch that `is_brief` takes less than `BRIEF_NS`."""
        port, args = self.device.port, self.transfer.constant_args()
        self.runner = port.runner(self.code.module, *self.kernels[0], *args, self.longest, is_brief=is_brief)

    def run(
        self, inputs: Sequence[Any], deadline: Deadline | None, form: Form, views: OutputViews | None = None
    ) -> list[Any]:
        """One dispatch: the outputs; None for those that are made in `views`."""
        transfer, runner = self.transfer, self.runner
        targets = None if views is None or self.output_bytes <= SMALL else self.targets(inputs, views)
        if deadline is not None:
            self._wait(self.submit(inputs, deadline, targets), deadline)
            return self.end(form, targets)
        if runner is None:
            self._wait(self._launch_once(inputs, targets) if self.is_one else self.submit(inputs, None, targets), None)
            return self.end(form, targets)
        if self.traps is not None:
            self.clear_traps()
            return transfer.run(inputs, self._run_checked, form, targets)
        outputs: list[Any] = []
        if transfer.moves:
            outputs = transfer.run(inputs, runner, form, targets)
        else:
            runner(())
        counters = self.device.counters
        counters.launches += 1
        counters.waits += 1
        return outputs

    def _run_checked(self, values: Sequence[Any]) -> None:
        """Launch, wait, and raise what the kernel has recorded."""
        assert self.runner is not None
        self.runner(values)
        counters = self.device.counters
        counters.launches += 1
        counters.waits += 1
        self.raise_trap()

    def begin_unlocked(self, inputs: Sequence[Any], form: Form, views: OutputViews | None) -> Callable[[], list[Any]]:
        """One dispatch up to its launch. The rest is returned: it needs no lock, and gives the outputs."""
        transfer, runner = self.transfer, self.runner
        assert runner is not None
        targets = None if views is None or self.output_bytes <= SMALL else self.targets(inputs, views)
        values = transfer.begin(inputs, targets)
        counters = self.device.counters
        counters.launches += 1
        counters.waits += 1

        def rest() -> list[Any]:
            runner(values)
            return transfer.readback(form, targets)

        return rest

    def targets(self, inputs: Sequence[Any], views: OutputViews) -> list[memoryview | None]:
        """The view for each output, if it has the size of the output and overlaps none of the contiguous `inputs`.

        None if it does not, and for all outputs of a program that may trap: a dispatch that traps has no outputs.
        """
        layouts = self.plan.outputs
        if self.traps is not None:
            return [None] * len(layouts)
        found: list[memoryview | None] = []
        taken = [addresses_of(view) for view in inputs]
        for n, layout in enumerate(layouts):
            fits = n < len(views) and views[n].nbytes == layout.size > 0
            is_free = fits and not any(meet(addresses_of(views[n]), other) for other in taken)
            found.append(views[n] if is_free else None)
        return found

    def _launch_once(self, inputs: Sequence[Any], targets: Targets | None = None) -> Any:
        """Enqueue the one launch of this dispatch: its event."""
        device = self.device
        self.clear_traps()
        args = self.transfer.upload(inputs, targets)[0]
        name, grid, workgroup_size = self.kernels[0]
        event = device.port.launch(self.code.module, name, grid, workgroup_size, args, longest=self.longest)
        self.event = event
        device.counters.launches += 1
        return event

    def leave(self, backlog: Backlog) -> None:
        """One dispatch over resident memory that `outlives_call`, and is waited for with the `backlog` at most."""
        if self.is_one:
            backlog.add(self._launch_once(()))
        else:
            self.enqueue((), None, None, backlog)

    def submit(self, inputs: Sequence[Any], deadline: Deadline | None, targets: Targets | None = None) -> Any:
        """Enqueue everything without waiting: the last event, None if there was nothing to launch."""
        self.clear_traps()
        return self.enqueue(inputs, deadline, targets, Backlog(self.device, deadline))

    def enqueue(
        self,
        inputs: Sequence[Any],
        deadline: Deadline | None,
        targets: Targets | None = None,
        backlog: Backlog | None = None,
    ) -> Any:
        """Enqueue everything without clearing the record of traps: the last event, None if there was none.

        Without a `backlog`, which may wait for earlier launches, it can be recorded.
        """
        event, timed = None, backlog is not None and backlog.is_timed
        for event in self._launches(self.transfer.upload(inputs, targets), deadline, timed=timed):
            self.event = event
            if backlog is not None:
                backlog.add(event)
        return event

    def end(self, form: Form = BYTES, targets: Targets | None = None) -> list[Any]:
        """The outputs of what was submitted and has completed; None for those that are in their target."""
        self.raise_trap()
        return self.transfer.readback(form, targets)

    def run_timed(self, inputs: Sequence[Any], deadline: Deadline | None) -> TimedDispatchResult:
        """One dispatch with times, also the device's; the outputs are bytes."""
        started = time.perf_counter_ns()
        self.clear_traps()
        backlog = Backlog(self.device, deadline, is_timed=True)
        event = self.enqueue(inputs, deadline, None, backlog)
        enqueued = time.perf_counter_ns()
        if event is not None:
            self._await(event, deadline)
        outputs = self.end()
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
        for index in self._repeated_order():
            if deadline is not None:
                deadline.check("launch")
            name, grid, workgroup_size = self.kernels[index]
            event = port.launch(module, name, grid, workgroup_size, args[index], timed=timed, longest=self.longest)
            counters.launches += 1
            yield event

    def _repeated_order(self) -> Iterable[int]:
        """The kernels to launch, repeated as the plan says."""
        if self.order is None:
            return self._walk()
        if self.plan.repeats == 1:
            return self.order
        return chain.from_iterable(self.order for _ in range(self.plan.repeats))

    def _walk(self) -> Iterator[int]:
        """The same with loops of the host, whose counters are written to the device between launches."""
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
        """Wait if there is a deadline, or if nothing is read back: a readback waits by itself.

        Reading the record of traps waits only for the kernels that can trap.
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

    def clear_traps(self) -> None:
        """Make the record of traps empty."""
        if self.traps is not None:
            self.device.fill(self.traps, 0xFF, 8 * len(self.code.executable.traps))

    def raise_trap(self) -> None:
        """Raise the trap that the kernels, which have ended, have recorded."""
        if self.traps is not None:
            tags = self.code.executable.traps
            sidecar = memoryview(bytearray(8 * len(tags)))
            self.device.copy_out(self.traps, sidecar)
            raise_trap(tags, sidecar, self.plan.program)


@dataclass(frozen=True, slots=True)
class LaunchValues:
    """What the bounds of loops depend on. `counters` are those of the loops around them, as u64."""

    lengths: Mapping[str, int]
    grid: Extent
    subgroup_size: int
    counters: list[int]


def evaluate(bound: Expr, values: LaunchValues) -> int:
    """The value of an integer expression that is uniform in a launch."""
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


def static_order(schedule: Sequence[Step]) -> tuple[int, ...] | None:
    """The kernels of a schedule in order, or None if a loop decides how many there are."""
    launches = [step.kernel for step in schedule if isinstance(step, KernelLaunch)]
    return tuple(launches) if len(launches) == len(schedule) else None


def counters_of(schedule: Sequence[Step]) -> int:
    """The number of counters that the loops of a schedule use."""
    most = 0
    for step in schedule:
        if isinstance(step, Repeat):
            most = max(most, step.counter + 1, counters_of(step.body))
    return most
