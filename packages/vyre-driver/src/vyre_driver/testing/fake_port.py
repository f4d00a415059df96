"""A device port in host memory: it executes lowered kernels with an evaluator that the caller brings.

It checks the engine's side of the port's contract (sizes, lifetimes, one call at a time) with assertions, logs every
call, and fails where a test's script says so.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.port import DevicePort, SourceUnit
from vyre_driver.legalization.lowered import Kernel, Lowered
from vyre_driver.legalization.target import Target
from vyre_driver.plan.launch import LaunchPlan, OutputLayout
from vyre_driver.testing.evaluate import Evaluate
from vyre_driver.testing.target import generous_profile, generous_target
from vyre_foundation.dtype import DType
from vyre_foundation.validate import validate
from vyre_foundation.validate.facts import Facts
from vyre_foundation.wire import decode, encode

ELAPSED_NS = 1000


@dataclass(frozen=True, slots=True)
class InjectedError:
    """Raise `error` in the call of this name (such as "copy_in") that is the `nth`, counted from 1."""

    call: str
    error: BaseException
    nth: int = 1


@dataclass(frozen=True)
class FakeUnit(SourceUnit):
    """Source that remembers what it was printed from."""

    lowered: Lowered | None = None


@dataclass(frozen=True, slots=True)
class FakeModule:
    """Kernels by entry point, each with its facts, and the queue that they were compiled for."""

    kernels: Mapping[str, tuple[Kernel, Facts]]
    queue: int = 0


@dataclass(slots=True, eq=False)
class FakeMemory:
    """Host memory that begins as rubbish, so that a missing fill shows; or a foreign array's, which is not freed."""

    contents: bytearray | memoryview
    is_live: bool = True
    is_foreign: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FakeEvent:
    """The end of the work of this number."""

    timed: bool
    number: int = 0


@dataclass(slots=True, eq=False)
class FakeRecording:
    """Launches and fills that `replay` runs again."""

    work: list[Callable[[], None]]
    is_live: bool = True


