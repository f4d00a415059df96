"""A device's limits against a launch: everything that does not fit is said at once, before the device is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.errors import DeviceOutOfMemory, UnsupportedFeature
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program

WITHIN_LIMITS = "stay within the limits (larger workgroups make a grid smaller), or choose another backend"


def require_limits(program: Program, grid: Extent, sizes: Mapping[str, int], profile: DeviceProfile) -> None:
    """Raise `UnsupportedFeature` listing every limit that is exceeded, or `DeviceOutOfMemory` for the sum.

    `sizes` are the bytes of each buffer by name. Limits that the profile does not know are not checked.
    """
    exceeded = exceeded_limits(program, grid, sizes, profile)
    if exceeded:
        raise UnsupportedFeature("; ".join(exceeded), backend=profile.backend, fix=WITHIN_LIMITS)
    needed = sum(sizes[buffer.name] for buffer in program.buffers if buffer.memory.is_bound)
    require_memory(needed, profile, program.name)


def exceeded_limits(program: Program, grid: Extent, sizes: Mapping[str, int], profile: DeviceProfile) -> list[str]:
    """Every limit of geometry, buffer size and workgroup memory that a launch exceeds, in words.

    Buffers whose sizes are not known are left out.
    """
    return [*exceeded_geometry(program, grid, profile), *_buffers(program, sizes, profile)]


def require_memory(needed: int, profile: DeviceProfile, program: str) -> None:
    """Refuse more memory than the whole device has."""
    if profile.global_memory_bytes is not None and needed > profile.global_memory_bytes:
        raise DeviceOutOfMemory(needed, profile.global_memory_bytes, where=f"program {program!r}")


def exceeded_geometry(program: Program, grid: Extent, profile: DeviceProfile) -> Iterator[str]:
    """Every limit of workgroup and grid that a launch exceeds, in words."""
    for axis, size, most in zip("xyz", program.workgroup_size, profile.max_workgroup_size, strict=True):
        if size > most:
            yield f"a workgroup size of {size} on {axis} (at most {most})"
    if program.workgroup_volume > profile.max_invocations_per_workgroup:
        yield f"{program.workgroup_volume} invocations in a workgroup (at most {profile.max_invocations_per_workgroup})"
    for axis, groups, limit in zip("xyz", grid, profile.max_workgroups or (None, None, None), strict=True):
        if limit is not None and groups > limit:
            yield f"{groups} workgroups on {axis} (at most {limit})"


def _buffers(program: Program, sizes: Mapping[str, int], profile: DeviceProfile) -> Iterator[str]:
    most = profile.max_storage_buffer_binding_size
    for buffer in program.buffers:
        if most is not None and buffer.memory.is_bound and sizes.get(buffer.name, 0) > most:
            yield f"{sizes[buffer.name]} bytes in buffer {buffer.name!r} (at most {most})"
    shared = sum(sizes[buffer.name] for buffer in program.buffers if buffer.memory is Memory.WORKGROUP)
    limit = profile.max_shared_memory_bytes
    if limit is not None and shared > limit:
        yield f"{shared} bytes of workgroup memory (at most {limit})"
