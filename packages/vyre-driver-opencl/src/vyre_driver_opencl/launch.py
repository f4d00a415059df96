"""Loaded programs: kernel objects with their arguments bound, and the sizes that they are enqueued with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyopencl as cl

from vyre_driver.device.profile import Extent
from vyre_driver.errors import UnsupportedFeature
from vyre_driver_opencl.memory import Argument, BufferMemory
from vyre_driver_opencl.queues import WorkQueue

if TYPE_CHECKING:
    from vyre_driver.engine.pending import AsyncCall

UNKNOWN = ()
"""The workgroup size of a kernel that has not run."""

Arg: TypeAlias = "BufferMemory | Argument | int"
Args: TypeAlias = "Sequence[Arg]"


class LoadedKernel:
    """One kernel object. It keeps what is bound to it: a runtime may end the process over a buffer that is gone.

    Memory of a caller, which comes as an argument of the runtime's own, is not kept: it is set for each launch.
    `memories` are the buffers bound now. `is_flat`: its workgroup has one dimension, with the volume of the program's.
    `is_new`: it has not run with its present workgroup size, for which some runtimes compile again. `call` enqueues it
    on another thread, if one does.
    """

    __slots__ = (
        *("_bound", "args", "call", "grid", "is_flat", "is_new", "kernel", "local", "memories", "span"),
        "workgroup_size",
    )

    def __init__(self, kernel: cl.Kernel, *, is_flat: bool, is_new: bool = False) -> None:
        self.kernel, self.is_flat, self.is_new = kernel, is_flat, is_new
        self.call: AsyncCall | None = None
        self.memories: tuple[BufferMemory, ...] = ()
        self.args: Args | None = None
        self._bound: list[BufferMemory | int | None] | None = None
        self.grid: Extent | None = None
        self.workgroup_size: Extent | None = None
        self.span: tuple[int, ...] = (1,)
        self.local: tuple[int, ...] = UNKNOWN

    def bind(self, args: Args) -> None:
        """Make `args` the kernel's arguments; what they were in the call before is not set again."""
        known, self._bound, self.args = self._bound, None, None  # unknown, if the runtime refuses one of them
        bound: list[BufferMemory | int | None] = known or [None] * len(args)
        is_other = known is None
        for position, arg in enumerate(args):
            before = bound[position]
            if arg is before:
                continue
            if type(arg) is int:
                if arg != before:
                    self.kernel.set_arg(position, np.uint32(arg))
                    bound[position] = arg
            elif isinstance(arg, BufferMemory):
                self.kernel.set_arg(position, arg.argument)
                bound[position] = arg
                is_other = True
            else:
                self.kernel.set_arg(position, arg)
                if before is not None:
                    bound[position] = None
                    is_other = True
        self._bound = bound
        if is_other:
            self.memories = tuple(memory for memory in bound if isinstance(memory, BufferMemory))
        if None not in bound:  # otherwise memory of a caller is among them
            self.args = args

    def bind_for(self, fixed: Args, places: Sequence[int], values: Sequence[Argument]) -> None:
        """Make `fixed` the kernel's arguments, with `values` at `places`. Until another call `args` is `fixed`."""
        args = list(fixed)
        for place, value in zip(places, values, strict=True):
            args[place] = value
        self.bind(args)
        self.args = fixed

    def shape(self, grid: Extent, workgroup_size: Extent) -> None:
        """Make these the kernel's sizes."""
        if (grid, workgroup_size) == (self.grid, self.workgroup_size):
            self.grid, self.workgroup_size = grid, workgroup_size
            return
        self.grid, self.workgroup_size = grid, workgroup_size
        before = self.local
        self.span, self.local = self.sizes(grid, workgroup_size)
        self.is_new |= self.local != before and before != UNKNOWN
        self.args = None  # a launch that knows its arguments to be there knows its sizes, too

    def sizes(self, grid: Extent, workgroup_size: Extent) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Global and local size, without trailing axes of one workgroup of one invocation.

        `UnsupportedFeature` for 2**32 workgroups and more over several axes: PoCL counts them in 32 bits, and ends the
        process where the count wraps around.
        """
        if (total := math.prod(grid)) >= 2**32 and total != max(grid):
            what, fix = f"a launch of {total} workgroups", f"dispatch at most {2**32 - 1} workgroups at once"
            raise UnsupportedFeature(what, backend="opencl", fix=fix)
        local = (math.prod(workgroup_size), 1, 1) if self.is_flat else workgroup_size
        axes = 3 if grid[2] * local[2] > 1 else 2 if grid[1] * local[1] > 1 else 1
        return tuple(g * n for g, n in zip(grid, local, strict=True))[:axes], local[:axes]


class Module:
    """A built program, its kernels by name, and the queue that they go to. `is_new`: the compiler has just made it."""

    def __init__(
        self, program: cl.Program, names: Sequence[str], queue: WorkQueue, *, is_flat: bool, is_new: bool = False
    ) -> None:
        self.program, self.queue, self.is_flat = program, queue, is_flat
        self.kernels = {name: LoadedKernel(cl.Kernel(program, name), is_flat=is_flat, is_new=is_new) for name in names}
