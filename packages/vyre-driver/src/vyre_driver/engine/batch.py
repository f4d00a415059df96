"""Many pending dispatches of one program: the host waits once for all that fit on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import PreparedLaunch
from vyre_driver.engine.launch_cache import CachedLaunch, LaunchCache, deadline_of
from vyre_driver.engine.transfer import Form, OutputViews, Targets, targets
from vyre_driver.plan.lengths import bind_inputs

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
    """See the module. Each pending dispatch has a launch of its own.

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
                self._begin(device, inputs, None if output_buffers is None else output_buffers[n])
            results += self._completed(device)
        finally:
            self._give_up(device)
        return results

    def _begin(self, device: Device, inputs: Inputs, output_buffers: OutputViews | None) -> None:
        launches = self._launch_cache
        views = bind_inputs(self._program, inputs)
        deadline = deadline_of(self._config, self._backend)
        cached = launches.find(device, self._program, views, self._config, deadline)
        is_to_be_timed = cached.choice is not None and not cached.is_settled and cached not in self._timed
        is_never_in_flight = output_buffers is None and device.works_at_once(cached.queue)
        goes_alone = deadline is not None or is_to_be_timed or is_never_in_flight
        if goes_alone or not isinstance(cached.launch, PreparedLaunch):
            self._timed.add(cached)
            outputs = launches.run(device, cached, views, deadline, Form.BYTES)
            self._submitted.append(Submitted(cached, None, outputs=outputs))
            return
        if cached in self._held:
            launch = launches.another(device, cached)
        else:
            launch = cached.launch
            self._held.add(cached)
            cached.holds += 1
        wanted = None if output_buffers is None else targets(launch, views, output_buffers)
        event = launches.begin(device, cached, launch, views, None, wanted)
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
            outputs = launch.end() if submitted.targets is None else launch.end_into(submitted.targets)
        except BaseException as error:
            del self._submitted[0]
            self._launch_cache.failed(device, cached, error, launch)
            raise
        self._launch_cache.ran(device, cached)
        self._launch_cache.settle(device, cached)
        if launch is not cached.launch:
            self._launch_cache.give_back(device, cached, launch)
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
