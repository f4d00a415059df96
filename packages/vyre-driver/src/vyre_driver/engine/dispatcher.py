"""The ways to dispatch a program from host memory: once, pending, or in a batch that is pending together.

A `Dispatcher` checks what the caller passes; `Session.run` locks the device around `LaunchCache.dispatch`, which finds
or prepares the launch and runs it. Each of these files calls the next, and is entered once in a warm dispatch:
``backend → dispatcher → session → launch_cache → launch → transfer → buffer_pool``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vyre_driver.backend.config import DispatchConfig, require_wait
from vyre_driver.backend.pending import PendingDispatch, ReadyPending
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import (
    Inputs,
    OutputBuffers,
    Outputs,
    TimedDispatchResult,
    host_bytes,
    require_apart,
    writable_outputs,
)
from vyre_driver.backend.typed import ordered_inputs, require_whole_elements, shaped
from vyre_driver.engine.cached_launch import CachedLaunch
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import EmptyLaunch, PreparedLaunch
from vyre_driver.engine.launch_cache import LaunchCache
from vyre_driver.engine.pending import PAUSE, SLICE, Deadline
from vyre_driver.engine.port import Allocation
from vyre_driver.engine.session import Session
from vyre_driver.engine.transfer import ARRAYS, BYTES, OutputViews, Targets
from vyre_driver.errors import BackendError, DeviceLost, DispatchFailed, StaleHandle
from vyre_driver.plan.lengths import bind_inputs
from vyre_foundation.dtype import bf16
from vyre_foundation.ir.program import Program
from vyre_foundation.locks import acquire_into

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


class Dispatcher:
    """Dispatches programs through a launch cache of its own.

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
        self.launch_cache = LaunchCache(backend, persistent)

    # ── from host memory to host memory ──────────────────────────────────────────────────────────────────────────────

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig) -> Outputs:
        """One dispatch from bytes to bytes; whatever fails, nothing of it stays on the device."""
        given = _contiguous(program, inputs)
        return self._session.run(
            self.launch_cache.dispatch, (program, given, config, BYTES, None), config, self._expected
        )

    dispatch_borrowed = dispatch

    def dispatch_arrays(
        self, program: Program, arrays: Mapping[str, object], config: DispatchConfig
    ) -> dict[str, Array]:
        """The same from arrays by name to arrays by name."""
        if program.ranged_outputs:
            require_whole_elements(program)
        given, is_flat = _typed(program, arrays)
        outputs = self._session.run(
            self.launch_cache.dispatch, (program, given, config, ARRAYS, None), config, self._expected
        )
        named = {}
        for buffer, array in zip(program.outputs, outputs):  # noqa: B905 - one for each, and strict takes longer
            named[buffer.name] = array
        return named if is_flat else shaped(program, arrays, named)

    def dispatch_borrowed_timed(self, program: Program, inputs: Inputs, config: DispatchConfig) -> TimedDispatchResult:
        """The same from bytes to bytes, with times, also the device's."""
        given = _contiguous(program, inputs)
        return self._session.run(
            self.launch_cache.dispatch_timed, (program, given, config, BYTES, None), config, self._expected
        )

    def dispatch_borrowed_into(
        self, program: Program, inputs: Inputs, config: DispatchConfig, output_buffers: OutputBuffers
    ) -> None:
        """The same into output buffers of the caller: where one fits, the kernels or the copies write to it."""
        views = writable_outputs(output_buffers)
        given = _contiguous(program, inputs)
        outputs = self._session.run(
            self.launch_cache.dispatch, (program, given, config, BYTES, views), config, self._expected
        )
        fill_output_buffers(output_buffers, outputs)

    def dispatch_batched(self, program: Program, batch: Sequence[Inputs], config: DispatchConfig) -> list[Outputs]:
        """Several dispatches in order, which are pending together: the host waits once for many."""
        return self._batched(program, batch, config, None)

    def dispatch_batched_into(
        self, program: Program, batch: Sequence[Inputs], config: DispatchConfig, output_buffers: Sequence[OutputBuffers]
    ) -> None:
        """The same into output buffers of the caller, a list for each dispatch. Those of another size are replaced."""
        views = [writable_outputs(given) for given in output_buffers]
        require_apart([view for given in views for view in given])
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
        with self._session.locked(Deadline.of(config, self._backend), self._expected) as device:
            return run.all(device, batch, output_buffers)

    def dispatch_async(self, program: Program, inputs: Inputs, config: DispatchConfig) -> PendingDispatch:
        """Submit a dispatch, which may read its inputs until it has completed."""
        return self._submit(program, inputs, config, is_borrowed=False)

    def dispatch_borrowed_async(self, program: Program, inputs: Inputs, config: DispatchConfig) -> PendingDispatch:
        """The same with inputs that are not looked at after the call."""
        return self._submit(program, inputs, config, is_borrowed=True)

    def _submit(
        self, program: Program, inputs: Inputs, config: DispatchConfig, *, is_borrowed: bool
    ) -> PendingDispatch:
        given: Sequence[Any] = bind_inputs(program, inputs)
        deadline = Deadline.of(config, self._backend)
        with self._session.locked(deadline, self._expected) as device:
            cached = self.launch_cache.find(device, program, given, config, deadline)
            if isinstance(cached.launch, EmptyLaunch):
                return ReadyPending(self.launch_cache.run(device, cached, given, None, BYTES))
            if is_borrowed and device.port.shares_host_memory:
                given = [np.frombuffer(view, np.uint8).copy().data for view in given]
            launch = self.launch_cache.take_idle(device, cached)
            event = self.launch_cache.submit(device, cached, launch, given, deadline, is_awaited_alone=True)
            return PendingLaunch(self._session, self.launch_cache, cached, launch, event, given, deadline)

    # ── over resident memory ─────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_resident(self, program: Program, resources: Sequence[Resource], config: DispatchConfig) -> None:
        """One dispatch over memory that stays on the device."""
        self._session.run(self.launch_cache.dispatch_resident, (program, resources, config), config, self._expected)

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig
    ) -> TimedDispatchResult:
        """The same with times."""
        return self._session.run(
            self.launch_cache.dispatch_resident_timed, (program, resources, config), config, self._expected
        )

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """End it: everything is freed, and later dispatches are refused."""
        self.launch_cache.is_closed = True
        with suppress(StaleHandle, DeviceLost), self._session.locked(expected=self._expected) as device:
            self.launch_cache.release(device)


