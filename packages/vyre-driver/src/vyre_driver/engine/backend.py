"""The backend contract, implemented on a device port."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from vyre_driver import engine, tune
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.pipeline import CompiledPipeline, PipelineCacheSnapshot
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, ResidentWave, Resource
from vyre_driver.backend.results import Inputs, OutputBuffers, Outputs, ResidentSequenceTiming, TimedDispatchResult
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.bind import compilation_config
from vyre_driver.engine.device import Device
from vyre_driver.engine.dispatcher import Dispatcher
from vyre_driver.engine.pending import PAUSE, SLICE, Deadline
from vyre_driver.engine.port import Allocation, OpenPort, SourceUnit
from vyre_driver.engine.resident import ResidentBackend, Residents
from vyre_driver.engine.session import Session
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.legalization.target import Target
from vyre_driver.observe.live import by_profile
from vyre_driver.observe.metrics import Counters
from vyre_driver.pipeline.compile import pipeline_config
from vyre_driver.pipeline.key import PipelineCacheKey
from vyre_driver.plan.admission import admit_program
from vyre_driver.plan.launch import validated, with_workgroup_size
from vyre_foundation.dtype import f32
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer
    from vyre_driver.backend.typed import Array
    from vyre_driver.engine.cached_launch import CachedLaunch
    from vyre_driver.engine.sequence import Sequences
    from vyre_driver.observe.trace import Trace
    from vyre_driver.policy.native import Measured, NativeVerdict
    from vyre_driver.tune.candidate import TunedVariant
    from vyre_driver.tune.choice import LaunchChoice


class ProfiledBackend(VyreBackend, contract=1, checked=False):
    """A backend that answers all queries about capabilities from `device_profile`."""

    @abstractmethod
    def device_profile(self) -> DeviceProfile:
        """Return the facts of the device."""

    def supports_subgroup_ops(self) -> bool:
        return self.device_profile().supports_subgroup_ops

    def supports_f16(self) -> bool:
        return self.device_profile().supports_f16

    def supports_bf16(self) -> bool:
        return self.device_profile().supports_bf16

    def supports_tensor_cores(self) -> bool:
        return self.device_profile().supports_tensor_cores

    def supports_async_compute(self) -> bool:
        return self.device_profile().supports_async_compute

    def supports_indirect_dispatch(self) -> bool:
        return self.device_profile().supports_indirect_dispatch

    def supports_grid_sync(self) -> bool:
        return self.device_profile().supports_grid_sync

    def max_workgroup_size(self) -> Extent:
        return self.device_profile().max_workgroup_size

    def max_compute_workgroups_per_dimension(self) -> int:
        """Return the smallest limit of the three axes; if the device has no limit, that of ids, which are u32."""
        return min(self.device_profile().max_workgroups or (2**32 - 1,))

    def max_compute_invocations_per_workgroup(self) -> int:
        return self.device_profile().max_invocations_per_workgroup

    def subgroup_size(self) -> int | None:
        return self.device_profile().subgroup_size

    def max_storage_buffer_bytes(self) -> int:
        return self.device_profile().max_storage_buffer_binding_size or 0


class EnginePipeline(CompiledPipeline):
    """A compiled program with its prepared launches and persistent memory.

    They are freed by `close`, when the backend is closed, or with the last reference to the pipeline.
    """

    checked = False

    def __init__(
        self, backend: str, program: Program, config: DispatchConfig, key: PipelineCacheKey, dispatcher: Dispatcher
    ) -> None:
        self._backend, self._program, self._config, self._key = backend, program, config, key
        self._dispatcher = dispatcher

    def id(self) -> str:
        return f"{self._backend}:{self._key.digest[:16]}"

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        return self._dispatcher.dispatch(self._program, inputs, pipeline_config(self._config, config))

    def dispatch_timed(self, inputs: Inputs, config: DispatchConfig | None = None) -> TimedDispatchResult:
        chosen = pipeline_config(self._config, config)
        return self._dispatcher.dispatch_borrowed_timed(self._program, inputs, chosen)

    def dispatch_arrays(self, arrays: Mapping[str, object], config: DispatchConfig | None = None) -> dict[str, Array]:
        chosen = self._config if config is None else pipeline_config(self._config, config)
        return self._dispatcher.dispatch_arrays(self._program, arrays, chosen)

    def dispatch_into(self, inputs: Inputs, config: DispatchConfig | None, outputs: OutputBuffers) -> None:
        self._dispatcher.dispatch_borrowed_into(self._program, inputs, pipeline_config(self._config, config), outputs)

    def dispatch_batched(self, batch: Sequence[Inputs], config: DispatchConfig | None = None) -> list[Outputs]:
        """Run the program for each element, with several dispatches in flight.

        If dispatches fail or trap, the error is that of the first one. Later dispatches may have run.
        """
        return self._dispatcher.dispatch_batched(self._program, batch, pipeline_config(self._config, config))

    def dispatch_batched_into(
        self, batch: Sequence[Inputs], config: DispatchConfig | None, outputs: list[OutputBuffers]
    ) -> None:
        chosen = pipeline_config(self._config, config)
        buffers = [*outputs[: len(batch)], *([] for _ in range(len(batch) - len(outputs)))]
        self._dispatcher.dispatch_batched_into(self._program, batch, chosen, buffers)
        outputs[:] = buffers

    def dispatch_async(self, inputs: Inputs, config: DispatchConfig | None = None) -> PendingDispatch:
        chosen = pipeline_config(self._config, config)
        return self._dispatcher.dispatch_async(self._program, inputs, chosen)

    def dispatch_resident(self, resources: Sequence[Resource], config: DispatchConfig | None = None) -> None:
        chosen = self._config if config is None else pipeline_config(self._config, config)
        self._dispatcher.dispatch_resident(self._program, resources, chosen)

    def dispatch_resident_timed(
        self, resources: Sequence[Resource], config: DispatchConfig | None = None
    ) -> TimedDispatchResult:
        chosen = pipeline_config(self._config, config)
        return self._dispatcher.dispatch_resident_timed(self._program, resources, chosen)

    @property
    def queue(self) -> int:
        """The position of the queue that its last launch took, 0 before the first."""
        launches = self._dispatcher.launch_cache.entries.values()
        return max(launches, key=lambda cached: cached.used).queue if launches else 0

    def close(self) -> None:
        self._dispatcher.close()


class EngineBackend(ProfiledBackend, ResidentBackend, contract=1, checked=False):
    """A backend on a device port.

    `open_port` is called at the first use that needs a device, and again by `try_recover`. Dispatches of several
    threads run one after another, with the exceptions of `DevicePort.unlocked_queue` and
    `DevicePort.leaves_long_launches`. A failed dispatch leaves nothing on the device.
    """

    def __init__(
        self, id: str, open_port: OpenPort, *, version: str = "unspecified", counters: Counters | None = None
    ) -> None:
        self._id, self._version, self._open_port = id, version, open_port
        self._counters = Counters() if counters is None else counters
        self._session = Session(id, open_port, self._counters)
        self._dispatcher = self._new_dispatcher()
        self._shadows: dict[str, VyreBackend] = {}
        self._sequencer: Sequences | None = None

    # ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def id(self) -> str:
        return self._id

    def version(self) -> str:
        return self._version

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return self._dispatcher_for(config).dispatch(program, inputs, config)

    def dispatch_arrays(
        self, program: Program, arrays: Mapping[str, object], config: DispatchConfig = DEFAULT_CONFIG
    ) -> dict[str, Array]:
        return self._dispatcher_for(config).dispatch_arrays(program, arrays, config)

    def dispatch_borrowed(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return self._dispatcher_for(config).dispatch_borrowed(program, inputs, config)

    def dispatch_borrowed_timed(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return self._dispatcher_for(config).dispatch_borrowed_timed(program, inputs, config)

    def dispatch_borrowed_into(
        self, program: Program, inputs: Inputs, config: DispatchConfig, outputs: OutputBuffers
    ) -> None:
        self._dispatcher_for(config).dispatch_borrowed_into(program, inputs, config, outputs)

    def dispatch_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        return self._dispatcher_for(config).dispatch_async(program, inputs, config)

    def dispatch_borrowed_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        return self._dispatcher_for(config).dispatch_borrowed_async(program, inputs, config)

    # ── over memory on the device ────────────────────────────────────────────────────────────────────────────────────

    def dispatch_resident(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> None:
        self._dispatcher.dispatch_resident(program, resources, config)

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return self._dispatcher.dispatch_resident_timed(program, resources, config)

    def dispatch_resident_sequence_read_ranges_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> None:
        self._sequences().run(steps, (), 0, ranges, targets)

    def dispatch_resident_sequence_read_ranges_timed_into(
        self, steps: Sequence[ResidentDispatchStep], ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]
    ) -> ResidentSequenceTiming:
        return self._sequences().run_timed(steps, ranges, targets)

    def dispatch_resident_repeated_sequence_read_ranges_into(
        self,
        prefix: Sequence[ResidentDispatchStep],
        repeated: Sequence[ResidentDispatchStep],
        repetitions: int,
        ranges: Sequence[ResidentReadRange],
        targets: Sequence[HostBuffer],
    ) -> None:
        self._sequences().run(prefix, repeated, repetitions, ranges, targets)

    def dispatch_resident_waves(self, waves: Sequence[ResidentWave]) -> None:
        self._sequences().run_waves(waves)

    def _sequences(self) -> Sequences:
        """The cache of sequences, made on its first use."""
        with self._session.lock:
            if self._sequencer is None:
                self._sequencer = engine.sequence.Sequences(self._session, self._dispatcher.launch_cache)
                self._session.caches.add(self._sequencer)
            return self._sequencer

    @contextmanager
    def _residents(self) -> Iterator[Residents]:
        with self._session.locked() as device:
            yield device.residents

    def _about_to_free(self, resource: Resource) -> None:
        self._session.forget_resource(self._session.require(), resource.id)

    def _about_to_share(self, resource: Resource) -> None:
        device = self._session.require()
        if device.port.keeps_failures and device.share(device.residents.find(resource)):
            self._session.forget_resource(device, resource.id)  # launches over it are waited for from now on

    # ── compilation ──────────────────────────────────────────────────────────────────────────────────────────────────

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        facts = validated(with_workgroup_size(program, config.workgroup_override))
        deadline = Deadline(config.timeout, self._id, config.label)
        with self._session.locked(deadline) as device:
            admit_program(facts, config, device.profile)
            code = device.compile(facts, compilation_config(device, facts, config), deadline=deadline)
            dispatcher = self._new_dispatcher(device, persistent={})
        return EnginePipeline(self._id, program, config, code.key, dispatcher)

    def precompile(self, programs: Sequence[Program], config: DispatchConfig = DEFAULT_CONFIG) -> None:
        wanted = [validated(with_workgroup_size(program, config.workgroup_override)) for program in programs]
        deadline = Deadline(config.timeout, self._id, config.label)
        with self._session.locked(deadline) as device:
            for facts in wanted:
                admit_program(facts, config, device.profile)
            chosen = [(facts, compilation_config(device, facts, config)) for facts in wanted]
            for each in dict.fromkeys(found for _, found in chosen):
                device.compile_many([facts for facts, found in chosen if found == each], each, deadline=deadline)

    def emitted_source(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> SourceUnit:
        """The source that the device's compiler would get for `program`. Not part of the contract: for people."""
        facts = validated(with_workgroup_size(program, config.workgroup_override))
        deadline = Deadline(config.timeout, self._id, config.label)
        with self._session.locked(deadline) as device:
            admit_program(facts, config, device.profile)
            return device.emit(facts, compilation_config(device, facts, config), deadline)[1]

    def described(self, unit: SourceUnit) -> tuple[str, ...]:
        """Return a description of the code of each kernel of a source, for reports. Not part of the contract."""
        with self._session.locked() as device:
            return device.port.describe(unit)

    def lowering_target(self) -> Target:
        """Return the target for which programs are lowered, for reports. Not part of the contract."""
        with self._session.locked() as device:
            return device.target_for(DEFAULT_CONFIG)

    def session(self) -> AbstractContextManager[Device]:
        """Return a context that locks the open device, for the engine and its tools. Not part of the contract."""
        return self._session.locked()

    def find_launch(
        self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG
    ) -> tuple[Device, CachedLaunch]:
        """Return the device and the launch that a dispatch of these contiguous inputs would run, prepared if necessary.

        Both are valid until the next call of the backend. Not part of the contract: for reports.
        """
        with self._session.locked() as device:
            return device, self._dispatcher.launch_cache.find(device, program, inputs, config, None)

    def traced(self, trace: Trace) -> EngineBackend:
        """Return a new backend of the same device whose phases, transfers and kernels are spans of `trace`.

        This backend is not changed. A handle to resident memory belongs to one of the two backends.
        """
        counters = engine.traced.TracedCounters(trace)
        opening = engine.traced.TracedOpening(self._open_port, trace, counters)
        return EngineBackend(self._id, opening, version=self._version, counters=counters)

    def spellings(self) -> tuple[TunedVariant, ...]:
        """Return the spellings of ops on the device and their alternatives, for reports. Not part of the contract."""
        with self._session.locked() as device:
            found: tuple[TunedVariant, ...] = device.port.spellings()
            return found

    def measure_spellings(self) -> tuple[TunedVariant, ...]:
        """Test and time every spelling, which takes seconds. Backends that are opened later use the fastest exact ones.

        Not part of the contract: for reports.
        """
        with self._session.locked() as device:
            found: tuple[TunedVariant, ...] = device.port.measure_spellings()
            return found

    def natives(self, ulp_budget: int = 0) -> dict[str, tuple[Measured | None, NativeVerdict]]:
        """Return the native elementary functions of f32 by op: their measured errors, and whether a budget allows them.

        Not part of the contract: for reports.
        """
        with self._session.locked() as device:
            natives = device.natives
            return {
                native[0]: (natives.measured(native), natives.verdict(native, ulp_budget)) for native in natives.spelled
            }

    def measure_native(
        self, op: str, *, stride: int = 1, progress: Callable[[float], None] = lambda done: None
    ) -> Measured:
        """Measure the error of a native function of f32. Later compilations use it if a budget allows the error.

        All 2**32 arguments take up to a minute. With a `stride` above 1, arguments are skipped, and no budget allows
        the function. Not part of the contract.
        """
        with self._session.locked() as device:
            if (op, f32) not in device.natives.spelled:
                raise UnsupportedFeature(f"a function of the device's own for {op}", backend=self._id)
            device.natives.forget((op, f32))
        measured = tune.native.measure_native(self, op, stride=stride, progress=progress)
        with self._session.locked() as device:
            device.natives.keep((op, f32), measured)
        return measured

    def pipeline_cache_snapshot(self) -> PipelineCacheSnapshot:
        with self._session.lock:
            return PipelineCacheSnapshot(0, 0) if self._session.device is None else self._session.device.code.snapshot()

    def backend_metric_snapshot(self) -> dict[str, int]:
        with self._session.lock:
            return self._counters.snapshot()

    # ── the device ───────────────────────────────────────────────────────────────────────────────────────────────────

    def device_profile(self) -> DeviceProfile:
        with self._session.locked() as device:
            device.show_everything()
            return device.profile

    def prepare(self) -> None:
        """Open the device."""
        self.device_profile()

    def flush(self) -> None:
        """Wait until all work in flight has ended, including that of dropped handles and of dispatches with a timeout.

        It opens no device, does not block interrupts, and locks the device only for short intervals. A failure is
        raised by the wait for the dispatch that failed, not here.
        """
        while self._session.device is not None:
            with self._session.locked() as device:
                if device.port.finish(SLICE):
                    return
            time.sleep(PAUSE)

    def shutdown(self) -> None:
        """Close the device and free its memory. A second call does nothing.

        It takes a few seconds at most. Waits in other threads raise `StaleHandle`. Work that does not end continues,
        and keeps its memory until it ends.
        """
        self._session.shut_down()
        shadows, self._shadows = self._shadows, {}
        for shadowed in shadows.values():
            if shadowed is not self:
                shadowed.shutdown()

    def device_lost(self) -> bool:
        return self._session.lost is not None

    def try_recover(self) -> None:
        """Close the device, as `shutdown` does, and open it again. Earlier pipelines are stale afterwards."""
        self._session.reopen()
        self.prepare()

    # ── launches that were measured; not part of the contract: for `tune` ────────────────────────────────────────────

    def pipeline_for_trial(self, program: Program, config: DispatchConfig, choice: LaunchChoice) -> CompiledPipeline:
        """Return a pipeline whose launches use `choice`, independent of earlier measurements."""
        validated(program)
        with self._session.locked() as device:
            dispatcher = self._new_dispatcher(device, persistent={})
        dispatcher.launch_cache.trial = choice
        return EnginePipeline(self._id, program, config, PipelineCacheKey(program.fingerprint()), dispatcher)

    def queue_of_trial(self, pipeline: CompiledPipeline) -> int:
        """Return the position of the queue that the launches of a trial pipeline use now; 0 before the first."""
        assert isinstance(pipeline, EnginePipeline)
        return pipeline.queue

    def launch_choice(
        self, program: Program, byte_lengths: Sequence[int], config: DispatchConfig = DEFAULT_CONFIG
    ) -> LaunchChoice | None:
        """Return the choice that launches of this size use, or None."""
        with self._session.locked() as device:
            return device.choices.get(program, byte_lengths, config)

    def take_choice(
        self, program: Program, bucket: int, choice: LaunchChoice, cost_ns: int = 0, *, drops_prepared: bool = True
    ) -> None:
        """Use `choice` for later launches of a program, also in later processes.

        Prepared launches are dropped if `drops_prepared` is true.
        """
        with self._session.locked() as device:
            device.choices.put(program, bucket, choice, cost_ns)
            for cache in tuple(self._session.caches) if drops_prepared else ():
                cache.reclaim(device)

    def opened_again(self) -> EngineBackend:
        """Return a backend of the same device that shares only the store with this one. The caller shuts it down."""
        return EngineBackend(self._id, self._open_port, version=self._version)

    def compile_beside(self, program: Program, config: DispatchConfig) -> None:
        """Compile a program on a second instance of the device, and load its code here.

        Dispatches continue meanwhile, and wait only for the loading. If the runtime cannot export code, nothing is
        done.
        """
        again = self.opened_again()
        try:
            made = engine.artifact.compile_ahead(again, self._id, program, config)
        except UnsupportedFeature:
            return
        finally:
            again.shutdown()
        engine.artifact.load_ahead(self, made)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _dispatcher_for(self, config: DispatchConfig) -> Dispatcher | VyreBackend:
        """The dispatcher for this configuration, or a backend that shadows it if the profile says so."""
        return self._dispatcher if config.profile is None else self._by_profile(config, config.profile)

    def _by_profile(self, config: DispatchConfig, profile: str) -> Dispatcher | VyreBackend:
        if not profile.startswith("shadow"):
            return self._dispatcher
        found = self._shadows.get(profile)
        if found is None:
            with self._session.lock:
                found = self._shadows.get(profile)
                if found is None:
                    found = self._shadows[profile] = by_profile(self, config)
        return self._dispatcher if found is self else found

    def _new_dispatcher(
        self, expected: Device | None = None, persistent: dict[str, Allocation] | None = None
    ) -> Dispatcher:
        dispatcher = Dispatcher(self._id, self._session, expected, persistent)
        self._session.caches.add(dispatcher.launch_cache)
        return dispatcher
