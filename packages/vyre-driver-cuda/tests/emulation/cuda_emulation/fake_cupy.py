"""A stand-in for the part of CuPy that the port uses, over the emulation: for tests, and to rehearse what needs a GPU.

Streams are as lazy as streams may be: what is enqueued happens when somebody asks about an event behind it, or another
stream waits for one, and not before. So a port that reads or reuses memory too early gets wrong bytes here. Those of
`hurried` do everything at once instead, which shows where one had to wait for another. Streams are counted in the order
in which they are made: `trace` says which of them each piece of work went to. Every call is in `log`, with the names
and arguments that CuPy 14 has; what it does not have is missing here too. `refuse` scripts failures.
"""

from __future__ import annotations

import ctypes
import threading
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
class Place:
    """A place in the work of a stream, which an event marks until it is recorded again."""

    stream: FakeStream | None = None
    is_reached: bool = True
    at: float = 0.0

    def reach(self) -> None:
        self.is_reached, self.at = True, time.perf_counter()


@dataclass(slots=True)
class FakeEvent:
    ptr: int
    timed: bool
    place: Place = field(default_factory=Place)


@dataclass
class FakePointer:
    ptr: int
    mem: Any


@dataclass
class FakeArray:
    """An array on a device: NumPy cannot read it, and slices, views and reshaped arrays are over the same memory."""

    host: np.ndarray
    pointer: Any

    @classmethod
    def over(cls, shape: tuple[int, ...], dtype: Any, pointer: Any) -> FakeArray:
        contents = (ctypes.c_uint8 * pointer.mem.size).from_address(pointer.ptr)
        return cls(np.ndarray(shape, dtype, contents), pointer)

    def __getitem__(self, index: Any) -> FakeArray:
        return FakeArray(self.host[index], self.pointer)

    def view(self, dtype: Any) -> FakeArray:
        return FakeArray(self.host.view(dtype), self.pointer)

    def reshape(self, shape: tuple[int, ...]) -> FakeArray:
        return FakeArray(self.host.reshape(shape), self.pointer)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.host.__array_interface__ | {"version": 3, "stream": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.pointer.mem.device_id)


@dataclass(eq=False)
class FakeStream:
    """`captured` collects what is enqueued while a graph is made of it."""

    fake: FakeCupy
    ptr: int
    work: deque[Callable[[], object]] = field(default_factory=deque)
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
        self.fake.enqueue(stream.ptr, "graph", *self.calls)


@dataclass
class FakeCupy:
    """`patience` is how often an event has to be asked for before its work happens. `room` bytes are there."""

    devices: int = 1
    room: int = 2**32
    patience: int = 0
    hurried: frozenset[int] = frozenset()
    log: list[str] = field(default_factory=list)
    trace: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers, self.lock = count(1), threading.RLock()
        self.device, self.held = 0, 0
        self.events: dict[int, FakeEvent] = {}
        self.streams: dict[int, FakeStream] = {}
        self.functions: dict[int, tuple[Module, str]] = {}
        self.in_pool: list[Any] = []
        self.refused: dict[str, list[int]] = {}
        self.sticky = 0
        self.asked = 0
        self.backwards = False
        runtime = {name: getattr(self, f"_{name}") for name in RUNTIME}
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(
                **runtime,
                memcpyHostToDevice=1,
                memcpyDeviceToHost=2,
                cudaDevAttrMemoryClockRate=36,
                cudaDevAttrGlobalMemoryBusWidth=37,
                CUDARuntimeError=FakeError,
            ),
            driver=SimpleNamespace(**{name: getattr(self, f"_{name}") for name in DRIVER}),
            Stream=self._stream,
            Event=self._event,
            MemoryPool=lambda: SimpleNamespace(malloc=self._malloc, free_all_blocks=lambda: self.called("free_blocks")),
            Module=lambda: FakeModule(self),
            alloc_pinned_memory=self._pinned,
            UnownedMemory=lambda ptr, size, owner, device_id: SimpleNamespace(
                ptr=ptr, size=size, owner=owner, device_id=device_id
            ),
            MemoryPointer=lambda memory, offset: SimpleNamespace(mem=memory, ptr=memory.ptr + offset),
        )
        self.uint8, self.ndarray = np.uint8, FakeArray.over

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

    @property
    def under_way(self) -> int:
        """Pieces of work that have not happened."""
        return sum(len(stream.work) for stream in self.streams.values())

    def enqueue(self, stream: int, name: str, *calls: Callable[[], object]) -> None:
        with self.lock:
            found = self.streams.get(stream)
            if found is None:  # another library's
                for call in calls:
                    call()
            elif found.captured is None:
                number = list(self.streams).index(stream)
                self.trace.append((number, name))
                found.work.extend(calls)
                while number in self.hurried and found.work and not self.sticky:
                    found.work.popleft()()
            else:
                found.captured.extend(calls)

    def _work_until(self, place: Place) -> None:
        with self.lock:
            while place.stream is not None and place.stream.work and not place.is_reached and not self.sticky:
                place.stream.work.popleft()()

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
        if not self.under_way:
            self.in_pool.clear()
        memory = np.full(size, 0xA5, np.uint8)
        self.in_pool.append(memory)
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

        self.enqueue(stream, name, run)

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

    def _deviceGetAttribute(self, attribute: int, device: int) -> int:
        self.called("deviceGetAttribute")
        return ATTRIBUTES[attribute]

    def _driverGetVersion(self) -> int:
        return 13000

    def _memGetInfo(self) -> tuple[int, int]:
        self.called("memGetInfo")
        return self.room, self.room

    def _memcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        self.called("memcpyAsync")
        copy = partial(ctypes.memmove, dst, src, size)
        self.enqueue(stream, "in" if kind == self.cuda.runtime.memcpyHostToDevice else "out", copy)

    def _memsetAsync(self, ptr: int, value: int, size: int, stream: int) -> None:
        self.called("memsetAsync")
        self.enqueue(stream, "fill", partial(ctypes.memset, ptr, value, size))

    def _eventRecord(self, event: int, stream: int) -> None:
        self.called("eventRecord")
        place = self.events[event].place = Place(self.streams.get(stream), is_reached=False)
        self.enqueue(stream, "record", place.reach)

    def _eventQuery(self, event: int) -> int:
        self.log.append("eventQuery")
        place = self.events[event].place
        if not place.is_reached:
            self.asked += 1
            if self.asked <= self.patience:
                return NOT_READY
            self.asked = 0
            self._work_until(place)
        return self.sticky

    def _eventElapsedTime(self, start: int, end: int) -> float:
        self.called("eventElapsedTime")
        assert self.events[start].timed
        assert self.events[end].timed
        return 1e3 * (self.events[end].place.at - self.events[start].place.at)

    def _streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        self.called("streamWaitEvent")
        place = self.events[event].place
        self.enqueue(stream, "wait", lambda: self._work_until(place))

    def _streamSynchronize(self, stream: int) -> None:
        self.called("streamSynchronize")
        self._work_until(Place(self.streams[stream], is_reached=False))

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
    *("streamWaitEvent", "streamSynchronize", "pointerGetAttributes", "deviceGetAttribute"),
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
    "l2CacheSize": 0,
}
"""Without the clock rates, which CUDA 13 has removed from `cudaDeviceProp`."""
ATTRIBUTES = {36: 2_000_000, 37: 4096}
