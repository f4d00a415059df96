"""A stand-in for the part of CuPy that the port uses, over the emulation: for tests, and to rehearse what needs a GPU.

The stream is as lazy as a stream may be: what is enqueued happens when somebody asks about an event behind it, and not
before. So a port that reads or reuses host memory too early gets wrong bytes here. Every call is in `log`, with the
names and arguments that CuPy 14 has; what it does not have is missing here too. `refuse` scripts failures.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from cuda_emulation.launch import MOST_THREADS, MULTIPROCESSORS, KernelFault, Module, occupancy
from vyre_driver.device.profile import Extent

NOT_READY = 600
OUT_OF_MEMORY = 2
LAUNCH_FAILED = 719
TOO_LARGE = 720
NAMES = {
    2: "cudaErrorMemoryAllocation: out of memory",
    700: "cudaErrorIllegalAddress: an illegal memory access was encountered",
    719: "cudaErrorLaunchFailure: unspecified launch failure",
}


class FakeError(RuntimeError):
    """As the errors of CuPy: a status and its words."""

    def __init__(self, status: int) -> None:
        super().__init__(NAMES.get(status, f"status {status}"))
        self.status = status


FakeError.__module__ = "cupy_backends.fake"
OutOfMemory = type("OutOfMemoryError", (MemoryError,), {"__module__": "cupy.fake"})


@dataclass(slots=True)
class FakeEvent:
    ptr: int
    timed: bool
    is_reached: bool = True
    at: float = 0.0


@dataclass
class FakePointer:
    ptr: int
    mem: Any


@dataclass(eq=False)
class FakeStream:
    """`captured` collects what is enqueued while a graph is made of it."""

    fake: FakeCupy
    ptr: int
    captured: list[Callable[[], object]] | None = None

    def begin_capture(self, mode: int | None = None) -> None:
        self.fake.called("begin_capture")
        self.captured = []

    def end_capture(self) -> FakeGraph:
        self.fake.called("end_capture")
        calls, self.captured = self.captured, None
        assert calls is not None
        return FakeGraph(self.fake, calls)

    def __enter__(self) -> FakeStream:
        self.fake.called("current stream")
        return self

    def __exit__(self, *_: object) -> None:
        pass


@dataclass
class FakeGraph:
    fake: FakeCupy
    calls: list[Callable[[], object]]

    def launch(self, stream: FakeStream | None = None) -> None:
        self.fake.called("graph_launch")
        assert stream is not None
        for call in self.calls:
            self.fake.enqueue(stream.ptr, call)


@dataclass
class FakeCupy:
    """`patience` is how often an event has to be asked for before its work happens. `room` bytes are there."""

    devices: int = 1
    room: int = 2**32
    patience: int = 0
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers = count(1)
        self.device, self.held = 0, 0
        self.work: deque[Callable[[], object]] = deque()
        self.events: dict[int, FakeEvent] = {}
        self.streams: dict[int, FakeStream] = {}
        self.functions: dict[int, tuple[Module, str]] = {}
        self.refused: dict[str, list[int]] = {}
        self.sticky = 0
        self.asked = 0
        self.backwards = False
        runtime = {name: getattr(self, f"_{name}") for name in RUNTIME}
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(**runtime, memcpyHostToDevice=1, memcpyDeviceToHost=2, CUDARuntimeError=FakeError),
            driver=SimpleNamespace(**{name: getattr(self, f"_{name}") for name in DRIVER}),
            Stream=self._stream,
            Event=self._event,
            MemoryPool=lambda: SimpleNamespace(malloc=self._malloc, free_all_blocks=lambda: self.called("free_blocks")),
            Module=lambda: FakeModule(self),
            alloc_pinned_memory=self._pinned,
        )

    def refuse(self, call: str, status: int, nth: int = 1) -> None:
        """Let the `nth` call of this name from now on fail with a status."""
        self.refused[call] = [0] * (nth - 1) + [status]

    def called(self, name: str) -> None:
        self.log.append(name)
        if self.sticky:
            raise FakeError(self.sticky)
        script = self.refused.get(name)
        if script and (status := script.pop(0)):
            raise FakeError(status)

    def enqueue(self, stream: int, call: Callable[[], object]) -> None:
        found = self.streams.get(stream)
        if found is None:  # another library's
            call()
        elif found.captured is None:
            self.work.append(call)
        else:
            found.captured.append(call)

    def _work_until(self, is_done: Callable[[], bool]) -> None:
        while self.work and not is_done() and not self.sticky:
            self.work.popleft()()

    # ── cupy.cuda ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _stream(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> FakeStream:
        self.called("Stream")
        stream = FakeStream(self, next(self.numbers))
        self.streams[stream.ptr] = stream
        return stream

    def _event(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> FakeEvent:
        self.called("Event")
        event = FakeEvent(next(self.numbers), not disable_timing)
        self.events[event.ptr] = event
        return event

    def _malloc(self, size: int) -> FakePointer:
        self.called("malloc")
        if size > self.room:
            raise OutOfMemory(f"Out of memory allocating {size:,} bytes")
        memory = np.full(size, 0xA5, np.uint8)
        return FakePointer(memory.ctypes.data, memory)

    def _pinned(self, size: int) -> Any:
        self.called("alloc_pinned_memory")
        return np.zeros(size, np.uint8)

    # ── cupy.cuda.driver ─────────────────────────────────────────────────────────────────────────────────────────────

    def _launchKernel(
        self,
        f: int,
        grid_dim_x: int,
        grid_dim_y: int,
        grid_dim_z: int,
        block_dim_x: int,
        block_dim_y: int,
        block_dim_z: int,
        shared_mem_bytes: int,
        stream: int,
        kernel_params: int,
        extra: int,
    ) -> None:
        self.called("launchKernel")
        assert (shared_mem_bytes, extra) == (0, 0)
        grid, block = (grid_dim_x, grid_dim_y, grid_dim_z), (block_dim_x, block_dim_y, block_dim_z)
        self._launch(f, grid, block, stream, kernel_params, together=False)

    def _launchCooperativeKernel(
        self,
        f: int,
        grid_dim_x: int,
        grid_dim_y: int,
        grid_dim_z: int,
        block_dim_x: int,
        block_dim_y: int,
        block_dim_z: int,
        shared_mem_bytes: int,
        stream: int,
        kernel_params: int,
    ) -> None:
        self.called("launchCooperativeKernel")
        assert shared_mem_bytes == 0
        grid, block = (grid_dim_x, grid_dim_y, grid_dim_z), (block_dim_x, block_dim_y, block_dim_z)
        if prod(grid) > MULTIPROCESSORS * occupancy(prod(block)):
            raise FakeError(TOO_LARGE)
        self._launch(f, grid, block, stream, kernel_params, together=True)

    def _occupancyMaxActiveBlocksPerMultiprocessor(self, func: int, blockSize: int, dynamicSMemSize: int) -> int:
        self.called("occupancy")
        assert dynamicSMemSize == 0
        assert func in self.functions
        return occupancy(blockSize)

    def _launch(self, f: int, grid: Extent, block: Extent, stream: int, kernel_params: int, *, together: bool) -> None:
        module, name = self.functions[f]
        values = (ctypes.c_uint64 * ARGUMENTS)()  # the driver copies the arguments during the call
        places = (ctypes.c_void_p * ARGUMENTS)()
        for i, place in enumerate((ctypes.c_void_p * module.arguments(name)).from_address(kernel_params)):
            values[i] = ctypes.c_uint64.from_address(place or 0).value
            places[i] = ctypes.addressof(values) + 8 * i

        def run() -> None:
            self.backwards = not self.backwards
            _ = values  # which `places` point into
            try:
                module.launch(name, grid, block, ctypes.addressof(places), backwards=self.backwards, together=together)
            except KernelFault:
                self.sticky = LAUNCH_FAILED

        self.enqueue(stream, run)

    # ── cupy.cuda.runtime ────────────────────────────────────────────────────────────────────────────────────────────

    def _getDeviceCount(self) -> int:
        self.called("getDeviceCount")
        return self.devices

    def _getDevice(self) -> int:
        return self.device

    def _setDevice(self, device: int) -> None:
        self.called("setDevice")
        self.device = device

    def _getDeviceProperties(self, device: int) -> dict[str, Any]:
        self.called("getDeviceProperties")
        return dict(PROPERTIES)

    def _driverGetVersion(self) -> int:
        return 13000

    def _memGetInfo(self) -> tuple[int, int]:
        self.called("memGetInfo")
        return self.room, self.room

    def _memcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        self.called("memcpyAsync")
        self.enqueue(stream, partial(ctypes.memmove, dst, src, size))

    def _memsetAsync(self, ptr: int, value: int, size: int, stream: int) -> None:
        self.called("memsetAsync")
        self.enqueue(stream, partial(ctypes.memset, ptr, value, size))

    def _eventRecord(self, event: int, stream: int) -> None:
        self.called("eventRecord")
        found = self.events[event]
        found.is_reached = False

        def reach() -> None:
            found.is_reached, found.at = True, time.perf_counter()

        self.enqueue(stream, reach)

    def _eventQuery(self, event: int) -> int:
        self.log.append("eventQuery")
        found = self.events[event]
        if not found.is_reached:
            self.asked += 1
            if self.asked <= self.patience:
                return NOT_READY
            self.asked = 0
            self._work_until(lambda: found.is_reached)
        return self.sticky

    def _eventElapsedTime(self, start: int, end: int) -> float:
        self.called("eventElapsedTime")
        assert self.events[start].timed
        assert self.events[end].timed
        return 1e3 * (self.events[end].at - self.events[start].at)

    def _streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        self.called("streamWaitEvent")

    def _streamSynchronize(self, stream: int) -> None:
        self.called("streamSynchronize")
        self._work_until(lambda: False)

    def _pointerGetAttributes(self, ptr: int) -> Any:
        self.called("pointerGetAttributes")
        return SimpleNamespace(device=0)


class FakeModule:
    def __init__(self, fake: FakeCupy) -> None:
        self._fake = fake

    def load(self, cubin: bytes) -> None:
        self._fake.called("load")
        self._module = Module(cubin)

    def get_function(self, name: str) -> Any:
        function = next(self._fake.numbers)
        self._fake.functions[function] = self._module, name
        return SimpleNamespace(ptr=function)


ARGUMENTS = 64
DRIVER = ("launchKernel", "launchCooperativeKernel", "occupancyMaxActiveBlocksPerMultiprocessor")
RUNTIME = (
    *("getDeviceCount", "getDevice", "setDevice", "getDeviceProperties", "driverGetVersion", "memGetInfo"),
    *("memcpyAsync", "memsetAsync", "eventRecord", "eventQuery", "eventElapsedTime"),
    *("streamWaitEvent", "streamSynchronize", "pointerGetAttributes"),
)
PROPERTIES = {
    "name": b"emulation on a CPU",
    "major": 9,
    "minor": 0,
    "totalGlobalMem": 2**32,
    "sharedMemPerBlock": 48 * 1024,
    "warpSize": 32,
    "maxThreadsPerBlock": 1024,
    "maxThreadsDim": (1024, 1024, 64),
    "maxGridSize": (2**31 - 1, 65535, 65535),
    "multiProcessorCount": MULTIPROCESSORS,
    "maxThreadsPerMultiProcessor": MOST_THREADS,
    "cooperativeLaunch": 1,
    "memoryClockRate": 0,
    "memoryBusWidth": 0,
    "l2CacheSize": 0,
}
