"""The six primitives of a device, over CUDA: CuPy launches what NVRTC compiled."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.port import CLOSING, DevicePort, SourceUnit
from vyre_driver.errors import DeviceOutOfMemory, DispatchFailed, KernelCompileFailed
from vyre_driver.legalization.target import Target
from vyre_driver_cuda.api import BACKEND
from vyre_driver_cuda.binary import Cubin
from vyre_driver_cuda.compiler import BuildFailed, compile_unit
from vyre_driver_cuda.dialect import without_grid_barriers
from vyre_driver_cuda.emit import CudaSource, emit
from vyre_driver_cuda.errors import from_status, status_of
from vyre_driver_cuda.facts import require_sound
from vyre_driver_cuda.foreign import exported, wrapped
from vyre_driver_cuda.launch import Args, Module
from vyre_driver_cuda.memory import DeviceMemory
from vyre_driver_cuda.opened import OpenedDevice
from vyre_driver_cuda.order import Mark, Order
from vyre_driver_cuda.probe import profile
from vyre_driver_cuda.recording import Recording
from vyre_foundation.dtype import DType

if TYPE_CHECKING:
    from vyre_driver.legalization.lowered import Lowered


class Current:
    """Makes a device the calling thread's current one for as long as a call runs.

    The thread gets its own back, and errors of CUDA become the backend's error. A thread that is new to CUDA has no
    context until it chooses one.
    """

    def __init__(self, runtime: Any, device: int) -> None:
        self._runtime, self._device = runtime, device
        self._threads = threading.local()
        self.before: list[int] = []
        """The thread's own device for each block that is open; calls of a port come one at a time."""

    def __enter__(self) -> None:
        before, threads = self._runtime.getDevice(), self._threads
        if before != self._device or not hasattr(threads, "has_context"):
            self._runtime.setDevice(self._device)
            threads.has_context = True
        self.before.append(before)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        before = self.before.pop()
        if before != self._device:
            with suppress(Exception):  # of a driver that is gone
                self._runtime.setDevice(before)
        if error is not None and (status := status_of(error)) is not None:
            raise from_status(BACKEND, status, str(error)) from error


