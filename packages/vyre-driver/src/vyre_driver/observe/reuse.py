"""Counts of reuse of data on the device: uploads that happened, and those that every dispatch would have needed.

    watched = ReuseWatch(acquire_preferred_dispatch_backend())
    …
    print(watched.telemetry.avoided_upload_bytes)

The first dispatch that reads uploaded data is cold, because the upload was for it. Every other read of a resource is
warm, including reads of results of other dispatches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingBackend, DelegatingPipeline
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, ResidentWave, Resource
from vyre_driver.backend.results import ResidentSequenceTiming, TimedDispatchResult, host_bytes
from vyre_driver.errors import ResidentGraphReuseTelemetryError
from vyre_driver.plan.binding import host_buffers
from vyre_foundation.ir.program import Program
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentGraphReuseTelemetry:
    """Counts of a backend over an interval. Sums and differences of them are such counts too."""

    cold_uploads: int = 0
    warm_reuses: int = 0
    upload_bytes: int = 0
    avoided_upload_bytes: int = 0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 0:
                raise ResidentGraphReuseTelemetryError(name, value)

    def __add__(self, other: ResidentGraphReuseTelemetry) -> ResidentGraphReuseTelemetry:
        """Those of two backends together."""
        mine, others = asdict(self), asdict(other)
        return ResidentGraphReuseTelemetry(**{name: mine[name] + others[name] for name in mine})

    def __sub__(self, earlier: ResidentGraphReuseTelemetry) -> ResidentGraphReuseTelemetry:
        """What came after `earlier`; an error if that is not earlier."""
        mine, before = asdict(self), asdict(earlier)
        return ResidentGraphReuseTelemetry(**{name: mine[name] - before[name] for name in mine})


class ReuseWatch(DelegatingBackend, contract=1, checked=False):
    """A backend whose uploads and resident dispatches are counted; the counts are among its metrics."""

    def __init__(self, inner: VyreBackend) -> None:
        super().__init__(inner)
        self._telemetry = ResidentGraphReuseTelemetry()
        self._fresh: set[Resource] = set()
        self._guard = ForkGuard()

    @property
    def telemetry(self) -> ResidentGraphReuseTelemetry:
        """The counts so far."""
        return self._telemetry

    def backend_metric_snapshot(self) -> dict[str, int]:
        """The metrics of `inner`, and the counts of uploads beside them."""
        return {**self.inner.backend_metric_snapshot(), **asdict(self._telemetry)}

    # ── uploads ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def upload_resident(self, resource: Resource, data: HostBuffer) -> None:
        """Upload through `inner`, and count the upload."""
        self.inner.upload_resident(resource, data)
        self._uploaded([(resource, data)])

    def upload_resident_many(self, uploads: Sequence[tuple[Resource, HostBuffer]]) -> None:
        """Upload through `inner`, and count each upload."""
        self.inner.upload_resident_many(uploads)
        self._uploaded(uploads)

    def upload_resident_at(self, resource: Resource, byte_offset: int, data: HostBuffer) -> None:
        """Upload a part through `inner`, and count the upload."""
        self.inner.upload_resident_at(resource, byte_offset, data)
        self._uploaded([(resource, data)])

    def upload_resident_at_many(self, uploads: Sequence[tuple[Resource, int, HostBuffer]]) -> None:
        """Upload several parts through `inner`, and count each upload."""
        self.inner.upload_resident_at_many(uploads)
        self._uploaded([(resource, data) for resource, _, data in uploads])

    def free_resident(self, resource: Resource) -> None:
        """Free through `inner`. The resource no longer counts as newly uploaded."""
        self.inner.free_resident(resource)
        self._fresh.discard(resource)

    # ── dispatches ───────────────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_resident(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> None:
        """Dispatch through `inner`, and count what it reads of resident memory."""
        self.inner.dispatch_resident(program, resources, config)
        self.read(program, resources)

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        """Dispatch through `inner`, and count what it read of resident memory."""
        result = self.inner.dispatch_resident_timed(program, resources, config)
        self.read(program, resources)
        return result

    def dispatch_resident_sequence_read_ranges_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> None:
        """Run a sequence through `inner`, and count what each step read."""
        self.inner.dispatch_resident_sequence_read_ranges_into(steps, ranges, targets)
        self._ran(steps)

    def dispatch_resident_sequence_read_ranges_timed_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> ResidentSequenceTiming:
        """Run a timed sequence through `inner`, and count what each step read."""
        timing = self.inner.dispatch_resident_sequence_read_ranges_timed_into(steps, ranges, targets)
        self._ran(steps)
        return timing

    def dispatch_resident_repeated_sequence_read_ranges_into(
        self,
        prefix: Sequence[ResidentDispatchStep],
        repeated: Sequence[ResidentDispatchStep],
        repetitions: int,
        ranges: Sequence[ResidentReadRange],
        targets: Sequence[HostBuffer],
    ) -> None:
        """Run a repeated sequence through `inner`, and count what each step of each repetition read."""
        self.inner.dispatch_resident_repeated_sequence_read_ranges_into(prefix, repeated, repetitions, ranges, targets)
        self._ran(prefix)
        if repetitions:
            self._ran(repeated)
            self._ran(repeated, times=repetitions - 1)

    def dispatch_resident_waves(self, waves: Sequence[ResidentWave]) -> None:
        """Run waves through `inner`, and count what each step read."""
        self.inner.dispatch_resident_waves(waves)
        for wave in waves:
            self._ran(wave.steps)

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline | None:
        """Compile with `inner`; dispatches of the pipeline are counted as well."""
        pipeline = self.inner.compile_native(program, config)
        return None if pipeline is None else _Pipeline(pipeline, program, self)

    def compile_native_shared(
        self, program: Program, config: DispatchConfig = DEFAULT_CONFIG
    ) -> CompiledPipeline | None:
        """See `compile_native`."""
        pipeline = self.inner.compile_native_shared(program, config)
        return None if pipeline is None else _Pipeline(pipeline, program, self)

    # ── counts ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _uploaded(self, uploads: Sequence[tuple[Resource, HostBuffer]]) -> None:
        sizes = [host_bytes("data", data).nbytes for _, data in uploads]
        with self._guard.lock:
            self._fresh.update(resource for resource, _ in uploads)
            self._telemetry += ResidentGraphReuseTelemetry(cold_uploads=len(sizes), upload_bytes=sum(sizes))

    def _ran(self, steps: Sequence[ResidentDispatchStep], times: int = 1) -> None:
        for step in steps:
            self.read(step.program, step.resources, times)

    def read(self, program: Program, resources: Sequence[Resource], times: int = 1) -> None:
        """Count that a dispatch has read the resources of its inputs, so often."""
        inputs = set(program.inputs)
        bound = zip(host_buffers(program), resources, strict=True)
        given = [resource for buffer, resource in bound if buffer in inputs]
        with self._guard.lock:
            warm = [resource for resource in given if resource not in self._fresh]
            self._fresh.difference_update(given)
            self._telemetry += ResidentGraphReuseTelemetry(
                warm_reuses=times * len(warm), avoided_upload_bytes=times * sum(r.byte_len for r in warm)
            )


class _Pipeline(DelegatingPipeline):
    """A pipeline of a watched backend."""

    def __init__(self, inner: CompiledPipeline, program: Program, watch: ReuseWatch) -> None:
        super().__init__(inner)
        self._program, self._watch = program, watch

    def dispatch_resident(self, resources: Sequence[Resource], config: DispatchConfig | None = None) -> None:
        self.inner.dispatch_resident(resources, config)
        self._watch.read(self._program, resources)

    def dispatch_resident_timed(
        self, resources: Sequence[Resource], config: DispatchConfig | None = None
    ) -> TimedDispatchResult:
        result = self.inner.dispatch_resident_timed(resources, config)
        self._watch.read(self._program, resources)
        return result
