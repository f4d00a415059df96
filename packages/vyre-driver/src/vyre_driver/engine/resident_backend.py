"""The part of the backend contract that is about memory on the device: resident resources and device buffers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import (
    DeviceBuffer,
    ResidentReadRange,
    Resource,
    validate_buffer_ownership,
)
from vyre_driver.backend.results import host_bytes
from vyre_driver.engine.buffers import EngineBuffer, owned_buffer, resources_of
from vyre_driver.engine.residents import Residents, whole_bytes
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer


class ResidentBackend(VyreBackend, contract=1):
    """Keeps memory on the device, whatever that is. Dispatches over it are the subclass's."""

    @abstractmethod
    def _residents(self) -> AbstractContextManager[Residents]:
        """The memory of the open device; nobody else gets at it meanwhile."""

    def _about_to_free(self, resource: Resource) -> None:
        """End what is kept for launches over this resource. Called within `_residents`."""

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
        """Launches that use it, also those in flight, end well: the memory lives as long as they do."""
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
