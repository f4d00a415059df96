"""The six primitives of a device, over OpenCL."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.port import DevicePort, SourceUnit
from vyre_driver.errors import BackendError, DeviceOutOfMemory, DispatchFailed, KernelCompileFailed
from vyre_driver.lower.lowered import Lowered
from vyre_driver.lower.target import Target
from vyre_driver_opencl.about import ask, device_of, end_ns, start_ns, status
from vyre_driver_opencl.api import cl
from vyre_driver_opencl.binary import from_bytes, to_bytes
from vyre_driver_opencl.compiler import BuildFailed, build
from vyre_driver_opencl.errors import code_of, from_status, text_of, translated
from vyre_driver_opencl.launch import BLOCKING, Args, LoadedKernel, Module
from vyre_driver_opencl.memory import (
    ALIGNMENT,
    AnyMemory,
    Argument,
    BufferMemory,
    HostMemory,
    Sharing,
    allocate,
    over_host_pointer,
    wrap,
)
from vyre_driver_opencl.opened import OpenedDevice
from vyre_driver_opencl.probe import profile
from vyre_driver_opencl.queues import queue_of, works_at_once
from vyre_foundation.dtype import DType

if TYPE_CHECKING:
    from vyre_driver.tune.candidate import Candidate
    from vyre_driver_opencl.emit import OpenClSource
    from vyre_driver_opencl.recording import Fill, Recording

COMPLETE = cl.command_execution_status.COMPLETE
STATUS = cl.event_info.COMMAND_EXECUTION_STATUS


class OpenClPort(DevicePort[Module, AnyMemory, cl.Event]):
    """One device with one queue, in order, or several of which one is used at a time. It times its kernels."""

    emitter_version = "opencl-1"
    records = True

    def __init__(self, backend: str, opened: OpenedDevice) -> None:
        self._backend, self._opened = backend, opened
        self._context, self._device = opened.context, opened.device
        timed = cl.command_queue_properties.PROFILING_ENABLE
        self._queues = [cl.CommandQueue(self._context, device, timed) for device in opened.queues]
        self._queue = self._queues[0]  # of copies, and of the launches since the last wait for everything
        self._sharing = Sharing.of(self._device, plain_pointers=opened.proven.plain_pointers)
        self._plain_pointers = self._sharing is Sharing.SYSTEM_POINTER
        self.shares_host_memory = self._sharing is not Sharing.NONE
        self._largest = ask(self._device, cl.device_info.MAX_MEM_ALLOC_SIZE)
        # Since the last wait for everything. The arguments are kept because memory of a caller may be among them.
        self._launched: list[tuple[LoadedKernel | Fill | Recording, cl.Event, Args]] = []
        self._ended = 0  # launches before those
        self._pending = 0.0  # seconds that those are known to take together
        self._in_use: list[BufferMemory] = []  # given back while a launch used it
        self._recording: Recording | None = None  # what takes launches and fills now, in place of the queue

    # ── what the device is ───────────────────────────────────────────────────────────────────────────────────────────

    def probe(self) -> DeviceProfile:
        with translated(self._backend):
            queues = tuple(queue_of(queue) for queue in self._queues)
            return profile(self._backend, self._device, self._opened.proven, queues)

    def target(self) -> Target:
        return self._opened.dialect.target()

    # ── compile ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def spellings(self) -> tuple[Candidate, ...]:
        return self._opened.proven.candidates

    def emitter(self) -> str:
        """Words and flags of this device too: which of them is right, or fast, is its own affair."""
        dialect, options = self._opened.dialect, self._opened.reported.options
        return f"{self.emitter_version} {dialect.digest()} {' '.join(options)}"

    def natives(self) -> Mapping[tuple[str, DType], str]:
        return self._opened.dialect.natives

    def emit(self, lowered: Lowered) -> OpenClSource:
        from vyre_driver_opencl.emit import emit  # the printer is not needed by those who load all their code

        return emit(lowered, self._opened.dialect, self._opened.reported.options)

    def compile(self, unit: SourceUnit, queue: int = 0) -> Module:
        from vyre_driver_opencl.emit import OpenClSource

        assert isinstance(unit, OpenClSource)
        try:
            program = build(self._context, self._opened.queues[queue], unit.text, unit.options)
        except BuildFailed as failure:
            place = unit.place(failure.lines[0]) if failure.lines else ""
            raise KernelCompileFailed(self._backend, failure.log, source=unit.text, where=place) from failure
        with translated(self._backend):
            return Module(program, unit.kernels, self._queues[queue], is_flat=unit.is_flat)

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
        self._release_unused()
        if size > self._largest:
            raise DeviceOutOfMemory(size, self._largest)
        with translated(self._backend, requested=size):
            return allocate(self._context, self._sharing, size)

    def fill(self, memory: AnyMemory, byte: int, size: int) -> None:
        if self._recording is not None:
            self._recording.fill(memory, byte, size)
        elif isinstance(memory, HostMemory) and memory.launch <= self._ended:
            memory.fill(byte, size)
        else:
            from vyre_driver_opencl.recording import Fill  # not needed by those whose memory has what it needs

            self._enqueue_all(Fill(memory, byte, size))

    def copy_in(self, memory: AnyMemory, data: memoryview, offset: int = 0) -> None:
        self._wait_for(memory)
        try:
            memory.write(self._queue, data, offset)
        except cl.Error as error:
            raise self._translated(error) from error

    def copy_out(self, memory: AnyMemory, into: memoryview, offset: int = 0) -> None:
        self._wait_for(memory)
        try:
            memory.read(self._queue, into, offset)
        except cl.Error as error:
            raise self._translated(error) from error

    def in_place(self, data: memoryview) -> Argument | None:
        if self._plain_pointers:
            try:
                plain = cl.SVM(data)
            except (BufferError, ValueError):  # read-only: PyOpenCL wants to write
                pass
            else:
                return None if plain.svm_ptr % ALIGNMENT else plain
        with translated(self._backend):
            return over_host_pointer(self._context, data)

    def wrap(self, foreign: object) -> HostMemory | None:
        with translated(self._backend):
            return wrap(self._context, self._sharing, foreign)

    def free(self, memory: AnyMemory) -> None:
        self._in_use.append(memory)
        self._release_unused()

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
    ) -> cl.Event:
        if self._recording is not None:
            return self._recording.launch(module, kernel, grid, workgroup_size, args)
        loaded = module.kernels[kernel]
        event = self._enqueue(module, loaded, grid, workgroup_size, args)
        self._launched.append((loaded, event, args))
        self._pending += loaded.seconds
        return event

    def begun(self, event: cl.Event) -> None:
        """Without this a runtime need not begin before somebody waits."""
        with translated(self._backend):
            self._queue.flush()

    def runner(
        self,
        module: Module,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Args,
        places: Sequence[int],
    ) -> Callable[[Sequence[Argument]], None]:
        """Where the calling thread does the work, this is most of what a dispatch costs: it calls as little as it can.

        `places` are memory of the host. They are set for each launch, and the rest only if another launch has used the
        kernel since.
        """
        loaded = module.kernels[kernel]
        queue, object, set_arg, enqueue = module.queue, loaded.kernel, loaded.kernel.set_arg, cl.enqueue_nd_range_kernel
        launched, at_once, fixed = self._launched, works_at_once(device_of(module.queue)), tuple(args)
        span, local = loaded.sizes(grid, workgroup_size)

        def run(values: Sequence[Argument]) -> None:
            if queue is not self._queue:
                self._change_queue(queue)
            try:
                if loaded.args is not fixed:
                    loaded.shape(grid, workgroup_size)
                    loaded.bind_for(fixed, places, values)
                elif places:
                    for place, value in zip(places, values):  # noqa: B905 - one for each, and strict takes longer
                        set_arg(place, value)
                if not at_once:
                    self._mark(loaded.memories)
                event = enqueue(queue, object, span, local)
            except cl.Error as error:
                loaded.args = None
                raise self._translated(error) from error
            if not launched and event.get_info(STATUS) == COMPLETE:  # the calling thread has done the work
                self._ended += 1
                return
            self._mark(loaded.memories)
            launched.append((loaded, event, values))
            self._pending += loaded.seconds
            self.wait(event)

        return run

    def _enqueue(
        self, module: Module, loaded: LoadedKernel, grid: Extent, workgroup_size: Extent, args: Args
    ) -> cl.Event:
        queue = module.queue
        if queue is not self._queue:
            self._change_queue(queue)
        try:
            if grid is not loaded.grid or workgroup_size is not loaded.workgroup_size:
                loaded.shape(grid, workgroup_size)
            if args is not loaded.args:
                loaded.bind(args)
            self._mark(loaded.memories)
            return cl.enqueue_nd_range_kernel(queue, loaded.kernel, loaded.span, loaded.local)
        except cl.Error as error:
            raise self._translated(error) from error

    def record(self, enqueue: Callable[[], None]) -> Recording:
        from vyre_driver_opencl.recording import Recording  # not needed by those who dispatch one by one

        self._recording = recording = Recording()
        try:
            with translated(self._backend):
                enqueue()
        finally:
            self._recording = None
        return recording

    def replay(self, recording: Recording) -> cl.Event:
        if recording.queue is not None and recording.queue is not self._queue:
            self._change_queue(recording.queue)
        return self._enqueue_all(recording)

    def forget(self, recording: Recording) -> None:
        recording.clear()

    def _enqueue_all(self, commands: Fill | Recording) -> cl.Event:
        self._mark(commands.memories)
        try:
            event = commands.enqueue(self._queue)
        except cl.Error as error:
            raise self._translated(error) from error
        self._launched.append((commands, event, ()))
        self._pending += commands.seconds
        return event

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, event: cl.Event, timeout: float | None = None) -> bool:
        if event.get_info(STATUS) == COMPLETE:  # at once, where the calling thread does the work
            if self._launched and event is self._launched[-1][1]:
                self._settle(measure=self._pending >= BLOCKING)
            return True
        started = time.perf_counter()
        is_short = self._pending < (BLOCKING if timeout is None else min(BLOCKING, timeout))
        try:
            if is_short:
                event.wait()
            elif not self._wait_long(event, timeout):
                return False
        except cl.Error as error:
            raise self._translated(error) from error
        if self._launched and event is self._launched[-1][1]:
            self._settle(measure=not is_short or time.perf_counter() - started > BLOCKING)
        return True

    def _wait_long(self, event: cl.Event, timeout: float | None) -> bool:
        from vyre_driver_opencl.waiting import wait_interruptibly  # not needed by those whose kernels are short

        return wait_interruptibly(event, timeout)

    def query(self, event: cl.Event) -> bool:
        with translated(self._backend):
            self._queue.flush()
            return self._has_ended(event)

    def elapsed(self, event: cl.Event) -> int | None:
        with translated(self._backend):
            return end_ns(event) - start_ns(event)

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        self._finish()
        self._release_unused()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _wait_for(self, memory: BufferMemory) -> None:
        """Wait for the last launch that uses this memory."""
        if memory.launch > self._ended:
            event = self._event(memory)
            if event is None:
                self._finish()
            else:
                self.wait(event)
            memory.launch = 0

    def _mark(self, memories: Sequence[BufferMemory]) -> None:
        """The next launch uses these; said before it is so, because an interrupt may come in between."""
        if memories:
            number = self._ended + len(self._launched) + 1
            for memory in memories:
                memory.launch = number

    def _event(self, memory: BufferMemory) -> cl.Event | None:
        """The event of the last launch that uses this memory; None if that launch failed or was interrupted."""
        position = memory.launch - self._ended - 1
        return self._launched[position][1] if position < len(self._launched) else None

    def _change_queue(self, queue: cl.CommandQueue) -> None:
        """Go on in another queue once everything in this one has ended: launches are in order."""
        if self._launched:
            self.wait(self._launched[-1][1])
        self._queue = queue

    def _finish(self) -> None:
        with translated(self._backend):
            self._queue.finish()
        self._settle(measure=False)

    def _translated(self, error: cl.Error) -> BackendError:
        return from_status(self._backend, code_of(error), text_of(error))

    def _has_ended(self, event: cl.Event) -> bool:
        reached = status(event)
        if reached < 0:
            raise from_status(self._backend, reached, "the kernel was aborted")
        return reached == COMPLETE

    def _settle(self, *, measure: bool) -> None:
        """Everything has ended. `measure`: find out how long each launch took, for the waits to come."""
        if measure:
            for loaded, event, _ in self._launched:
                loaded.took(event)
        self._ended += len(self._launched)
        self._launched.clear()
        self._pending = 0.0

    def _release_unused(self) -> None:
        """Give back what no launch uses any more."""
        still_used = []
        for memory in self._in_use:
            if memory.launch > self._ended and not self._is_over(memory):
                still_used.append(memory)
            else:
                memory.release()
        self._in_use = still_used

    def _is_over(self, memory: BufferMemory) -> bool:
        """Whether the last launch has ended, well or not; with a lost device everything has."""
        event = self._event(memory)
        try:
            if event is None:
                self._queue.finish()
                return True
            return status(event) <= COMPLETE
        except cl.Error:
            return True