def _contiguous(program: Program, inputs: Inputs) -> Sequence[Any]:
    """The inputs in binding order as contiguous buffers: arrays as they are, other buffers as bytes."""
    for given in inputs:
        if (
            type(given) is not np.ndarray
            or not given.nbytes
            or not given.flags.c_contiguous
            or given.dtype.isbuiltin != 1
            or given.dtype.hasobject
        ):
            return bind_inputs(program, inputs)
    return inputs if len(inputs) == len(program.inputs) else bind_inputs(program, inputs)


def _typed(program: Program, arrays: Mapping[str, object]) -> tuple[Sequence[Any], bool]:
    """The inputs in binding order as contiguous arrays: those of the declared types as they are, others as bytes.

    Also whether all are known to have one dimension.
    """
    if type(arrays) is not dict:
        return ordered_inputs(program, arrays), False
    found = []
    is_flat = True
    for buffer in program.inputs:
        array = arrays.get(buffer.name)
        if (
            type(array) is not np.ndarray
            or array.dtype is not buffer.dtype.numpy
            or buffer.dtype is bf16  # the type is not NumPy's, and such arrays do not export the buffer protocol
            or not array.nbytes
            or not array.flags.c_contiguous
        ):
            return ordered_inputs(program, arrays), False
        if array.ndim != 1:
            is_flat = False
        found.append(array)
    return (found, is_flat) if len(found) == len(arrays) else (ordered_inputs(program, arrays), False)


def fill_output_buffers(output_buffers: OutputBuffers, outputs: Sequence[memoryview | None]) -> None:
    """Fill the output buffers: None is an output that is in its buffer already. Others of another size are replaced."""
    for n, output in enumerate(outputs):
        if output is None:
            continue
        if n == len(output_buffers):
            output_buffers.append(output)
            continue
        buffer = host_bytes(f"output buffer {n}", output_buffers[n], writable=True)
        if buffer.nbytes == output.nbytes:
            buffer[:] = output
        else:
            output_buffers[n] = output
    del output_buffers[len(outputs) :]


