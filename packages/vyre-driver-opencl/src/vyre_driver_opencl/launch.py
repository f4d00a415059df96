"""Loaded programs: kernel objects with their arguments bound, and the sizes that they are enqueued with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from vyre_driver.device.profile import Extent
from vyre_driver_opencl.api import cl
from vyre_driver_opencl.memory import BufferMemory

Args: TypeAlias = "Sequence[BufferMemory | int]"


class LoadedKernel:
    """One kernel object. It keeps what is bound to it: a runtime may end the process over a buffer that is gone.

    `memories` are the buffers bound now. `seconds` is how long the kernel runs at its present geometry, infinity while
    that is unknown or long. `is_flat`: its workgroup has one dimension, with the volume of the program's.
    """

    __slots__ = ("_args", "_geometry", "_sizes", "_spans", "is_flat", "kernel", "memories", "seconds")

    def __init__(self, kernel: cl.Kernel, *, is_flat: bool) -> None:
        self.kernel, self.is_flat = kernel, is_flat
        self.memories: tuple[BufferMemory, ...] = ()
        self.seconds = math.inf
        self._args: Args | None = None
        self._geometry: tuple[Extent, Extent] | None = None
        self._spans: tuple[tuple[int, ...], tuple[int, ...]] = ((1,), (1,))

    def bind(self, args: Args) -> None:
        """Make `args` the kernel's arguments; nothing is to do for the very sequence of the call before."""
        if args is self._args:
            return
        before, self._args = self._args, None  # unknown, if the runtime refuses one of them
        if before is None:
            self.kernel.set_scalar_arg_dtypes([np.uint32 if isinstance(a, int) else None for a in args])
        if before is None or _lengths(args) != _lengths(before):
            self.kernel.set_args(*[a if isinstance(a, int) else a.argument for a in args])
        else:
            for position, (new, old) in enumerate(zip(args, before, strict=True)):
                if new is not old and not isinstance(new, int):
                    self.kernel.set_arg(position, new.argument)
        self._args, self.memories = args, tuple(a for a in args if not isinstance(a, int))

    def spans(self, grid: Extent, workgroup_size: Extent) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Global and local size, without trailing axes of one workgroup of one invocation."""
        if self._geometry != (grid, workgroup_size):
            self._geometry, self.seconds = (grid, workgroup_size), math.inf
            local = (math.prod(workgroup_size), 1, 1) if self.is_flat else workgroup_size
            axes = 3 if grid[2] * local[2] > 1 else 2 if grid[1] * local[1] > 1 else 1
            self._spans = tuple(g * n for g, n in zip(grid, local, strict=True))[:axes], local[:axes]
        return self._spans


def _lengths(args: Args) -> list[int]:
    return [a for a in args if isinstance(a, int)]


class Module:
    """A built program, its kernels by name, and the queue that they go to."""

    def __init__(self, program: cl.Program, names: Sequence[str], queue: cl.CommandQueue, *, is_flat: bool) -> None:
        self.program, self.queue, self.is_flat = program, queue, is_flat
        self.kernels = {name: LoadedKernel(cl.Kernel(program, name), is_flat=is_flat) for name in names}
