"""The six primitives over the host's compiler and memory: exactly the text that GPUs get, run by the CPU."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, ClassVar

from cuda_emulation import VARIABLE
from cuda_emulation.compiler import BuildFailed, build
from cuda_emulation.fake_cupy import PROPERTIES
from cuda_emulation.launch import MULTIPROCESSORS, KernelFault, Memory, Module, occupancy
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.port import DevicePort, SourceUnit
from vyre_driver.errors import DeviceOutOfMemory, DispatchFailed, KernelCompileFailed
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Target
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.devices import Candidate
from vyre_driver_cuda.dialect import dialect_of
from vyre_driver_cuda.emit import CudaSource, emit
from vyre_driver_cuda.opened import OpenedDevice
from vyre_driver_cuda.probe import profile

NAME = "cuda-emulation"
MEMORY = 2**32
"""Bytes that the device pretends to have."""

Recording = list[Callable[[], object]]


class EmulatedPort(DevicePort[Module, Memory, int]):
    """A GPU of some architecture that is none. Everything happens at once; an event is how long the kernel took."""

    emitter_version: ClassVar[str] = "cuda-emulation-1"
    records = True

    def __init__(self, architecture: Architecture) -> None:
        self._architecture, self._dialect = architecture, dialect_of(architecture)
        self._backwards = False
        self._recording: Recording | None = None

    # ── what the device is ───────────────────────────────────────────────────────────────────────────────────────────

    def probe(self) -> DeviceProfile:
        device = f"emulation of {self._architecture} on a CPU"
        identity = NAME, device, "no GPU", "emulation", "the host's C++ compiler"
        candidate = Candidate(0, device, self._architecture)
        properties = {**PROPERTIES, "memoryClockRate": 0, "memoryBusWidth": 0}
        return profile(OpenedDevice(candidate, None, properties, identity, self._dialect))

    def target(self) -> Target:
        return self._dialect.target()

    # ── compile ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def emitter(self) -> str:
        return f"{self.emitter_version} {self._dialect.digest()}"

    def emit(self, lowered: Lowered) -> CudaSource:
        return emit(lowered, self._dialect)

    def compile(self, unit: SourceUnit, queue: int = 0) -> Module:
        assert isinstance(unit, CudaSource)
        try:
            code = build(unit.text, unit.kernels)
        except BuildFailed as failure:
            place = unit.place(failure.lines[0]) if failure.lines else ""
            raise KernelCompileFailed(NAME, failure.log, source=unit.text, where=place) from failure
        return Module(code)

    def binary(self, module: Module) -> bytes | None:
        return module.code

    def load(self, binary: bytes, queue: int = 0) -> Module:
        return Module(binary)

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def allocate(self, size: int) -> Memory:
        if size > MEMORY:
            raise DeviceOutOfMemory(size, MEMORY)
        return Memory(size)

    def fill(self, memory: Memory, byte: int, size: int) -> None:
        self._do(partial(memory.bytes[:size].fill, byte))

    def copy_in(self, memory: Memory, data: memoryview, offset: int = 0) -> None:
        memory.bytes.data[offset : offset + data.nbytes] = data

    def copy_out(self, memory: Memory, into: memoryview, offset: int = 0) -> None:
        into[:] = memory.bytes.data[offset : offset + into.nbytes]

    def free(self, memory: Memory) -> None:
        """Nothing is kept."""

    # ── launch ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[Any],
        *,
        timed: bool = False,
        longest: float = math.inf,
    ) -> int:
        started = time.perf_counter_ns()
        self._do(partial(self._run, module, kernel, grid, workgroup_size, args))
        return time.perf_counter_ns() - started

    def side_by_side(self, module: Module, kernel: str, workgroup_size: Extent) -> int:
        return MULTIPROCESSORS * occupancy(prod(workgroup_size))

    def record(self, enqueue: Callable[[], object]) -> Recording:
        recording = self._recording = []
        try:
            enqueue()
        finally:
            self._recording = None
        return recording

    def replay(self, recording: Recording) -> int:
        for call in recording:
            call()
        return 0

    def _do(self, call: Callable[[], object]) -> None:
        if self._recording is None:
            call()
        else:
            self._recording.append(call)

    def _run(self, module: Module, kernel: str, grid: Extent, workgroup_size: Extent, args: Sequence[Any]) -> None:
        """Every other launch runs backwards: what depends on the order of threads differs from its repetition."""
        self._backwards = not self._backwards
        try:
            together = kernel in module.cooperative
            module.run(kernel, grid, workgroup_size, args, backwards=self._backwards, together=together)
        except KernelFault as fault:
            fix = "report the program: its kernel is wrong, or the emulation is"
            raise DispatchFailed(str(fault), backend=NAME, fix=fix) from fault

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, event: int, timeout: float | None = None) -> bool:
        return True

    def finish(self, timeout: float | None = None) -> bool:
        return True

    def query(self, event: int) -> bool:
        return True

    def elapsed(self, event: int) -> int | None:
        return event

    def close(self) -> None:
        """Nothing is kept."""


def emulated() -> EngineBackend:
    """The engine over an emulation of the architecture that the environment names."""
    architecture = Architecture.parse(os.environ.get(VARIABLE, "sm_90"))
    return EngineBackend(NAME, lambda: EmulatedPort(architecture), version="emulation, no GPU")