class PendingLaunch(PendingDispatch):
    """A dispatch that was submitted. It keeps its inputs, which the device may be reading.

    A failure ends it: every later wait raises it again. An interrupt, or the end of a caller's time limit, does not.
    Without a wait, its memory is freed with the last reference to it; the port keeps that until the end of the
    work which uses it.
    """

    def __init__(
        self,
        session: Session,
        launches: LaunchCache,
        cached: CachedLaunch,
        launch: PreparedLaunch,
        event: Any,
        inputs: Sequence[Any],
        deadline: Deadline | None,
    ) -> None:
        self._session, self._launch_cache, self._cached = session, launches, cached
        self._launch, self._event = launch, event
        self._inputs, self._deadline = inputs, deadline
        self._outcome: Outputs | BackendError | None = None

    def is_ready(self) -> bool:
        """Whether a wait would return or raise at once. False while another thread uses the device."""
        if self._outcome is not None:
            return True
        taken: list[bool] = []
        try:
            acquire_into(taken, self._session.lock, 0)
            if not taken[0]:
                return False
            device = self._cached.device
            if self._session.device is not device or self._session.lost is not None:
                return True
            return self._event is None or device.port.query(self._event) or self._is_late()
        except BackendError:  # the wait will raise it
            return True
        finally:
            if taken and taken[0]:
                self._session.lock.release()

    def await_result(self, timeout: float | None = None) -> Outputs:
        """Wait for the outputs, at most `timeout` seconds."""
        require_wait(timeout)
        limit = None if timeout is None else Deadline(timeout, self._session.backend)
        while self._outcome is None:
            self._wait(limit)
        if isinstance(self._outcome, BackendError):
            raise self._outcome
        return self._outcome

    def _wait(self, limit: Deadline | None) -> None:
        """Wait a little, and take the results if they are there."""
        with self._session.locked(limit, self._cached.device, "the pending dispatch") as device:
            if self._outcome is not None:
                return
            device.port.wait_limit.deadline = None  # the end of `limit` in a call of the port would end the dispatch
            try:
                if self._has_completed(device, limit):
                    self._outcome = self._complete(device)
            except BackendError as error:
                self._failed(device, error)
            if self._outcome is not None:
                return
        if limit is not None:
            limit.check("the kernels")
        time.sleep(PAUSE)

    def _has_completed(self, device: Device, limit: Deadline | None) -> bool:
        device.counters.waits += 1
        ends = [deadline.remaining() for deadline in (limit, self._deadline) if deadline is not None]
        longest = min([SLICE, *(seconds for seconds in ends if seconds is not None)])
        if self._event is None or device.port.wait(self._event, longest):
            return True
        if self._deadline is not None:
            self._deadline.check("the kernels")
        return False

    def _is_late(self) -> bool:
        return self._deadline is not None and not self._deadline.remaining()

    def _complete(self, device: Device) -> Outputs:
        self._launch_cache.require_trust()
        try:
            outputs = self._launch.end()
        except BackendError:
            raise
        except BaseException as error:  # some of the outputs may be taken
            self._failed(
                device, DispatchFailed(f"{type(error).__name__} during readback", backend=self._session.backend)
            )
            raise
        self._launch_cache.count(device, self._cached)
        self._launch_cache.settle(device, self._cached)
        self._launch_cache.put_idle(device, self._cached, self._launch)
        self._inputs = ()
        return outputs

    def _failed(self, device: Device, error: BackendError) -> None:
        if isinstance(error, DeviceLost):
            self._session.lost = error
        self._launch_cache.failed(device, self._cached, error, self._launch)
        self._outcome, self._inputs = error, ()


MAX_IN_FLIGHT = 64
MAX_BYTES_IN_FLIGHT = 16 * 2**20
"""Dispatches, and the bytes of their buffers: more of them hide no more of the host's work."""


class Submitted(NamedTuple):
    """One pending dispatch, or one that ended before the next began: then it has no launch, but outputs."""

    cached: CachedLaunch
    launch: PreparedLaunch | None
    event: Any = None
    targets: Targets | None = None
    outputs: Any = None


