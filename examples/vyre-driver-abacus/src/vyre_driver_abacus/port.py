"""The six primitives. Everything happens at once and in order, so there is nothing to wait for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from platform import python_version
from typing import Any, ClassVar

from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality, Extent
from vyre_driver.engine.port import DevicePort, SourceUnit
from vyre_driver.errors import DeviceOutOfMemory, KernelCompileFailed
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Target
from vyre_driver_abacus.printer import print_kernel
from vyre_driver_abacus.spelling import TYPES, target
from vyre_foundation.dtype import INTEGERS, DType
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import bitcast, cast, wrap

MEMORY = 2**30
"""Bytes that the device pretends to have."""
_FORMATS: dict[str, Any] = dict(zip("bool u8 u16 u32 u64 i8 i16 i32 i64 f32 f64".split(), "?BHIQbhiqfd", strict=True))


@dataclass(frozen=True, slots=True)
class Module:
    """Compiled kernels by name, each with the types of its buffers."""

    kernels: dict[str, tuple[Callable[..., None], tuple[DType, ...]]]


@dataclass(frozen=True)
class PythonUnit(SourceUnit):
    """Source, with the types of each kernel's buffers in argument order."""

    types: tuple[tuple[DType, ...], ...] = ()


class AbacusPort(DevicePort[Module, bytearray, int]):
    """An open device. Memory is a `bytearray`, an event is how long the kernel took."""

    emitter_version: ClassVar[str] = "abacus 1"

    def __init__(self) -> None:
        self._held = 0

    # ── what the device is ──

    def probe(self) -> DeviceProfile:
        return DeviceProfile(
            backend="abacus",
            device="ten fingers",
            vendor="nature",
            compiler=f"Python {python_version()}",
            supports_f64=True,
            supports_int64=True,
            supports_atomic64=True,
            supports_trap_propagation=True,
            supports_device_timestamps=True,
            has_mul_high=True,
            timing_quality=DeviceTimingQuality.DEVICE_TIMESTAMPS,
            max_workgroup_size=(1024, 1024, 64),
            max_invocations_per_workgroup=1024,
            global_memory_bytes=MEMORY,
        )

    def target(self) -> Target:
        return target()

    # ── compile ──

    def emit(self, lowered: Lowered) -> SourceUnit:
        names = tuple(f"kernel_{n}" for n, _ in enumerate(lowered.kernels))
        text = "\n".join(print_kernel(name, kernel) for name, kernel in zip(names, lowered.kernels, strict=True))
        types = tuple(tuple(b.dtype for b in k.program.buffers if b.memory.is_bound) for k in lowered.kernels)
        return PythonUnit(text, names, "python", types=types)

    def compile(self, unit: SourceUnit, queue: int = 0) -> Module:
        assert isinstance(unit, PythonUnit)
        scope = dict(_BUILT_IN)
        try:
            exec(compile(unit.text, "<abacus>", "exec"), scope)
        except (SyntaxError, MemoryError, RecursionError) as error:
            raise KernelCompileFailed("abacus", str(error), source=unit.text) from error
        return Module({name: (scope[name], types) for name, types in zip(unit.kernels, unit.types, strict=True)})

    # ── memory ──

    def allocate(self, size: int) -> bytearray:
        if self._held + size > MEMORY:
            raise DeviceOutOfMemory(size, MEMORY - self._held)
        self._held += size
        return bytearray(size)

    def fill(self, memory: bytearray, byte: int, size: int) -> None:
        memory[:size] = bytes([byte]) * size

    def copy_in(self, memory: bytearray, data: memoryview, offset: int = 0) -> None:
        memory[offset : offset + data.nbytes] = data

    def copy_out(self, memory: bytearray, into: memoryview, offset: int = 0) -> None:
        into[:] = memory[offset : offset + into.nbytes]

    def free(self, memory: bytearray) -> None:
        self._held -= len(memory)

    # ── launch, wait ──

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
        run, types = module.kernels[kernel]
        views = [_view(t, memory) for t, memory in zip(types, args, strict=False)]
        lengths = args[len(types) :]
        started = time.perf_counter_ns()
        for z, y, x in product(range(grid[2]), range(grid[1]), range(grid[0])):
            run((x, y, z), grid, *views, *lengths)
        return time.perf_counter_ns() - started

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


# ── what kernels find built in ───────────────────────────────────────────────────────────────────────────────────────


def _view(dtype: DType, memory: bytearray) -> Any:
    """The whole elements of some memory."""
    whole = len(memory) // dtype.size * dtype.size
    return memoryview(memory)[:whole].cast(_FORMATS[dtype.name])


_BUILT_IN: dict[str, Any] = {
    **{f"op_{op.id}_{t}": partial(op.evaluate, t) for op in OPS.values() for t in op.accepts},
    **{f"cut_{t}": partial(wrap, t) for t in INTEGERS},
    **{f"cast_{a}_{b}": partial(cast, a, b) for a in TYPES for b in TYPES},
    **{f"bits_{a}_{b}": partial(bitcast, a, b) for a in TYPES for b in TYPES if a.bits == b.bits},
    **{f"view_{t}": partial(_view, t) for t in TYPES},
}
