"""Loaded code: kernels with their arguments packed as the driver takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vyre_driver_cuda.binary import Cubin
from vyre_driver_cuda.memory import DeviceMemory

Args = Sequence["DeviceMemory | int"]


class LoadedKernel:
    """One function of the GPU. It keeps the arguments of its last launch, and so their `memories`.

    If it `is_cooperative`, all blocks of its launches run at the same time.
    `places` is the address of an array of addresses, one of each argument: a pointer, or a u32 in the lower half of a
    word. The driver reads them during the call that launches.
    """

    __slots__ = ("_places", "_values", "args", "function", "is_cooperative", "memories", "places")

    def __init__(self, function: Any, is_cooperative: bool) -> None:
        self.function, self.is_cooperative = int(function.ptr), is_cooperative
        self.args: Args | None = None
        self.memories: tuple[DeviceMemory, ...] = ()
        self._values = np.zeros(0, np.uint64)
        self._places = np.zeros(0, np.uint64)
        self.places = 0

    def bind(self, args: Args) -> None:
        """Make `args` the arguments of the next launches. After an interrupt on the way there are none."""
        self.args = None
        if len(args) != self._values.size or not self.places:
            self._values = np.zeros(len(args), np.uint64)
            start = int(self._values.ctypes.data)
            self._places = np.arange(start, start + 8 * len(args), 8, dtype=np.uint64)
            self.places = int(self._places.ctypes.data)
        self._values[:] = [arg if isinstance(arg, int) else arg.address for arg in args]
        self.memories = tuple(arg for arg in args if isinstance(arg, DeviceMemory))
        self.args = args


class Module:
    """Machine code on the GPU, its kernels by name, and the code as bytes."""

    def __init__(self, cupy: Any, cubin: Cubin) -> None:
        self.cubin = cubin
        self._module = cupy.cuda.Module()
        self._module.load(cubin.code)
        self.kernels = {
            name: LoadedKernel(self._module.get_function(name), name in cubin.cooperative) for name in cubin.kernels
        }