class Batch:
    """Many pending dispatches of one program: the host waits once for all that fit on the device.

    Each has a launch of its own.

    Dispatched alone are those with a timeout, which counts for each; those that the calling thread runs, unless there
    are output buffers to write to; and the first of a launch that is still to be timed.
    """

    def __init__(self, backend: str, launches: LaunchCache, program: Any, config: DispatchConfig) -> None:
        self._backend, self._launch_cache, self._program, self._config = backend, launches, program, config
        self._submitted: list[Submitted] = []
        self._held: set[CachedLaunch] = set()
        self._timed: set[CachedLaunch] = set()
        self._bytes = 0

    def all(self, device: Device, batch: Sequence[Inputs], output_buffers: Sequence[OutputViews] | None) -> list[Any]:
        """The outputs of each dispatch, in order; with `output_buffers`, None for those that are in theirs."""
        results: list[Any] = []
        try:
            for n, inputs in enumerate(batch):
                if len(self._submitted) >= MAX_IN_FLIGHT or self._bytes > MAX_BYTES_IN_FLIGHT:
                    results += self._completed(device)
                self._submit(device, inputs, None if output_buffers is None else output_buffers[n])
            results += self._completed(device)
        finally:
            self._give_up(device)
        return results

    def _submit(self, device: Device, inputs: Inputs, output_buffers: OutputViews | None) -> None:
        launches = self._launch_cache
        views = bind_inputs(self._program, inputs)
        deadline = Deadline.of(self._config, self._backend)
        cached = launches.find(device, self._program, views, self._config, deadline)
        is_to_be_timed = cached.choice is not None and not cached.is_settled and cached not in self._timed
        is_never_in_flight = output_buffers is None and device.is_synchronous(cached.queue)
        goes_alone = deadline is not None or is_to_be_timed or is_never_in_flight
        if goes_alone or not isinstance(cached.launch, PreparedLaunch):
            self._timed.add(cached)
            outputs = launches.run(device, cached, views, deadline, BYTES)
            self._submitted.append(Submitted(cached, None, outputs=outputs))
            return
        if cached in self._held:
            launch = launches.take_idle(device, cached)
        else:
            launch = cached.launch
            self._held.add(cached)
            cached.holds += 1
        wanted = None if output_buffers is None else launch.targets(views, output_buffers)
        event = launches.submit(device, cached, launch, views, None, wanted)
        self._bytes += cached.bytes_each
        self._submitted.append(Submitted(cached, launch, event, wanted))

    def _completed(self, device: Device) -> list[Any]:
        """Wait for all pending dispatches: their outputs."""
        self._wait(device)
        results = []
        while self._submitted:
            results.append(self._ended(device, self._submitted[0]))
            del self._submitted[0]
        self._release()
        return results

    def _wait(self, device: Device) -> None:
        last = next((submitted for submitted in reversed(self._submitted) if submitted.event is not None), None)
        if last is None:
            return
        device.counters.waits += 1
        try:
            device.port.wait(last.event)
        except BaseException as error:
            self._submitted.remove(last)
            self._launch_cache.failed(device, last.cached, error, last.launch)
            raise

    def _ended(self, device: Device, submitted: Submitted) -> Any:
        cached, launch = submitted.cached, submitted.launch
        if launch is None:
            return submitted.outputs
        try:
            outputs = launch.end(BYTES, submitted.targets)
        except BaseException as error:
            del self._submitted[0]
            self._launch_cache.failed(device, cached, error, launch)
            raise
        self._launch_cache.count(device, cached)
        self._launch_cache.settle(device, cached)
        if launch is not cached.launch:
            self._launch_cache.put_idle(device, cached, launch)
        return outputs

    def _release(self) -> None:
        for cached in self._held:
            cached.holds -= 1
        self._held.clear()
        self._bytes = 0

    def _give_up(self, device: Device) -> None:
        """Something failed: free what is still pending, which the port keeps until it has completed."""
        self._release()
        for submitted in self._submitted:
            if submitted.launch is submitted.cached.launch:
                self._launch_cache.drop(device, submitted.cached)
            elif submitted.launch is not None:
                device.free(submitted.launch.owned)
        self._submitted.clear()
