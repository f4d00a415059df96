"""Launches and fills that are kept ready: an array of functions and arguments, which native code walks through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vyre_driver.device.profile import Extent
from vyre_driver.policy.queue import LONGEST_BLOCKING
from vyre_driver_cpu.launch import Argument, Arguments, Module
from vyre_driver_cpu.memory import HostMemory
from vyre_driver_cpu.runtime import Pool, PoolJob, PoolJobs, native

FILL = 0.01
"""Seconds that a fill takes at most."""
FILLED_AT_ONCE = 1 << 20
"""Bytes that a thread sets before it looks for more."""


class Recording:
    """Launches and fills for one queue, in order.

    `memories` are all that it works in. `uses` is what it needs alive, also by work in flight when it is cleared.
    """

    __slots__ = ("_jobs", "_known", "_spans", "_steps", "_table", "memories", "queue", "uses")

    def __init__(self) -> None:
        self.queue: int | None = None
        self.memories: dict[HostMemory, None] = {}
        self.uses: list[object] = []
        self._known: dict[tuple[object, ...], Arguments] = {}
        self._steps: list[tuple[int, Arguments, Module | None, str, float]] = []
        self._table = np.empty((0, 2), np.uint64)
        self._spans: list[tuple[int, int]] = []
        self._jobs = b""

    def launch(self, module: Module, kernel: str, grid: Extent, args: Sequence[Argument], longest: float) -> None:
        """Add a launch."""
        assert self.queue in (None, module.queue), "a recording is for one queue"
        self.queue = module.queue
        self.memories.update((arg, None) for arg in args if isinstance(arg, HostMemory))
        key = (grid, id(args))
        arguments = self._known.get(key)
        if arguments is None:
            arguments = self._known[key] = Arguments(args, grid)
            self.uses.append((module, arguments, args))
        self._steps.append((module.whole[kernel], arguments, module, kernel, longest))

    def fill(self, function: int, memory: HostMemory, byte: int, size: int) -> None:
        """Add a fill by `function`, the address of one that takes a launch over as many workgroups as bytes."""
        self.memories[memory] = None
        arguments = Arguments((memory, byte), (1, 1, 1), size)
        self.uses.append(arguments)
        self._steps.append((function, arguments, None, "", FILL))

    def finish(self) -> None:
        """Make the array, in spans that each end before the host has been blocked for too long."""
        self._table = np.array([(function, a.address) for function, a, *_ in self._steps], np.uint64).reshape(-1, 2)
        self.uses.append(self._table)
        address, size = self._table.ctypes.data, self._table.strides[0]
        first, seconds = 0, 0.0
        for n, (*_, longest) in enumerate(self._steps):
            if n > first and seconds + longest > LONGEST_BLOCKING:
                self._spans.append((address + first * size, n - first))
                first, seconds = n, 0.0
            seconds += longest
        self._spans.append((address + first * size, len(self._steps) - first))

    def spans(self) -> Sequence[tuple[int, int]]:
        """Address and length of each part of the array."""
        return self._spans

    def jobs(self, pool: Pool) -> PoolJobs:
        """The launches and fills for the threads of a pool, each time anew: what is in flight has its own."""
        if not self._jobs:
            made = [self._job(pool, *step) for step in self._steps]
            self._jobs = bytes((PoolJob * len(made))(*made))
        return PoolJobs((PoolJob * len(self._steps)).from_buffer_copy(self._jobs))

    @staticmethod
    def _job(
        pool: Pool, function: int, arguments: Arguments, module: Module | None, kernel: str, longest: float
    ) -> PoolJob:
        addresses, total = (arguments.slots_address, arguments.grid_address), arguments.total
        if module is None:
            return pool.job(native().addresses["fill"], addresses, total, FILLED_AT_ONCE, longest)
        return pool.job(module.addresses[kernel], addresses, total, pool.chunk(total, longest), longest)

    def clear(self) -> None:
        """Let everything go; what is in flight keeps what it uses."""
        self.memories, self.uses = {}, []
        self._known.clear()
        self._steps, self._jobs = [], b""
        self._spans = []
