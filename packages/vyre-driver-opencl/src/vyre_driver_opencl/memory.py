"""Buffers: what a kernel argument is, and how bytes get in and out of it.

On a CPU the device's memory is the host's, so a buffer is host memory that kernels use in place, and a copy is a copy
of bytes, without a command in the queue (a command wakes a thread of the device: on PoCL 49 µs). There are two ways:
plain pointers as shared virtual memory, where that is proven to work, or else buffer objects over a host pointer, which
PoCL takes at any address. Other devices get buffers of their own and copy commands.

Every buffer knows the last work that uses it. The host waits for that before it touches the bytes, which keeps the
order of the queue for each buffer, and so for everything that can be seen.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyopencl as cl

from vyre_driver.backend.dlpack import host_array
from vyre_driver.engine.buffer_pool import padded_size, staggered
from vyre_driver_opencl import about

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver_opencl.order import Work

ALIGNMENT = 16
"""Bytes. Of memory that comes from a caller: more than any type needs."""

Argument: TypeAlias = "cl.Buffer | cl.SVM[Any]"


class Sharing(Enum):
    """How a device sees host memory."""

    HOST_POINTER = "host_pointer"
    """In place, through a buffer object over it."""
    SYSTEM_POINTER = "system_pointer"
    """In place, any address."""
    NONE = "none"
    """By copies."""

    @classmethod
    def of(cls, device: cl.Device, *, plain_pointers: bool = False) -> Sharing:
        """`plain_pointers`: kernels have been shown to work on any address of the host."""
        if not about.is_cpu(device):
            return cls.NONE
        if plain_pointers:
            return cls.SYSTEM_POINTER
        return cls.HOST_POINTER if about.is_pocl(device) else cls.NONE


class BufferMemory:
    """Some bytes of the device. `argument` is what a kernel gets, `last` the last work that uses them, if it is known.

    `HostMemory` is read, written and filled at once: nothing uses it then. `DeviceMemory` is by commands, which take
    their turn. Both are also filled by a command.
    """

    __slots__ = ("argument", "last")

    argument: Argument
    last: Work | None

    def release(self) -> None:
        """Give the bytes back; no work uses them any more. Never raises. Kernels may refer to the object still."""
        if isinstance(self.argument, cl.Buffer):
            with suppress(cl.Error):  # of a lost device everything is gone, and a second time is no harm
                self.argument.release()

    def enqueue_fill(self, queue: cl.CommandQueue, byte: int, size: int) -> cl.Event:
        """Enqueue filling the first `size` bytes with `byte`; the event is its end."""
        return cl.enqueue_fill(queue, self.argument, np.array([byte], np.uint8), size)


class HostMemory(BufferMemory):
    """Host memory that the device uses in place: `contents` are bytes in one piece that may be written to."""

    __slots__ = ("_bytes", "_view")

    def __init__(self, context: cl.Context, sharing: Sharing, contents: npt.NDArray[np.uint8]) -> None:
        self._bytes, self._view = contents, contents.data
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        self.argument = (
            cl.SVM(self._bytes) if sharing is Sharing.SYSTEM_POINTER else cl.Buffer(context, flags, hostbuf=self._bytes)
        )
        self.last = None

    @property
    def bytes(self) -> npt.NDArray[np.uint8]:
        """The host memory."""
        return self._bytes

    def release(self) -> None:
        """Drop the host memory, and the pointer to it."""
        super().release()
        self._bytes = np.empty(0, np.uint8)
        self._view = self._bytes.data
        if not isinstance(self.argument, cl.Buffer):
            del self.argument

    def read(self, into: memoryview, offset: int) -> None:
        """Fill `into` from byte `offset`."""
        into[:] = self._view[offset : offset + into.nbytes]

    def write(self, data: memoryview, offset: int) -> None:
        """Copy `data` to byte `offset`."""
        self._view[offset : offset + data.nbytes] = data

    def fill(self, byte: int, size: int) -> None:
        """Set the first `size` bytes."""
        self._bytes[:size] = byte


class DeviceMemory(BufferMemory):
    """Memory of the device alone, reached by commands."""

    __slots__ = ()

    argument: cl.Buffer

    def __init__(self, context: cl.Context, size: int) -> None:
        self.argument = cl.Buffer(context, cl.mem_flags.READ_WRITE, size)
        self.last = None

    def enqueue_read(self, queue: cl.CommandQueue, into: memoryview, offset: int) -> cl.Event:
        """Enqueue a copy to host memory; the event is its end."""
        return cl.enqueue_copy(queue, into, self.argument, src_offset=offset, is_blocking=False)

    def enqueue_write(self, queue: cl.CommandQueue, data: memoryview, offset: int) -> cl.Event:
        """Enqueue a copy from host memory; the event is its end."""
        return cl.enqueue_copy(queue, self.argument, data, dst_offset=offset, is_blocking=False)


def over_host_pointer(context: cl.Context, data: memoryview) -> Argument | None:
    """The bytes of `data` as a buffer in place, which keeps them alive; None where the device would copy them."""
    words = np.frombuffer(data, np.uint8)
    if not about.is_pocl(context.devices[0]) or words.ctypes.data % ALIGNMENT:
        return None
    access = cl.mem_flags.READ_WRITE if words.flags.writeable else cl.mem_flags.READ_ONLY
    return cl.Buffer(context, access | cl.mem_flags.USE_HOST_PTR, hostbuf=words)


AnyMemory: TypeAlias = HostMemory | DeviceMemory


def allocate(context: cl.Context, sharing: Sharing, size: int) -> AnyMemory:
    """`size` bytes for the device, with unspecified contents."""
    if sharing is Sharing.NONE:
        return DeviceMemory(context, size)
    return HostMemory(context, sharing, staggered(np.empty(padded_size(size), np.uint8), size))


def wrap(context: cl.Context, sharing: Sharing, foreign: object) -> HostMemory | None:
    """An array of the host as it is, or None: it must be in one piece, writable and aligned, the device the host's."""
    array = host_array(foreign)
    if sharing is Sharing.NONE or array is None or not array.flags.carray or array.ctypes.data % ALIGNMENT:
        return None
    return HostMemory(context, sharing, array.reshape(-1).view(np.uint8))
