"""A backend that overrides every method of the contract, in host memory.

It is the other end of `MockBackend`: what the contract can express, each call doing what its documentation says. Code
that takes a backend can be tested against both.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.pipeline import CompiledPipeline, PipelineCacheSnapshot
from vyre_driver.backend.resources import (
    DeviceBuffer,
    HostShimBuffer,
    ResidentDispatchStep,
    ResidentReadRange,
    Resource,
    validate_buffer_ownership,
)
from vyre_driver.backend.results import (
    Inputs,
    OutputBuffers,
    Outputs,
    ResidentSequenceTiming,
    TimedDispatchResult,
    host_bytes,
    replace_output_buffers_preserving_slots,
)
from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver.errors import DeviceLost, InvalidInput, StaleHandle
from vyre_driver.pipeline.compile import PassthroughPipeline
from vyre_driver.testing.evaluate import Evaluate, dispatch_on_host
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer

DEVICE_NS, ENQUEUE_NS, WAIT_NS = 700, 200, 100
"""The times of every dispatch: made up, and so exact in tests."""


class FullBackend(VyreBackend, contract=1):
    """Computes with `evaluate`. `calls` holds the names of the lifecycle hooks that ran; `lose_device()` loses it."""

    def __init__(self, evaluate: Evaluate, id: str = "full") -> None:
        self._evaluate, self._id = evaluate, id
        self._memory: dict[Resource, bytearray] = {}
        self._buffers: set[DeviceBuffer] = set()
        self._ids = count(1)
        self._generation = 1
        self._is_lost = False
        self._dispatches = 0
        self.calls: list[str] = []

    # ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def id(self) -> str:
        return self._id

    def version(self) -> str:
        return "1.0"

    def supported_ops(self) -> frozenset[str]:
        return frozenset({"add"})

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        if self._is_lost:
            raise DeviceLost(self._id, "lose_device() was called")
        self._dispatches += 1
        views = [host_bytes(f"input {n}", given) for n, given in enumerate(inputs)]
        return dispatch_on_host(program, views, config, self._evaluate, self.device_profile())

    def dispatch_borrowed(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return self.dispatch(program, inputs, config)

    def dispatch_borrowed_timed(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return _timed(self.dispatch(program, inputs, config))

    def dispatch_borrowed_into(
        self, program: Program, inputs: Inputs, config: DispatchConfig, outputs: OutputBuffers
    ) -> None:
        replace_output_buffers_preserving_slots(outputs, self.dispatch(program, inputs, config))

    # ── resident resources ───────────────────────────────────────────────────────────────────────────────────────────

    def allocate_resident(self, byte_len: int) -> Resource:
        resource = Resource(backend=self._id, id=next(self._ids), generation=self._generation, byte_len=byte_len)
        self._memory[resource] = bytearray(byte_len)
        return resource

    def upload_resident(self, resource: Resource, data: HostBuffer) -> None:
        memory, contents = self._resident(resource), host_bytes("data", data)
        _require_size("data", len(memory), contents.nbytes)
        memory[:] = contents

    def upload_resident_many(self, uploads: Sequence[tuple[Resource, HostBuffer]]) -> None:
        for resource, data in uploads:
            self.upload_resident(resource, data)

    def upload_resident_at(self, resource: Resource, byte_offset: int, data: HostBuffer) -> None:
        contents = host_bytes("data", data)
        self._range(resource, byte_offset, contents.nbytes)[:] = contents

    def upload_resident_at_many(self, uploads: Sequence[tuple[Resource, int, HostBuffer]]) -> None:
        for resource, byte_offset, data in uploads:
            self.upload_resident_at(resource, byte_offset, data)

    def download_resident(self, resource: Resource) -> memoryview:
        return memoryview(bytearray(self._resident(resource)))

    def download_resident_into(self, resource: Resource, target: HostBuffer) -> None:
        self.download_resident_range_into(resource, 0, resource.byte_len, target)

    def download_resident_range(self, resource: Resource, byte_offset: int, byte_len: int) -> memoryview:
        return memoryview(bytearray(self._range(resource, byte_offset, byte_len)))

    def download_resident_range_into(
        self, resource: Resource, byte_offset: int, byte_len: int, target: HostBuffer
    ) -> None:
        into = host_bytes("target", target, writable=True)
        _require_size("target", byte_len, into.nbytes)
        into[:] = self._range(resource, byte_offset, byte_len)

    def download_resident_ranges_into(self, ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]) -> None:
        for part, target in zip(ranges, targets, strict=True):
            self.download_resident_range_into(part.resource, part.byte_offset, part.byte_len, target)

    def free_resident(self, resource: Resource) -> None:
        self._resident(resource)
        del self._memory[resource]

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        bound = [buffer for buffer in program.buffers if buffer.memory.is_bound]
        memory = {buffer.name: self._resident(r) for buffer, r in zip(bound, resources, strict=True)}
        outputs = self.dispatch(program, [memory[buffer.name] for buffer in program.inputs], config)
        for buffer, contents in zip(program.outputs, outputs, strict=True):
            memory[buffer.name][:] = contents
        return _timed([])

    def dispatch_resident_sequence_read_ranges_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> None:
        for step in steps:
            self.dispatch_resident_timed(step.program, step.resources, DispatchConfig(grid_override=step.grid_override))
        self.download_resident_ranges_into(ranges, targets)

    def dispatch_resident_sequence_read_ranges_timed_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> ResidentSequenceTiming:
        self.dispatch_resident_sequence_read_ranges_into(steps, ranges, targets)
        n = len(steps)
        return ResidentSequenceTiming(
            wall_ns=n * (DEVICE_NS + ENQUEUE_NS + WAIT_NS),
            device_ns=n * DEVICE_NS,
            enqueue_ns=n * ENQUEUE_NS,
            wait_ns=n * WAIT_NS,
        )

    def dispatch_resident_repeated_sequence_read_ranges_into(
        self,
        prefix: Sequence[ResidentDispatchStep],
        repeated: Sequence[ResidentDispatchStep],
        repetitions: int,
        ranges: Sequence[ResidentReadRange],
        targets: Sequence[HostBuffer],
    ) -> None:
        self.dispatch_resident_sequence_read_ranges_into((*prefix, *repetitions * tuple(repeated)), ranges, targets)

    # ── device buffers ───────────────────────────────────────────────────────────────────────────────────────────────

    def allocate_device_buffer(self, byte_len: int) -> DeviceBuffer:
        buffer = HostShimBuffer(self._id, bytes(byte_len))
        self._buffers.add(buffer)
        return buffer

    def upload_device_buffer(self, buffer: DeviceBuffer, data: HostBuffer) -> None:
        contents = host_bytes("data", data)
        _require_size("data", buffer.byte_len(), contents.nbytes)
        self._owned(buffer)[:] = contents

    def download_device_buffer(self, buffer: DeviceBuffer) -> memoryview:
        return memoryview(bytearray(self._owned(buffer)))

    def free_device_buffer(self, buffer: DeviceBuffer) -> None:
        self._owned(buffer)
        self._buffers.remove(buffer)

    def dispatch_with_device_buffers(
        self,
        program: Program,
        inputs: Sequence[DeviceBuffer],
        outputs: Sequence[DeviceBuffer],
        config: DispatchConfig = DEFAULT_CONFIG,
    ) -> None:
        validate_buffer_ownership(self._id, (*inputs, *outputs))
        results = self.dispatch(program, [self._owned(buffer) for buffer in inputs], config)
        for buffer, contents in zip(outputs, results, strict=True):
            self._owned(buffer)[:] = contents

    # ── compilation ──────────────────────────────────────────────────────────────────────────────────────────────────

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        return PassthroughPipeline(self, program, config)

    def compile_native_shared(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        return self.compile_native(program, config)

    def pipeline_cache_snapshot(self) -> PipelineCacheSnapshot:
        return PipelineCacheSnapshot(hits=3, misses=1)

    def backend_metric_snapshot(self) -> dict[str, int]:
        return {"dispatches": self._dispatches}

    # ── asynchronous dispatch ────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        return LatePending(self.dispatch(program, inputs, config))

    def dispatch_borrowed_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        return self.dispatch_async(program, inputs, config)

    # ── capabilities ─────────────────────────────────────────────────────────────────────────────────────────────────

    # fmt: off
    def supports_subgroup_ops(self) -> bool: return True
    def supports_f16(self) -> bool: return True
    def supports_bf16(self) -> bool: return True
    def supports_tensor_cores(self) -> bool: return True
    def supports_async_compute(self) -> bool: return True
    def supports_indirect_dispatch(self) -> bool: return True
    def supports_speculation(self) -> bool: return True
    def supports_persistent_thread_dispatch(self) -> bool: return True
    def supports_grid_sync(self) -> bool: return True
    def supports_distributed_collectives(self) -> bool: return True
    def is_distributed(self) -> bool: return True
    def allows_host_grid_sync_split(self) -> bool: return False
    def max_workgroup_size(self) -> Extent: return (1024, 512, 64)
    def max_compute_workgroups_per_dimension(self) -> int: return 2**31 - 1
    def max_compute_invocations_per_workgroup(self) -> int: return 1024
    def subgroup_size(self) -> int | None: return 32
    def max_storage_buffer_bytes(self) -> int: return 2**30
    # fmt: on

    def device_profile(self) -> DeviceProfile:
        return DeviceProfile(
            backend=self._id,
            device="host memory",
            supports_subgroup_ops=True,
            supports_device_timestamps=True,
            timing_quality=DeviceTimingQuality.DEVICE_TIMESTAMPS,
            max_workgroup_size=self.max_workgroup_size(),
            max_invocations_per_workgroup=self.max_compute_invocations_per_workgroup(),
            max_storage_buffer_binding_size=self.max_storage_buffer_bytes(),
            subgroup_size=self.subgroup_size(),
        )

    # ── lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepare(self) -> None:
        self.calls.append("prepare")

    def flush(self) -> None:
        self.calls.append("flush")

    def shutdown(self) -> None:
        self.calls.append("shutdown")
        self._memory.clear()

    def device_lost(self) -> bool:
        return self._is_lost

    def try_recover(self) -> None:
        self.calls.append("try_recover")
        self._is_lost = False
        self._generation += 1
        self._memory.clear()

    def lose_device(self) -> None:
        """From now on dispatches fail, until `try_recover`."""
        self._is_lost = True

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _resident(self, resource: Resource) -> bytearray:
        if resource not in self._memory:
            handle = f"resource {resource.id} of {resource.backend!r}, generation {resource.generation}"
            raise StaleHandle(handle, f"{self._id!r} in generation {self._generation} does not hold it")
        return self._memory[resource]

    def _range(self, resource: Resource, offset: int, size: int) -> memoryview:
        memory = memoryview(self._resident(resource))
        if not 0 <= offset <= len(memory) - size:
            needed = f"a range within {len(memory)} bytes"
            raise InvalidInput(f"resource {resource.id}", needed=needed, got=f"{offset} … {offset + size}")
        return memory[offset : offset + size]

    def _owned(self, buffer: DeviceBuffer) -> memoryview:
        validate_buffer_ownership(self._id, (buffer,))
        if buffer not in self._buffers or not isinstance(buffer, HostShimBuffer):
            raise StaleHandle("the device buffer", "it was freed")
        return buffer.as_slice()


class LatePending(PendingDispatch):
    """Becomes ready when it is asked for the second time."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs, self._asked = outputs, 0

    def is_ready(self) -> bool:
        self._asked += 1
        return self._asked > 1

    def await_result(self, timeout: float | None = None) -> Outputs:
        return self._outputs


def _timed(outputs: Outputs) -> TimedDispatchResult:
    return TimedDispatchResult(
        outputs=outputs,
        wall_ns=DEVICE_NS + ENQUEUE_NS + WAIT_NS,
        device_ns=DEVICE_NS,
        enqueue_ns=ENQUEUE_NS,
        wait_ns=WAIT_NS,
    )


def _require_size(name: str, needed: int, got: int) -> None:
    if needed != got:
        raise InvalidInput(name, needed=f"{needed} bytes", got=f"{got} bytes")
