"""A device's facts: what it reports and what it has proven, kept apart, and the profile that follows from both.

A capability is true when the emitter spells it, the device reports it, and a kernel has shown it. Reports alone are
wrong in both directions: a runtime denies subnormals of f16 that it computes exactly, another claims conversions that
it gets wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyopencl as cl

from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver.device.queue import Queue
from vyre_driver.tune.candidate import TunedVariant
from vyre_driver_opencl import about
from vyre_driver_opencl.identity import device_identity
from vyre_driver_opencl.spelling import (
    ATOMIC_STORES,
    ATOMICS,
    BIT_OPS,
    EXACT_DIVISION,
    FLOAT_OPS,
    INTEGERS,
    STANDARD,
    SUBGROUP_SIZES,
    SUBGROUPS,
    cast_text,
    float_casts,
)  # fmt: skip
from vyre_foundation.dtype import DType, bool_, f16, f32, f64

if TYPE_CHECKING:
    from vyre_driver_opencl.needs import Need
    from vyre_driver_opencl.proof.atomics import Atomics
    from vyre_driver_opencl.proof.subgroups import Collectives


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What the device says of itself. `exact_division`: it knows the compiler option for that.

    `groups_as_loops`: kernels are better written as loops over the workgroup. True for PoCL on CPUs: it vectorises such
    loops, 10 to 20 times faster than what it makes of barriers, and its own treatment of barriers in conditionals loses
    values that live across them.
    """

    extensions: frozenset[str]
    f64: bool
    exact_division: bool
    groups_as_loops: bool = False
    is_cpu: bool = False

    @property
    def f16(self) -> bool:
        """Whether the device reports arithmetic of f16."""
        return "cl_khr_fp16" in self.extensions

    @property
    def atomic64(self) -> bool:
        """Whether the device reports atomics of 64 bits."""
        return {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"} <= self.extensions

    @property
    def subgroups(self) -> bool:
        """Whether the device reports shuffles, ballots and a subgroup size that can be required."""
        needed = {"cl_khr_subgroup_shuffle", "cl_khr_subgroup_ballot", "cl_intel_required_subgroup_size"}
        return needed <= self.extensions

    @property
    def floats(self) -> tuple[DType, ...]:
        """The types of floats that the device reports arithmetic of."""
        return (f32, *((f64,) if self.f64 else ()), *((f16,) if self.f16 else ()))

    @property
    def options(self) -> tuple[str, ...]:
        """How everything is compiled for the device."""
        return (STANDARD, EXACT_DIVISION) if self.exact_division else (STANDARD,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """The spellings of a device: what kernels have shown, and the first candidates of what no program has used yet.

    `shown` are the needs that were proven or refuted; a program that needs more runs after its proof. `floats` are the
    types that registers hold. `plain_pointers`: a kernel may be given any address of host memory. `candidates` are all
    spellings that were judged, where `measure` has judged more than the first exact ones.
    """

    floats: tuple[DType, ...]
    ops: Mapping[tuple[str, DType], str]
    casts: Mapping[tuple[DType, DType], str]
    atomics: Atomics
    atomic_stores: Mapping[DType, str]
    subgroup_sizes: frozenset[int]
    collectives: Collectives
    plain_pointers: bool = False
    candidates: tuple[TunedVariant, ...] = ()
    shown: frozenset[Need] = frozenset()


def assumed(reported: Reported) -> Proven:
    """The table of a device that has shown nothing: the first candidate of everything that it reports."""
    floats = reported.floats
    tables = [*(BIT_OPS[t] for t in INTEGERS), *(FLOAT_OPS[t] for t in floats)]
    types = {bool_, *INTEGERS, *floats}
    return Proven(
        floats=floats,
        ops={row: candidates[0] for table in tables for row, candidates in table.items()},
        casts={(a, b): cast_text(b) for a, b in float_casts(floats)},
        atomics={key: text for key, text in ATOMICS.items() if key[1].bits == 32 or reported.atomic64},
        atomic_stores={t: text for t, text in ATOMIC_STORES.items() if t.bits == 32 or reported.atomic64},
        subgroup_sizes=frozenset(SUBGROUP_SIZES) if reported.subgroups else frozenset(),
        collectives={key: text for key, text in SUBGROUPS.items() if key[1] in types} if reported.subgroups else {},
    )


POCL = "Portable Computing Language"


def report(device: cl.Device) -> Reported:
    """Ask the device."""
    extensions = frozenset(device.extensions.split())
    modes = device.single_fp_config
    return Reported(
        extensions=extensions,
        f64="cl_khr_fp64" in extensions and bool(device.double_fp_config),
        exact_division=bool(modes & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT),
        groups_as_loops=about.is_cpu(device) and device.platform.name == POCL,
        is_cpu=about.is_cpu(device),
    )


def profile(backend: str, device: cl.Device, proven: Proven, queues: tuple[Queue, ...] = ()) -> DeviceProfile:
    """The facts that the engine plans with."""
    sizes = device.max_work_item_sizes
    x, y, z, *_ = (*sizes, 1, 1)
    _, name, vendor, driver, compiler = device_identity(backend, device)
    return DeviceProfile(
        backend=backend,
        device=name,
        vendor=vendor,
        driver_version=driver,
        compiler=compiler,
        supports_subgroup_ops=bool(proven.subgroup_sizes),
        supports_f16=f16 in proven.floats,
        supports_f64=f64 in proven.floats,
        supports_int64=True,
        supports_atomic64=any(t.bits == 64 for _, t in proven.atomics),
        supports_trap_propagation=any(t.bits == 64 for _, t in proven.atomics),
        supports_device_timestamps=True,
        supports_async_compute=not queues or any(queue.is_interruptible for queue in queues),
        has_mul_high=("mul_high", INTEGERS[0]) in proven.ops,
        has_subgroup_shuffle=bool(proven.collectives),
        has_shared_memory=device.local_mem_type == cl.device_local_mem_type.LOCAL,
        timing_quality=DeviceTimingQuality.DEVICE_TIMESTAMPS,
        max_native_int_width=64,
        max_workgroup_size=(x, y, z),
        max_invocations_per_workgroup=device.max_work_group_size,
        max_shared_memory_bytes=device.local_mem_size,
        max_storage_buffer_binding_size=device.max_mem_alloc_size,
        global_memory_bytes=device.global_mem_size,
        compute_units=device.max_compute_units,
        queues=queues,
    )
