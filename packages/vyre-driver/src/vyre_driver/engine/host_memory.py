"""Resident resources and device buffers for a backend that computes on the host."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import Inputs, Outputs, TimedDispatchResult
from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.over_residents import bound_buffers, require_room_for, used_bytes
from vyre_driver.engine.resident_backend import ResidentBackend
from vyre_driver.engine.residents import Residents, next_generation
from vyre_driver.errors import UnsupportedFeature
from vyre_foundation.ir.program import Program


class HostStore:
    """Host memory as a store of resources: an `Allocation`'s memory is an array of bytes."""

    def __init__(self) -> None:
        self.generation = next_generation()

    def allocate(self, size: int) -> Allocation:
        return Allocation(np.empty(max(1, size), np.uint8), max(1, size))

    def fill(self, allocation: Allocation, byte: int, size: int) -> None:
        allocation.memory[:size] = byte

    def copy_in(self, allocation: Allocation, data: memoryview, offset: int = 0) -> None:
        allocation.memory[offset : offset + data.nbytes] = data

    def copy_out(self, allocation: Allocation, into: memoryview, offset: int = 0) -> None:
        into[:] = allocation.memory[offset : offset + into.nbytes].data

    def wrap(self, foreign: object, size: int) -> Allocation | None:
        """A NumPy array in one piece that may be written to."""
        if not isinstance(foreign, np.ndarray) or not foreign.flags.carray:
            return None
        return Allocation(foreign.reshape(-1).view(np.uint8), size, is_borrowed=True)

    def free(self, allocations: Sequence[Allocation]) -> None:
        """Nothing: arrays end with their last user."""


class HostMemoryBackend(ResidentBackend, contract=1):
    """Keeps resources in host memory, and dispatches over them by `dispatch`: the contract, without the speed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._forget_resources()

    def _forget_resources(self) -> None:
        """Make every handle stale."""
        self._held = Residents(self.id(), HostStore())

    @contextmanager
    def _residents(self) -> Iterator[Residents]:
        with self._lock:
            self._held.sweep()
            yield self._held

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return self.over_resources(program, resources, lambda inputs: self.dispatch(program, inputs, config))

    def over_resources(
        self, program: Program, resources: Sequence[Resource], run: Callable[[Inputs], Outputs]
    ) -> TimedDispatchResult:
        """A dispatch of `program` over resources, which `run` does over host memory. Not part of the contract: for
        pipelines, which keep more than a backend."""
        started = time.perf_counter_ns()
        if any(buffer.output_range is not None for buffer in program.outputs):
            raise UnsupportedFeature("output ranges over resident memory", backend=self.id())
        with self._residents() as residents:
            allocations = [residents.find(resource) for resource in resources]
            buffers = bound_buffers(program, resources)
            memory = {b.name: allocation for b, allocation in zip(buffers, allocations, strict=True)}
            used = used_bytes(buffers, resources)
            inputs = [memory[buffer.name].memory[: used[buffer.name]] for buffer in program.inputs]
            outputs = run(inputs)
            for buffer, contents in zip(program.outputs, outputs, strict=True):
                require_room_for(buffer.name, contents.nbytes, memory[buffer.name])
            for buffer, contents in zip(program.outputs, outputs, strict=True):
                memory[buffer.name].memory[: contents.nbytes] = contents
        return TimedDispatchResult(outputs=[], wall_ns=time.perf_counter_ns() - started)
