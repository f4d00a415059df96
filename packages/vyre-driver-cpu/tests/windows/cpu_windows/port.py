"""The CPU's port, with code for Windows: what a launch uses is copied to the process under Wine, and back."""

from __future__ import annotations

import json
import math
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from cpu_windows.process import Process
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.port import SourceUnit
from vyre_driver_cpu.compiler import compile_text
from vyre_driver_cpu.cpu import NAMED, host
from vyre_driver_cpu.launch import Argument, Grid
from vyre_driver_cpu.memory import HostBytes, HostMemory, ReadOnlyBytes
from vyre_driver_cpu.order import Work
from vyre_driver_cpu.port import CpuPort
from vyre_driver_cpu.probe import CALLER
from vyre_driver_cpu.runtime import PoolJob, runtime_text

WINDOWS = replace(host(), triple=NAMED["windows-x86-64"].triple)
THREADS, MINUTE = 3, 60_000
POOL, LINE = 512, 64


@cache
def process() -> Process:
    return Process(WINDOWS)


@cache
def runtime() -> dict[str, int]:
    """The addresses of the functions of `runtime.ll`."""
    names = ("work", "submit", "run", "await", "has_ended", "cancel")
    return process().link(compile_text(runtime_text("win32"), WINDOWS, level=0), names)[1]


@cache
def pool() -> int:
    """The address of a pool with threads."""
    address = process().allocate(POOL)
    for number in range(THREADS):
        process().start_thread(runtime()["work"], address, number, THREADS)
    return address


class RemoteModule:
    """Code in the other process."""

    def __init__(self, code: bytes, names: Sequence[str], queue: int) -> None:
        self.code, self.names, self.queue = code, tuple(names), queue
        functions = [*names, *(f"{name}_whole" for name in names)]
        library, self.addresses = process().link(code, functions)
        weakref.finalize(self, process().unload, library).atexit = False

    def for_queue(self, queue: int) -> RemoteModule:
        return self if queue == self.queue else RemoteModule(self.code, self.names, queue)


class WindowsPort(CpuPort):
    """Memory is that of this process; a launch has a copy of it in the other one."""

    records = works_after_fork = False

    def __init__(self) -> None:
        super().__init__()
        self._cpu = WINDOWS

    def probe(self) -> DeviceProfile:
        return replace(super().probe(), backend="cpu-windows")

    def compile(self, unit: SourceUnit, queue: int = 0) -> Any:
        return RemoteModule(self._compiled(unit), unit.kernels, queue)

    def load(self, binary: bytes, queue: int = 0) -> Any:
        head, _, code = binary.partition(b"\0")
        return RemoteModule(code, json.loads(head)["kernels"], queue)

    def in_place(self, data: memoryview) -> HostMemory | ReadOnlyBytes | None:  # type: ignore[override]
        found = CpuPort.in_place(data)
        return HostMemory(np.frombuffer(data, np.uint8)) if isinstance(found, HostBytes) else found

    def fill(self, memory: HostMemory, byte: int, size: int) -> None:
        memory.bytes[:size] = byte

    def launch(
        self,
        module: Any,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[Argument],
        *,
        timed: bool = False,
        longest: float = math.inf,
    ) -> Work:
        work, began = Work(), time.perf_counter_ns()
        with process().lock:
            _run(module, kernel, grid, args)
        work.times = began, time.perf_counter_ns()
        return work

    def runner(
        self,
        module: Any,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[Argument],
        places: Sequence[int],
        longest: float = math.inf,
        *,
        is_brief: bool = False,
    ) -> Callable[[Sequence[Any]], None]:
        def run(values: Sequence[Any]) -> None:
            given = list(args)
            for place, value in zip(places, values, strict=True):
                given[place] = value
            self.launch(module, kernel, grid, workgroup_size, given)

        return run


class _Copies:
    """Memory of one launch in the other process, which ends with it."""

    def __init__(self) -> None:
        self._blocks: list[int] = []
        self._buffers: dict[int, tuple[HostMemory | ReadOnlyBytes, int, int]] = {}

    def block(self, data: bytes, beyond_line: int = 0) -> int:
        """A copy of bytes, as far beyond a line of the cache as the original."""
        block = process().allocate(len(data) + 2 * LINE)
        self._blocks.append(block)
        process().write(block + beyond_line, data)
        return block + beyond_line

    def slot(self, argument: Argument) -> int:
        """What stands for an argument of a kernel."""
        if isinstance(argument, int):
            return argument
        assert isinstance(argument, HostMemory | ReadOnlyBytes)
        if argument.address not in self._buffers:
            data = argument.bytes if isinstance(argument, HostMemory) else argument.owner
            copy = self.block(data.tobytes(), argument.address % LINE)
            self._buffers[argument.address] = argument, copy, data.nbytes
        return self._buffers[argument.address][1]

    def end(self) -> None:
        """Copy back what may have been written to."""
        for argument, copy, size in self._buffers.values():
            if isinstance(argument, HostMemory):
                argument.bytes[:] = np.frombuffer(process().read(copy, size), np.uint8)
        for block in self._blocks:
            process().free(block)


def _run(module: RemoteModule, kernel: str, grid: Extent, args: Sequence[Argument]) -> None:
    copies, total = _Copies(), math.prod(grid)
    slots = copies.block(np.array([copies.slot(arg) & (1 << 64) - 1 for arg in args] or [0], np.uint64).tobytes())
    where = copies.block(bytes(Grid(*grid, past_caches=1 << 22)))
    if module.queue == CALLER:
        launch = copies.block(np.array([slots, where, total], np.uint64).tobytes())
        process().call(module.addresses[f"{kernel}_whole"], launch)
    else:
        chunk = -(-total // (4 * THREADS))
        most = min(THREADS, -(-total // chunk))
        job = PoolJob(module.addresses[kernel], slots, where, total, chunk, count=THREADS, most=most, brief=1)
        address, shares = copies.block(bytes(job)), copies.block(bytes(2 * 8 * THREADS))
        ended = process().call(runtime()["run"], pool(), address, shares, 1, 1 << 31, 0, MINUTE)
        assert ended & 1, "a launch takes more than a minute"
    copies.end()


class WindowsBackend(EngineBackend, contract=1):
    """The engine over `WindowsPort`."""

    def __init__(self) -> None:
        super().__init__("cpu-windows", WindowsPort, version="0.1.0")
