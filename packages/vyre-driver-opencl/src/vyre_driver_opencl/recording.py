"""Commands that are kept ready: kernel objects with arguments of their own, which nobody binds again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

from vyre_driver.device.profile import Extent
from vyre_driver_opencl.api import cl, new_kernel
from vyre_driver_opencl.launch import Args, LoadedKernel, Module
from vyre_driver_opencl.memory import AnyMemory, BufferMemory
from vyre_driver_opencl.order import Work
from vyre_driver_opencl.queues import WorkQueue

FILL = 0.01
"""Seconds that a fill takes at most."""


class Recording:
    """Launches and fills for one queue, in order. They are one piece of work, which takes `longest` seconds at most.

    `uses` is all that it needs alive, also by a replay in flight when it is cleared.
    """

    __slots__ = ("_commands", "_kernels", "_memories", "longest", "memories", "queue", "uses")

    def __init__(self) -> None:
        self.queue: WorkQueue | None = None
        self._commands: list[Callable[[cl.CommandQueue], cl.Event]] = []
        self._kernels: dict[tuple[object, ...], tuple[LoadedKernel, Args]] = {}
        self._memories: dict[BufferMemory, None] = {}
        self.memories: tuple[BufferMemory, ...] = ()
        self.uses: tuple[object, ...] = ()
        self.longest = 0.0

    def launch(
        self, module: Module, name: str, grid: Extent, workgroup_size: Extent, args: Args, longest: float
    ) -> Work:
        """Add a launch. Equal ones share a kernel object. What it gives is no work: nobody asks it."""
        assert self.queue in (None, module.queue), "a recording is for one queue"
        self.queue = module.queue
        key = (id(module), name, grid, workgroup_size, id(args))
        if key not in self._kernels:
            kernel = LoadedKernel(new_kernel(module.program, name), is_flat=module.is_flat)
            kernel.bind(args)
            kernel.shape(grid, workgroup_size)
            self._kernels[key] = kernel, args
            self._uses(kernel.memories)
        kernel, _ = self._kernels[key]
        self._add(partial(_launch, kernel.kernel, kernel.span, kernel.local), longest)
        return cast("Work", self)

    def fill(self, memory: AnyMemory, byte: int, size: int) -> None:
        """Add a fill."""
        self._uses((memory,))
        self._add(lambda queue: memory.enqueue_fill(queue, byte, size), FILL)

    def enqueue(self, queue: cl.CommandQueue) -> cl.Event:
        """Everything, in order: the last event."""
        event: cl.Event | None = None
        for command in self._commands:
            event = command(queue)
        assert event is not None, "nothing was recorded"
        return event

    def clear(self) -> None:
        """Let everything go; what is in flight is the work's."""
        self._commands.clear()
        self._kernels.clear()
        self._memories.clear()
        self.memories = self.uses = ()

    def _add(self, command: Callable[[cl.CommandQueue], cl.Event], longest: float) -> None:
        self._commands.append(command)
        self.longest += longest

    def _uses(self, memories: tuple[BufferMemory, ...]) -> None:
        self._memories.update(dict.fromkeys(memories))
        self.memories = tuple(self._memories)
        self.uses = (*self.memories, *self._kernels.values())


def _launch(kernel: cl.Kernel, span: tuple[int, ...], local: tuple[int, ...], queue: cl.CommandQueue) -> cl.Event:
    return cl.enqueue_nd_range_kernel(queue, kernel, span, local)
