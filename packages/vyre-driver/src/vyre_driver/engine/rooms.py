"""Host memory that a device works in, for outputs that are used where they are.

A result is a view of a room. When nobody holds one any more, the room serves a later dispatch: no allocation, no page
that is touched for the first time, no copy. A room whose results live on belongs to them, and another takes its place.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.engine.device import Allocation, Device

if TYPE_CHECKING:
    import numpy.typing as npt

ROOMS = 3
"""How many are kept of one output: a caller who holds the last result while the next is made needs two."""
ALIGNMENT = 64
"""Bytes. Of a cache line, and of the widest vector."""
CAN_COUNT = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether a reference count tells that nobody else refers to an object: not without the interpreter's lock."""


class Room:
    """`size` bytes. `bytes` and `typed` are its views; whoever holds a result holds one of `owner` by it."""

    __slots__ = ("_owner", "_references", "allocation", "bytes", "typed")

    def __init__(self, device: Device, size: int, dtype: np.dtype[Any]) -> None:
        whole = max(1, size)
        self._owner: npt.NDArray[Any] = device.host_memory(whole + ALIGNMENT)
        start = -self._owner.ctypes.data % ALIGNMENT
        self.bytes = self._owner[start : start + size]
        self.typed = self.bytes.view(dtype)
        self.allocation: Allocation = device.adopt(self._owner[start : start + whole])
        self._references = sys.getrefcount(self._owner)

    @property
    def is_free(self) -> bool:
        """Whether no result is left: views of views refer to the owner too."""
        return CAN_COUNT and sys.getrefcount(self._owner) == self._references


class Rooms:
    """The rooms of one output."""

    __slots__ = ("_device", "_dtype", "_rooms", "size")

    def __init__(self, device: Device, size: int, dtype: np.dtype[Any]) -> None:
        self._device, self.size, self._dtype = device, size, dtype
        self._rooms: list[Room] = []

    @property
    def owned(self) -> tuple[Allocation, ...]:
        return tuple(room.allocation for room in self._rooms)

    def take(self) -> Room:
        """A room that nobody else holds, its contents unspecified."""
        for room in self._rooms:
            if room.is_free:
                return room
        while len(self._rooms) >= ROOMS:
            self._device.free((self._rooms.pop(0).allocation,))
        self._rooms.append(Room(self._device, self.size, self._dtype))
        return self._rooms[-1]
