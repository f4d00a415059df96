"""The one cache of prepared launches: how they are prepared, run and dropped.

``plan → admit → choose a queue → compile → bind`` happens once for each key. The cache is bounded, and is freed first
when the device is full. The session's lock is held for every call, and not while an `Unlocked` launch runs.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pipeline import closed_pipeline
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import TimedDispatchResult
from vyre_driver.engine.bind import bind, code_for
from vyre_driver.engine.cached_launch import CachedLaunch, PlannedLaunch, planned_launch
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import BRIEF_NS, Backlog, EmptyLaunch, PreparedLaunch, Runnable
from vyre_driver.engine.launch_request import (
    KeyFields,
    LaunchKey,
    LaunchRequest,
    host_key,
    resident_key,
    resident_request,
    shape_of,
)
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import Allocation
from vyre_driver.engine.resident import require_places
from vyre_driver.engine.session import Unlocked
from vyre_driver.engine.transfer import BYTES, Form, OutputViews, Targets
from vyre_driver.errors import PoisonedState, Trapped
from vyre_driver.tune.choice import LaunchChoice
from vyre_foundation.errors import without_remedy
from vyre_foundation.ir.program import Program

HostCall = tuple[Program, Sequence[Any], DispatchConfig, Form, "OutputViews | None"]
"""A dispatch over contiguous buffers of the host in binding order."""
ResidentCall = tuple[Program, Sequence[Resource], DispatchConfig]
"""A dispatch over resident memory, one resource for each buffer that the host sees."""

MAX_PLANS = 1024
"""Plans of a cache, which launches over other memory share."""
MAX_LAUNCHES = 4096
MAX_CACHED_BYTES = 256 * 2**20
"""The launches of a cache, and the device memory that they may hold together between dispatches."""
MAX_IDLE_BYTES = MAX_CACHED_BYTES // 4
"""Device memory that idle launches of one key may hold."""
MOST_UNLOCKED = MAX_IDLE_BYTES // 8
"""Bytes of the outputs of a dispatch that runs beside others: each thread has such memory of its own."""

LONG_NS = 10_000_000
"""Launches that take longer leave the device to other threads meanwhile."""


EndedDispatch: TypeAlias = tuple[CachedLaunch, PreparedLaunch, "BaseException | None"]
"""A dispatch that has ended without the lock, on a launch of its own, and what it has failed with."""


class LaunchCache:
    """Prepared launches by `LaunchKey`. `drop` is the one way out of it.

    `persistent` is the memory of a pipeline that stays from one dispatch to the next, or None. A launch leaves when its
    dispatch fails, when a resource that it works in ends, when it was used least recently and the cache is full, when
    the device is full or closed, and when the pipeline is.
    """

    def __init__(self, backend: str, persistent: dict[str, Allocation] | None) -> None:
        self._backend, self._persistent = backend, persistent
        self.entries: dict[KeyFields, CachedLaunch] = {}
        self._ended: deque[EndedDispatch] = deque()
        self._plans: dict[LaunchKey, PlannedLaunch] = {}
        self._over: dict[int, dict[CachedLaunch, None]] = {}  # those over resident memory by each of its ids
        self._added, self._bytes = 0, 0  # launches since all were counted, and what was held then and by these
        self._poison: str | None = None
        self._backlog: Backlog | None = None
        self.is_closed = False
        self.trial: LaunchChoice | None = None
        """The choice that its launches take in place of the device's; None but in a pipeline that is measured."""

    # ── one dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────

    def dispatch(self, device: Device, deadline: Deadline | None, call: HostCall) -> list[Any] | Unlocked[list[Any]]:
        """The outputs of a dispatch from host memory; None for those that are made in `views`."""
        program, inputs, config, form, views = call
        cached = self.entries.get(host_key(program, inputs, config))
        if cached is None:
            cached = self.find(device, program, inputs, config, deadline)
        if len(device.others) >= cached.contention and deadline is None:
            return self._begin_unlocked(device, self._unlocked(device, cached), inputs, form, views)
        return self.run(device, cached, inputs, deadline, form, views)

    def dispatch_timed(self, device: Device, deadline: Deadline | None, call: HostCall) -> TimedDispatchResult:
        """The same with times; the outputs are bytes."""
        program, inputs, config, _, _ = call
        return self._run_timed(device, self.find(device, program, inputs, config, deadline), inputs, deadline)

    def dispatch_resident(self, device: Device, deadline: Deadline | None, call: ResidentCall) -> None:
        """A dispatch over resident memory, which is waited for only if something can be learned from it."""
        program, resources, config = call
        cached = self.entries.get(resident_key(program, resources, config))
        if cached is None:
            cached = self.get(device, resident_request(device, program, resources, config, deadline))
        if deadline is None and (cached.outlives_call or self._needs_no_first_run(device, cached)):
            self._enqueue(device, cached)
        else:
            self.run(device, cached, (), deadline, BYTES)

    def dispatch_resident_timed(
        self, device: Device, deadline: Deadline | None, call: ResidentCall
    ) -> TimedDispatchResult:
        """The same with times."""
        program, resources, config = call
        cached = self.entries.get(resident_key(program, resources, config))
        if cached is None:
            cached = self.get(device, resident_request(device, program, resources, config, deadline))
        return self._run_timed(device, cached, (), deadline)

    # ── found or prepared ────────────────────────────────────────────────────────────────────────────────────────────

    def find(
        self, device: Device, program: Program, inputs: Sequence[Any], config: DispatchConfig, deadline: Deadline | None
    ) -> CachedLaunch:
        """The launch over contiguous buffers of the host, prepared if it is not cached.

        An indirect dispatch is always cached with its grid, so the grid is read only on a miss.
        """
        cached = self.entries.get(host_key(program, inputs, config))
        if cached is None:
            key = LaunchKey(*host_key(program, inputs, config)).with_grid(program, inputs, config)
            cached = self.get(device, LaunchRequest(program, key, key.byte_lengths, config, deadline))
        return cached

    def get(self, device: Device, request: LaunchRequest) -> CachedLaunch:
        """The launch of a request, prepared if it is not cached."""
        try:
            self._require_usable()
            cached = self.entries.get(request.key)
            if cached is None:
                cached = self.entries[request.key] = self.prepare(device, request)
                for resource in request.resources:
                    self._over.setdefault(resource, {})[cached] = None
        except BaseException:
            device.counters.failures += 1
            raise
        return cached

    def prepare(self, device: Device, request: LaunchRequest) -> CachedLaunch:
        """A launch that is not cached: the caller frees what it owns."""
        planned = self._plan(device, request)
        plan, cost, choice = planned.plan, planned.cost, planned.choice
        asked = request._replace(config=planned.config, deadline=None)
        if plan.num_workgroups == 0 and request.places is None:
            return CachedLaunch(device, asked, planned, EmptyLaunch(plan))
        watched, queue = None, request.key.queue
        if queue is None and choice is not None:
            queue = device.queue_named(choice.queue, cost)
        if queue is None:
            watched = device.choose_queue(cost)
            queue = watched.verdict.queue if watched else 0
        longest = math.inf if cost is None else 1e-9 * cost.longest_ns / plan.repeats
        is_brief = cost is not None and cost.units * device.rate.ns_per_unit < BRIEF_NS
        launch = self._bind(device, planned, asked, request.deadline, queue, longest, is_brief=is_brief)
        return CachedLaunch(device, asked, planned, launch, longest, queue, watched, is_brief)

    def _plan(self, device: Device, request: LaunchRequest) -> PlannedLaunch:
        """What an earlier launch over other memory was planned with, or a new plan."""
        with device.counters.timing("plan_ns"):
            choice = self.trial or device.choices.get(request.program, request.byte_lengths, request.config)
            shape = shape_of(request)
            planned = self._plans.get(shape)
            if planned is None or planned.device is not device or planned.choice != choice:
                planned = planned_launch(device, request, choice)
                if len(self._plans) >= MAX_PLANS:
                    self._plans.clear()
                self._plans[shape] = planned
            if request.places is not None:
                require_places(planned.plan, request.places)
            return planned

    def _bind(
        self,
        device: Device,
        planned: PlannedLaunch,
        request: LaunchRequest,
        deadline: Deadline | None,
        queue: int,
        longest: float,
        *,
        is_brief: bool,
    ) -> PreparedLaunch:
        code = planned.codes.get(queue)
        if code is None:
            code = planned.codes[queue] = code_for(device, planned.plan, request.config, queue, deadline)
        if deadline is not None:
            deadline.check("compilation")
        with device.counters.timing("bind_ns"):
            memory = self._persistent, request.places
            launch = bind(device, planned.plan, code, *memory, longest, planned.covered, is_brief=is_brief)
        planned.covered = launch.binding.covered
        return launch

    def _rebind(self, device: Device, cached: CachedLaunch, deadline: Deadline | None) -> PreparedLaunch:
        """Another launch of the same."""
        planned, request, queue = cached.planned, cached.request, cached.queue
        return self._bind(device, planned, request, deadline, queue, cached.longest, is_brief=cached.is_brief)

    # ── several pending ──────────────────────────────────────────────────────────────────────────────────────────────

    def take_idle(self, device: Device, cached: CachedLaunch) -> PreparedLaunch:
        """A launch with the same key for one pending dispatch, which puts it back when it has completed."""
        if cached.idle:
            return cached.idle.pop()
        try:
            return self._rebind(device, cached, None)
        except BaseException:
            device.counters.failures += 1
            raise

    def submit(
        self,
        device: Device,
        cached: CachedLaunch,
        launch: PreparedLaunch,
        inputs: Sequence[Any],
        deadline: Deadline | None,
        targets: Targets | None = None,
        *,
        is_awaited_alone: bool = False,
    ) -> Any:
        """Enqueue a dispatch on a launch of its own: the event to wait for, or None."""
        try:
            event = launch.submit(inputs, deadline, targets)
            if is_awaited_alone and event is not None:
                device.port.submit(event)
            return event
        except BaseException as error:
            self.failed(device, cached, error, launch)
            raise

    def put_idle(self, device: Device, cached: CachedLaunch, launch: PreparedLaunch) -> None:
        """Put back a launch of `take_idle` whose dispatch has succeeded."""
        is_same = isinstance(cached.launch, PreparedLaunch) and cached.launch.code is launch.code
        is_cached = self.entries.get(cached.request.key) is cached
        if is_cached and is_same and (len(cached.idle) + 1) * cached.bytes_each <= MAX_IDLE_BYTES:
            cached.idle.append(launch)
        else:
            device.free(launch.owned)

    # ── run ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def run(
        self,
        device: Device,
        cached: CachedLaunch,
        inputs: Sequence[Any],
        deadline: Deadline | None,
        form: Form,
        views: OutputViews | None = None,
    ) -> list[Any]:
        """A dispatch from its upload to its end: the outputs."""
        try:
            if cached.is_settled:
                outputs = cached.launch.run(inputs, deadline, form, views)
            else:
                with self._watched(device, cached, deadline):
                    outputs = cached.launch.run(inputs, deadline, form, views)
        except BaseException as error:
            self.failed(device, cached, error)
            raise
        counters = device.counters
        counters.dispatches = cached.used = counters.dispatches + 1
        return outputs

    def _begin_unlocked(
        self, device: Device, cached: CachedLaunch, inputs: Sequence[Any], form: Form, views: OutputViews | None
    ) -> Unlocked[list[Any]]:
        """A dispatch up to its launch, on a launch of its own."""
        self._take_ended(device)
        launch = self.take_idle(device, cached)
        try:
            rest = launch.begin_unlocked(inputs, form, views)
        except BaseException as error:
            self.failed(device, cached, error, launch)
            raise
        self.count(device, cached)
        return Unlocked(partial(self._run_unlocked, cached, launch, rest))

    def _run_unlocked(self, cached: CachedLaunch, launch: PreparedLaunch, rest: Callable[[], list[Any]]) -> list[Any]:
        """The launch and the readback of a dispatch, without the lock: the outputs."""
        others = cached.device.others
        error: BaseException | None = None
        try:
            others.append(None)  # within `try`: an interrupt may follow at once
            return rest()
        except BaseException as raised:
            error = raised
            raise
        finally:
            others.pop()
            self._ended.append((cached, launch, error))

    @staticmethod
    def _set_brief(cached: CachedLaunch, *, is_brief: bool) -> None:
        """Replace the estimate of whether launches take less than `BRIEF_NS`, and make their runners anew."""
        if is_brief != cached.is_brief:
            cached.is_brief = is_brief
            for launch in (cached.launch, *cached.idle):
                if isinstance(launch, PreparedLaunch) and launch.runner is not None:
                    launch.use_runner(is_brief=is_brief)

    def _contention(self, device: Device, cached: CachedLaunch) -> float:
        """The number of other threads in a dispatch from which on one runs without the lock.

        0 for a long launch, which keeps all its workers. For others in the pool, as many as leave each thread one
        worker at most.
        """
        launch, unlocked = cached.launch, device.port.unlocked_queue
        if unlocked is None or cached.is_brief or not isinstance(launch, PreparedLaunch):
            return math.inf
        is_plain = launch.runner is not None and launch.traps is None
        is_own = cached.request.places is None and not self._persistent
        if not is_plain or not is_own or launch.output_bytes > MOST_UNLOCKED:
            return math.inf
        if cached.queue == unlocked:
            return 0
        is_left = cached.longest > device.port.leaves_long_launches
        is_long = cached.choice is not None and cached.choice.shortest[cached.queue] >= LONG_NS
        return 0 if is_left and is_long else self._others_for_caller(device, cached)

    @staticmethod
    def _others_for_caller(device: Device, cached: CachedLaunch) -> int:
        """The number of other threads in a dispatch from which on each thread has one worker at most."""
        return device.profile.queues[cached.queue].workers - 1

    def _unlocked(self, device: Device, cached: CachedLaunch) -> CachedLaunch:
        """The same launch in the queue that needs no lock, if there are as many threads as workers."""
        queue, request = device.port.unlocked_queue, cached.request
        if cached.queue == queue or len(device.others) < self._others_for_caller(device, cached):
            return cached
        found = self.get(device, request._replace(key=request.key._replace(queue=queue)))
        if found.is_new:
            self._set_brief(found, is_brief=False)
            self.settle(device, found)
        return found

    def _take_ended(self, device: Device) -> None:
        """Take back the launches of dispatches that have ended without the lock."""
        while self._ended:
            cached, launch, error = self._ended.popleft()
            if error is None:
                self.put_idle(device, cached, launch)
            else:
                self.failed(device, cached, error, launch)

    def _enqueue(self, device: Device, cached: CachedLaunch) -> None:
        """A dispatch that reads nothing at its end, and is not waited for."""
        backlog = self._backlog
        if backlog is None or backlog.device is not device:
            backlog = self._backlog = Backlog(device)
        try:
            cached.prepared.leave(backlog)
        except BaseException as error:
            self.failed(device, cached, error)
            raise
        counters = device.counters
        counters.dispatches = cached.used = counters.dispatches + 1
        if cached.is_new:
            self.settle(device, cached)

    @staticmethod
    def _needs_no_first_run(device: Device, cached: CachedLaunch) -> bool:
        """Whether a new launch need not be waited for either: its code has run, and it has one queue."""
        launch = cached.launch
        if not cached.is_new or cached.choice is not None or not isinstance(launch, PreparedLaunch):
            return False
        return launch.outlives_call and device.code.is_saved(launch.code)

    def _run_timed(
        self, device: Device, cached: CachedLaunch, inputs: Sequence[Any], deadline: Deadline | None
    ) -> TimedDispatchResult:
        """The same with times; the outputs are bytes."""
        try:
            if cached.is_settled:
                result = cached.launch.run_timed(inputs, deadline)
            else:
                with self._watched(device, cached, deadline):
                    result = cached.launch.run_timed(inputs, deadline)
        except BaseException as error:
            self.failed(device, cached, error)
            raise
        self.count(device, cached)
        return result

    def count(self, device: Device, cached: CachedLaunch) -> None:
        """Count a dispatch that succeeded."""
        counters = device.counters
        counters.dispatches += 1
        cached.used = counters.dispatches

    def count_sequence(self, device: Device, launches: Iterable[CachedLaunch], dispatches: int) -> None:
        """Count the dispatches of a sequence that succeeded."""
        device.counters.dispatches += dispatches
        for cached in launches:
            cached.used = device.counters.dispatches
            self.settle(device, cached)

    @contextmanager
    def _watched(self, device: Device, cached: CachedLaunch, deadline: Deadline | None) -> Iterator[None]:
        """Around a run of code that may be new, or whose queue may not be settled."""
        choice = cached.choice
        if choice is not None and choice.verdict.queue != cached.queue:
            self._move(device, cached, deadline, choice.verdict.queue)
        started = time.perf_counter_ns()
        yield
        if choice is not None and choice.is_watching:
            choice.took(time.perf_counter_ns() - started)
        self.settle(device, cached)

    def settle(self, device: Device, cached: CachedLaunch) -> None:
        """After a run that succeeded: save its code, and decide whether its queue is settled."""
        if cached.is_new:
            self.save(device, cached)
            self.trim(device, cached)
        choice = cached.choice
        cached.is_settled = choice is None or not (choice.is_watching or choice.verdict.queue != cached.queue)
        launch = cached.launch
        if not cached.is_settled or not isinstance(launch, PreparedLaunch):
            return
        cached.outlives_call = launch.outlives_call
        if choice is not None:
            self._set_brief(cached, is_brief=choice.shortest[cached.queue] < BRIEF_NS)
        cached.contention = self._contention(device, cached)

    def save(self, device: Device, cached: CachedLaunch) -> None:
        """Save the code if it is new."""
        if cached.is_new:
            cached.is_new = False
            if isinstance(cached.launch, PreparedLaunch):
                device.code.save_if_new(cached.launch.code)

    def _move(self, device: Device, cached: CachedLaunch, deadline: Deadline | None, queue: int) -> None:
        """Prepare the launch again, for another queue. It is not in the cache meanwhile."""
        del self.entries[cached.request.key]
        device.free(cached.owned)
        cached.idle.clear()
        cached.queue, cached.is_new = queue, True
        cached.launch = self._rebind(device, cached, deadline)
        self.entries[cached.request.key] = cached

    # ── dropped ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def failed(
        self, device: Device, cached: CachedLaunch, error: BaseException, launch: Runnable | None = None
    ) -> None:
        """Drop the launch that failed. Persistent memory is valid only after a trap, which lets every kernel end.

        `launch` is that of a pending dispatch; None: the one that serves dispatches one by one.
        """
        device.counters.failures += 1
        failed = cached.launch if launch is None else launch
        if isinstance(failed, PreparedLaunch) and failed.event is not None and not isinstance(error, Trapped):
            device.port.cancel(failed.event)
        if launch is None or launch is cached.launch:
            self.drop(device, cached)
        else:
            device.free(launch.owned)
        if self._persistent and not isinstance(error, Trapped):
            device.free(tuple(self._persistent.values()))
            self._persistent.clear()
            self._poison = f"a dispatch of this pipeline ended with {type(error).__name__}: {without_remedy(error)}"

    def failed_sequence(self, device: Device, launches: Iterable[CachedLaunch], error: BaseException) -> None:
        """Drop the launches of a sequence that failed. They stay valid after a trap."""
        device.counters.failures += 1
        if not isinstance(error, Trapped):
            for cached in tuple(launches):
                self.drop(device, cached)

    def drop(self, device: Device, cached: CachedLaunch) -> None:
        """Take a launch out of the cache and free its memory."""
        self.entries.pop(cached.request.key, None)
        for resource in cached.request.resources:
            if (others := self._over.get(resource)) is not None:
                others.pop(cached, None)
                if not others:
                    del self._over[resource]
        device.free(cached.owned)
        cached.idle.clear()

    def forget(self, device: Device, resource: int) -> None:
        """Free every launch over a resource that is about to be freed."""
        for cached in tuple(self._over.get(resource, ())):
            self.drop(device, cached)

    def reclaim(self, device: Device) -> None:
        """Drop every launch that is not in use."""
        for cached in tuple(self.entries.values()):
            if not cached.holds:
                self.drop(device, cached)

    def release(self, device: Device) -> None:
        """Free everything, persistent memory too."""
        self._backlog = None
        self._take_ended(device)
        self._plans.clear()
        for cached in tuple(self.entries.values()):
            self.drop(device, cached)
        if self._persistent is not None:
            device.free(tuple(self._persistent.values()))
            self._persistent.clear()

    def abandoned(self) -> object:
        """Forget what belongs to the parent of a forked process, and free none of it: what the caller keeps alive."""
        left = self.entries, self._ended, self._plans, self._over, self._backlog, dict(self._persistent or ())
        self.entries, self._ended, self._plans, self._over, self._backlog = {}, deque(), {}, {}, None
        self._added, self._bytes = 0, 0
        if self._persistent:
            self._persistent.clear()
            self._poison = "its memory belongs to the process that this one was forked from"
        return left

    def trim(self, device: Device, newest: CachedLaunch) -> None:
        """Keep the cache within its limits: drop the launches that were used least recently.

        Of what there is too much, launches or bytes, an eighth is dropped at once, but the newest launch only if it is
        too large alone. The bytes of all launches are counted again when half of them are new since the last time,
        because idle launches change them.
        """
        self._added, self._bytes = self._added + 1, self._bytes + newest.bytes_held
        count = len(self.entries)
        if self._added * 2 < count <= MAX_LAUNCHES and self._bytes <= MAX_CACHED_BYTES:
            return
        self._added, self._bytes = 0, sum(cached.bytes_held for cached in self.entries.values())
        if count <= MAX_LAUNCHES and self._bytes <= MAX_CACHED_BYTES:
            return
        most, most_bytes = min(count, MAX_LAUNCHES), min(self._bytes, MAX_CACHED_BYTES)
        most -= most // 8 if count > most else 0
        most_bytes -= most_bytes // 8 if self._bytes > most_bytes else 0
        for cached in sorted(self.entries.values(), key=lambda cached: (cached is newest, cached.used)):
            if len(self.entries) <= most and self._bytes <= (MAX_CACHED_BYTES if cached is newest else most_bytes):
                return
            if not cached.holds:
                self._bytes -= cached.bytes_held
                self.drop(device, cached)

    def _require_usable(self) -> None:
        if self.is_closed:
            raise closed_pipeline()
        self.require_trust()

    def require_trust(self) -> None:
        """Refuse persistent memory that an earlier failure has left in an unknown state."""
        if self._poison is not None:
            raise PoisonedState(self._backend, self._poison)
