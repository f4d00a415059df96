"""Memory: host memory, which kernels use where it lies."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from vyre_driver.backend.dlpack import host_array
from vyre_driver.engine.buffer_pool import padded_size, staggered

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver_cpu.order import Work

ALIGNMENT = 16
"""Bytes. Of memory that comes from a caller: more than any type needs."""


class HostMemory:
    """Bytes in one piece that may be written to. `last` is the last work in flight that uses them."""

    __slots__ = ("address", "bytes", "last", "view")

    def __init__(self, contents: npt.NDArray[np.uint8]) -> None:
        self.bytes, self.view, self.address = contents, contents.data, contents.ctypes.data
        self.last: Work | None = None


class HostBytes(ctypes.c_char):
    """Host bytes in place that may be written to; it keeps their owner alive.

    It is the view of the first byte itself: a dispatch makes one for each of its arrays.
    """

    __slots__ = ("address",)

    address: int


class ReadOnlyBytes:
    """Host bytes in place that may not be written to; it keeps their owner alive."""

    __slots__ = ("address", "owner")

    def __init__(self, owner: npt.NDArray[np.uint8]) -> None:
        self.owner, self.address = owner, owner.ctypes.data


def allocate(size: int) -> HostMemory:
    """`size` bytes that are zero, and begin at a line of the cache."""
    return HostMemory(staggered(np.zeros(padded_size(size), np.uint8), size))


def in_place(data: memoryview) -> HostBytes | ReadOnlyBytes | None:
    """The bytes of `data` where they are; None where they are not aligned."""
    try:
        found = _from_buffer(data)
    except TypeError:
        return _read_only(data)
    found.address = address = _address_of(found)
    return None if address % ALIGNMENT else found


_from_buffer, _address_of = HostBytes.from_buffer, ctypes.addressof
"""The quickest way to the address of bytes that may be written to."""


def _read_only(data: memoryview) -> ReadOnlyBytes | None:
    found = ReadOnlyBytes(np.frombuffer(data, np.uint8))
    return None if found.address % ALIGNMENT else found


def wrap(foreign: object) -> HostMemory | None:
    """An array of the host as it is, or None: it must be in one piece, writable and aligned."""
    array = host_array(foreign)
    if array is None or not array.flags.carray or array.ctypes.data % ALIGNMENT:
        return None
    return HostMemory(array.reshape(-1).view(np.uint8))
