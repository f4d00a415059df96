"""Sequences of dispatches over resident memory: enqueued in order, waited for once, and recorded where that pays."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange
from vyre_driver.backend.results import ResidentSequenceTiming
from vyre_driver.engine.device import Device
from vyre_driver.engine.gate import Gate
from vyre_driver.engine.kept import Kept
from vyre_driver.engine.launches import Launches
from vyre_driver.engine.over_residents import resident_request
from vyre_driver.engine.part import Part
from vyre_driver.engine.request import Request
from vyre_driver.errors import InvalidLaunch
from vyre_driver.plan.cost import Cost, estimate
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.record import record

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer

MAX_CHAINS = 16
"""Sequences that are kept, so that the next run of one decides nothing."""

Steps = Sequence[ResidentDispatchStep]
Ranges = Sequence[ResidentReadRange]
Targets: TypeAlias = "Sequence[HostBuffer]"


@record(slots=True, eq=False)
class Chain:
    """A prefix, and a part that is repeated. `queue` is where all of it goes; None where there is one alone.

    `known_by` are its steps, which it does not keep alive.
    """

    prefix: Part
    repeated: Part
    queue: int | None
    known_by: Sequence[weakref.ref[ResidentDispatchStep]]

    def is_for(self, steps: Iterable[ResidentDispatchStep]) -> bool:
        """Whether it was made for these, and its launches are still there."""
        is_same = all(known() is step for known, step in zip(self.known_by, steps, strict=True))
        return is_same and all(kept.is_live for kept in self.launches)

    @property
    def launches(self) -> list[Kept]:
        """All that are known, each once, in the order of their first steps."""
        known = (kept for part in (self.prefix, self.repeated) for kept in part.launches if kept is not None)
        return list(dict.fromkeys(known))


class Sequences:
    """The sequences of one backend. A sequence is known by the identity of its steps.

    They are waited for once, with nothing in between but what an indirect grid needs. A trap is raised at the end: the
    steps behind it have run.
    """

    def __init__(self, gate: Gate, launches: Launches) -> None:
        self._gate, self._launches = gate, launches
        self._chains: dict[tuple[tuple[int, ...], tuple[int, ...]], Chain] = {}

    def run(self, prefix: Steps, repeated: Steps, repetitions: int, ranges: Ranges, targets: Targets) -> None:
        """Run `prefix` once and `repeated` that many times, wait, and read the ranges."""
        _require_count(repetitions)
        with self._gate.session() as device:
            rooms = device.residents.targets(ranges, targets)
            chain = self._chain(device, prefix, repeated if repetitions else ())
            with self._running(device, chain, len(prefix) + repetitions * len(repeated)) as run:
                first = chain.prefix.play(device, prefix, 1, run.resolve)
                run.wait(chain.repeated.play(device, repeated, repetitions, run.resolve) or first)
            device.residents.download_ranges(ranges, rooms)

    def run_timed(self, steps: Steps, ranges: Ranges, targets: Targets) -> ResidentSequenceTiming:
        """Run the steps with a clock around each kernel."""
        started = time.perf_counter_ns()
        with self._gate.session() as device:
            rooms = device.residents.targets(ranges, targets)
            chain = self._chain(device, steps, ())
            with self._running(device, chain, len(steps)) as run:
                events = chain.prefix.enqueue_timed(steps, run.resolve)
                enqueued = time.perf_counter_ns()
                run.wait(events[-1] if events else None)
                device_ns = device.elapsed(events)
            device.residents.download_ranges(ranges, rooms)
        ended = time.perf_counter_ns()
        return ResidentSequenceTiming(
            wall_ns=ended - started, device_ns=device_ns, enqueue_ns=enqueued - started, wait_ns=ended - enqueued
        )

    # ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _chain(self, device: Device, prefix: Steps, repeated: Steps) -> Chain:
        """What is kept of these steps, or made of them now."""
        key = tuple(map(id, prefix)), tuple(map(id, repeated))
        chain = self._chains.get(key)
        if chain is None or not chain.is_for((*prefix, *repeated)):
            self._forget(device, self._chains.pop(key, None))
            self._chains[key] = chain = self._made(device, tuple(prefix), tuple(repeated))
            if len(self._chains) > MAX_CHAINS:
                self._forget(device, self._chains.pop(next(iter(self._chains))))
        return chain

    @staticmethod
    def _forget(device: Device, chain: Chain | None) -> None:
        if chain is not None:
            chain.prefix.forget(device)
            chain.repeated.forget(device)

    def _made(self, device: Device, prefix: Steps, repeated: Steps) -> Chain:
        fixed = {id(step): step for step in (*prefix, *repeated) if not _is_dynamic(step)}
        queue = self._queue(device, list(fixed.values())) if len(device.profile.queues) > 1 else None
        known: dict[int, Kept] = {}
        try:
            for key, step in fixed.items():
                known[key] = self._launches.get(device, _request(device, step, queue))
                known[key].holds += 1
        finally:
            for kept in known.values():
                kept.holds -= 1
        first, second = (Part([known.get(id(step)) for step in steps]) for steps in (prefix, repeated))
        return Chain(first, second, queue, [weakref.ref(step) for step in (*prefix, *repeated)])

    @staticmethod
    def _queue(device: Device, steps: Steps) -> int:
        """One queue for all: they come one after another, so it would be waited for in between."""
        requests = [_request(device, step, None) for step in steps]
        costs = [estimate(plan_launch(r.program, r.shape.byte_lengths, r.config)) for r in requests]
        groups = max((cost.groups for cost in costs), default=1)
        total = Cost(sum(cost.units for cost in costs), groups, is_certain=all(cost.is_certain for cost in costs))
        return device.queue_for(total)

    @contextmanager
    def _running(self, device: Device, chain: Chain, steps: int) -> Iterator[Run]:
        """Around everything that runs: traps, failures, and what is counted."""
        run = Run(device, self._launches, chain.queue)
        try:
            for kept in chain.launches:
                run.enter(kept)
            yield run
            for kept in run.launches:
                kept.prepared.raise_trap()
        except BaseException as error:
            self._launches.failed_together(device, run.launches, error)
            raise
        finally:
            run.leave()
        self._launches.ran_together(device, run.launches, steps)


class Run:
    """One run of a sequence. Its `launches` are not given up before its end, and their records of traps are empty at
    its beginning."""

    def __init__(self, device: Device, launches: Launches, queue: int | None) -> None:
        self._device, self._kept, self._queue = device, launches, queue
        self.launches: dict[Kept, None] = {}

    def enter(self, kept: Kept) -> None:
        """One more launch."""
        if kept not in self.launches:
            self.launches[kept] = None
            kept.holds += 1
            kept.prepared.arm()

    def resolve(self, step: ResidentDispatchStep) -> Kept:
        """The launch of a step whose grid the steps before it have made."""
        kept = self._kept.get(self._device, _request(self._device, step, self._queue))
        self.enter(kept)
        return kept

    def wait(self, event: Any) -> None:
        """Wait for the last launch, if there was one."""
        if event is not None:
            self._device.counters.waits += 1
            self._device.port.wait(event)

    def leave(self) -> None:
        """Let the launches go."""
        for kept in self.launches:
            kept.holds -= 1


def _request(device: Device, step: ResidentDispatchStep, queue: int | None) -> Request:
    config = DEFAULT_CONFIG if step.grid_override is None else DispatchConfig(grid_override=step.grid_override)
    return resident_request(device, step.program, step.resources, config, None, queue)


def _is_dynamic(step: ResidentDispatchStep) -> bool:
    return step.grid_override is None and find_indirect_dispatch(step.program) is not None


def _require_count(repetitions: object) -> None:
    if not isinstance(repetitions, int) or isinstance(repetitions, bool) or repetitions < 0:
        raise InvalidLaunch("repetitions", needed="an integer of at least 0", got=repr(repetitions))
