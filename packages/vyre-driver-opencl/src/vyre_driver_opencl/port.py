"""The six primitives of a device, over OpenCL."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pyopencl as cl

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.pending import AsyncCall
from vyre_driver.engine.port import CLOSING, DevicePort, SourceUnit
from vyre_driver.errors import BackendError, DeviceOutOfMemory, DispatchFailed, KernelCompileFailed, UnsupportedFeature
from vyre_driver.legalization.target import Target
from vyre_driver.policy.queue import LONGEST_BLOCKING
from vyre_driver_opencl import aside, proof
from vyre_driver_opencl.binary import from_bytes, to_bytes
from vyre_driver_opencl.compiler import BuildFailed, build
from vyre_driver_opencl.emit import OpenClSource, emit
from vyre_driver_opencl.errors import LaunchRefused, from_status, translated
from vyre_driver_opencl.launch import Args, LoadedKernel, Module
from vyre_driver_opencl.memory import (
    ALIGNMENT,
    AnyMemory,
    Argument,
    BufferMemory,
    DeviceMemory,
    HostMemory,
    Sharing,
    allocate,
    over_host_pointer,
    wrap,
)
from vyre_driver_opencl.needs import needs_of
from vyre_driver_opencl.opened import OpenedDevice
from vyre_driver_opencl.order import COMPLETE, STATUS, Order, Work
from vyre_driver_opencl.probe import profile
from vyre_driver_opencl.queues import WorkQueue, queue_of
from vyre_driver_opencl.quirks.compiler_options import needed
from vyre_driver_opencl.recording import Recording
from vyre_foundation.cached import cached_property
from vyre_foundation.dtype import DType

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from vyre_driver.legalization.lowered import Lowered
    from vyre_driver.tune.candidate import TunedVariant

SECONDS_PER_BYTE, LEAST_SECONDS = 1e-8, 1e-2
"""What a copy or a fill by a command takes at most."""


class OpenClPort(DevicePort[Module, AnyMemory, Work]):
    """One device with one queue, in order, or several ways to run its code. It times its kernels."""

    emitter_version = "opencl-5"
    records = True

    def __init__(self, backend: str, opened: OpenedDevice) -> None:
        self._backend, self._opened = backend, opened
        self._context, self._device = opened.context, opened.device
        with translated(backend):
            self._queues = [WorkQueue(self._context, device) for device in opened.queues]
        self._order = Order(self.wait_limit, (self._context, self._queues))
        self._sharing = Sharing.of(self._device, plain_pointers=opened.proven.plain_pointers)
        self._plain_pointers = self._sharing is Sharing.SYSTEM_POINTER
        self.shares_host_memory = self._sharing is not Sharing.NONE
        self._largest = self._device.max_mem_alloc_size
        self._recording: Recording | None = None  # what takes launches and fills now, in place of the queue
        self._is_compiler_right = not needed(self._device)

    # ── what the device is ───────────────────────────────────────────────────────────────────────────────────────────

    def probe(self) -> DeviceProfile:
        with translated(self._backend):
            queues = tuple(queue_of(queue) for queue in self._queues)
            return profile(self._backend, self._device, self._opened.proven, queues)

    def target(self) -> Target:
        return self._opened.dialect.target()

    # ── compile ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def spellings(self) -> tuple[TunedVariant, ...]:
        return self._opened.proven.candidates

    def measure_spellings(self) -> tuple[TunedVariant, ...]:
        self._opened.measure()
        return self.spellings()

    def show(self, lowered: Lowered) -> bool:
        return self._opened.show(needs_of(lowered))

    def show_everything(self) -> bool:
        return self._opened.show()

    def emitter(self) -> str:
        """Words and flags of this device too: which of them is right, or fast, is its own affair."""
        dialect, options = self._opened.dialect, self._opened.reported.options
        return f"{self.emitter_version} {dialect.digest()} {' '.join(options)}"

    def natives(self) -> Mapping[tuple[str, DType], str]:
        return self._opened.dialect.natives

    def emit(self, lowered: Lowered) -> OpenClSource:
        return emit(lowered, self._opened.dialect, self._opened.reported.options)

    def compile(self, unit: SourceUnit, queue: int = 0) -> Module:
        assert isinstance(unit, OpenClSource)
        self._require_right_compiler()
        try:
            device = self._opened.queues[queue]
            with translated(self._backend):
                program = build(self._context, device, unit.text, unit.options, self.wait_limit)
        except BuildFailed as failure:
            place = unit.place(failure.lines[0]) if failure.lines else ""
            raise KernelCompileFailed(self._backend, failure.log, source=unit.text, where=place) from failure
        with translated(self._backend):
            return Module(program, unit.kernels, self._queues[queue], is_flat=unit.is_flat, is_new=True)

    def _require_right_compiler(self) -> None:
        if self._is_compiler_right:
            return
        try:
            with translated(self._backend):
                proof.require_recurrences(self._backend, self._opened.bench())
        except BuildFailed as failure:
            raise KernelCompileFailed(self._backend, failure.log) from failure
        self._is_compiler_right = True

    def binary(self, module: Module) -> bytes | None:
        with translated(self._backend):
            return to_bytes(module)

    def load(self, binary: bytes, queue: int = 0) -> Module:
        try:
            with translated(self._backend):
                return from_bytes(binary, self._context, self._queues[queue])
        except (BuildFailed, DispatchFailed) as failure:
            raise KernelCompileFailed(self._backend, str(failure)) from failure

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def allocate(self, size: int) -> AnyMemory:
        if size > self._largest:
            raise DeviceOutOfMemory(size, self._largest)
        with translated(self._backend, requested=size):
            return allocate(self._context, self._sharing, size)

    def fill(self, memory: AnyMemory, byte: int, size: int) -> None:
        if self._recording is not None:
            self._recording.fill(memory, byte, size)
            return
        last = memory.last
        if isinstance(memory, HostMemory) and (last is None or last.has_ended()):
            memory.last = None
            memory.fill(byte, size)
            return
        queue = self._queues[0] if last is None else last.queue
        self._enqueue(queue, memory, size, partial(memory.enqueue_fill, queue.commands, byte, size))

    def copy_in(self, memory: AnyMemory, data: memoryview, offset: int = 0) -> None:
        self._wait_for(memory)
        if isinstance(memory, DeviceMemory):
            queue = self._copies
            write = partial(memory.enqueue_write, queue.commands, data, offset)
            self.wait(self._enqueue(queue, memory, data.nbytes, write, data))
        else:
            memory.write(data, offset)

    def copy_out(self, memory: AnyMemory, into: memoryview, offset: int = 0) -> None:
        self._wait_for(memory)
        if isinstance(memory, DeviceMemory):
            queue = self._copies
            read = partial(memory.enqueue_read, queue.commands, into, offset)
            self.wait(self._enqueue(queue, memory, into.nbytes, read, into))
        else:
            memory.read(into, offset)

    def in_place(self, data: memoryview) -> Argument | None:
        if self._plain_pointers:
            try:
                plain = cl.SVM(data)
            except (BufferError, ValueError):  # read-only: PyOpenCL wants to write
                pass
            except cl.Error as error:
                raise self._translated(error) from error
            else:
                return None if plain.svm_ptr % ALIGNMENT else plain
        with translated(self._backend):
            return over_host_pointer(self._context, data)

    def wrap(self, foreign: object) -> HostMemory | None:
        with translated(self._backend):
            return wrap(self._context, self._sharing, foreign)

    def export(self, memory: AnyMemory, size: int) -> npt.NDArray[np.uint8]:
        if isinstance(memory, DeviceMemory):
            raise UnsupportedFeature("exporting of memory of the device", backend=self._backend)
        self._wait_for(memory)
        return memory.bytes[:size]

    def free(self, memory: AnyMemory) -> None:
        self._order.free(memory)

    # ── launch ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Args,
        *,
        timed: bool = False,
        longest: float = math.inf,
    ) -> Work:
        if self._recording is not None:
            return self._recording.launch(module, kernel, grid, workgroup_size, args, longest)
        loaded, queue = module.kernels[kernel], module.queue
        if loaded.call is not None:
            loaded.call.result(self.wait_limit, "another launch")  # nothing of a kernel changes while it is enqueued
        try:
            if grid is not loaded.grid or workgroup_size is not loaded.workgroup_size:
                loaded.shape(grid, workgroup_size)
            if args is not loaded.args:
                loaded.bind(args)
            operands = queue, loaded.memories, (loaded, args), longest
            if loaded.is_new or (queue.works_at_once and longest > LONGEST_BLOCKING):
                return self._launched_aside(loaded, *operands)
            command = partial(cl.enqueue_nd_range_kernel, queue.commands, loaded.kernel, loaded.span, loaded.local)
            return self._order.enqueue(*operands, command)
        except cl.Error as error:
            raise self._translated(error) from error

    def _launched_aside(
        self, loaded: LoadedKernel, queue: WorkQueue, memories: Sequence[BufferMemory], uses: object, longest: float
    ) -> Work:
        """Where enqueueing may take long: a runtime may compile a part then, and a queue that works at once works."""
        enqueue = partial(aside.enqueue, queue.commands, loaded.kernel, loaded.span, loaded.local)

        def command() -> AsyncCall:
            loaded.call = call = AsyncCall(enqueue)
            return call

        work = self._order.enqueue_aside(queue, memories, uses, longest, command)
        loaded.call, loaded.is_new = None, False
        assert work.call is not None
        if isinstance(work.call.gave, int):
            loaded.args = None
            refused = LaunchRefused(work.call.gave)
            raise from_status(self._backend, refused.status, str(refused))
        return work

    def submit(self, event: Work) -> None:
        """Without this a runtime need not begin before somebody waits."""
        with translated(self._backend):
            event.queue.commands.flush()

    def runner(
        self,
        module: Module,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Args,
        places: Sequence[int],
        longest: float = math.inf,
        *,
        is_brief: bool = False,
    ) -> Callable[[Sequence[Argument]], None]:
        """Where the calling thread does the work, this is most of what a dispatch costs: it calls as little as it can.

        `places` are memory of the host. They are set for each launch, and the rest only if another launch has used the
        kernel since.
        """
        usual = super().runner(module, kernel, grid, workgroup_size, args, places, longest)
        if not module.queue.works_at_once or longest > LONGEST_BLOCKING:
            return usual
        loaded, order, queue = module.kernels[kernel], self._order, module.queue
        object, set_arg, enqueue = loaded.kernel, loaded.kernel.set_arg, cl.enqueue_nd_range_kernel
        commands, in_flight, fixed = queue.commands, order.entries, tuple(args)
        memories = [arg for arg in fixed if isinstance(arg, BufferMemory)]
        span, local = loaded.sizes(grid, workgroup_size)

        def run(values: Sequence[Argument]) -> None:
            if loaded.is_new:
                usual(values)
                return
            if in_flight:
                for memory in memories:
                    order.wait_for(memory)
                order.sweep()
            try:
                if loaded.args is not fixed:
                    loaded.shape(grid, workgroup_size)
                    loaded.bind_for(fixed, places, values)
                elif places:
                    for place, value in zip(places, values):  # noqa: B905 - one for each, and strict takes longer
                        set_arg(place, value)
                event = enqueue(commands, object, span, local)
                if event.get_info(STATUS) == COMPLETE:  # as always: the calling thread has done the work
                    return
            except cl.Error as error:
                loaded.args = None
                raise self._translated(error) from error
            self.wait(order.entered(queue, event, memories, (loaded, fixed, values)))

        return run

    def record(self, enqueue: Callable[[], None]) -> Recording:
        self._recording = recording = Recording()
        try:
            with translated(self._backend):
                enqueue()
        finally:
            self._recording = None
        return recording

    def replay(self, recording: Recording) -> Work:
        queue = recording.queue or self._queues[0]
        command = partial(recording.enqueue, queue.commands)
        with translated(self._backend):
            return self._order.enqueue(queue, recording.memories, recording.uses, recording.longest, command)

    def forget(self, recording: Recording) -> None:
        recording.clear()

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, event: Work, timeout: float | None = None) -> bool:
        with translated(self._backend):
            if not self._order.ended(event, timeout):
                return False
            self._require_success(event)
        return True

    def query(self, event: Work) -> bool:
        with translated(self._backend):
            event.queue.commands.flush()
            if not event.has_ended():
                return False
            self._require_success(event)
        return True

    def finish(self, timeout: float | None = None) -> bool:
        return self._order.finish(timeout)

    def elapsed(self, event: Work) -> int | None:
        with translated(self._backend):
            ended = event.known_event()
            return ended.profile.end - ended.profile.start

    def times(self, event: Work) -> tuple[int, int] | None:
        with translated(self._backend):
            ended = event.known_event()
            return ended.profile.start, ended.profile.end

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        with suppress(BackendError):
            self._order.finish(CLOSING)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _copies(self) -> WorkQueue:
        """The queue of copies, which do not wait for launches over other memory."""
        return WorkQueue(self._context, self._opened.queues[0])

    def _enqueue(
        self, queue: WorkQueue, memory: AnyMemory, size: int, command: Callable[[], cl.Event], host: object = None
    ) -> Work:
        """Enqueue a copy or a fill of some bytes of the device; `host` are those of the host."""
        longest = LEAST_SECONDS + SECONDS_PER_BYTE * size
        with translated(self._backend):
            return self._order.enqueue(queue, (memory,), (memory, host), longest, command)

    def _wait_for(self, memory: BufferMemory) -> None:
        """Wait for the last work that uses this memory, and raise if that failed."""
        if memory.last is not None:
            with translated(self._backend):
                work = self._order.wait_for(memory)
                if work is not None:
                    self._require_success(work)

    def _require_success(self, work: Work) -> None:
        reached = work.known_event().command_execution_status
        if reached < 0:
            raise from_status(self._backend, reached, "the kernel was aborted")

    def _translated(self, error: cl.Error) -> BackendError:
        return from_status(self._backend, error.code, str(error))
