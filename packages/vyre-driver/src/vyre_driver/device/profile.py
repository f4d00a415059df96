"""The facts of one device, from one probe: identity, capabilities, limits and speeds.

A capability is true only if the driver emits the mechanism and the device executes it, not if it is emulated. An
unknown number is None, never 0, so that it is not mistaken for a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum

from vyre_driver.device.queue import Queue
from vyre_driver.errors import InvalidOutput
from vyre_foundation.markup import fragment, table

Extent = tuple[int, int, int]
"""Sizes along x, y and z."""
_YES = {True: "yes", False: "no"}


class DeviceTimingQuality(Enum):
    """How accurately a backend can time a dispatch, from the coarsest to the finest."""

    HOST_ONLY = "host_only"
    HOST_ENQUEUE_WAIT = "host_enqueue_wait"
    DEVICE_TIMESTAMPS = "device_timestamps"
    HARDWARE_COUNTERS = "hardware_counters"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProfile:
    """The facts of one device: identity, capabilities, limits and speeds, in this order.

    The defaults are correct for a backend that knows nothing about its device. A field with a value of a wrong type
    raises `InvalidOutput`.

    - `driver_version` and `compiler` identify the software that compiles source. Compiled code is never shared between
      different versions.
    - `supports_*` are native capabilities.
    - `workgroups_are_loops`: a worker runs the invocations of a workgroup in loops, whose code does not depend on the
      workgroup size.
    - `folds_grids`: a launch may have more workgroups on y or z than `max_workgroups`, if x can hold all workgroups.
    - `max_resident_invocations` is the number of invocations that all compute units can run at once; it is lower for
      kernels that need many registers or much memory.
    - Sizes are in bytes, and `mem_bw_gbps` is in 10**9 bytes per second.
    - `queues` are the ways to run a launch; empty if the backend does not report them.
    """

    backend: str
    device: str = ""
    vendor: str = ""
    driver_version: str = ""
    compiler: str = ""

    supports_subgroup_ops: bool = False
    supports_indirect_dispatch: bool = False
    supports_distributed_collectives: bool = False
    supports_specialization_constants: bool = False
    supports_f16: bool = False
    supports_bf16: bool = False
    supports_f64: bool = False
    supports_int64: bool = False
    supports_atomic64: bool = False
    supports_trap_propagation: bool = False
    supports_tensor_cores: bool = False
    supports_grid_sync: bool = False
    supports_async_compute: bool = False
    supports_device_timestamps: bool = False
    supports_hardware_counters: bool = False
    has_mul_high: bool = False
    has_dual_issue_fp32_int32: bool = False
    has_subgroup_shuffle: bool = False
    has_shared_memory: bool = False
    shares_host_memory: bool = False
    workgroups_are_loops: bool = False
    folds_grids: bool = False
    timing_quality: DeviceTimingQuality = DeviceTimingQuality.HOST_ONLY

    max_native_int_width: int = 32
    max_workgroup_size: Extent = (1, 1, 1)
    max_invocations_per_workgroup: int = 1
    max_workgroups: Extent | None = None
    max_shared_memory_bytes: int | None = None
    max_storage_buffer_binding_size: int | None = None
    global_memory_bytes: int | None = None
    subgroup_size: int | None = None

    compute_units: int | None = None
    max_resident_invocations: int | None = None
    regs_per_thread_max: int | None = None
    l1_cache_bytes: int | None = None
    l2_cache_bytes: int | None = None
    mem_bw_gbps: float | None = None
    ideal_unroll_depth: int | None = None
    ideal_vector_pack_bits: int | None = None
    ideal_workgroup_tile: Extent | None = None
    shared_memory_bank_count: int | None = None
    shared_memory_bank_width_bytes: int | None = None

    queues: tuple[Queue, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kind, optional, _ = str(field.type).partition(" | None")
            needed, holds = _KINDS[kind]
            if not (holds(value) or (value is None and optional)):
                needed += " or None" if optional else ""
                fix = f"report it to the backend's authors: they give {field.name} {needed}"
                got = f"a DeviceProfile whose {field.name} is {value!r}, expected {needed}"
                raise InvalidOutput(str(self.backend), got, fix=fix)

    def __repr__(self) -> str:
        units = f", {self.compute_units} compute units" if self.compute_units else ""
        return f"<DeviceProfile of {self.backend!r}: {self.device or 'unnamed device'}{units}>"

    def _repr_html_(self) -> str:
        abilities = [
            field.name.removeprefix("supports_") for field in fields(self) if getattr(self, field.name) is True
        ]
        known: list[tuple[str, object]] = [("native", ", ".join(abilities).replace("_", " ") or "nothing optional")]
        for field in fields(self):
            value = getattr(self, field.name)
            if (
                field.name not in ("backend", "device", "queues")
                and not isinstance(value, bool)
                and value not in ("", None)
            ):
                known.append((field.name.replace("_", " "), _shown(value)))
        rows = [(q.name, q.workers, f"{q.launch_ns / 1e3:.1f} µs", _YES[q.is_interruptible]) for q in self.queues]
        queues = table(("queue", "workers", "a launch", "interruptible"), rows, (1, 2)) if rows else ""
        return fragment(self.device or "unnamed device", self.backend, queues, table((), known))

    @property
    def identity(self) -> tuple[str, ...]:
        """The facts on which compiled code depends: backend, device, vendor, driver and compiler."""
        return (self.backend, self.device, self.vendor, self.driver_version, self.compiler)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_extent(value: object) -> bool:
    """Return whether `value` is an `Extent`."""
    return isinstance(value, tuple) and len(value) == 3 and all(map(_is_whole, value))


def _are_queues(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(queue, Queue) for queue in value)


# fmt: off
_KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "str":                 ("a string",              lambda value: isinstance(value, str)),
    "bool":                ("True or False",         lambda value: isinstance(value, bool)),
    "int":                 ("an integer",            _is_whole),
    "float":               ("a number",              lambda value: isinstance(value, float) or _is_whole(value)),
    "Extent":              ("three integers",        is_extent),
    "DeviceTimingQuality": ("a DeviceTimingQuality", lambda value: isinstance(value, DeviceTimingQuality)),
    "tuple[Queue, ...]":   ("a tuple of Queues",     _are_queues),
}
# fmt: on
"""What each annotation of a field means, in words and as a check."""


def _shown(value: object) -> str:
    """A fact of a device for people."""
    match value:
        case Enum():
            return str(value.value).replace("_", " ")
        case tuple():
            return " × ".join(map(str, value))
        case _:
            return str(value)
