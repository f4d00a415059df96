"""A backend that overrides every method of the contract, in host memory.

It is the other end of `MockBackend`: what the contract can express, each call doing what its documentation says. Code
that takes a backend can be tested against both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent, require_wait
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.pipeline import CompiledPipeline, PipelineCacheSnapshot
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, ResidentWave, Resource
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
from vyre_driver.engine.resident import HostMemoryBackend
from vyre_driver.errors import DeviceLost
from vyre_driver.pipeline.compile import PassthroughPipeline
from vyre_driver.plan.launch import validated
from vyre_driver.testing.evaluate import Evaluate, dispatch_on_host
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer

DEVICE_NS, ENQUEUE_NS, WAIT_NS = 700, 200, 100
"""The times of every dispatch: made up, and so exact in tests."""


class FullBackend(HostMemoryBackend, contract=1):
    """Computes with `evaluate`. `calls` holds the names of the lifecycle hooks that ran; `lose_device()` loses it."""

    def __init__(self, evaluate: Evaluate, id: str = "full") -> None:
        self._evaluate, self._id = evaluate, id
        super().__init__()
        self._is_lost = False
        self._dispatches = 0
        self._pending: list[LatePending] = []
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

    # ── resident resources: in host memory ───────────────────────────────────────────────────────────────────────────

    def dispatch_resident(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> None:
        self.dispatch_resident_timed(program, resources, config)

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        super().dispatch_resident_timed(program, resources, config)
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

    def dispatch_resident_waves(self, waves: Sequence[ResidentWave]) -> None:
        for wave in waves:
            self.upload_resident_many(wave.uploads)
            self.dispatch_resident_sequence_read_ranges_into(wave.steps, wave.ranges, wave.targets)

    # ── compilation ──────────────────────────────────────────────────────────────────────────────────────────────────

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        return PassthroughPipeline(self, program, config)

    def compile_native_shared(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        return self.compile_native(program, config)

    def precompile(self, programs: Sequence[Program], config: DispatchConfig = DEFAULT_CONFIG) -> None:
        for program in programs:
            validated(program)

    def pipeline_cache_snapshot(self) -> PipelineCacheSnapshot:
        return PipelineCacheSnapshot(hits=3, misses=1)

    def backend_metric_snapshot(self) -> dict[str, int]:
        return {"dispatches": self._dispatches}

    # ── asynchronous dispatch ────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        pending = LatePending(self.dispatch(program, inputs, config))
        self._pending.append(pending)
        return pending

    def dispatch_borrowed_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        return self.dispatch_async(program, inputs, config)

    # ── capabilities ─────────────────────────────────────────────────────────────────────────────────────────────────

    # What nothing in the contract could show is denied.
    # fmt: off
    def supports_subgroup_ops(self) -> bool: return True
    def supports_f16(self) -> bool: return True
    def supports_bf16(self) -> bool: return True
    def supports_tensor_cores(self) -> bool: return False
    def supports_async_compute(self) -> bool: return False
    def supports_indirect_dispatch(self) -> bool: return True
    def supports_speculation(self) -> bool: return True
    def supports_persistent_thread_dispatch(self) -> bool: return True
    def supports_grid_sync(self) -> bool: return True
    def supports_distributed_collectives(self) -> bool: return False
    def is_distributed(self) -> bool: return False
    def allows_host_grid_sync_split(self) -> bool: return False
    def max_workgroup_size(self) -> Extent: return (1024, 512, 64)
    def max_compute_workgroups_per_dimension(self) -> int: return 2**31 - 1
    def max_compute_invocations_per_workgroup(self) -> int: return 1024
    def subgroup_size(self) -> int | None: return 32
    def max_storage_buffer_bytes(self) -> int: return 2**30
    # fmt: on

    def device_profile(self) -> DeviceProfile:
        return replace(
            super().device_profile(),
            device="host memory",
            supports_device_timestamps=True,
            timing_quality=DeviceTimingQuality.DEVICE_TIMESTAMPS,
        )

    # ── lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepare(self) -> None:
        self.calls.append("prepare")

    def flush(self) -> None:
        self.calls.append("flush")
        while self._pending:
            self._pending.pop().end()

    def shutdown(self) -> None:
        self.calls.append("shutdown")
        self.forget_resources()

    def device_lost(self) -> bool:
        return self._is_lost

    def try_recover(self) -> None:
        self.calls.append("try_recover")
        self._is_lost = False
        self.forget_resources()

    def lose_device(self) -> None:
        """From now on dispatches fail, until `try_recover`."""
        self._is_lost = True


class LatePending(PendingDispatch):
    """Becomes ready when it is asked for the second time, or by a flush."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs, self._asked = outputs, 0

    def end(self) -> None:
        """Complete the dispatch, as a flush of its backend does."""
        self._asked = 2

    def is_ready(self) -> bool:
        """False when asked for the first time, unless `end` was called; true from then on."""
        self._asked += 1
        return self._asked > 1

    def await_result(self, timeout: float | None = None) -> Outputs:
        """The outputs, at once; `timeout` is only checked."""
        require_wait(timeout)
        return self._outputs


def _timed(outputs: Outputs) -> TimedDispatchResult:
    return TimedDispatchResult(
        outputs=outputs,
        wall_ns=DEVICE_NS + ENQUEUE_NS + WAIT_NS,
        device_ns=DEVICE_NS,
        enqueue_ns=ENQUEUE_NS,
        wait_ns=WAIT_NS,
    )
