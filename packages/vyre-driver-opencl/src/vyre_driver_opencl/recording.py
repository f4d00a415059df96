"""Prepared commands: kernel objects with arguments of their own, which are bound once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, cast

import numpy as np
import pyopencl as cl

from vyre_driver.device.profile import Extent
from vyre_driver_opencl.launch import Arg, Args, LoadedKernel, Module
from vyre_driver_opencl.memory import AnyMemory, Argument, BufferMemory
from vyre_driver_opencl.order import Work
from vyre_driver_opencl.queues import WorkQueue

FILL = 0.01
"""Seconds that a fill takes at most."""
OWN_KERNELS = 64
"""Launches of a recording that have a kernel object each. Further ones share one for each kernel, and set arguments
each time: an object takes 3 KiB, and the longer to make the more there are (PoCL: 0.1 ms each for 20,000)."""

Command: TypeAlias = "Callable[[cl.CommandQueue], cl.Event]"


class Recording:
    """Launches and fills for one queue, in order. They are one piece of work, which takes `longest` seconds at most.

    `memories` are all that it works in. `uses` is what it needs alive, also by a replay in flight when it is cleared.
    """

    __slots__ = ("_commands", "_own", "_shared", "longest", "memories", "queue", "uses")

    def __init__(self) -> None:
        self.queue: WorkQueue | None = None
        self._commands: list[Command] = []
        self._own: dict[tuple[object, ...], tuple[Command, Args]] = {}
        self._shared: dict[tuple[int, str], SharedKernel] = {}
        self.longest = 0.0
        self.memories: dict[BufferMemory, None] = {}
        self.uses: tuple[object, ...] = (self.memories, self._commands)

    def launch(
        self, module: Module, name: str, grid: Extent, workgroup_size: Extent, args: Args, longest: float
    ) -> Work:
        """Add a launch. What it returns is not used as work."""
        assert self.queue in (None, module.queue), "a recording is for one queue"
        self.queue = module.queue
        self._add(self._command(module, name, grid, workgroup_size, args), longest)
        return cast("Work", self)

    def fill(self, memory: AnyMemory, byte: int, size: int) -> None:
        """Add a fill."""
        self.memories[memory] = None
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
        self._commands, self.memories, self.uses = [], {}, ()
        self._own.clear()
        self._shared.clear()

    def _command(self, module: Module, name: str, grid: Extent, workgroup_size: Extent, args: Args) -> Command:
        key = (id(module), name, grid, workgroup_size, id(args))
        known = self._own.get(key)
        if known is not None:
            return known[0]
        self.memories.update((arg, None) for arg in args if isinstance(arg, BufferMemory))
        if len(self._own) < OWN_KERNELS:
            kernel = LoadedKernel(cl.Kernel(module.program, name), is_flat=module.is_flat)
            kernel.bind(args)
            command = partial(_launch, kernel.kernel, *kernel.sizes(grid, workgroup_size))
            self._own[key] = command, args
            return command
        shared = self._shared.get((id(module), name))
        if shared is None:
            shared = self._shared[id(module), name] = SharedKernel(module, name)
        return shared.launch(grid, workgroup_size, args)

    def _add(self, command: Command, longest: float) -> None:
        self._commands.append(command)
        self.longest += longest


class SharedKernel:
    """A kernel object for many launches of a recording: each sets the arguments that the one before it does not have.

    The first sets all, so it does not matter where the replay before has ended.
    """

    __slots__ = ("_before", "_kernel")

    def __init__(self, module: Module, name: str) -> None:
        self._kernel = LoadedKernel(cl.Kernel(module.program, name), is_flat=module.is_flat)
        self._before: Args | None = None

    def launch(self, grid: Extent, workgroup_size: Extent, args: Args) -> Command:
        """What sets the arguments, and enqueues the kernel."""
        before: Sequence[Arg | None] = self._before or [None] * len(args)
        self._before = args
        changes = [(n, _value(new)) for n, (old, new) in enumerate(zip(before, args, strict=True)) if new != old]
        return partial(_set_and_launch, self._kernel.kernel, changes, *self._kernel.sizes(grid, workgroup_size))


def _value(arg: Arg | None) -> Argument | np.uint32:
    """What the runtime takes."""
    if isinstance(arg, BufferMemory):
        return arg.argument
    return np.uint32(arg) if isinstance(arg, int) else cast("Argument", arg)


def _launch(kernel: cl.Kernel, span: tuple[int, ...], local: tuple[int, ...], queue: cl.CommandQueue) -> cl.Event:
    return cl.enqueue_nd_range_kernel(queue, kernel, span, local)


def _set_and_launch(
    kernel: cl.Kernel,
    changes: Sequence[tuple[int, Argument | np.uint32]],
    span: tuple[int, ...],
    local: tuple[int, ...],
    queue: cl.CommandQueue,
) -> cl.Event:
    for place, value in changes:
        kernel.set_arg(place, value)
    return cl.enqueue_nd_range_kernel(queue, kernel, span, local)
