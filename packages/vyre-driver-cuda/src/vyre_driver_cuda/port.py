"""The six primitives of a device, over CUDA: CuPy launches what NVRTC compiled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.port import DevicePort, SourceUnit
from vyre_driver.errors import DeviceOutOfMemory, DispatchFailed, KernelCompileFailed
from vyre_driver.lower.lowered import Lowered
from vyre_driver.lower.target import Target
from vyre_driver_cuda.api import BACKEND
from vyre_driver_cuda.binary import Cubin
from vyre_driver_cuda.compiler import BuildFailed, compile_unit
from vyre_driver_cuda.dialect import without_grid_barriers
from vyre_driver_cuda.emit import CudaSource, emit
from vyre_driver_cuda.errors import from_status, status_of
from vyre_driver_cuda.facts import require_sound
from vyre_driver_cuda.foreign import wrapped
from vyre_driver_cuda.launch import Args, Module
from vyre_driver_cuda.memory import Copies, Memory
from vyre_driver_cuda.opened import OpenedDevice
from vyre_driver_cuda.probe import profile
from vyre_foundation.dtype import DType

NOT_READY = 600
IMPATIENT = 2e-4
"""Seconds in which a wait looks again at once. Longer ones sleep in between."""
LONGEST_PAUSE = 0.005


@dataclass(slots=True, eq=False)
class Mark:
    """The end of a launch, by its number. A timed one has events around it; for another the event at its end is made
    when somebody asks, and then stands behind everything that was enqueued until then."""

    number: int
    start: Any = None
    end: Any = None


class Current:
    """Makes a device the calling thread's for as long as a call runs, and gives the thread its own back. What CUDA
    refuses meanwhile becomes the backend's error.

    A thread that is new to CUDA has no context until it chooses one.
    """

    def __init__(self, runtime: Any, device: int) -> None:
        self._runtime, self._device = runtime, device
        self._threads = threading.local()
        self._before: list[int] = []

    def __enter__(self) -> None:
        before = self._runtime.getDevice()
        if before != self._device or not hasattr(self._threads, "is_ready"):
            self._runtime.setDevice(self._device)
            self._threads.is_ready = True
        self._before.append(before)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        before = self._before.pop()
        if before != self._device:
            with suppress(Exception):  # of a driver that is gone
                self._runtime.setDevice(before)
        if error is not None and (status := status_of(error)) is not None:
            raise from_status(BACKEND, status, str(error)) from error


class CudaPort(DevicePort[Module, Memory, Mark]):
    """One GPU with one stream, in order. It times its kernels, and records rows of launches as graphs."""

    emitter_version: ClassVar[str] = "cuda-2"
    records = True

    def __init__(self, opened: OpenedDevice) -> None:
        self._opened, self._device, self._cupy = opened, opened.candidate.id, opened.cupy
        self._runtime = self._cupy.cuda.runtime
        self._driver = self._cupy.cuda.driver
        self._launch_kernel = self._driver.launchKernel
        self._dialect = opened.dialect
        self._current = Current(self._runtime, self._device)
        self._number = self._ended = 0  # launches, and those that are known to have ended
        with self._current:
            self._stream = self._cupy.cuda.Stream(non_blocking=True)
            self._pool = self._cupy.cuda.MemoryPool()
        self._copies = Copies(self._cupy, self._stream.ptr, self._wait_for)
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

    def allocate(self, size: int) -> Memory:
        try:
            with self._current:
                pointer = self._pool.malloc(size)
        except DeviceOutOfMemory as error:
            raise DeviceOutOfMemory(size, self._available()) from error
        return Memory(int(pointer.ptr), pointer)

    def fill(self, memory: Memory, byte: int, size: int) -> None:
        with self._current:
            self._runtime.memsetAsync(memory.address, byte, size, self._stream.ptr)

    def copy_in(self, memory: Memory, data: memoryview, offset: int = 0) -> None:
        with self._current:
            self._copies.write(memory.address + offset, data)

    def copy_out(self, memory: Memory, into: memoryview, offset: int = 0) -> None:
        number = self._number
        with self._current:
            self._copies.read(memory.address + offset, into)
        self._ended = number

    def wrap(self, foreign: object) -> Memory | None:
        with self._current:
            return wrapped(self._cupy, self._stream, self._device, foreign)

    def free(self, memory: Memory) -> None:
        """Back to the pool: the next one to get it enqueues its work behind all that uses it now."""
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
    ) -> Mark:
        loaded = module.kernels[kernel]
        stream = self._stream.ptr
        with self._current:
            if args is not loaded.args:
                loaded.bind(args)
            start = self._recorded() if timed else None
            if loaded.is_cooperative:
                self._driver.launchCooperativeKernel(loaded.function, *grid, *workgroup_size, 0, stream, loaded.places)
            else:
                self._launch_kernel(loaded.function, *grid, *workgroup_size, 0, stream, loaded.places, 0)
            end = self._recorded() if timed else None
        self._number += 1
        return Mark(self._number, start, end)

    def side_by_side(self, module: Module, kernel: str, workgroup_size: Extent) -> int:
        function, (x, y, z) = module.kernels[kernel].function, workgroup_size
        with self._current:
            each: int = self._driver.occupancyMaxActiveBlocksPerMultiprocessor(function, x * y * z, 0)
        return each * int(self._opened.properties["multiProcessorCount"])

    def record(self, enqueue: Callable[[], object]) -> Any:
        """A graph, captured from the stream."""
        with self._current:
            self._stream.begin_capture()
            try:
                enqueue()
            except BaseException:
                with suppress(Exception):
                    self._stream.end_capture()
                raise
            return self._stream.end_capture()

    def replay(self, recording: Any) -> Mark:
        with self._current:
            recording.launch(self._stream)
        self._number += 1
        return Mark(self._number)

    def forget(self, recording: Any) -> None:
        """CUDA itself keeps a graph until its replays have ended."""

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, event: Mark, timeout: float | None = None) -> bool:
        if event.number <= self._ended:
            return True
        with self._current:
            if not self._look(self._end_of(event), timeout):
                return False
        self._ended = event.number
        return True

    def query(self, event: Mark) -> bool:
        if event.number > self._ended:
            with self._current:
                if not self._has_ended(self._end_of(event)):
                    return False
            self._ended = event.number
        return True

    def elapsed(self, event: Mark) -> int | None:
        if event.start is None:
            return None
        with self._current:
            milliseconds: float = self._runtime.eventElapsedTime(event.start.ptr, event.end.ptr)
        return round(1e6 * milliseconds)

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(Exception), self._current:  # of a lost device everything is gone
            self._runtime.streamSynchronize(self._stream.ptr)
        self._copies.release()
        with suppress(Exception):
            self._pool.free_all_blocks()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _recorded(self) -> Any:
        """An event with a time, at the end of the stream."""
        event = self._cupy.cuda.Event()
        self._runtime.eventRecord(event.ptr, self._stream.ptr)
        return event

    def _end_of(self, mark: Mark) -> Any:
        if mark.end is None:
            mark.end = self._cupy.cuda.Event(disable_timing=True)
            self._runtime.eventRecord(mark.end.ptr, self._stream.ptr)
        return mark.end

    def _wait_for(self, event: Any) -> None:
        self._look(event, None)

    def _look(self, event: Any, timeout: float | None) -> bool:
        """Look again and again, later and later, so that other threads run and interrupts get through in between."""
        if self._has_ended(event):
            return True
        started = time.perf_counter()
        while not self._has_ended(event):
            waited = time.perf_counter() - started
            if timeout is not None and waited >= timeout:
                return False
            pause = 0.0 if waited < IMPATIENT else min(waited / 16, LONGEST_PAUSE)
            time.sleep(pause if timeout is None else min(pause, timeout - waited))
        return True

    def _has_ended(self, event: Any) -> bool:
        status = self._runtime.eventQuery(event.ptr)
        if status not in (0, NOT_READY):
            raise from_status(BACKEND, status, str(self._runtime.CUDARuntimeError(status)))
        return bool(status == 0)

    def _available(self) -> int | None:
        """Free bytes of the GPU, where it still says so."""
        with suppress(Exception):
            return int(self._runtime.memGetInfo()[0])
        return None
