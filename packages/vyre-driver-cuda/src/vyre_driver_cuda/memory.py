"""Memory of the GPU, and the way of bytes into it and out of it.

Allocations come from a pool of CuPy's that belongs to the port: what is given back serves the next one at once, which
is safe because it is known what memory may still be used by (see `order`). Bytes of callers go through pinned memory of
the port: so the caller's memory is free at return, whatever kind it is. Large copies go in parts, some on the bus while
others are copied on the host, by several threads, because one core moves a fraction of what the bus does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.cpus import usable_cpus

if TYPE_CHECKING:
    import numpy.typing as npt

SMALL, SMALLS = 1 << 16, 16
LARGE, LARGES = 1 << 20, 12
"""Bytes of a slot of pinned memory, and how many there are: copies that may be under way before one is waited for."""
THREADS = 8
"""Threads that copy on the host, at most: fewer than there are large slots, as the others are on their way."""
SHARE = 1 << 18
"""Bytes that are worth handing to a thread."""

Wait = Callable[[Any], None]


class DeviceMemory:
    """Some bytes of the GPU at `address`.

    `holder` owns them: CuPy's pointer, or another library's array. `used` is the number of the last work that may use
    them.
    """

    __slots__ = ("address", "holder", "used")

    def __init__(self, address: int, holder: object, used: int = 0) -> None:
        self.address, self.holder, self.used = address, holder, used


class HostCopies:
    """Copies of host memory on a few threads, which begin with the first copy."""

    def __init__(self) -> None:
        self.threads = min(THREADS, usable_cpus())
        self._pool: ThreadPoolExecutor | None = None

    def start(self, target: npt.NDArray[np.uint8], source: npt.NDArray[np.uint8]) -> Future[None]:
        """Copy on another thread."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, "vyre cuda copies")
        return self._pool.submit(np.copyto, target, source)

    def end(self) -> None:
        """End the threads, when all that they were given is copied."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


class StagingBuffer:
    """Pinned host memory that a copy uses until `event`. It `is_open` while that does not stand behind the copy.

    Without `is_used` no copy uses it any more. `on_host` is the last copy between it and other host memory on another
    thread.
    """

    __slots__ = ("address", "bytes", "event", "is_open", "is_used", "on_host")

    def __init__(self, cupy: Any, size: int) -> None:
        self.bytes = np.frombuffer(cupy.cuda.alloc_pinned_memory(size), np.uint8, size)
        self.address = int(self.bytes.ctypes.data)
        self.event = cupy.cuda.Event(disable_timing=True)
        self.is_open = self.is_used = False
        self.on_host: Future[None] | None = None

    def join(self) -> None:
        """Wait for the copy on the host."""
        if self.on_host is not None:
            self.on_host.result()
            self.on_host = None


class Ring:
    """`count` slots of `size` bytes for copies on a stream, made when they are needed."""

    def __init__(self, cupy: Any, stream: int, size: int, count: int, wait: Wait) -> None:
        self._cupy, self._stream, self.size, self.count, self._wait = cupy, stream, size, count, wait
        self._staging: deque[StagingBuffer] = deque()

    def next(self) -> StagingBuffer:
        """The slot that was used longest ago, when its copies have ended."""
        staging = StagingBuffer(self._cupy, self.size) if len(self._staging) < self.count else self._staging.popleft()
        self._staging.append(staging)
        staging.join()
        if staging.is_open:
            self.close(staging)
        if staging.is_used:
            self._wait(staging.event)
        return staging

    def close(self, staging: StagingBuffer) -> None:
        """Mark the end of its copy."""
        self._cupy.cuda.runtime.eventRecord(staging.event.ptr, self._stream)
        staging.is_open = False

    def join(self) -> None:
        """Wait for all copies on the host."""
        for staging in self._staging:
            staging.join()

    def release(self) -> None:
        """Drop the references to all pinned memory."""
        self._staging.clear()


class StreamCopies:
    """Copies between host memory and the GPU on a stream. `wait` waits for an event and lets interrupts through."""

    def __init__(self, cupy: Any, stream: int, wait: Wait, host: HostCopies) -> None:
        self._runtime, self._stream, self._wait, self._host = cupy.cuda.runtime, stream, wait, host
        self._small = Ring(cupy, stream, SMALL, SMALLS, wait)
        self._large = Ring(cupy, stream, LARGE, LARGES, wait)

    def write(self, address: int, data: memoryview) -> None:
        """Enqueue the copy of `data` to `address`; `data` is free at return."""
        if data.nbytes > SHARE:
            with self._joined():
                self._write_in_parts(address, np.frombuffer(data, np.uint8))
            return
        ring = self._ring(data.nbytes)
        staging = ring.next()
        staging.bytes[: data.nbytes].data[:] = data
        self._send(address, staging, data.nbytes, ring)

    def read(self, address: int, into: memoryview) -> None:
        """Fill `into` from `address`, after everything that was enqueued before."""
        if into.nbytes > SHARE:
            with self._joined():
                self._read_in_parts(address, np.frombuffer(into, np.uint8))
            return
        ring = self._ring(into.nbytes)
        staging = ring.next()
        self._fetch(address, staging, into.nbytes, ring)
        self._end(staging)
        into[:] = staging.bytes[: into.nbytes].data

    def _write_in_parts(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Some are on their way to pinned memory while others are on that to the GPU."""
        filled: deque[tuple[int, StagingBuffer, int]] = deque()
        step = self._step(data.size)

        def send() -> None:
            start, staging, size = filled.popleft()
            staging.join()
            self._send(address + start, staging, size, self._large)

        for start in range(0, data.size, step):
            part, staging = data[start : start + step], self._large.next()
            staging.on_host = self._host.start(staging.bytes[: part.size], part)
            filled.append((start, staging, part.size))
            if len(filled) == self._host.threads:
                send()
        while filled:
            send()

    def _read_in_parts(self, address: int, into: npt.NDArray[np.uint8]) -> None:
        """Some are on their way to pinned memory while others are on that to the caller's."""
        fetched: deque[tuple[StagingBuffer, npt.NDArray[np.uint8]]] = deque()
        step = self._step(into.size)

        def take() -> None:
            staging, part = fetched.popleft()
            self._end(staging)
            staging.on_host = self._host.start(part, staging.bytes[: part.size])

        for start in range(0, into.size, step):
            if len(fetched) + self._host.threads == self._large.count:
                take()
            part, staging = into[start : start + step], self._large.next()
            self._fetch(address + start, staging, part.size, self._large)
            fetched.append((staging, part))
        while fetched:
            take()

    def release(self) -> None:
        """Give the pinned memory back; no copy uses it any more."""
        self._small.release()
        self._large.release()

    @contextmanager
    def _joined(self) -> Iterator[None]:
        """Around copies on other threads: all have ended at its end, also where an error or an interrupt comes."""
        try:
            yield
            self._large.join()
        except BaseException:
            self._host.end()
            raise

    def _ring(self, size: int) -> Ring:
        return self._small if size <= SMALL else self._large

    def _step(self, size: int) -> int:
        """The bytes of a part."""
        return min(LARGE, max(SHARE, -(-size // self._host.threads)))

    def _send(self, address: int, staging: StagingBuffer, size: int, ring: Ring) -> None:
        self._copy(address, staging.address, size, self._runtime.memcpyHostToDevice, ring, staging)

    def _fetch(self, address: int, staging: StagingBuffer, size: int, ring: Ring) -> None:
        self._copy(staging.address, address, size, self._runtime.memcpyDeviceToHost, ring, staging)

    def _copy(self, target: int, source: int, size: int, kind: int, ring: Ring, staging: StagingBuffer) -> None:
        staging.is_open = staging.is_used = True  # an interrupt may come in between
        self._runtime.memcpyAsync(target, source, size, kind, self._stream)
        ring.close(staging)

    def _end(self, staging: StagingBuffer) -> None:
        """Wait for the copy that uses the slot."""
        self._wait(staging.event)
        staging.is_used = False
