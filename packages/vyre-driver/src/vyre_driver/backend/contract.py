"""The frozen contract between vyre and every backend.

Two methods are required, `id` and `dispatch`. Everything else has a body that is right for a backend that can do no
more than that: it delegates, refuses with a typed error, or answers with the least. A backend overrides what it does
better, and answers honestly: a capability is true only when it emits the mechanism and the device runs it.

The surface grows by methods with such bodies, and never changes otherwise: `CONTRACT` counts the breaks, and
``tests/contract.txt`` holds every signature. A subclass states which contract it implements, ``class Mine(VyreBackend,
contract=1)``, so that a break is met where it can be explained. What its methods return is checked in every call.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent
from vyre_driver.backend.ops import core_supported_ops
from vyre_driver.backend.pending import ReadyPending
from vyre_driver.backend.pipeline import CompiledPipeline, PipelineCacheSnapshot
from vyre_driver.backend.received import with_checks
from vyre_driver.backend.resources import (
    DEVICE_BUFFER_FEATURE,
    DeviceBuffer,
    ResidentDispatchStep,
    ResidentReadRange,
    ResidentWave,
    Resource,
    default_dispatch_with_device_buffers,
)
from vyre_driver.backend.results import (
    Inputs,
    OutputBuffers,
    Outputs,
    ResidentSequenceTiming,
    TimedDispatchResult,
    borrowed_input_slices,
    host_bytes,
    replace_output_buffers_preserving_slots,
)
from vyre_driver.backend.typed import TypedDispatchExt
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import BackendError, ContractMismatch, InvalidInput, UnsupportedFeature
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.pending import PendingDispatch
    from vyre_driver.backend.results import HostBuffer

CONTRACT = 1
"""The version of the contract that this vyre-driver speaks."""


class VyreBackend(TypedDispatchExt):
    """A pure function from a valid program and input bytes to output bytes.

    Two calls with equal program, inputs and configuration give equal bytes, on this backend and on every other. A
    backend may be called from several threads. All failures are `BackendError`s.

    The outputs of a dispatch that a subclass defines are checked against the program's declarations (`InvalidOutput`).
    ``checked=False`` turns this off for the class itself, if a launch plan or another backend makes its outputs.
    """

    contract: ClassVar[int] = CONTRACT

    def __init_subclass__(cls, *, contract: int | None = None, checked: bool = True, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        _require_contract(cls.__name__, contract)
        cls.contract = CONTRACT
        for name, method in tuple(vars(cls).items()) if checked else ():
            if (around := with_checks(name, method)) is not method:
                setattr(cls, name, around)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id()!r}>"

    # ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def id(self) -> str:
        """The backend's identifier: stable, and unique among the registered ones."""

    def version(self) -> str:
        """The version of the implementation, for certificates."""
        return "unspecified"

    def supported_ops(self) -> frozenset[str]:
        """The ids of the ops that the backend executes."""
        return core_supported_ops()

    @abstractmethod
    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Run `program`: one contiguous buffer for each input in binding order; new memory for each output."""

    def dispatch_borrowed(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """As `dispatch`, with inputs that the caller keeps and may change once the call has returned."""
        return self.dispatch(program, borrowed_input_slices(inputs), config)

    def dispatch_borrowed_timed(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        """As `dispatch_borrowed`, with times: here the host's clock alone."""
        started = time.perf_counter_ns()
        outputs = self.dispatch_borrowed(program, inputs, config)
        return TimedDispatchResult(outputs=outputs, wall_ns=time.perf_counter_ns() - started)

    def dispatch_borrowed_into(
        self, program: Program, inputs: Inputs, config: DispatchConfig, outputs: OutputBuffers
    ) -> None:
        """As `dispatch_borrowed`, into slots of the caller: a slot whose size fits keeps its memory."""
        replace_output_buffers_preserving_slots(outputs, self.dispatch_borrowed(program, inputs, config))

    # ── resident resources ───────────────────────────────────────────────────────────────────────────────────────────

    def allocate_resident(self, byte_len: int) -> Resource:
        """Memory on the device, initially zero.

        It lives until `free_resident`, the end of the handle's ``with`` block, or its last reference.
        """
        raise self._unsupported("resident buffer allocation")

    def upload_resident(self, resource: Resource, data: HostBuffer) -> None:
        """Give the whole resource new contents, of exactly its size."""
        raise self._unsupported("resident buffer upload")

    def upload_resident_many(self, uploads: Sequence[tuple[Resource, HostBuffer]]) -> None:
        """Several whole uploads; a backend that batches transfers overrides this."""
        for resource, data in uploads:
            self.upload_resident(resource, data)

    def upload_resident_at(self, resource: Resource, byte_offset: int, data: HostBuffer) -> None:
        """Change the bytes from `byte_offset` on."""
        raise self._unsupported("ranged resident buffer upload")

    def upload_resident_at_many(self, uploads: Sequence[tuple[Resource, int, HostBuffer]]) -> None:
        """Several ranged uploads, in order."""
        for resource, byte_offset, data in uploads:
            self.upload_resident_at(resource, byte_offset, data)

    def download_resident(self, resource: Resource) -> memoryview:
        """The whole contents, in fresh host memory."""
        raise self._unsupported("resident buffer download")

    def download_resident_into(self, resource: Resource, target: HostBuffer) -> None:
        """The whole contents, into memory of the caller of exactly that size."""
        _copy_into(target, self.download_resident(resource))

    def download_resident_range(self, resource: Resource, byte_offset: int, byte_len: int) -> memoryview:
        """Some of the contents, in fresh host memory."""
        raise self._unsupported("ranged resident buffer download")

    def download_resident_range_into(
        self, resource: Resource, byte_offset: int, byte_len: int, target: HostBuffer
    ) -> None:
        """Some of the contents, into memory of the caller of exactly that size."""
        _copy_into(target, self.download_resident_range(resource, byte_offset, byte_len))

    def download_resident_ranges_into(self, ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]) -> None:
        """Several ranges, each into its target."""
        if len(ranges) != len(targets):
            fix = "pass one target for each range"
            raise InvalidInput("targets", needed=f"{len(ranges)} targets", got=f"{len(targets)}", fix=fix)
        for part, target in zip(ranges, targets, strict=True):
            self.download_resident_range_into(part.resource, part.byte_offset, part.byte_len, target)

    def export_resident(self, resource: Resource) -> object:
        """The memory itself as a writable array of bytes, after all work on it: of NumPy, or of a library for devices.

        The array keeps the memory alive, also after the resource has ended.
        """
        raise self._unsupported("exporting of resident buffers")

    def free_resident(self, resource: Resource) -> None:
        """End the resource's life; every later use of the handle is a `StaleHandle`."""
        raise self._unsupported("resident buffer free")

    def dispatch_resident(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> None:
        """As `dispatch_resident_timed`, without times: it may return before the work has ended.

        Whatever uses the resources next comes after it. Traps and the timeout are raised by this call; what fails on
        the device after it has returned is raised by the next call that waits.
        """
        self.dispatch_resident_timed(program, resources, config)

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        """Run `program` over one resource for each input and output in binding order, which stay on the device."""
        raise self._unsupported("resident dispatch")

    def dispatch_resident_sequence_read_ranges_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> None:
        """Run the steps in order, then read the ranges."""
        self.dispatch_resident_sequence_read_ranges_timed_into(steps, ranges, targets)

    def dispatch_resident_sequence_read_ranges_timed_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> ResidentSequenceTiming:
        """As above, with the sums of the steps' times."""
        started = time.perf_counter_ns()
        timings = [self._dispatch_step(number, step) for number, step in enumerate(steps)]
        self.download_resident_ranges_into(ranges, targets)
        return ResidentSequenceTiming(
            wall_ns=time.perf_counter_ns() - started,
            device_ns=_sum_of_known([t.device_ns for t in timings]),
            enqueue_ns=_sum_of_known([t.enqueue_ns for t in timings]),
            wait_ns=_sum_of_known([t.wait_ns for t in timings]),
        )

    def dispatch_resident_repeated_sequence_read_ranges_into(
        self,
        prefix: Sequence[ResidentDispatchStep],
        repeated: Sequence[ResidentDispatchStep],
        repetitions: int,
        ranges: Sequence[ResidentReadRange],
        targets: Sequence[HostBuffer],
    ) -> None:
        """Run `prefix` once and `repeated` that many times, then read the ranges."""
        steps = [*prefix, *(step for _ in range(repetitions) for step in repeated)]
        self.dispatch_resident_sequence_read_ranges_into(steps, ranges, targets)

    def dispatch_resident_waves(self, waves: Sequence[ResidentWave]) -> None:
        """Run the waves in order.

        The caller answers for this: no wave writes to what an earlier one reads at its end, or uploads what an earlier
        one uses. So a backend that copies beside launches uploads for a wave, and reads what an earlier one has made,
        while steps run.
        """
        done = 0
        for wave in waves:
            self.upload_resident_many(wave.uploads)
            try:
                self.dispatch_resident_sequence_read_ranges_into(wave.steps, wave.ranges, wave.targets)
            except BackendError as error:
                if error.step is not None:
                    error.at_step(done + error.step)
                raise
            done += len(wave.steps)

    # ── device buffers ───────────────────────────────────────────────────────────────────────────────────────────────

    def allocate_device_buffer(self, byte_len: int) -> DeviceBuffer:
        """A buffer in the backend's memory, initially zero."""
        raise self._unsupported(DEVICE_BUFFER_FEATURE)

    def wrap_device_buffer(self, foreign: object) -> DeviceBuffer:
        """A buffer that is the memory of another library's array, without a copy; it keeps the array alive."""
        raise self._unsupported("wrapping of arrays")

    def upload_device_buffer(self, buffer: DeviceBuffer, data: HostBuffer) -> None:
        """Give the whole buffer new contents, of exactly its size."""
        raise self._unsupported(DEVICE_BUFFER_FEATURE)

    def download_device_buffer(self, buffer: DeviceBuffer) -> memoryview:
        """The whole contents, in fresh host memory."""
        raise self._unsupported(DEVICE_BUFFER_FEATURE)

    def free_device_buffer(self, buffer: DeviceBuffer) -> None:
        """End the buffer's life."""
        raise self._unsupported(DEVICE_BUFFER_FEATURE)

    def dispatch_with_device_buffers(
        self,
        program: Program,
        inputs: Sequence[DeviceBuffer],
        outputs: Sequence[DeviceBuffer],
        config: DispatchConfig = DEFAULT_CONFIG,
    ) -> None:
        """Run `program` over buffers of this backend: one for each input, and one for each output.

        What is both is one buffer, and changes in place. There is no detour through the host: it would hide the cost.
        """
        default_dispatch_with_device_buffers(self.id(), program, inputs, outputs, config)

    # ── compilation ──────────────────────────────────────────────────────────────────────────────────────────────────

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline | None:
        """A pipeline that skips compilation, or None: `vyre_driver.compile` then wraps `dispatch`."""
        return None

    def compile_native_shared(
        self, program: Program, config: DispatchConfig = DEFAULT_CONFIG
    ) -> CompiledPipeline | None:
        """As `compile_native`, for a program that the pipeline may keep. Programs are immutable: the two are one."""
        return self.compile_native(program, config)

    def precompile(self, programs: Sequence[Program], config: DispatchConfig = DEFAULT_CONFIG) -> None:
        """Compile programs that are known together: a compiler may start once for several.

        `compile_native` and `dispatch` find the code.
        """

    def pipeline_cache_snapshot(self) -> PipelineCacheSnapshot | None:
        """Hits and misses of the cache of compiled code; None for a backend that does not count them."""
        return None

    def backend_metric_snapshot(self) -> dict[str, int]:
        """What the backend counts, by name; each count only ever grows."""
        return {}

    # ── asynchronous dispatch ────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        """Begin a dispatch; `inputs` may not change before it has ended.

        By default it also ends in this call: the handle is ready, and failures are raised here.
        """
        return ReadyPending(self.dispatch(program, inputs, config))

    def dispatch_borrowed_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        """As `dispatch_async`; `inputs` may change once the call has returned."""
        return ReadyPending(self.dispatch_borrowed(program, inputs, config))

    # ── capabilities ─────────────────────────────────────────────────────────────────────────────────────────────────

    def supports_subgroup_ops(self) -> bool:
        """Whether subgroup ops are the device's own, not emulated through workgroup memory."""
        return False

    def supports_f16(self) -> bool:
        """Whether f16 arithmetic is native, not emulated through f32."""
        return False

    def supports_bf16(self) -> bool:
        """Whether bf16 arithmetic is native, not emulated through f32."""
        return False

    def supports_tensor_cores(self) -> bool:
        """Whether matrix engines are used where shapes allow it."""
        return False

    def supports_async_compute(self) -> bool:
        """Whether copies and kernels overlap on independent queues."""
        return False

    def supports_indirect_dispatch(self) -> bool:
        """Whether the device reads the grid of an indirect dispatch itself, without the host."""
        return False

    def supports_speculation(self) -> bool:
        """Whether a dispatch may run ahead of its condition, with outputs that are committed later."""
        return False

    def supports_persistent_thread_dispatch(self) -> bool:
        """Whether a kernel can stay on the device and poll a queue of work."""
        return False

    def supports_grid_sync(self) -> bool:
        """Whether a grid barrier runs inside one launch; other backends split the program there."""
        return False

    def supports_distributed_collectives(self) -> bool:
        """Whether collectives run over several devices."""
        return False

    def is_distributed(self) -> bool:
        """Whether a program is spread over several devices. `backend_metric_snapshot` counts the parts as `shards`."""
        return False

    def allows_host_grid_sync_split(self) -> bool:
        """Whether the host may split a program at its grid barriers for this backend."""
        return True

    def max_workgroup_size(self) -> Extent:
        """The largest workgroup size on each axis."""
        return (1, 1, 1)

    def max_compute_workgroups_per_dimension(self) -> int:
        """The most workgroups on one axis of a launch."""
        return 1

    def max_compute_invocations_per_workgroup(self) -> int:
        """The most invocations of a workgroup."""
        x, y, z = self.max_workgroup_size()
        return min(x * y * z, 2**32 - 1)

    def subgroup_size(self) -> int | None:
        """Lanes of the device's own subgroups, where known."""
        return None

    def max_storage_buffer_bytes(self) -> int:
        """The largest buffer in bytes; 0 is "not reported", not "none"."""
        return 0

    def device_profile(self) -> DeviceProfile:
        """All facts of the device in one value, here put together from the queries."""
        most = self.max_compute_workgroups_per_dimension()
        return DeviceProfile(
            backend=self.id(),
            supports_subgroup_ops=self.supports_subgroup_ops(),
            supports_indirect_dispatch=self.supports_indirect_dispatch(),
            supports_distributed_collectives=self.supports_distributed_collectives(),
            supports_f16=self.supports_f16(),
            supports_bf16=self.supports_bf16(),
            supports_tensor_cores=self.supports_tensor_cores(),
            supports_grid_sync=self.supports_grid_sync(),
            supports_async_compute=self.supports_async_compute(),
            has_subgroup_shuffle=self.supports_subgroup_ops(),
            max_workgroup_size=self.max_workgroup_size(),
            max_invocations_per_workgroup=self.max_compute_invocations_per_workgroup(),
            max_workgroups=(most, most, most),
            max_storage_buffer_binding_size=self.max_storage_buffer_bytes() or None,
            subgroup_size=self.subgroup_size(),
        )

    # ── lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepare(self) -> None:
        """Open the device and warm up what the first dispatch would otherwise pay for."""

    def flush(self) -> None:
        """Wait until every dispatch that was begun has ended, awaited or not. What failed is raised by its own wait.

        Here dispatches end before their handles are made, so there is nothing to wait for.
        """

    def shutdown(self) -> None:
        """Give back the device; the backend must not be used afterwards.

        Work that does not end is not waited for: it keeps the memory that it uses until then.
        """

    def device_lost(self) -> bool:
        """Whether the device went away since the last dispatch that succeeded."""
        return False

    def try_recover(self) -> None:
        """Close the device, as `shutdown` does, and open it again; every pipeline and handle made before is stale.

        It happens only by this call, never silently.
        """
        raise self._unsupported("device recovery")

    def _dispatch_step(self, number: int, step: ResidentDispatchStep) -> TimedDispatchResult:
        config = DEFAULT_CONFIG if step.grid_override is None else DispatchConfig(grid_override=step.grid_override)
        try:
            return self.dispatch_resident_timed(step.program, step.resources, config)
        except BackendError as error:
            raise error.at_step(number) from None

    def _unsupported(self, name: str) -> UnsupportedFeature:
        return UnsupportedFeature(name, backend=self.id())


def _require_contract(name: str, contract: int | None) -> None:
    if contract is None:
        fix = f"write `class {name}(…, contract={CONTRACT})` and implement contract {CONTRACT}"
        raise ContractMismatch(f"backend class {name!r}", "does not state the contract that it implements", fix=fix)
    if contract != CONTRACT:
        reason = f"implements contract {contract}, this vyre-driver speaks {CONTRACT}"
        fix = "pip install --upgrade the distribution of the class together with vyre-driver"
        raise ContractMismatch(f"backend class {name!r}", reason, fix=fix)


def _copy_into(target: HostBuffer, contents: memoryview) -> None:
    view = host_bytes("target", target, writable=True)
    if view.nbytes != contents.nbytes:
        raise InvalidInput("target", needed=f"{contents.nbytes} bytes", got=f"{view.nbytes} bytes")
    view[:] = contents


def _sum_of_known(terms: Sequence[int | None]) -> int | None:
    known = [term for term in terms if term is not None]
    return sum(known) if len(known) == len(terms) else None
