"""Memory of the GPU, and the way of bytes into it and out of it.

Allocations come from a pool of CuPy's that belongs to the port: what is given back serves the next one at once, which
is safe because it is known what memory may still be used by (see `order`). Bytes of callers go through pinned memory of
the port, piece by piece: so the caller's memory is free at return, whatever kind it is, and one piece is copied on the
host while another is under way. Large copies are shared among several threads, because one core copies a fraction of
what the bus moves.
"""

from __future__ import annotations

import concurrent.futures
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vyre_driver.cpus import usable_cpus

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes: TypeAlias = npt.NDArray[np.uint8]

SMALL, SMALLS = 1 << 16, 16
LARGE, LARGES = 1 << 20, 4
"""Bytes of a slot of pinned memory, and how many there are: copies that may be under way before one is waited for."""
THREADS, SHARED, SHARED_SLOTS = 8, 1 << 24, 2
"""The most threads that share a copy; the least bytes of a copy that is shared, as waking threads takes time; and the
large slots of each thread."""

Wait = Callable[[Any], None]


class DeviceMemory:
    """Some bytes of the GPU at `address`.

    `holder` owns them: CuPy's pointer, or another library's array. `used` is the number of the last work that may use
    them.
    """

    __slots__ = ("address", "holder", "used")

    def __init__(self, address: int, holder: object, used: int = 0) -> None:
        self.address, self.holder, self.used = address, holder, used


class CopyThreads:
    """Threads that share copies. They are started by the first one; each call on them begins with `enter`."""

    def __init__(self, enter: Callable[[], None]) -> None:
        self.count, self._enter = min(THREADS, usable_cpus()), enter
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def run(self, calls: Sequence[Callable[[], None]]) -> None:
        """Make all calls at the same time. When it returns or raises, also by an interrupt, all of them have ended."""
        pool = self._pool = self._pool or concurrent.futures.ThreadPoolExecutor(self.count, "vyre cuda copies")
        try:
            futures = []
            for call in calls:
                try:
                    futures.append(pool.submit(self._entered, call))
                except RuntimeError:  # while the interpreter exits, no thread can be started
                    call()
            for future in futures:
                future.result()
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the threads, when their calls have ended."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _entered(self, call: Callable[[], None]) -> None:
        self._enter()
        call()


class StagingBuffer:
    """Pinned host memory that a copy uses until `event`. It `is_open` while that does not stand behind the copy.

    Without `is_used` no copy uses it any more.
    """

    __slots__ = ("address", "bytes", "event", "is_open", "is_used")

    def __init__(self, cupy: Any, size: int) -> None:
        self.bytes = np.frombuffer(cupy.cuda.alloc_pinned_memory(size), np.uint8, size)
        self.address = int(self.bytes.ctypes.data)
        self.event = cupy.cuda.Event(disable_timing=True)
        self.is_open = self.is_used = False


class Ring:
    """`count` slots of `size` bytes for copies on a stream, made when they are needed."""

    def __init__(self, cupy: Any, stream: int, size: int, count: int, wait: Wait) -> None:
        self._cupy, self._stream, self.size, self.count, self._wait = cupy, stream, size, count, wait
        self._staging: deque[StagingBuffer] = deque()

    def next(self) -> StagingBuffer:
        """The slot that was used longest ago, when its copy has ended."""
        staging = StagingBuffer(self._cupy, self.size) if len(self._staging) < self.count else self._staging.popleft()
        self._staging.append(staging)
        if staging.is_open:
            self.close(staging)
        if staging.is_used:
            self._wait(staging.event)
        return staging

    def close(self, staging: StagingBuffer) -> None:
        """Mark the end of its copy."""
        self._cupy.cuda.runtime.eventRecord(staging.event.ptr, self._stream)
        staging.is_open = False

    def release(self) -> None:
        """Drop the references to all pinned memory."""
        self._staging.clear()


class StreamCopies:
    """Copies between host memory and the GPU on a stream. `wait` waits for an event and lets interrupts through."""

    def __init__(self, cupy: Any, stream: int, wait: Wait, threads: CopyThreads) -> None:
        self._runtime, self._stream, self._wait, self._threads = cupy.cuda.runtime, stream, wait, threads
        self._small = Ring(cupy, stream, SMALL, SMALLS, wait)
        self._large = Ring(cupy, stream, LARGE, LARGES, wait)
        self._shared = [Ring(cupy, stream, LARGE, SHARED_SLOTS, wait) for _ in range(threads.count)]
        self._before = cupy.cuda.Event(disable_timing=True)

    def write(self, address: int, data: memoryview) -> None:
        """Enqueue the copy of `data` to `address`; `data` is free at return."""
        self._pieces(self._write, address, np.frombuffer(data, np.uint8))

    def read(self, address: int, into: memoryview) -> None:
        """Fill `into` from `address`, after everything that was enqueued before."""
        self._pieces(self._read, address, np.frombuffer(into, np.uint8))

    def release(self) -> None:
        """Give the pinned memory back; no copy uses it any more."""
        for ring in (self._small, self._large, *self._shared):
            ring.release()

    def _pieces(self, copy: Callable[[Ring, int, Bytes, range], None], address: int, host: Bytes) -> None:
        """Copy in pieces of the size of a slot; several threads share a large copy.

        The threads wait only for copies: for earlier work this thread waits, which can be interrupted.
        """
        if host.size < SHARED or self._threads.count == 1:
            ring = self._small if host.size <= SMALL else self._large
            copy(ring, address, host, range(0, host.size, ring.size))
            return
        self._runtime.eventRecord(self._before.ptr, self._stream)
        self._wait(self._before)
        step = LARGE * len(self._shared)
        starts = [range(LARGE * n, host.size, step) for n in range(len(self._shared))]
        each = zip(self._shared, starts, strict=True)
        self._threads.run([partial(copy, ring, address, host, some) for ring, some in each])

    def _write(self, ring: Ring, address: int, data: Bytes, starts: range) -> None:
        kind = self._runtime.memcpyHostToDevice
        for start in starts:
            piece, staging = data[start : start + ring.size], ring.next()
            np.copyto(staging.bytes[: piece.size], piece)
            self._copy(address + start, staging.address, piece.size, kind, ring, staging)

    def _read(self, ring: Ring, address: int, into: Bytes, starts: range) -> None:
        kind = self._runtime.memcpyDeviceToHost
        pending: deque[tuple[StagingBuffer, Bytes]] = deque()
        for start in starts:
            if len(pending) == ring.count:
                self._take(*pending.popleft())
            piece, staging = into[start : start + ring.size], ring.next()
            self._copy(staging.address, address + start, piece.size, kind, ring, staging)
            pending.append((staging, piece))
        while pending:
            self._take(*pending.popleft())

    def _copy(self, target: int, source: int, size: int, kind: int, ring: Ring, staging: StagingBuffer) -> None:
        staging.is_open = staging.is_used = True  # an interrupt may come in between
        self._runtime.memcpyAsync(target, source, size, kind, self._stream)
        ring.close(staging)

    def _take(self, staging: StagingBuffer, piece: Bytes) -> None:
        self._wait(staging.event)
        staging.is_used = False
        np.copyto(piece, staging.bytes[: piece.size])
