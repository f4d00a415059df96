"""Many dispatches of one program that are in flight together: the host waits once for all that fit on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import Prepared
from vyre_driver.engine.launch_cache import Kept, Launches, Request, deadline_of
from vyre_driver.engine.transfer import Form, Slots, Targets, targets

MAX_IN_FLIGHT = 64
MAX_BYTES_IN_FLIGHT = 16 * 2**20
"""Dispatches, and the bytes of their buffers: more of them hide no more of the host's work."""


class Begun(NamedTuple):
    """One dispatch in flight, or one that ended before the next began: then it has no launch, but outputs."""

    kept: Kept
    launch: Prepared | None
    event: Any = None
    targets: Targets | None = None
    outputs: Any = None


class Batch:
    """See the module. Each dispatch in flight has a launch of its own.

    One by one go those that have a timeout, which counts for each; those that the calling thread runs, unless there are
    slots to write to; and the first of a launch that is still to be timed.
    """

    def __init__(self, backend: str, launches: Launches, program: Any, config: DispatchConfig) -> None:
        self._backend, self._launches, self._program, self._config = backend, launches, program, config
        self._begun: list[Begun] = []
        self._held: set[Kept] = set()
        self._timed: set[Kept] = set()
        self._bytes = 0

    def all(self, device: Device, batch: Sequence[Inputs], slots: Sequence[Slots] | None) -> list[Any]:
        """The outputs of each dispatch, in order; with `slots`, None for those that are in their slot."""
        results: list[Any] = []
        try:
            for n, inputs in enumerate(batch):
                if len(self._begun) >= MAX_IN_FLIGHT or self._bytes > MAX_BYTES_IN_FLIGHT:
                    results += self._landed(device)
                self._begin(device, inputs, None if slots is None else slots[n])
            results += self._landed(device)
        finally:
            self._give_up(device)
        return results

    def _begin(self, device: Device, inputs: Inputs, slots: Slots | None) -> None:
        launches = self._launches
        kept, views, deadline = self._kept(device, inputs)
        is_to_be_timed = kept.choice is not None and kept.again is None and kept not in self._timed
        is_never_in_flight = slots is None and device.works_at_once(kept.queue)
        goes_alone = deadline is not None or is_to_be_timed or is_never_in_flight
        if goes_alone or not isinstance(kept.launch, Prepared):
            self._timed.add(kept)
            outputs = launches.run(device, kept, views, deadline, Form.BYTES, timed=False)
            self._begun.append(Begun(kept, None, outputs=outputs))
            return
        if kept in self._held:
            launch = launches.another(device, kept)
        else:
            launch = kept.launch
            self._held.add(kept)
            kept.holds += 1
        wanted = None if slots is None else targets(launch, views, slots)
        event = launches.begin(device, kept, launch, views, None, wanted)
        self._bytes += kept.bytes_each
        self._begun.append(Begun(kept, launch, event, wanted))

    def _kept(self, device: Device, inputs: Inputs) -> tuple[Kept, Sequence[Any], Any]:
        recent = self._launches.recent.get(id(self._program))
        if recent is not None and recent.config == self._config:
            views = recent.views(inputs)
            if views is not None:
                return recent.kept, views, None
        request = Request.of(self._program, inputs, self._config, self._backend)
        return self._launches.get(device, request), request.inputs, deadline_of(self._config, self._backend)

    def _landed(self, device: Device) -> list[Any]:
        """Wait for all that are in flight: their outputs."""
        self._wait(device)
        results = []
        while self._begun:
            results.append(self._ended(device, self._begun[0]))
            del self._begun[0]
        self._release()
        return results

    def _wait(self, device: Device) -> None:
        last = next((begun for begun in reversed(self._begun) if begun.event is not None), None)
        if last is None:
            return
        device.counters.waits += 1
        try:
            device.port.wait(last.event)
        except BaseException as error:
            self._begun.remove(last)
            self._launches.failed(device, last.kept, error, last.launch)
            raise

    def _ended(self, device: Device, begun: Begun) -> Any:
        kept, launch = begun.kept, begun.launch
        if launch is None:
            return begun.outputs
        try:
            outputs = launch.end() if begun.targets is None else launch.end_into(begun.targets)
        except BaseException as error:
            del self._begun[0]
            self._launches.failed(device, kept, error, launch)
            raise
        self._launches.ran(device, kept)
        self._launches.settle(device, kept)
        if launch is not kept.launch:
            self._launches.give_back(device, kept, launch)
        return outputs

    def _release(self) -> None:
        for kept in self._held:
            kept.holds -= 1
        self._held.clear()
        self._bytes = 0

    def _give_up(self, device: Device) -> None:
        """Something failed: free what is still in flight, which the port keeps until that has ended."""
        self._release()
        for begun in self._begun:
            if begun.launch is begun.kept.launch:
                self._launches.drop(device, begun.kept)
            elif begun.launch is not None:
                device.free(begun.launch.owned)
        self._begun.clear()