class CudaPort(DevicePort[Module, DeviceMemory, Mark]):
    """One GPU. It runs copies beside kernels, times its kernels, and records rows of launches as graphs."""

    emitter_version: ClassVar[str] = "cuda-6"
    records, keeps_failures = True, True

    def __init__(self, opened: OpenedDevice) -> None:
        self._opened, self._device, self._cupy = opened, opened.candidate.id, opened.cupy
        self._runtime = self._cupy.cuda.runtime
        self._driver = self._cupy.cuda.driver
        self._launch_kernel = self._driver.launchKernel
        self._dialect = opened.dialect
        self._current = Current(self._runtime, self._device)
        with self._current:
            self._pool = self._cupy.cuda.MemoryPool()
            current = self._current
            self._order = Order(self._cupy, lambda: bool(current.before), self.wait_limit, self._pool)
        self._is_closed = False

    # ── what the device is ───────────────────────────────────────────────────────────────────────────────────────────

    def probe(self) -> DeviceProfile:
        found = profile(self._opened)
        if not require_sound(self, found):
            self._dialect = without_grid_barriers(self._dialect)
            found = replace(found, supports_grid_sync=False)
        return found

    def target(self) -> Target:
        return self._dialect.target()

    # ── compile ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def emitter(self) -> str:
        return f"{self.emitter_version} {self._dialect.digest()}"

    def natives(self) -> Mapping[tuple[str, DType], str]:
        return self._dialect.natives

    def emit(self, lowered: Lowered) -> CudaSource:
        return emit(lowered, self._dialect)

    def compile(self, unit: SourceUnit, queue: int = 0) -> Module:
        assert isinstance(unit, CudaSource)
        architecture = self._opened.candidate.architecture
        return self._loaded(Cubin.of(unit, compile_unit(unit, architecture), architecture))

    def binary(self, module: Module) -> bytes | None:
        return module.cubin.to_bytes()

    def load(self, binary: bytes, queue: int = 0) -> Module:
        try:
            cubin = Cubin.from_bytes(binary)
            cubin.require(self._opened.candidate.architecture)
            return self._loaded(cubin)
        except (BuildFailed, DispatchFailed) as failure:
            raise KernelCompileFailed(BACKEND, str(failure)) from failure

    def _loaded(self, cubin: Cubin) -> Module:
        with self._current:
            return Module(self._cupy, cubin)

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def allocate(self, size: int) -> DeviceMemory:
        try:
            with self._current:
                pointer = self._pool.malloc(size)
        except DeviceOutOfMemory as error:
            raise DeviceOutOfMemory(size, self._available()) from error
        return self._order.made(int(pointer.ptr), pointer)

    def fill(self, memory: DeviceMemory, byte: int, size: int) -> None:
        with self._current:
            self._order.next((memory,))
            self._runtime.memsetAsync(memory.address, byte, size, self._order.stream.ptr)

    def copy_in(self, memory: DeviceMemory, data: memoryview, offset: int = 0) -> None:
        with self._current:
            self._order.write(memory, offset, data)

    def copy_out(self, memory: DeviceMemory, into: memoryview, offset: int = 0) -> None:
        with self._current:
            self._order.read(memory, offset, into)

    def wrap(self, foreign: object) -> DeviceMemory | None:
        with self._current:
            memory = wrapped(self._cupy, self._order.stream, self._device, foreign)
            if memory is not None:
                self._order.next((memory,))  # which may be a wait for the work that makes its contents
        return memory

    def export(self, memory: DeviceMemory, size: int) -> Any:
        with self._current:
            self._order.finish(None)
            return exported(self._cupy, self._device, memory, size)

    def free(self, memory: DeviceMemory) -> None:
        """Back to the pool: the next one to get it knows what may be using it."""
        self._order.freed(memory)
        memory.holder, memory.address = None, 0

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
    ) -> Mark:
        loaded, order, stream = module.kernels[kernel], self._order, self._order.stream.ptr
        with self._current:
            if args is not loaded.args:
                loaded.bind(args)
            mark = Mark(order.next_launch(loaded.memories))
            if timed:
                order.begin(mark)
            if loaded.is_cooperative:
                self._driver.launchCooperativeKernel(loaded.function, *grid, *workgroup_size, 0, stream, loaded.places)
            else:
                self._launch_kernel(loaded.function, *grid, *workgroup_size, 0, stream, loaded.places, 0)
            if timed:
                order.end(mark)
        return mark

    def submit(self, event: Mark) -> None:
        """An event at its end, before there is more behind it."""
        with self._current:
            self._order.end_of(event)

    def side_by_side(self, module: Module, kernel: str, workgroup_size: Extent) -> int:
        function, (x, y, z) = module.kernels[kernel].function, workgroup_size
        with self._current:
            each: int = self._driver.occupancyMaxActiveBlocksPerMultiprocessor(function, x * y * z, 0)
        return each * int(self._opened.properties["multiProcessorCount"])

    def record(self, enqueue: Callable[[], object]) -> Recording:
        """A graph, captured from the stream."""
        with self._current:
            memories = self._order.capture()
            try:
                enqueue()
            except BaseException:
                with suppress(Exception):
                    self._order.captured()
                raise
            return Recording(self._order.captured(), memories)

    def replay(self, recording: Recording) -> Mark:
        with self._current:
            mark = Mark(self._order.next_launch(recording.memories))
            recording.graph.launch(self._order.stream)
        return mark

    def forget(self, recording: Recording) -> None:
        """CUDA itself keeps a graph until its replays have ended."""

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, event: Mark, timeout: float | None = None) -> bool:
        with self._current:
            return self._order.wait(event, timeout)

    def finish(self, timeout: float | None = None) -> bool:
        with self._current:
            return self._order.finish(timeout)

    def query(self, event: Mark) -> bool:
        with self._current:
            return self._order.query(event)

    def elapsed(self, event: Mark) -> int | None:
        with self._current:
            return self._order.elapsed(event)

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(Exception), self._current:  # of a lost device everything is gone
            if self._order.close(CLOSING):
                self._pool.free_all_blocks()  # which waits for all work

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _available(self) -> int | None:
        """Free bytes of the GPU, where it still says so."""
        with suppress(Exception):
            return int(self._runtime.memGetInfo()[0])
        return None
