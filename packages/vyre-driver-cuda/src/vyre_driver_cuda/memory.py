"""Memory of the GPU, and the way of bytes into it and out of it.

Allocations come from a pool of CuPy's that belongs to the port: what is given back serves the next one at once, which
is safe because all work goes through one stream, in order. Bytes of callers are copied before the GPU sees them, small
ones aside of the stream's work and large ones piece by piece through pinned memory: so the caller's memory is free at
return, whatever kind it is, and a copy runs beside the next piece's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

SMALL = 1 << 16
"""Bytes. Up to here the driver takes a copy of pageable memory into its own command, without waiting for anything."""
SLOT = 1 << 20
SLOTS = 4

Wait = Callable[[Any], None]


class Memory:
    """Some bytes of the GPU at `address`. `holder` is what keeps them: CuPy's pointer, or another library's array."""

    __slots__ = ("address", "holder")

    def __init__(self, address: int, holder: object) -> None:
        self.address, self.holder = address, holder


class Slot:
    """Pinned host memory that a copy uses until `event`."""

    __slots__ = ("address", "bytes", "event")

    def __init__(self, cupy: Any) -> None:
        memory = cupy.cuda.alloc_pinned_memory(SLOT)
        self.bytes = np.frombuffer(memory, np.uint8, SLOT)
        self.address = int(self.bytes.ctypes.data)
        self.event = cupy.cuda.Event(disable_timing=True)


class Copies:
    """Copies between host memory and the GPU on one stream. `wait` waits for an event and lets interrupts through."""

    def __init__(self, cupy: Any, stream: int, wait: Wait) -> None:
        self._cupy, self._runtime, self._stream, self._wait = cupy, cupy.cuda.runtime, stream, wait
        self._slots: deque[Slot] = deque()

    def write(self, address: int, data: memoryview) -> None:
        """Enqueue the copy of `data` to `address`; `data` is free at return."""
        if data.nbytes <= SMALL:
            own = np.array(np.frombuffer(data, np.uint8))
            self._copy(address, own.ctypes.data, own.nbytes, self._runtime.memcpyHostToDevice)
            return
        for start in range(0, data.nbytes, SLOT):
            piece = np.frombuffer(data[start : start + SLOT], np.uint8)
            slot = self._next()
            slot.bytes[: piece.nbytes] = piece
            self._copy(address + start, slot.address, piece.nbytes, self._runtime.memcpyHostToDevice)
            self._runtime.eventRecord(slot.event.ptr, self._stream)

    def read(self, address: int, into: memoryview) -> None:
        """Fill `into` from `address`, after everything that was enqueued before."""
        pending: deque[tuple[Slot, memoryview]] = deque()
        for start in range(0, into.nbytes, SLOT):
            if len(pending) == SLOTS:
                self._take(*pending.popleft())
            piece, slot = into[start : start + SLOT], self._next()
            self._copy(slot.address, address + start, piece.nbytes, self._runtime.memcpyDeviceToHost)
            self._runtime.eventRecord(slot.event.ptr, self._stream)
            pending.append((slot, piece))
        while pending:
            self._take(*pending.popleft())

    def release(self) -> None:
        """Give the pinned memory back; no copy uses it any more."""
        self._slots.clear()

    def _copy(self, target: int, source: int, size: int, kind: int) -> None:
        self._runtime.memcpyAsync(target, source, size, kind, self._stream)

    def _next(self) -> Slot:
        """The slot that was used longest ago, when its copy has ended."""
        if len(self._slots) < SLOTS:
            slot = Slot(self._cupy)
        else:
            slot = self._slots.popleft()
        self._slots.append(slot)
        self._wait(slot.event)
        return slot

    def _take(self, slot: Slot, piece: memoryview) -> None:
        self._wait(slot.event)
        np.frombuffer(piece, np.uint8)[:] = slot.bytes[: piece.nbytes]
