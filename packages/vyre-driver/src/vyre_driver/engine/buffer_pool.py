"""The pools of host memory that a device works in.

A result of a device that shares host memory is a view of a pooled buffer. When no reference to the result is left, the
buffer serves a later dispatch: no allocation, no page fault, no copy. A buffer whose results live on belongs to them,
and another takes its place.

Pooled buffers begin at different cache lines. A cache has a few places for all lines whose addresses are alike modulo
4 KiB. Large arrays of an allocator begin at the same offset in a page, so equal elements of several arrays compete for
these places: with 16 arrays and 8 or 12 places, each element is fetched again and again.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from vyre_driver.engine.port import Allocation

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.engine.device import Device


LINE, PAGE = 64, 4096
"""Bytes. A line is as much as the widest vector, and all types are aligned to it."""
LINES = PAGE // LINE
STRIDE = 25
"""Lines from one piece to the next, odd: all offsets come once before one comes again. 64 divided by the square of the
golden ratio keeps those that follow each other far apart, however many there are."""
_pieces = count()


def padded_size(size: int) -> int:
    """The bytes that `staggered` needs for `size` bytes."""
    return size + (PAGE if size >= PAGE else LINE)


def staggered(memory: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """`size` bytes of a new array of `padded_size(size)` bytes, at another cache line than the pieces before."""
    offset = STRIDE * next(_pieces) % LINES * LINE
    start = (offset - memory.ctypes.data) % (memory.nbytes - size)
    return memory[start : start + size]


MAX_POOLED = 3
"""Buffers of a pool. A caller that holds the last result while the next is made needs two."""


class PooledBuffer:
    """`size` bytes of host memory that a device works in: `memory` for its kernels, `bytes` for the engine."""

    __slots__ = ("allocation", "bytes", "contents", "memory", "result")

    def __init__(self, device: Device, size: int) -> None:
        whole = max(1, size)
        contents = staggered(device.host_memory(padded_size(whole)), whole)
        self.bytes = contents[:size]
        self.contents = self.bytes.data
        self.allocation: Allocation = device.adopt(contents)
        self.memory = self.allocation.memory
        self.result: ref[npt.NDArray[Any]] | None = None
        """The last result, alive for as long as it or a view of it is."""


class BufferPool:
    """The buffers of one output."""

    __slots__ = ("_buffers", "_device", "_dtype", "size")

    def __init__(self, device: Device, size: int, dtype: np.dtype[Any]) -> None:
        self._device, self.size, self._dtype = device, size, dtype
        self._buffers: list[PooledBuffer] = []

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """The memory of all buffers."""
        return tuple(buffer.allocation for buffer in self._buffers)

    def take(self) -> tuple[PooledBuffer, npt.NDArray[Any]]:
        """A buffer without a live result, its contents unspecified, and the array of them that is its next result.

        Views of the array refer to it, since another object owns its memory: while one is alive, so is the array.
        """
        for buffer in self._buffers:
            if buffer.result is None or buffer.result() is None:
                break
        else:
            while len(self._buffers) >= MAX_POOLED:
                self._device.free((self._buffers.pop(0).allocation,))
            buffer = PooledBuffer(self._device, self.size)
            self._buffers.append(buffer)
        array = np.frombuffer(buffer.contents, self._dtype)
        buffer.result = ref(array)
        return buffer, array
