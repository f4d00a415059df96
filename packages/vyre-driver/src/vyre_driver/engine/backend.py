"""The whole backend contract over a device port."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pipeline import CompiledPipeline, PipelineCacheSnapshot
from vyre_driver.backend.results import Inputs, Outputs, TimedDispatchResult
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.admission import admit_program
from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Allocation, Device
from vyre_driver.engine.dispatcher import Dispatcher, Session
from vyre_driver.engine.pipeline import EnginePipeline
from vyre_driver.engine.port import DevicePort, SourceUnit
from vyre_driver.errors import DeviceLost, StaleHandle
from vyre_driver.observe.metrics import Counters
from vyre_driver.pipeline.store import shared_store
from vyre_driver.plan.launch import validated, with_workgroup_size
from vyre_driver.tune.spelling import Candidate
from vyre_foundation.ir.program import Program


class EngineBackend(VyreBackend, contract=1):
    """A backend from a port. `open_port` is called at the first use that needs a device, and again by `try_recover`.

    Dispatches of several threads take turns. Nothing of a dispatch that failed stays on the device.
    """

    def __init__(
        self, id: str, open_port: Callable[[], DevicePort[Any, Any, Any]], *, version: str = "unspecified"
    ) -> None:
        self._id, self._open_port, self._version = id, open_port, version
        self._lock = threading.RLock()
        self._counters = Counters()
        self._device: Device | None = None
        self._lost: DeviceLost | None = None
        self._is_shut_down = False
        self._dispatchers: weakref.WeakSet[Dispatcher] = weakref.WeakSet()
        self._dispatcher = self._new_dispatcher(self._session)

    # ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def id(self) -> str:
        return self._id

    def version(self) -> str:
        return self._version

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return self._dispatcher.dispatch(program, inputs, config).outputs

    def dispatch_borrowed(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return self._dispatcher.dispatch(program, inputs, config).outputs

    def dispatch_borrowed_timed(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return self._dispatcher.dispatch(program, inputs, config, timed=True)

    # ── compilation ──────────────────────────────────────────────────────────────────────────────────────────────────

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        facts = validated(with_workgroup_size(program, config.workgroup_override))
        deadline = Deadline(config.timeout, self._id, config.label)
        with self._session(deadline) as device:
            admit_program(facts, config, device.target, device.profile)
            code = device.compile(facts, config)
            dispatcher = self._new_dispatcher(lambda deadline: self._session(deadline, device), kept={})
        pipeline = EnginePipeline(self._id, program, config, code.key, dispatcher)
        weakref.finalize(pipeline, dispatcher.abandon, device).atexit = False
        return pipeline

    def emitted_source(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> SourceUnit:
        """What the device's compiler gets for `program`; it is not compiled. Not part of the contract: for people."""
        facts = validated(with_workgroup_size(program, config.workgroup_override))
        with self._session(Deadline(config.timeout, self._id, config.label)) as device:
            admit_program(facts, config, device.target, device.profile)
            return device.emit(facts, config)[1]

    def spellings(self) -> tuple[Candidate, ...]:
        """How the ops are spelled on the device, and what else was tried. Not part of the contract: for people."""
        with self._session(Deadline(None, self._id)) as device:
            found: tuple[Candidate, ...] = device.port.spellings()
            return found

    def pipeline_cache_snapshot(self) -> PipelineCacheSnapshot:
        with self._lock:
            return PipelineCacheSnapshot(0, 0) if self._device is None else self._device.code.snapshot()

    def backend_metric_snapshot(self) -> dict[str, int]:
        with self._lock:
            return self._counters.snapshot()

    # ── capabilities: what the probe of the device said ──────────────────────────────────────────────────────────────

    def device_profile(self) -> DeviceProfile:
        with self._session(Deadline(None, self._id)) as device:
            return device.profile

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
        """The least of the three axes; where the device states no limit, that of ids, which are u32."""
        return min(self.device_profile().max_workgroups or (2**32 - 1,))

    def max_compute_invocations_per_workgroup(self) -> int:
        return self.device_profile().max_invocations_per_workgroup

    def subgroup_size(self) -> int | None:
        return self.device_profile().subgroup_size

    def max_storage_buffer_bytes(self) -> int:
        return self.device_profile().max_storage_buffer_binding_size or 0

    # ── lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepare(self) -> None:
        """Open the device."""
        self.device_profile()

    def shutdown(self) -> None:
        """Free everything and close the device. Calling it again does nothing."""
        with self._lock:
            self._is_shut_down = True
            self._close()

    def device_lost(self) -> bool:
        return self._lost is not None

    def try_recover(self) -> None:
        """Close what is left of the device and open it again. Pipelines made before are stale; later ones are not."""
        with self._lock:
            self._close()
            self._lost = None
        self.prepare()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _session(self, deadline: Deadline, expected: Device | None = None) -> Iterator[Device]:
        """The open device under the lock. `expected` is the one that a pipeline was compiled for."""
        remaining = deadline.remaining()
        if not self._lock.acquire(timeout=-1 if remaining is None else min(remaining, threading.TIMEOUT_MAX)):
            raise deadline.passed("waiting for another dispatch")
        try:
            device = self._open()
            if expected is not None and expected is not device:
                raise StaleHandle("the pipeline", "its device was closed", fix="compile the program again")
            device.sweep()
            yield device
        except DeviceLost as error:
            self._lost = error
            raise
        finally:
            self._lock.release()

    def _open(self) -> Device:
        if self._is_shut_down:
            raise StaleHandle(f"backend {self._id!r}", "it was shut down", fix="acquire it again")
        if self._lost is not None:
            raise DeviceLost(self._id, str(self._lost.fields["reason"]))
        if self._device is None:
            port = self._open_port()
            try:
                self._device = Device(port, self._counters, self._reclaim, shared_store())
            except BaseException:
                port.close()
                raise
        return self._device

    def _close(self) -> None:
        """Free what every dispatcher holds, then the device itself."""
        device, self._device = self._device, None
        if device is not None:
            for dispatcher in tuple(self._dispatchers):
                dispatcher.release(device)
            device.close()

    def _reclaim(self) -> None:
        """The device is full: free every launch that is kept for speed."""
        if self._device is not None:
            for dispatcher in tuple(self._dispatchers):
                dispatcher.reclaim(self._device)

    def _new_dispatcher(self, session: Session, kept: dict[str, Allocation] | None = None) -> Dispatcher:
        dispatcher = Dispatcher(self._id, session, kept)
        self._dispatchers.add(dispatcher)
        return dispatcher
