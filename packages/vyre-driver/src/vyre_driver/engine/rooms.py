"""Host memory that a device works in, for outputs that are used where they are.

A result is a view of a room. When nobody holds one any more, the room serves a later dispatch: no allocation, no page
that is touched for the first time, no copy. A room whose results live on belongs to them, and another takes its place.
"""

from __future__ import annotations

import sys
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.device import Device
from vyre_driver.engine.stagger import staggered, with_spare

if TYPE_CHECKING:
    import numpy.typing as npt

ROOMS = 3
"""How many are kept of one output: a caller who holds the last result while the next is made needs two."""
CAN_COUNT = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether a reference count tells that nobody else refers to an object: not without the interpreter's lock."""


class Room:
    """`size` bytes. `bytes` and `typed` are its views; a result that is alive keeps `owner` alive by it."""

    __slots__ = ("allocation", "bytes", "memory", "owner", "references", "typed")

    def __init__(self, device: Device, size: int, dtype: np.dtype[Any]) -> None:
        whole = max(1, size)
        self.owner: npt.NDArray[Any] = device.host_memory(with_spare(whole))
        contents = staggered(self.owner, whole)
        self.bytes = contents[:size]
        self.typed = self.bytes.view(dtype)
        self.allocation: Allocation = device.adopt(contents)
        self.memory = self.allocation.memory
        self.references = getrefcount(self.owner)
        """How many there are while no result is left; views of views refer to the owner too."""


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
            if getrefcount(room.owner) == room.references and CAN_COUNT:
                return room
        while len(self._rooms) >= ROOMS:
            self._device.free((self._rooms.pop(0).allocation,))
        self._rooms.append(Room(self._device, self.size, self._dtype))
        return self._rooms[-1]
