"""The capability queries of a backend that has a device: each is what the probe of the device said."""

from __future__ import annotations

from abc import abstractmethod

from vyre_driver.backend.config import Extent
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.device.profile import DeviceProfile


class ProfiledBackend(VyreBackend, contract=1):
    """Answers every query from `device_profile`."""

    @abstractmethod
    def device_profile(self) -> DeviceProfile:
        """What the probe of the device said."""

    def supports_subgroup_ops(self) -> bool:
        return self.device_profile().supports_subgroup_ops

    def supports_f16(self) -> bool:
        return self.device_profile().supports_f16

    def supports_bf16(self) -> bool:
        return self.device_profile().supports_bf16

    def supports_tensor_cores(self) -> bool:
        return self.device_profile().supports_tensor_cores

    def supports_async_compute(self) -> bool:
        return self.device_profile().supports_async_compute

    def supports_indirect_dispatch(self) -> bool:
        return self.device_profile().supports_indirect_dispatch

    def supports_grid_sync(self) -> bool:
        return self.device_profile().supports_grid_sync

    def max_workgroup_size(self) -> Extent:
        return self.device_profile().max_workgroup_size

    def max_compute_workgroups_per_dimension(self) -> int:
        """The least of the three axes; where the device states no limit, that of ids, which are u32."""
        return min(self.device_profile().max_workgroups or (2**32 - 1,))

    def max_compute_invocations_per_workgroup(self) -> int:
        return self.device_profile().max_invocations_per_workgroup

    def subgroup_size(self) -> int | None:
        return self.device_profile().subgroup_size

    def max_storage_buffer_bytes(self) -> int:
        return self.device_profile().max_storage_buffer_binding_size or 0
