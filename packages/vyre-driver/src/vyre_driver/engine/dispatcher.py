"""The one way to run a program on a device.

``admit → plan → code → bind → upload → launch → read back → count``: the first four happen once for each shape and are
kept, so a warm dispatch looks its launch up and moves bytes. Every way in goes through `Launches`, so none gets past
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
from vyre_driver.engine.launch_cache import Kept, Launches, Recent, Request, deadline_of, resident_request
from vyre_driver.engine.pending import Flight
from vyre_driver.engine.session import Gate
from vyre_driver.engine.transfer import ARRAYS, BYTES, Form, Slots, Targets, replace_slots, writable_slots
from vyre_driver.errors import DeviceLost, StaleHandle
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.pending import PendingDispatch
    from vyre_driver.backend.typed import Array

SMALL = 2**16
"""Bytes of all outputs of a dispatch."""
LastResident = tuple[tuple[int, ...], Program, DispatchConfig, Kept]
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
        gate: Gate,
        expected: Device | None = None,
        persistent: dict[str, Allocation] | None = None,
    ) -> None:
        self._backend, self._gate, self._expected = backend, gate, expected
        self.launches = Launches(backend, gate, persistent)
        self._recent, self._resident = self.launches.recent, self.launches.resident
        self._last_resident: LastResident | None = None

    # ── from host memory to host memory ──────────────────────────────────────────────────────────────────────────────

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig) -> Outputs:
        """One dispatch from bytes to bytes; whatever fails, nothing of it stays on the device."""
        recent = self._recent.get(id(program))
        if recent is not None and (recent.config is config or recent.config == config):
            views = recent.views(inputs)
            if views is not None:
                outputs = self._again(recent.kept, views, BYTES)
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
                outputs = self._again(recent.kept, given, ARRAYS)
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
        request = Request.of(program, inputs, config, self._backend)
        with self._gate.session(request.deadline, self._expected) as device:
            kept = self.launches.get(device, request)
            result: TimedDispatchResult = self.launches.run(
                device, kept, request.inputs, request.deadline, BYTES, timed=True
            )
            return result

    def dispatch_borrowed_into(
        self, program: Program, inputs: Inputs, config: DispatchConfig, slots: OutputBuffers
    ) -> None:
        """The same into slots of the caller: where a slot fits, the kernels or the copies write to it.

        Outputs that are small are copied: that takes less than finding out whether a slot can be used.
        """
        recent = self._recent.get(id(program))
        if recent is not None and recent.output_bytes <= SMALL:
            replace_output_buffers_preserving_slots(slots, self.dispatch(program, inputs, config))
        elif recent is None or not self._again_into(recent, inputs, config, slots):
            self.dispatch_batched_into(program, [inputs], config, [slots])

    def _again_into(self, recent: Recent, inputs: Inputs, config: DispatchConfig, slots: OutputBuffers) -> bool:
        """The same where it looks like the dispatch before; False if it does not."""
        views = recent.views(inputs) if recent.config is config or recent.config == config else None
        targets = None if views is None else recent.targets(views, slots)
        if views is None or targets is None:
            return False
        outputs = self._again(recent.kept, views, BYTES, targets)
        if outputs is not None:
            replace_slots(slots, outputs)
        return outputs is not None

    def dispatch_batched(self, program: Program, batch: Sequence[Inputs], config: DispatchConfig) -> list[Outputs]:
        """Several dispatches in order, which are in flight together: the host waits once for many."""
        return self._batched(program, batch, config, None)

    def dispatch_batched_into(
        self, program: Program, batch: Sequence[Inputs], config: DispatchConfig, slots: Sequence[OutputBuffers]
    ) -> None:
        """The same into slots of the caller, a list for each dispatch. Slots of another size are replaced."""
        views = [writable_slots(given) for given in slots]
        for given, outputs in zip(slots, self._batched(program, batch, config, views), strict=True):
            replace_slots(given, outputs)

    def _batched(
        self, program: Program, batch: Sequence[Inputs], config: DispatchConfig, slots: Sequence[Slots] | None
    ) -> list[Any]:
        run = Batch(self._backend, self.launches, program, config)
        with self._gate.session(deadline_of(config, self._backend), self._expected) as device:
            return run.all(device, batch, slots)

    def dispatch_async(self, program: Program, inputs: Inputs, config: DispatchConfig) -> PendingDispatch:
        """Begin a dispatch, which may look at its inputs until it has landed."""
        return self._begun(program, inputs, config, is_borrowed=False)

    def dispatch_borrowed_async(self, program: Program, inputs: Inputs, config: DispatchConfig) -> PendingDispatch:
        """The same with inputs that are not looked at after the call."""
        return self._begun(program, inputs, config, is_borrowed=True)

    def _begun(self, program: Program, inputs: Inputs, config: DispatchConfig, *, is_borrowed: bool) -> PendingDispatch:
        request = Request.of(program, inputs, config, self._backend)
        with self._gate.session(request.deadline, self._expected) as device:
            kept = self.launches.get(device, request)
            if isinstance(kept.launch, EmptyLaunch):
                outputs = self.launches.run(device, kept, request.inputs, None, BYTES, timed=False)
                return ReadyPending(outputs)
            given = request.inputs
            if is_borrowed and device.port.shares_host_memory:
                given = [np.frombuffer(view, np.uint8).copy().data for view in given]
            launch = self.launches.another(device, kept)
            event = self.launches.begin(device, kept, launch, given, request.deadline, is_awaited_alone=True)
            return Flight(self._gate, self.launches, kept, launch, event, request._replace(inputs=given))

    # ── over resident memory ─────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_resident(self, program: Program, resources: Sequence[Resource], config: DispatchConfig) -> None:
        """One dispatch over memory that stays on the device."""
        given, last = tuple(map(id, resources)), self._last_resident
        if last is not None and last[2] is config and last[1] is program and last[0] == given:
            kept: Kept | None = last[3]
        else:
            kept = self._resident.get((id(program), given))
            if kept is not None and kept.request.config != config:
                kept = None
        if kept is not None and self._again(kept, (), BYTES) is not None:
            self._last_resident = given, program, config, kept
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
        with self._gate.session(deadline, self._expected) as device:
            request = resident_request(device, program, resources, config, deadline)
            kept = self.launches.get(device, request)
            result = self.launches.run(device, kept, (), deadline, BYTES, timed=timed)
            is_known = all(map(device.residents.is_handle, resources))  # the identity of a copy says nothing later
            if is_known and deadline is None and request.shape.indirect_grid is None:
                key = id(program), tuple(map(id, resources))
                self._resident[key] = kept
                kept.known_as.add(key)
            return result

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """End it: everything is freed, and later dispatches are refused."""
        self.launches.is_closed = True
        self._recent.clear()
        self._resident.clear()
        self._last_resident = None
        with suppress(StaleHandle, DeviceLost), self._gate.session(expected=self._expected) as device:
            self.launches.release(device)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig, form: Form) -> list[Any]:
        request = Request.of(program, inputs, config, self._backend)
        with self._gate.session(request.deadline, self._expected) as device:
            kept = self.launches.get(device, request)
            outputs: list[Any] = self.launches.run(device, kept, request.inputs, request.deadline, form, timed=False)
            return outputs

    def _again(self, kept: Kept, inputs: Sequence[Any], form: Form, targets: Targets | None = None) -> list[Any] | None:
        """A dispatch like the last one. None if there is more to do, such as to time it, or to prepare it again."""
        gate, device = self._gate, kept.device
        with gate.turn() if gate.is_busy or gate.queued else gate.lock:
            run = kept.again
            if run is None or gate.device is not device or gate.lost or device.abandoned or device.dropped:
                return None
            gate.is_busy = True
            try:
                outputs = run(inputs, form) if targets is None else kept.prepared.run_into(inputs, targets)
            except BaseException as error:
                self.launches.failed(device, kept, error)
                raise
            finally:
                gate.is_busy = False
            counters = device.counters
            counters.dispatches = kept.used = counters.dispatches + 1
            return outputs
