"""A target that spells everything but a grid barrier, and the profile of a device without limits."""

from __future__ import annotations

from functools import cache

from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver.legalization.target import Target
from vyre_foundation.dtype import DTYPES, dtype
from vyre_foundation.ir.stmt import ATOMIC_DTYPES, AtomicOp
from vyre_foundation.ops import OPS


@cache
def generous_target() -> Target:
    """Every op at every type it accepts, every cast, every atomic; no subgroups, no grid barrier."""
    return Target(
        name="generous",
        ops=frozenset((op.id, operand) for op in OPS.values() for operand in op.accepts),
        memory=frozenset(DTYPES),
        arithmetic=frozenset(DTYPES),
        casts=frozenset((source, target) for source in DTYPES for target in DTYPES),
        bitcasts=frozenset((source, target) for source in DTYPES for target in DTYPES),
        atomics=frozenset((op, dtype(name)) for op in AtomicOp for name in ATOMIC_DTYPES),
    )


def generous_profile(backend: str = "fake") -> DeviceProfile:
    """A device that takes every launch; its numbers are made up and its clock ticks once a launch."""
    return DeviceProfile(
        backend=backend,
        device="fake device",
        vendor="vyre",
        driver_version="1",
        compiler="fake compiler 1",
        supports_f16=True,
        supports_bf16=True,
        supports_f64=True,
        supports_int64=True,
        supports_atomic64=True,
        supports_trap_propagation=True,
        supports_device_timestamps=True,
        has_mul_high=True,
        timing_quality=DeviceTimingQuality.DEVICE_TIMESTAMPS,
        max_workgroup_size=(1024, 1024, 64),
        max_invocations_per_workgroup=1024,
    )
