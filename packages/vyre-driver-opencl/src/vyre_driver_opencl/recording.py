"""Commands that are kept ready: kernel objects with arguments of their own, which nobody binds again."""

from __future__ import annotations

import math
from typing import cast

from vyre_driver.device.profile import Extent
from vyre_driver_opencl.api import cl, new_kernel
from vyre_driver_opencl.launch import Args, LoadedKernel, Module, seconds_of
from vyre_driver_opencl.memory import AnyMemory, BufferMemory


class Fill:
    """A fill that takes its turn. `seconds` is what it is known to take."""

    __slots__ = ("_byte", "_memory", "_size", "memories", "seconds")

    def __init__(self, memory: AnyMemory, byte: int, size: int) -> None:
        self._memory, self._byte, self._size = memory, byte, size
        self.memories: tuple[BufferMemory, ...] = (memory,)
        self.seconds = 0.0

    def enqueue(self, queue: cl.CommandQueue) -> cl.Event:
        return self._memory.enqueue_fill(queue, self._byte, self._size)

    def took(self, event: cl.Event) -> None:
        """Nothing is learned: nobody enqueues it again."""


class Recording:
    """Launches and fills for one queue, in order. They are as one launch to whoever waits for memory.

    `seconds` is how long all of it took the last time, infinity while that is unknown or long.
    """

    __slots__ = ("_commands", "_first", "_kernels", "_memories", "memories", "queue", "seconds")

    def __init__(self) -> None:
        self.queue: cl.CommandQueue | None = None
        self._commands: list[Fill | tuple[cl.Kernel, tuple[int, ...], tuple[int, ...]]] = []
        self._kernels: dict[tuple[object, ...], tuple[LoadedKernel, Args]] = {}
        self._memories: dict[BufferMemory, None] = {}
        self.memories: tuple[BufferMemory, ...] = ()
        self._first: cl.Event | None = None
        self.seconds = math.inf

    def launch(self, module: Module, name: str, grid: Extent, workgroup_size: Extent, args: Args) -> cl.Event:
        """Add a launch. Equal ones share a kernel object. What it gives is no event: nobody asks it."""
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
        self._commands.append((kernel.kernel, kernel.span, kernel.local))
        return cast("cl.Event", self)

    def fill(self, memory: AnyMemory, byte: int, size: int) -> None:
        """Add a fill."""
        self._commands.append(Fill(memory, byte, size))
        self._uses((memory,))

    def enqueue(self, queue: cl.CommandQueue) -> cl.Event:
        """Everything, in order: the last event."""
        enqueue = cl.enqueue_nd_range_kernel
        first: cl.Event | None = None
        event: cl.Event | None = None
        for command in self._commands:
            event = command.enqueue(queue) if isinstance(command, Fill) else enqueue(queue, *command)
            first = first or event
        assert event is not None, "nothing was recorded"
        self._first = first
        return event

    def took(self, event: cl.Event) -> None:
        """Learn from a replay that has ended."""
        if self._first is not None:
            self.seconds = seconds_of(self._first, event)

    def clear(self) -> None:
        """Let everything go; what is in flight is the runtime's."""
        self._commands.clear()
        self._kernels.clear()
        self._memories.clear()
        self.memories = ()

    def _uses(self, memories: tuple[BufferMemory, ...]) -> None:
        self._memories.update(dict.fromkeys(memories))
        self.memories = tuple(self._memories)
