"""Loaded code: kernels as functions, and what they are called with."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from copy import copy
from typing import Any, TypeAlias

from vyre_driver.device.profile import Extent
from vyre_driver_cpu.compiler import LoadedCode
from vyre_driver_cpu.memory import HostBytes, HostMemory, ReadOnlyBytes
from vyre_driver_cpu.runtime import past_caches

Argument: TypeAlias = "HostMemory | HostBytes | ReadOnlyBytes | int"


class Module:
    """Object code in memory with its kernels, by name. `queue` is the position of the one that its launches go to."""

    __slots__ = ("addresses", "code", "kernels", "loaded", "names", "queue", "whole")

    def __init__(self, code: bytes, names: Sequence[str], queue: int) -> None:
        self.code, self.names, self.queue = code, tuple(names), queue
        self.loaded = LoadedCode(code, [*self.names, *(f"{name}_whole" for name in self.names)])
        self.addresses = self.loaded.addresses
        self.whole = {name: self.addresses[f"{name}_whole"] for name in self.names}
        self.kernels: dict[str, Any] = {n: self.loaded.function(f"{n}_whole", ctypes.c_void_p) for n in self.names}

    def function(self, kernel: str, *, is_brief: bool) -> Any:
        """A kernel, of which a call that `is_brief` keeps the interpreter's lock."""
        return self.loaded.locked_function(f"{kernel}_whole", ctypes.c_void_p) if is_brief else self.kernels[kernel]

    def for_queue(self, queue: int) -> Module:
        """The same code, whose launches go to a queue."""
        if queue == self.queue:
            return self
        made = copy(self)
        made.queue = queue
        return made


class Grid(ctypes.Structure):
    """The workgroups on each axis, the word that cancels a launch, and what asks the host meanwhile (see `printer`).

    `past_caches` is the least size in bytes of results that bypass the caches.
    """

    _fields_ = (
        ("x", ctypes.c_uint32),
        ("y", ctypes.c_uint32),
        ("z", ctypes.c_uint32),
        ("stop", ctypes.c_uint32),
        ("host", ctypes.c_void_p),
        ("past_caches", ctypes.c_uint64),
    )


class Arguments:
    """What a kernel is called with: a slot for each argument, and the grid.

    It keeps the memory alive.

    `address` is that of all of it, for a kernel that runs whole, over `total` workgroups.
    """

    __slots__ = ("_launch", "address", "grid", "grid_address", "slots", "slots_address", "total", "uses")

    def __init__(self, args: Sequence[Argument], grid: Extent, total: int = 0) -> None:
        self.uses = args
        self.slots = (ctypes.c_uint64 * max(1, len(args)))()
        self.grid = Grid(*grid, past_caches=past_caches())
        self.slots_address, self.grid_address = ctypes.addressof(self.slots), ctypes.addressof(self.grid)
        self.total = total or grid[0] * grid[1] * grid[2]
        self._launch = (ctypes.c_uint64 * 3)(self.slots_address, self.grid_address, self.total)
        self.address = ctypes.addressof(self._launch)
        for slot, arg in enumerate(args):
            self.slots[slot] = arg if type(arg) is int else arg.address  # type: ignore[union-attr]

    def cancel(self) -> None:
        """Ask a kernel that runs with these arguments to end."""
        self.grid.stop = 1
