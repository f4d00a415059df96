"""Loaded code: kernels as functions, and what they are called with."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, TypeAlias

from vyre_driver.device.profile import Extent
from vyre_driver_cpu.compiler import LoadedCode
from vyre_driver_cpu.memory import HostBytes, HostMemory

Argument: TypeAlias = "HostMemory | HostBytes | int"

_KERNEL = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Module:
    """Object code in memory with its kernels, by name. `queue` is the position of the one that its launches go to."""

    __slots__ = ("addresses", "code", "kernels", "loaded", "names", "queue")

    def __init__(self, code: bytes, names: Sequence[str], queue: int) -> None:
        self.code, self.names, self.queue = code, tuple(names), queue
        self.loaded = LoadedCode(code, self.names)
        self.addresses = self.loaded.addresses
        self.kernels: dict[str, Any] = {name: self.loaded.function(name, *_KERNEL) for name in self.names}


class Arguments:
    """What a kernel is called with: a slot for each argument, and the grid. It keeps the memory alive."""

    __slots__ = ("grid", "grid_address", "slots", "slots_address", "total", "uses")

    def __init__(self, args: Sequence[Argument], grid: Extent) -> None:
        self.uses = args
        self.slots = (ctypes.c_uint64 * max(1, len(args)))()
        self.grid = (ctypes.c_uint32 * 3)(*grid)
        self.slots_address, self.grid_address = ctypes.addressof(self.slots), ctypes.addressof(self.grid)
        self.total = grid[0] * grid[1] * grid[2]
        for slot, arg in enumerate(args):
            self.slots[slot] = arg if type(arg) is int else arg.address  # type: ignore[union-attr]
