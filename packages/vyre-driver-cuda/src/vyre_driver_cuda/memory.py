"""Memory of the GPU, and the way of bytes into it and out of it.

Allocations come from a pool of CuPy's that belongs to the port: what is given back serves the next one at once, which
is safe because it is known what memory may still be used by (see `order`). Bytes of callers go through pinned memory of
the port, piece by piece: so the caller's memory is free at return, whatever kind it is, and one piece is copied on the
host while another is under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

SMALL, SMALLS = 1 << 16, 16
LARGE, LARGES = 1 << 20, 4
"""Bytes of a slot of pinned memory, and how many there are: copies that may be under way before one is waited for."""

Wait = Callable[[Any], None]


class DeviceMemory:
    """Some bytes of the GPU at `address`.

    `holder` owns them: CuPy's pointer, or another library's array. `used` is the number of the last work that may use
    them.
    """

    __slots__ = ("address", "holder", "used")

    def __init__(self, address: int, holder: object, used: int = 0) -> None:
        self.address, self.holder, self.used = address, holder, used


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

    def __init__(self, cupy: Any, stream: int, wait: Wait) -> None:
        self._runtime, self._stream, self._wait = cupy.cuda.runtime, stream, wait
        self._small = Ring(cupy, stream, SMALL, SMALLS, wait)
        self._large = Ring(cupy, stream, LARGE, LARGES, wait)

    def write(self, address: int, data: memoryview) -> None:
        """Enqueue the copy of `data` to `address`; `data` is free at return."""
        ring, kind = self._ring(data.nbytes), self._runtime.memcpyHostToDevice
        for start in range(0, data.nbytes, ring.size):
            piece, staging = data[start : start + ring.size], ring.next()
            staging.bytes[: piece.nbytes].data[:] = piece
            self._copy(address + start, staging.address, piece.nbytes, kind, ring, staging)

    def read(self, address: int, into: memoryview) -> None:
        """Fill `into` from `address`, after everything that was enqueued before."""
        ring, kind = self._ring(into.nbytes), self._runtime.memcpyDeviceToHost
        pending: deque[tuple[StagingBuffer, memoryview]] = deque()
        for start in range(0, into.nbytes, ring.size):
            if len(pending) == ring.count:
                self._take(*pending.popleft())
            piece, staging = into[start : start + ring.size], ring.next()
            self._copy(staging.address, address + start, piece.nbytes, kind, ring, staging)
            pending.append((staging, piece))
        while pending:
            self._take(*pending.popleft())

    def release(self) -> None:
        """Give the pinned memory back; no copy uses it any more."""
        self._small.release()
        self._large.release()

    def _ring(self, size: int) -> Ring:
        return self._small if size <= SMALL else self._large

    def _copy(self, target: int, source: int, size: int, kind: int, ring: Ring, staging: StagingBuffer) -> None:
        staging.is_open = staging.is_used = True  # an interrupt may come in between
        self._runtime.memcpyAsync(target, source, size, kind, self._stream)
        ring.close(staging)

    def _take(self, staging: StagingBuffer, piece: memoryview) -> None:
        self._wait(staging.event)
        staging.is_used = False
        piece[:] = staging.bytes[: piece.nbytes].data
