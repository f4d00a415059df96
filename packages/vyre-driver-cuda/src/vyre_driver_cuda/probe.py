"""A GPU's facts: the profile that the engine plans with, of what it reports and what it has shown."""

from __future__ import annotations

from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver_cuda.opened import OpenedDevice
from vyre_driver_cuda.spelling import WARP
from vyre_foundation.dtype import bf16, f16

REGISTERS = 255
"""The most that a thread can have, on every architecture that code is made for."""


def profile(opened: OpenedDevice) -> DeviceProfile:
    """The facts of an open GPU. Whether it computes as its table says is another question: see `proof`."""
    reported, target = opened.properties, opened.dialect.target()
    backend, device, vendor, driver, compiler = opened.identity
    return DeviceProfile(
        backend=backend,
        device=device,
        vendor=vendor,
        driver_version=driver,
        compiler=compiler,
        supports_subgroup_ops=reported["warpSize"] == WARP,
        supports_f16=f16 in target.arithmetic,
        supports_bf16=bf16 in target.arithmetic,
        supports_f64=True,
        supports_int64=True,
        supports_atomic64=True,
        supports_trap_propagation=True,
        supports_async_compute=True,
        supports_grid_sync=target.grid_barrier,
        supports_device_timestamps=True,
        has_mul_high=True,
        has_subgroup_shuffle=True,
        has_shared_memory=True,
        timing_quality=DeviceTimingQuality.DEVICE_TIMESTAMPS,
        max_native_int_width=64,
        max_workgroup_size=_three(reported["maxThreadsDim"]),
        max_invocations_per_workgroup=reported["maxThreadsPerBlock"],
        max_workgroups=_three(reported["maxGridSize"]),
        max_shared_memory_bytes=reported["sharedMemPerBlock"],
        max_storage_buffer_binding_size=reported["totalGlobalMem"],
        global_memory_bytes=reported["totalGlobalMem"],
        subgroup_size=WARP,
        compute_units=reported["multiProcessorCount"],
        max_resident_invocations=reported["multiProcessorCount"] * reported["maxThreadsPerMultiProcessor"],
        regs_per_thread_max=REGISTERS,
        l2_cache_bytes=reported["l2CacheSize"] or None,
        mem_bw_gbps=_bandwidth(reported["memoryClockRate"], reported["memoryBusWidth"]),
    )


def _three(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = sizes
    return int(x), int(y), int(z)


def _bandwidth(clock: int, width: int) -> float | None:
    """10**9 bytes a second: `width` bits move twice in each of `clock` * 1000 cycles. Some drivers report neither."""
    return 2 * clock * 1000 * width / 8 / 1e9 if clock > 0 and width > 0 else None
