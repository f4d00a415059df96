"""The part of the backend contract that is about memory on the device, and the same in memory of the host."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import (
    DeviceBuffer,
    ResidentReadRange,
    Resource,
    validate_buffer_ownership,
)
from vyre_driver.backend.results import Inputs, Outputs, TimedDispatchResult, host_bytes
from vyre_driver.engine.buffer_pool import Allocation
from vyre_driver.engine.resident import (
    EngineBuffer,
    Residents,
    bound_buffers,
    next_generation,
    owned_buffer,
    require_capacity,
    resources_of,
    used_bytes,
    whole_bytes,
)
from vyre_driver.errors import UnsupportedFeature
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer


class ResidentBackend(VyreBackend, contract=1):
    """Keeps memory on the device, whatever that is. Dispatches over it are the subclass's."""

    @abstractmethod
    def _residents(self) -> AbstractContextManager[Residents]:
        """Exclusive use of the memory of the open device."""

    def _about_to_free(self, resource: Resource) -> None:
        """Drop the cached launches over this resource. Called within `_residents`."""

    # ── resident resources ───────────────────────────────────────────────────────────────────────────────────────────

    def allocate_resident(self, byte_len: int) -> Resource:
        with self._residents() as residents:
            return residents.allocate(byte_len)

    def upload_resident(self, resource: Resource, data: HostBuffer) -> None:
        self.upload_resident_many([(resource, data)])

    def upload_resident_many(self, uploads: Sequence[tuple[Resource, HostBuffer]]) -> None:
        with self._residents() as residents:
            residents.upload([(resource, 0, whole_bytes(resource, data)) for resource, data in uploads])

    def upload_resident_at(self, resource: Resource, byte_offset: int, data: HostBuffer) -> None:
        self.upload_resident_at_many([(resource, byte_offset, data)])

    def upload_resident_at_many(self, uploads: Sequence[tuple[Resource, int, HostBuffer]]) -> None:
        with self._residents() as residents:
            residents.upload([(resource, offset, host_bytes("data", data)) for resource, offset, data in uploads])

    def download_resident(self, resource: Resource) -> memoryview:
        with self._residents() as residents:
            return residents.download(resource, 0, residents.size(resource))

    def download_resident_into(self, resource: Resource, target: HostBuffer) -> None:
        with self._residents() as residents:
            size = residents.size(resource)
            residents.download_into(resource, 0, residents.target(resource, 0, size, target))

    def download_resident_range(self, resource: Resource, byte_offset: int, byte_len: int) -> memoryview:
        with self._residents() as residents:
            return residents.download(resource, byte_offset, byte_len)

    def download_resident_range_into(
        self, resource: Resource, byte_offset: int, byte_len: int, target: HostBuffer
    ) -> None:
        part = ResidentReadRange(resource=resource, byte_offset=byte_offset, byte_len=byte_len)
        self.download_resident_ranges_into([part], [target])

    def download_resident_ranges_into(self, ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]) -> None:
        with self._residents() as residents:
            residents.download_ranges(ranges, residents.targets(ranges, targets))

    def free_resident(self, resource: Resource) -> None:
        """Launches that use it, also pending ones, complete: the memory lives as long as they do."""
        with self._residents() as residents:
            residents.find(resource)
            self._about_to_free(resource)
            residents.free(resource)

    # ── device buffers ───────────────────────────────────────────────────────────────────────────────────────────────

    def allocate_device_buffer(self, byte_len: int) -> DeviceBuffer:
        return EngineBuffer(self.allocate_resident(byte_len))

    def wrap_device_buffer(self, foreign: object) -> DeviceBuffer:
        with self._residents() as residents:
            return EngineBuffer(residents.wrap(foreign), f"wrapped {type(foreign).__name__}")

    def upload_device_buffer(self, buffer: DeviceBuffer, data: HostBuffer) -> None:
        self.upload_resident(self._resource(buffer), data)

    def download_device_buffer(self, buffer: DeviceBuffer) -> memoryview:
        return self.download_resident(self._resource(buffer))

    def free_device_buffer(self, buffer: DeviceBuffer) -> None:
        self.free_resident(self._resource(buffer))

    def dispatch_with_device_buffers(
        self,
        program: Program,
        inputs: Sequence[DeviceBuffer],
        outputs: Sequence[DeviceBuffer],
        config: DispatchConfig = DEFAULT_CONFIG,
    ) -> None:
        validate_buffer_ownership(self.id(), (*inputs, *outputs))
        self.dispatch_resident_timed(program, resources_of(program, inputs, outputs), config)

    def _resource(self, buffer: DeviceBuffer) -> Resource:
        validate_buffer_ownership(self.id(), (buffer,))
        return owned_buffer(buffer).resource


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
                require_capacity(buffer.name, contents.nbytes, memory[buffer.name])
            for buffer, contents in zip(program.outputs, outputs, strict=True):
                memory[buffer.name].memory[: contents.nbytes] = contents
        return TimedDispatchResult(outputs=[], wall_ns=time.perf_counter_ns() - started)