@dataclass(slots=True)
class FakePort(DevicePort[FakeModule, FakeMemory, FakeEvent]):
    """A device in host memory.

    `hangs` makes every wait run into its timeout; `elapsed_ns` is what every launch takes, None for a device without a
    clock. `concurrent_groups` workgroups run side by side. Without `has_binaries` code stays in its process. `log`
    holds the names of all calls in order. Where the device `is_lazy`, nothing runs before a wait, or before a test
    calls `work`; `most_in_flight` is how much was enqueued and not done at one time. It `records` and `moves_code` if
    it is told to, and wraps NumPy arrays.
    """

    emitter_version: ClassVar[str] = "fake 1"

    evaluate: Evaluate
    profile: DeviceProfile = field(default_factory=generous_profile)
    spelled: Target = field(default_factory=generous_target)
    faults: Sequence[InjectedError] = ()
    hangs: bool = False
    concurrent_groups: int = 0
    has_binaries: bool = True
    is_lazy: bool = False
    records: bool = False
    moves_code: bool = False
    own_functions: Mapping[tuple[str, DType], str] = field(default_factory=dict)
    elapsed_ns: int | None = ELAPSED_NS
    log: list[str] = field(default_factory=list)
    live: set[FakeMemory] = field(default_factory=set)
    arguments: list[Sequence[FakeMemory | int]] = field(default_factory=list)
    queues: list[int] = field(default_factory=list)
    is_closed: bool = False
    recordings: set[FakeRecording] = field(default_factory=set)
    most_in_flight: int = 0
    _is_busy: bool = False
    _enqueued: int = 0
    _queue: deque[Callable[[], None]] = field(default_factory=deque)
    _recording: FakeRecording | None = None

    def probe(self) -> DeviceProfile:
        """The profile that the port was made with."""
        with self._call("probe"):
            return self.profile

    def target(self) -> Target:
        """The target that the port was made with."""
        with self._call("target"):
            return self.spelled

    def natives(self) -> Mapping[tuple[str, DType], str]:
        """The table `own_functions` that the port was made with."""
        return self.own_functions

    def emit(self, lowered: Lowered) -> SourceUnit:
        """The text form of the kernels, and the kernels themselves, which `compile` takes."""
        with self._call("emit"):
            names = tuple(f"entry_{n}" for n, _ in enumerate(lowered.kernels))
            text = "\n".join(f"{name}: {kernel.program}" for name, kernel in zip(names, lowered.kernels, strict=True))
            return FakeUnit(text, names, "fake", lowered=lowered)

    def compile(self, unit: SourceUnit, queue: int = 0) -> FakeModule:
        """The kernels by entry point, each validated as legalized."""
        with self._call("compile"):
            assert 0 <= queue < max(1, len(self.profile.queues))
            assert isinstance(unit, FakeUnit)
            assert unit.lowered is not None
            kernels = zip(unit.kernels, unit.lowered.kernels, strict=True)
            entries = {name: (kernel, validate(kernel.program, legalized=True)) for name, kernel in kernels}
            return FakeModule(entries, queue)

    def for_queue(self, module: FakeModule, queue: int) -> FakeModule:
        """The same kernels for another queue; asserts that the port does that."""
        with self._call("for_queue"):
            assert self.moves_code
            return module if queue == module.queue else replace(module, queue=queue)

    def binary(self, module: FakeModule) -> bytes | None:
        """The kernels as JSON, in the wire form."""
        with self._call("binary"):
            if not self.has_binaries:
                return None
            kernels = [
                [entry, kernel.name, list(kernel.lengths), encode(kernel.program).hex()]
                for entry, (kernel, _) in module.kernels.items()
            ]
            return json.dumps([module.queue, kernels]).encode()

    def load(self, binary: bytes, queue: int = 0) -> FakeModule:
        """The kernels of a `binary`; asserts that it was made for this queue, or that code moves."""
        with self._call("load"):
            of_queue, kernels = json.loads(binary)
            assert self.moves_code or of_queue == queue, "code of another queue"
            entries = {}
            for entry, name, lengths, program in kernels:
                kernel = Kernel(name, decode(bytes.fromhex(program)), tuple(lengths))
                entries[entry] = kernel, validate(kernel.program, legalized=True)
            return FakeModule(entries, queue)

    def allocate(self, size: int) -> FakeMemory:
        """Memory whose bytes are all 0xA5, so that a missing fill shows."""
        with self._call("allocate"):
            assert size >= 1
            memory = FakeMemory(bytearray(b"\xa5" * size))
            self.live.add(memory)
            return memory

    def fill(self, memory: FakeMemory, byte: int, size: int) -> None:
        """Enqueue a fill; asserts that the memory is live and long enough."""
        with self._call("fill"):
            self._require_range(memory, 0, size)

            def fill() -> None:
                memory.contents[:size] = bytes([byte]) * size

            self._enqueue(fill)

    def copy_in(self, memory: FakeMemory, data: memoryview, offset: int = 0) -> None:
        """Enqueue a copy of the bytes as they are now; asserts their format and the range."""
        with self._call("copy_in"):
            self._require_range(memory, offset, data.nbytes)
            assert data.format == "B"
            assert self._recording is None, "a copy cannot be recorded"
            contents = bytes(data)

            def copy() -> None:
                memory.contents[offset : offset + len(contents)] = contents

            self._enqueue(copy)

    def copy_out(self, memory: FakeMemory, into: memoryview, offset: int = 0) -> None:
        """Do the work enqueued so far, then copy; asserts format and range."""
        with self._call("copy_out"):
            self._require_range(memory, offset, into.nbytes)
            assert into.format == "B"
            assert self._recording is None, "a copy cannot be recorded"
            self._work_until(self._enqueued)
            into[:] = memory.contents[offset : offset + into.nbytes]

    def wrap(self, foreign: object) -> FakeMemory | None:
        """The memory of a contiguous, writable NumPy array; None for everything else."""
        with self._call("wrap"):
            if not isinstance(foreign, np.ndarray) or not foreign.flags.carray:
                return None
            return FakeMemory(foreign.reshape(-1).view(np.uint8).data, is_foreign=True)

    def free(self, memory: FakeMemory) -> None:
        """Give memory back; asserts that it is live and the port's own."""
        with self._call("free"):
            assert memory.is_live
            assert not memory.is_foreign
            memory.is_live = False
            self.live.remove(memory)

    def launch(
        self,
        module: FakeModule,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[FakeMemory | int],
        *,
        timed: bool = False,
        longest: float = math.inf,
    ) -> FakeEvent:
        """Enqueue a run of the evaluator; asserts the arguments and geometry."""
        with self._call("launch"):
            assert min(grid) >= 1
            lowered, facts = module.kernels[kernel]
            assert workgroup_size == lowered.program.workgroup_size
            self.arguments.append(args)
            self.queues.append(module.queue)
            plan, memory = self._bind(lowered, facts, grid, args)
            self._enqueue(lambda: self.evaluate(plan, memory))
            return FakeEvent(timed, self._enqueued)

    def submit(self, event: FakeEvent) -> None:
        """Asserts that `event` is the last launch."""
        with self._call("submit"):
            assert event.number == self._enqueued, "something is behind it"

    def side_by_side(self, module: FakeModule, kernel: str, workgroup_size: Extent) -> int:
        """The `concurrent_groups` that the port was made with; asserts that the target has grid barriers."""
        with self._call("side_by_side"):
            assert self.spelled.grid_barrier
            assert workgroup_size == module.kernels[kernel][0].program.workgroup_size
            return self.concurrent_groups

    def record(self, enqueue: Callable[[], None]) -> FakeRecording:
        """Collect what `enqueue` enqueues, without doing it; asserts that the port records."""
        with self._call("record"):
            assert self.records
            assert self._recording is None
            self._recording = recording = FakeRecording([])
        try:
            enqueue()
        finally:
            self._recording = None
        self.recordings.add(recording)
        return recording

    def replay(self, recording: FakeRecording) -> FakeEvent:
        """Enqueue the work of a recording; asserts that it was not given back."""
        with self._call("replay"):
            assert recording.is_live, "a forgotten recording was replayed"
            for work in recording.work:
                self._enqueue(work)
            return FakeEvent(timed=False, number=self._enqueued)

    def forget(self, recording: FakeRecording) -> None:
        """Give a recording back; asserts that it was not given back before."""
        with self._call("forget"):
            assert recording.is_live
            recording.is_live = False
            self.recordings.remove(recording)

    def wait(self, event: FakeEvent, timeout: float | None = None) -> bool:
        """Do the work up to the launch; false where the device `hangs`."""
        with self._call("wait"):
            assert timeout is not None or not self.hangs, "the engine would wait for ever"
            if not self.hangs:
                self._work_until(event.number)
            return not self.hangs

    def finish(self, timeout: float | None = None) -> bool:
        """Do all work; false where the device `hangs`."""
        with self._call("finish"):
            assert timeout is not None or not self.hangs, "the engine would wait for ever"
            if not self.hangs:
                self._work_until(self._enqueued)
            return not self.hangs

    def query(self, event: FakeEvent) -> bool:
        """Whether the launch was done."""
        with self._call("query"):
            return not self.hangs and event.number <= self._enqueued - len(self._queue)

    def elapsed(self, event: FakeEvent) -> int | None:
        """The `elapsed_ns` that the port was made with; asserts that the launch was timed."""
        with self._call("elapsed"):
            assert event.timed
            return self.elapsed_ns

    def close(self) -> None:
        """Do all work, unless the device `hangs`; may be called twice."""
        with self._call("close"):
            if not self.hangs:
                self._work_until(self._enqueued)
            self.is_closed = True

    def count(self, call: str) -> int:
        """How often a primitive was called."""
        return self.log.count(call)

    def work(self, steps: int = 1) -> None:
        """Do the next things that were enqueued on a lazy device."""
        self._work_until(self._enqueued - len(self._queue) + steps)

    def _enqueue(self, work: Callable[[], None]) -> None:
        if self._recording is not None:
            self._recording.work.append(work)
            return
        self._enqueued += 1
        self._queue.append(work)
        self.most_in_flight = max(self.most_in_flight, len(self._queue))
        if not self.is_lazy:
            self._work_until(self._enqueued)

    def _work_until(self, number: int) -> None:
        while self._queue and self._enqueued - len(self._queue) < number:
            self._queue.popleft()()

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        assert not self._is_busy, f"{name} was called inside of another call"
        assert not self.is_closed or name == "close", f"{name} was called on a closed port"
        self.log.append(name)
        for fault in self.faults:
            if fault.call == name and fault.nth == self.count(name):
                raise fault.error
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False

    @staticmethod
    def _require_range(memory: FakeMemory, offset: int, size: int) -> None:
        assert memory.is_live, "freed memory was used"
        assert size >= 1
        assert 0 <= offset <= len(memory.contents) - size

    @staticmethod
    def _bind(
        kernel: Kernel, facts: Facts, grid: Extent, args: Sequence[FakeMemory | int]
    ) -> tuple[LaunchPlan, dict[str, memoryview]]:
        """The launch as a plan over memory by name; lengths that are not passed follow from the allocations."""
        program = kernel.program
        bound = [buffer for buffer in program.buffers if buffer.memory.is_bound]
        assert len(args) == len(bound) + len(kernel.lengths)
        passed = dict(zip(kernel.lengths, args[len(bound) :], strict=True))
        lengths: dict[str, int] = {b.name: b.count for b in program.buffers if isinstance(b.count, int)}
        memory = {}
        for buffer, arg in zip(bound, args, strict=False):
            assert isinstance(arg, FakeMemory)
            assert arg.is_live
            length = passed.get(buffer.name, len(arg.contents) // buffer.dtype.size)
            assert isinstance(length, int)
            lengths.setdefault(buffer.name, length)
            memory[buffer.name] = memoryview(arg.contents)[: lengths[buffer.name] * buffer.dtype.size]
        outputs = [OutputLayout(b.name, 0, memory[b.name].nbytes) for b in program.outputs]
        plan = LaunchPlan(
            program=program,
            facts=facts,
            grid=grid,
            lengths=lengths,
            inputs=tuple(buffer.name for buffer in program.inputs),
            outputs=tuple(outputs),
        )
        return plan, memory
