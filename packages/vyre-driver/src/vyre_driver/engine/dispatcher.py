"""The one way to run a program on a device.

``admit → plan → code → bind → upload → launch → read back → count``: the first four happen once for each shape and are
kept, so a warm dispatch looks its launch up and moves bytes. Every way in goes through `LaunchCache`, so none gets past
the checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pending import ReadyPending
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import (
    Inputs,
    OutputBuffers,
    Outputs,
    TimedDispatchResult,
    replace_output_buffers_preserving_slots,
)
from vyre_driver.backend.typed import ordered_inputs, require_whole_elements, shaped
from vyre_driver.engine.batch import Batch
from vyre_driver.engine.buffer_pool import Allocation
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import EmptyLaunch
from vyre_driver.engine.launch_cache import (
    CachedLaunch,
    LaunchCache,
    LaunchRequest,
    Recent,
    deadline_of,
    resident_request,
)
from vyre_driver.engine.pending import PendingLaunch
from vyre_driver.engine.session import Session
from vyre_driver.engine.transfer import ARRAYS, BYTES, Form, OutputViews, Targets, fill_output_buffers, writable_outputs
from vyre_driver.errors import DeviceLost, StaleHandle
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.pending import PendingDispatch
    from vyre_driver.backend.typed import Array

SMALL = 2**16
"""Bytes of all outputs of a dispatch."""
LastResident = tuple[tuple[int, ...], Program, DispatchConfig, CachedLaunch]
"""Of the last dispatch over resident memory: the identities of its handles, program and configuration, and what is kept
of it. Handles themselves are not kept: their last reference ends their memory, and with it whatever is kept here."""


class Dispatcher:
    """Dispatches programs over launches that it keeps.

    With `persistent` it belongs to a pipeline for the device `expected`, and persistent memory stays in it from one
    dispatch to the next. Without, persistent memory is zero in every dispatch.
    """

    def __init__(
        self,
        backend: str,
        session: Session,
        expected: Device | None = None,
        persistent: dict[str, Allocation] | None = None,
    ) -> None:
        self._backend, self._session, self._expected = backend, session, expected
        self.launch_cache = LaunchCache(backend, session, persistent)
        self._recent, self._resident = self.launch_cache.recent, self.launch_cache.resident
        self._last_resident: LastResident | None = None

    # ── from host memory to host memory ──────────────────────────────────────────────────────────────────────────────

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig) -> Outputs:
        """One dispatch from bytes to bytes; whatever fails, nothing of it stays on the device."""
        recent = self._recent.get(id(program))
        if recent is not None and (recent.config is config or recent.config == config):
            views = recent.views(inputs)
            if views is not None:
                outputs = self._again(recent.cached, views, BYTES)
                if outputs is not None:
                    return outputs
        return self._dispatch(program, inputs, config, BYTES)

    def dispatch_arrays(
        self, program: Program, arrays: Mapping[str, object], config: DispatchConfig
    ) -> dict[str, Array]:
        """The same from arrays by name to arrays by name."""
        recent = self._recent.get(id(program))
        if recent is not None and (recent.config is config or recent.config == config):
            given = recent.arrays(arrays)
            if given is not None:
                outputs = self._again(recent.cached, given, ARRAYS)
                if outputs is not None:
                    names = recent.names
                    if len(names) == 1:
                        return shaped(program, arrays, {names[0]: outputs[0]})
                    return shaped(program, arrays, dict(zip(names, outputs, strict=True)))
        require_whole_elements(program)
        outputs = self._dispatch(program, ordered_inputs(program, arrays), config, ARRAYS)
        return shaped(program, arrays, {b.name: array for b, array in zip(program.outputs, outputs, strict=True)})

    dispatch_borrowed = dispatch

    def dispatch_borrowed_timed(self, program: Program, inputs: Inputs, config: DispatchConfig) -> TimedDispatchResult:
        """The same from bytes to bytes, with times, also the device's."""
        request = LaunchRequest.of(program, inputs, config, self._backend)
        with self._session.locked(request.deadline, self._expected) as device:
            cached = self.launch_cache.get(device, request)
            result: TimedDispatchResult = self.launch_cache.run(
                device, cached, request.inputs, request.deadline, BYTES, timed=True
            )
            return result

    def dispatch_borrowed_into(
        self, program: Program, inputs: Inputs, config: DispatchConfig, output_buffers: OutputBuffers
    ) -> None:
        """The same into output buffers of the caller: where one fits, the kernels or the copies write to it.

        Outputs that are small are copied: that takes less than finding out whether a buffer can be used.
        """
        recent = self._recent.get(id(program))
        if recent is not None and recent.output_bytes <= SMALL:
            replace_output_buffers_preserving_slots(output_buffers, self.dispatch(program, inputs, config))
        elif recent is None or not self._again_into(recent, inputs, config, output_buffers):
            self.dispatch_batched_into(program, [inputs], config, [output_buffers])

    def _again_into(
        self, recent: Recent, inputs: Inputs, config: DispatchConfig, output_buffers: OutputBuffers
    ) -> bool:
        """The same where it looks like the dispatch before; False if it does not."""
        views = recent.views(inputs) if recent.config is config or recent.config == config else None
        targets = None if views is None else recent.targets(views, output_buffers)
        if views is None or targets is None:
            return False
        outputs = self._again(recent.cached, views, BYTES, targets)
        if outputs is not None:
            fill_output_buffers(output_buffers, outputs)
        return outputs is not None

    def dispatch_batched(self, program: Program, batch: Sequence[Inputs], config: DispatchConfig) -> list[Outputs]:
        """Several dispatches in order, which are in flight together: the host waits once for many."""
        return self._batched(program, batch, config, None)

    def dispatch_batched_into(
        self, program: Program, batch: Sequence[Inputs], config: DispatchConfig, output_buffers: Sequence[OutputBuffers]
    ) -> None:
        """The same into output buffers of the caller, a list for each dispatch. Those of another size are replaced."""
        views = [writable_outputs(given) for given in output_buffers]
        for given, outputs in zip(output_buffers, self._batched(program, batch, config, views), strict=True):
            fill_output_buffers(given, outputs)

    def _batched(
        self,
        program: Program,
        batch: Sequence[Inputs],
        config: DispatchConfig,
        output_buffers: Sequence[OutputViews] | None,
    ) -> list[Any]:
        run = Batch(self._backend, self.launch_cache, program, config)
        with self._session.locked(deadline_of(config, self._backend), self._expected) as device:
            return run.all(device, batch, output_buffers)

    def dispatch_async(self, program: Program, inputs: Inputs, config: DispatchConfig) -> PendingDispatch:
        """Begin a dispatch, which may look at its inputs until it has landed."""
        return self._submit(program, inputs, config, is_borrowed=False)

    def dispatch_borrowed_async(self, program: Program, inputs: Inputs, config: DispatchConfig) -> PendingDispatch:
        """The same with inputs that are not looked at after the call."""
        return self._submit(program, inputs, config, is_borrowed=True)

    def _submit(
        self, program: Program, inputs: Inputs, config: DispatchConfig, *, is_borrowed: bool
    ) -> PendingDispatch:
        request = LaunchRequest.of(program, inputs, config, self._backend)
        with self._session.locked(request.deadline, self._expected) as device:
            cached = self.launch_cache.get(device, request)
            if isinstance(cached.launch, EmptyLaunch):
                outputs = self.launch_cache.run(device, cached, request.inputs, None, BYTES, timed=False)
                return ReadyPending(outputs)
            given = request.inputs
            if is_borrowed and device.port.shares_host_memory:
                given = [np.frombuffer(view, np.uint8).copy().data for view in given]
            launch = self.launch_cache.another(device, cached)
            event = self.launch_cache.begin(device, cached, launch, given, request.deadline, is_awaited_alone=True)
            return PendingLaunch(
                self._session, self.launch_cache, cached, launch, event, request._replace(inputs=given)
            )

    # ── over resident memory ─────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_resident(self, program: Program, resources: Sequence[Resource], config: DispatchConfig) -> None:
        """One dispatch over memory that stays on the device."""
        given, last = tuple(map(id, resources)), self._last_resident
        if last is not None and last[2] is config and last[1] is program and last[0] == given:
            cached: CachedLaunch | None = last[3]
        else:
            cached = self._resident.get((id(program), given))
            if cached is not None and cached.request.config != config:
                cached = None
        if cached is not None and self._again(cached, (), BYTES) is not None:
            self._last_resident = given, program, config, cached
            return
        self._over_residents(program, resources, config, timed=False)

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig
    ) -> TimedDispatchResult:
        """The same with times."""
        result: TimedDispatchResult = self._over_residents(program, resources, config, timed=True)
        return result

    def _over_residents(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig, *, timed: bool
    ) -> Any:
        deadline = deadline_of(config, self._backend)
        with self._session.locked(deadline, self._expected) as device:
            request = resident_request(device, program, resources, config, deadline)
            cached = self.launch_cache.get(device, request)
            result = self.launch_cache.run(device, cached, (), deadline, BYTES, timed=timed)
            is_known = all(map(device.residents.is_handle, resources))  # the identity of a copy says nothing later
            if is_known and deadline is None and request.shape.indirect_grid is None:
                key = id(program), tuple(map(id, resources))
                self._resident[key] = cached
                cached.known_as.add(key)
            return result

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """End it: everything is freed, and later dispatches are refused."""
        self.launch_cache.is_closed = True
        self._recent.clear()
        self._resident.clear()
        self._last_resident = None
        with suppress(StaleHandle, DeviceLost), self._session.locked(expected=self._expected) as device:
            self.launch_cache.release(device)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig, form: Form) -> list[Any]:
        request = LaunchRequest.of(program, inputs, config, self._backend)
        with self._session.locked(request.deadline, self._expected) as device:
            cached = self.launch_cache.get(device, request)
            outputs: list[Any] = self.launch_cache.run(
                device, cached, request.inputs, request.deadline, form, timed=False
            )
            return outputs

    def _again(
        self, cached: CachedLaunch, inputs: Sequence[Any], form: Form, targets: Targets | None = None
    ) -> list[Any] | None:
        """A dispatch like the last one. None if there is more to do, such as to time it, or to prepare it again."""
        session, device = self._session, cached.device
        with session.lock_after_backoff() if session.is_busy or session.queued else session.lock:
            run = cached.again
            if run is None or session.device is not device or session.lost or device.abandoned or device.dropped:
                return None
            session.is_busy = True
            try:
                outputs = run(inputs, form) if targets is None else cached.prepared.run_into(inputs, targets)
            except BaseException as error:
                self.launch_cache.failed(device, cached, error)
                raise
            finally:
                session.is_busy = False
            counters = device.counters
            counters.dispatches = cached.used = counters.dispatches + 1
            return outputs
