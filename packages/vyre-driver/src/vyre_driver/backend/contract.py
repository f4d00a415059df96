"""The frozen contract between vyre and every backend.

Only `id` and `dispatch` are required. Every other method has a default implementation that is correct for a backend
without further capabilities: it calls another method, raises `UnsupportedFeature`, or reports the lowest value. A
backend overrides the methods that it can implement better. It may report a capability only if it emits the mechanism
and the device executes it.

The contract grows only by methods with default implementations. Any other change would increment `CONTRACT`;
``tests/contract.txt`` lists every signature. A subclass states the contract that it implements, ``class
Mine(VyreBackend, contract=1)``, so a mismatch is reported when the class is defined. The driver checks the return
values of every call.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent
from vyre_driver.backend.ops import core_supported_ops
from vyre_driver.backend.pending import PendingDispatch, ReadyPending
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
    from vyre_driver.backend.results import HostBuffer

CONTRACT = 1
"""The version of the contract that this vyre-driver implements."""


class VyreBackend(TypedDispatchExt):
    """A pure function from a valid program and input bytes to output bytes.

    Two calls with equal program, inputs and configuration return equal bytes, on this backend and on every other one. A
    backend may be called from several threads. All failures are `BackendError`s.

    The outputs of the methods that a subclass defines are checked against the program's declarations (`InvalidOutput`).
    ``checked=False`` turns the checks off for this class, which is correct if its outputs come from a launch plan or
    from another backend.
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

    def __reduce__(self) -> NoReturn:
        fix = f"pass its id, and open it there, as vyre.backend_for({self.id()!r}) does"
        raise TypeError(f"{self!r} is open in this process. Fix: {fix}")

    # ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def id(self) -> str:
        """Return the identifier of the backend, which is stable, and unique among the registered backends."""

    def version(self) -> str:
        """Return the version of the implementation, for certificates."""
        return "unspecified"

    def supported_ops(self) -> frozenset[str]:
        """Return the ids of the ops that the backend executes."""
        return core_supported_ops()

    @abstractmethod
    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Run a program over host memory.

        Args:
            program: A valid program.
            inputs: A contiguous buffer for each input, in binding order. They may not change during the call.
            config: The options of the dispatch.

        Returns:
            New host memory for each output, in binding order.

        Raises:
            BackendError: The program, an input or an option is invalid or not supported, or the dispatch failed.
        """

    def dispatch_borrowed(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Run a program as `dispatch`; the caller may change the inputs once the call has returned."""
        return self.dispatch(program, borrowed_input_slices(inputs), config)

    def dispatch_borrowed_timed(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        """Run a program as `dispatch_borrowed`, and measure it, by default only on the host."""
        started = time.perf_counter_ns()
        outputs = self.dispatch_borrowed(program, inputs, config)
        return TimedDispatchResult(outputs=outputs, wall_ns=time.perf_counter_ns() - started)

    def dispatch_borrowed_into(
        self, program: Program, inputs: Inputs, config: DispatchConfig, outputs: OutputBuffers
    ) -> None:
        """Run a program as `dispatch_borrowed`, into buffers of the caller.

        Args:
            program: As for `dispatch`.
            inputs: As for `dispatch`.
            config: As for `dispatch`.
            outputs: A list that holds the outputs afterwards. Buffers of the right size are written to; others are
                replaced.
        """
        replace_output_buffers_preserving_slots(outputs, self.dispatch_borrowed(program, inputs, config))

    # ── resident resources ───────────────────────────────────────────────────────────────────────────────────────────

    def allocate_resident(self, byte_len: int) -> Resource:
        """Allocate memory on the device, initially zero.

        Args:
            byte_len: The size in bytes.

        Returns:
            A handle. The memory is freed by `free_resident`, at the end of a ``with`` block of the handle, or with the
            last reference to the handle.

        Raises:
            DeviceOutOfMemory: There is not enough memory.
            UnsupportedFeature: The backend has no resident memory.
        """
        raise self._unsupported("resident buffer allocation")

    def upload_resident(self, resource: Resource, data: HostBuffer) -> None:
        """Replace the whole contents of a resource. `data` has exactly its size."""
        raise self._unsupported("resident buffer upload")

    def upload_resident_many(self, uploads: Sequence[tuple[Resource, HostBuffer]]) -> None:
        """Replace the contents of several resources. A backend that can batch transfers overrides this."""
        for resource, data in uploads:
            self.upload_resident(resource, data)

    def upload_resident_at(self, resource: Resource, byte_offset: int, data: HostBuffer) -> None:
        """Replace the bytes of a resource from `byte_offset` on."""
        raise self._unsupported("ranged resident buffer upload")

    def upload_resident_at_many(self, uploads: Sequence[tuple[Resource, int, HostBuffer]]) -> None:
        """Replace ranges of several resources, in order. Each upload is a resource, a byte offset and the data."""
        for resource, byte_offset, data in uploads:
            self.upload_resident_at(resource, byte_offset, data)

    def download_resident(self, resource: Resource) -> memoryview:
        """Return the whole contents of a resource, in new host memory."""
        raise self._unsupported("resident buffer download")

    def download_resident_into(self, resource: Resource, target: HostBuffer) -> None:
        """Copy the whole contents of a resource to `target`, which has exactly that size."""
        _copy_into(target, self.download_resident(resource))

    def download_resident_range(self, resource: Resource, byte_offset: int, byte_len: int) -> memoryview:
        """Return `byte_len` bytes of a resource from `byte_offset` on, in new host memory."""
        raise self._unsupported("ranged resident buffer download")

    def download_resident_range_into(
        self, resource: Resource, byte_offset: int, byte_len: int, target: HostBuffer
    ) -> None:
        """Copy `byte_len` bytes of a resource from `byte_offset` on to `target`, which has exactly that size."""
        _copy_into(target, self.download_resident_range(resource, byte_offset, byte_len))

    def download_resident_ranges_into(self, ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]) -> None:
        """Copy ranges of resources to the targets, one for each range."""
        if len(ranges) != len(targets):
            fix = "pass one target for each range"
            raise InvalidInput("targets", needed=f"{len(ranges)} targets", got=f"{len(targets)}", fix=fix)
        for part, target in zip(ranges, targets, strict=True):
            self.download_resident_range_into(part.resource, part.byte_offset, part.byte_len, target)

    def export_resident(self, resource: Resource) -> object:
        """Return the memory of a resource as a writable array of bytes, without a copy, after all work on it has ended.

        It is an array of NumPy for host memory, and of a library for the device otherwise. The array keeps the memory
        alive, even after the resource has been freed.
        """
        raise self._unsupported("exporting of resident buffers")

    def free_resident(self, resource: Resource) -> None:
        """Free a resource. Every later use of the handle raises `StaleHandle`."""
        raise self._unsupported("resident buffer free")

    def dispatch_resident(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> None:
        """Run a program as `dispatch_resident_timed`, without times; the call may return before the work has ended.

        Later uses of the resources are ordered after it. This call raises traps and timeouts. If the device fails after
        the call has returned, the next call that waits raises the failure.
        """
        self.dispatch_resident_timed(program, resources, config)

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        """Run a program over memory on the device.

        Args:
            program: A valid program.
            resources: A resource for each input and output, in binding order.
            config: The options of the dispatch.

        Returns:
            The times of the dispatch, without outputs.
        """
        raise self._unsupported("resident dispatch")

    def dispatch_resident_sequence_read_ranges_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> None:
        """Run the steps in order, and then copy the ranges to the targets, one for each range."""
        self.dispatch_resident_sequence_read_ranges_timed_into(steps, ranges, targets)

    def dispatch_resident_sequence_read_ranges_timed_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> ResidentSequenceTiming:
        """Run a sequence as `dispatch_resident_sequence_read_ranges_into`, and return the sums of the steps' times."""
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
        """Run a sequence of steps once and another one several times, and then copy ranges to the host.

        Args:
            prefix: The steps that run once, first.
            repeated: The steps that run `repetitions` times.
            repetitions: How often they run; 0 or more.
            ranges: The ranges that are read at the end.
            targets: Host memory for each range, of its size.
        """
        steps = [*prefix, *(step for _ in range(repetitions) for step in repeated)]
        self.dispatch_resident_sequence_read_ranges_into(steps, ranges, targets)

    def dispatch_resident_waves(self, waves: Sequence[ResidentWave]) -> None:
        """Run waves in order; by default one after another.

        The caller ensures that no wave writes to a range that an earlier wave reads at its end, or uploads to a
        resource that an earlier wave uses. So a backend may upload for a later wave, and read the results of an earlier
        one, while steps run.
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
        """Allocate a buffer of `byte_len` bytes in the memory of the backend, initially zero."""
        raise self._unsupported(DEVICE_BUFFER_FEATURE)

    def wrap_device_buffer(self, foreign: object) -> DeviceBuffer:
        """Make a buffer of the memory of another library's array, without a copy. The buffer keeps the array alive."""
        raise self._unsupported("wrapping of arrays")

    def upload_device_buffer(self, buffer: DeviceBuffer, data: HostBuffer) -> None:
        """Replace the whole contents of a buffer. `data` has exactly its size."""
        raise self._unsupported(DEVICE_BUFFER_FEATURE)

    def download_device_buffer(self, buffer: DeviceBuffer) -> memoryview:
        """Return the whole contents of a buffer, in new host memory."""
        raise self._unsupported(DEVICE_BUFFER_FEATURE)

    def free_device_buffer(self, buffer: DeviceBuffer) -> None:
        """Free a buffer."""
        raise self._unsupported(DEVICE_BUFFER_FEATURE)

    def dispatch_with_device_buffers(
        self,
        program: Program,
        inputs: Sequence[DeviceBuffer],
        outputs: Sequence[DeviceBuffer],
        config: DispatchConfig = DEFAULT_CONFIG,
    ) -> None:
        """Run a program over buffers of this backend, without copies through the host.

        Args:
            program: A valid program.
            inputs: A buffer for each input, in binding order.
            outputs: A buffer for each output, in binding order. A buffer of the program that is both has the same
                buffer in both, which changes in place.
            config: The options of the dispatch.

        Raises:
            StaleHandle: A buffer belongs to another backend.
            UnsupportedFeature: The backend has no device buffers.
        """
        default_dispatch_with_device_buffers(self.id(), program, inputs, outputs, config)

    # ── compilation ──────────────────────────────────────────────────────────────────────────────────────────────────

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline | None:
        """Compile a program, or return None; `vyre_driver.compile` then wraps `dispatch`."""
        return None

    def compile_native_shared(
        self, program: Program, config: DispatchConfig = DEFAULT_CONFIG
    ) -> CompiledPipeline | None:
        """Compile a program as `compile_native`. The pipeline may keep the program, which is immutable."""
        return self.compile_native(program, config)

    def precompile(self, programs: Sequence[Program], config: DispatchConfig = DEFAULT_CONFIG) -> None:
        """Compile several programs, which can take less time than one by one.

        Later calls of `compile_native` and `dispatch` find the code in the cache.
        """

    def pipeline_cache_snapshot(self) -> PipelineCacheSnapshot | None:
        """Return the hits and misses of the cache of compiled code; None if the backend does not count them."""
        return None

    def backend_metric_snapshot(self) -> dict[str, int]:
        """Return the counters of the backend by name. A counter never decreases."""
        return {}

    # ── asynchronous dispatch ────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        """Submit a dispatch; `inputs` may not change before it has ended.

        By default the dispatch ends before this call returns: the handle is ready, and failures are raised here.
        """
        return ReadyPending(self.dispatch(program, inputs, config))

    def dispatch_borrowed_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        """Submit a dispatch as `dispatch_async`; `inputs` may change once the call has returned."""
        return ReadyPending(self.dispatch_borrowed(program, inputs, config))

    # ── capabilities ─────────────────────────────────────────────────────────────────────────────────────────────────

    def supports_subgroup_ops(self) -> bool:
        """Return whether subgroup ops are native, not emulated in workgroup memory."""
        return False

    def supports_f16(self) -> bool:
        """Return whether f16 arithmetic is native, not emulated in f32."""
        return False

    def supports_bf16(self) -> bool:
        """Return whether bf16 arithmetic is native, not emulated in f32."""
        return False

    def supports_tensor_cores(self) -> bool:
        """Return whether matrix engines are used if the shapes allow it."""
        return False

    def supports_async_compute(self) -> bool:
        """Return whether copies and kernels overlap on independent queues."""
        return False

    def supports_indirect_dispatch(self) -> bool:
        """Return whether the device reads the grid of an indirect dispatch, without the host."""
        return False

    def supports_speculation(self) -> bool:
        """Return whether a dispatch can run before its condition is known, and commit its outputs later."""
        return False

    def supports_persistent_thread_dispatch(self) -> bool:
        """Return whether a kernel can stay on the device and poll a queue of work."""
        return False

    def supports_grid_sync(self) -> bool:
        """Return whether grid barriers run inside one launch; other backends split the program at the barriers."""
        return False

    def supports_distributed_collectives(self) -> bool:
        """Return whether collectives run over several devices."""
        return False

    def is_distributed(self) -> bool:
        """Return whether programs run on several devices. `backend_metric_snapshot` counts the parts as `shards`."""
        return False

    def allows_host_grid_sync_split(self) -> bool:
        """Return whether the host may split a program at its grid barriers."""
        return True

    def max_workgroup_size(self) -> Extent:
        """Return the largest workgroup size on each axis."""
        return (1, 1, 1)

    def max_compute_workgroups_per_dimension(self) -> int:
        """Return the largest number of workgroups on one axis of a launch."""
        return 1

    def max_compute_invocations_per_workgroup(self) -> int:
        """Return the largest number of invocations of a workgroup."""
        x, y, z = self.max_workgroup_size()
        return min(x * y * z, 2**32 - 1)

    def subgroup_size(self) -> int | None:
        """Return the number of lanes of a native subgroup; None if unknown."""
        return None

    def max_storage_buffer_bytes(self) -> int:
        """Return the size of the largest buffer in bytes; 0 if the backend does not report it."""
        return 0

    def device_profile(self) -> DeviceProfile:
        """Return all facts of the device. By default they come from the methods above."""
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
        """Open the device and do the other work that the first dispatch would otherwise do."""

    def flush(self) -> None:
        """Wait until every submitted dispatch has ended. A failure is raised by the wait for that dispatch, not here.

        By default there is nothing to wait for, because dispatches end before their handles are returned.
        """

    def shutdown(self) -> None:
        """Close the device. The backend must not be used afterwards.

        The call does not wait for work that does not end. Such work keeps its memory until it ends.
        """

    def device_lost(self) -> bool:
        """Return whether the device was lost after the last successful dispatch."""
        return False

    def try_recover(self) -> None:
        """Close the device, as `shutdown` does, and open it again. Earlier pipelines and handles are stale afterwards.

        Recovery is explicit: the driver never does it by itself.
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
