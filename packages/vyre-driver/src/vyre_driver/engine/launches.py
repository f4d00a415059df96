"""The launches that a dispatcher keeps: found or made, run, counted, and given up again.

``plan → admit → choose a queue → compile → bind`` happens once for each shape. What is kept is bounded, and goes first
when the device is full. The backend's lock is held for every call but `abandon`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.bind import bind
from vyre_driver.engine.cooperative import code_for
from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Device
from vyre_driver.engine.gate import Gate
from vyre_driver.engine.kept import Kept
from vyre_driver.engine.over_residents import require_places
from vyre_driver.engine.prepared import EmptyLaunch, Prepared, Runnable
from vyre_driver.engine.recent import Recent
from vyre_driver.engine.request import Request
from vyre_driver.engine.transfer import Form, Targets
from vyre_driver.errors import DeviceLost, PoisonedState, StaleHandle, Trapped
from vyre_driver.plan.admission import admit
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_driver.policy.queue import longest_seconds

MAX_LAUNCHES = 4096
MAX_KEPT_BYTES = 256 * 2**20
"""Launches that a dispatcher keeps, and the device memory that they may hold together between dispatches."""
MAX_SPARE_BYTES = MAX_KEPT_BYTES // 4
"""Device memory that launches of one shape may hold for being in flight together."""


class Launches:
    """See the module. `persistent` is the memory of a pipeline that stays from one dispatch to the next, or None.

    `recent` are the last dispatches of programs from host memory, `resident` those over resident memory, by the
    identities of program and handles: a handle that is gone has taken its launches with it.
    """

    def __init__(self, backend: str, gate: Gate, persistent: dict[str, Allocation] | None) -> None:
        self._backend, self._gate, self._persistent = backend, gate, persistent
        self._by_shape: dict[tuple[object, ...], Kept] = {}
        self._over: dict[int, dict[Kept, None]] = {}  # those over resident memory by each of its ids
        self._added, self._bytes = 0, 0  # launches since all were counted, and what was held then and by these
        self.recent: dict[int, Recent] = {}
        self.resident: dict[tuple[int, tuple[int, ...]], Kept] = {}
        self._poison: str | None = None
        self.is_closed = False

    # ── found or made ────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, device: Device, request: Request) -> Kept:
        """What is kept of this shape, or made of it now."""
        try:
            self._require_sound()
            kept = self._by_shape.get(request.shape)
            if kept is None:
                kept = self._by_shape[request.shape] = self.make(device, request)
                for resource in request.shape.resources:
                    self._over.setdefault(resource, {})[kept] = None
        except BaseException:
            device.counters.failures += 1
            raise
        if request.places is None and Recent.fits(kept):
            self.recent[request.shape.program] = Recent(kept)
        return kept

    def make(self, device: Device, request: Request) -> Kept:
        """A launch of this shape for the caller alone, who frees what it owns."""
        shape, config = request.shape, request.config
        with device.counters.timing("plan_ns"):
            plan = plan_launch(request.program, shape.byte_lengths, config, indirect_grid=shape.indirect_grid)
            device.counters.plans += 1
            if request.places is not None:
                require_places(plan, request.places)
            admit(plan, config, device.profile)
        asked = request._replace(inputs=())
        if plan.num_workgroups == 0 and request.places is None:
            return Kept(device, asked, plan, EmptyLaunch(plan))
        cost = device.cost(plan)
        choice = device.choose_queue(cost) if shape.queue is None else None
        queue = shape.queue if shape.queue is not None else choice.verdict.queue if choice else 0
        longest = math.inf if cost is None else longest_seconds(cost)
        launch = self._bound(device, plan, asked, request.deadline, queue, longest)
        return Kept(device, asked, plan, launch, longest, queue, choice)

    def _bound(
        self,
        device: Device,
        plan: LaunchPlan,
        request: Request,
        deadline: Deadline | None,
        queue: int,
        longest: float,
    ) -> Prepared:
        code = code_for(device, plan, request.config, queue, deadline)
        if deadline is not None:
            deadline.check("compilation")
        with device.counters.timing("bind_ns"):
            return bind(device, plan, code, self._persistent, request.places, longest)

    # ── several in flight ────────────────────────────────────────────────────────────────────────────────────────────

    def another(self, device: Device, kept: Kept) -> Prepared:
        """A launch of this shape for one dispatch in flight, which gives it back at its end."""
        if kept.spare:
            return kept.spare.pop()
        try:
            return self._bound(device, kept.plan, kept.request, None, kept.queue, kept.longest)
        except BaseException:
            device.counters.failures += 1
            raise

    def begin(
        self,
        device: Device,
        kept: Kept,
        launch: Prepared,
        inputs: Sequence[Any],
        deadline: Deadline | None,
        targets: Targets | None = None,
        *,
        is_awaited_alone: bool = False,
    ) -> Any:
        """Enqueue a dispatch on a launch of its own: the event to wait for, or None."""
        try:
            event = launch.begin(inputs, deadline, targets)
            if is_awaited_alone and event is not None:
                device.port.begun(event)
            return event
        except BaseException as error:
            self.failed(device, kept, error, launch)
            raise

    def give_back(self, device: Device, kept: Kept, launch: Prepared) -> None:
        """Take back what `another` gave; its dispatch has ended well."""
        is_same = isinstance(kept.launch, Prepared) and kept.launch.code is launch.code
        is_kept = self._by_shape.get(kept.request.shape) is kept
        if is_kept and is_same and (len(kept.spare) + 1) * kept.bytes_each <= MAX_SPARE_BYTES:
            kept.spare.append(launch)
        else:
            device.free(launch.owned)

    # ── run ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def run(
        self, device: Device, kept: Kept, inputs: Sequence[Any], deadline: Deadline | None, form: Form, *, timed: bool
    ) -> Any:
        """A dispatch from its upload to its end: outputs, or a result with times."""
        try:
            if kept.again is None:
                outputs = self._run_watched(device, kept, inputs, deadline, form, timed)
            elif timed:
                outputs = kept.launch.run_timed(inputs, deadline, form)
            else:
                outputs = kept.launch.run(inputs, deadline, form)
        except BaseException as error:
            self.failed(device, kept, error)
            raise
        self.ran(device, kept)
        return outputs

    def ran(self, device: Device, kept: Kept) -> None:
        """Count a dispatch that went well."""
        counters = device.counters
        counters.dispatches += 1
        kept.used = counters.dispatches

    def ran_together(self, device: Device, launches: Iterable[Kept], dispatches: int) -> None:
        """The same for a row of dispatches."""
        device.counters.dispatches += dispatches
        for kept in launches:
            kept.used = device.counters.dispatches
            self.settle(device, kept)

    def _run_watched(
        self, device: Device, kept: Kept, inputs: Sequence[Any], deadline: Deadline | None, form: Form, timed: bool
    ) -> Any:
        """A run of code that is new, or whose queue is still in question."""
        choice = kept.choice
        if choice is not None and choice.verdict.queue != kept.queue:
            self._move(device, kept, deadline, choice.verdict.queue)
        started = time.perf_counter_ns()
        outputs = (kept.launch.run_timed if timed else kept.launch.run)(inputs, deadline, form)
        if choice is not None and choice.is_watching:
            choice.took(time.perf_counter_ns() - started)
        self.settle(device, kept)
        return outputs

    def settle(self, device: Device, kept: Kept) -> None:
        """After a run that went well: save the code, and see whether anything is left to find out."""
        if kept.is_new:
            self.save(device, kept)
            self.trim(device, kept)
        choice = kept.choice
        is_settled = choice is None or not (choice.is_watching or choice.verdict.queue != kept.queue)
        if not is_settled:
            kept.again = None
        elif kept.again is None and kept.is_live:
            kept.again = kept.launch.again

    def save(self, device: Device, kept: Kept) -> None:
        """Save the code if it is new."""
        if kept.is_new:
            kept.is_new = False
            if isinstance(kept.launch, Prepared):
                device.code.ran(kept.launch.code)

    def _move(self, device: Device, kept: Kept, deadline: Deadline | None, queue: int) -> None:
        """Prepare the launch again, for another queue. Nobody may reclaim it meanwhile."""
        del self._by_shape[kept.request.shape]
        device.free(kept.owned)
        kept.spare.clear()
        kept.queue, kept.is_new = queue, True
        kept.launch = self._bound(device, kept.plan, kept.request, deadline, queue, kept.longest)
        self._by_shape[kept.request.shape] = kept

    # ── given up ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def failed(self, device: Device, kept: Kept, error: BaseException, launch: Runnable | None = None) -> None:
        """Forget the launch that failed; trust persistent memory only after a trap, which lets every kernel end.

        `launch` is the one of several; None: that which serves dispatches one by one.
        """
        device.counters.failures += 1
        if isinstance(error, DeviceLost):
            self._gate.lost = error
        if launch is None or launch is kept.launch:
            self.drop(device, kept)
        else:
            device.free(launch.owned)
        if self._persistent and not isinstance(error, Trapped):
            device.free(tuple(self._persistent.values()))
            self._persistent.clear()
            self.recent.clear()
            self._poison = f"a dispatch of this pipeline ended with {type(error).__name__}: {error}"

    def failed_together(self, device: Device, launches: Iterable[Kept], error: BaseException) -> None:
        """The same for a row of launches over resident memory; after a trap they are as good as before."""
        device.counters.failures += 1
        if isinstance(error, DeviceLost):
            self._gate.lost = error
        if not isinstance(error, Trapped):
            for kept in tuple(launches):
                self.drop(device, kept)

    def drop(self, device: Device, kept: Kept) -> None:
        """Free what is kept of one shape."""
        kept.again, kept.is_live = None, False
        request = kept.request
        self._by_shape.pop(request.shape, None)
        if request.places is None:
            self.recent.pop(request.shape.program, None)
        for resource in request.shape.resources:
            if (others := self._over.get(resource)) is not None:
                others.pop(kept, None)
                if not others:
                    del self._over[resource]
        for key in kept.known_as:
            if self.resident.get(key) is kept:
                del self.resident[key]
        device.free(kept.owned)
        kept.spare.clear()

    def forget(self, device: Device, resource: int) -> None:
        """Free every launch over a resource that is no more."""
        for kept in tuple(self._over.get(resource, ())):
            self.drop(device, kept)

    def reclaim(self, device: Device) -> None:
        """Free what is kept for speed and not about to be used."""
        for kept in tuple(self._by_shape.values()):
            if not kept.holds:
                self.drop(device, kept)

    def release(self, device: Device) -> None:
        """Free everything, persistent memory too."""
        for kept in tuple(self._by_shape.values()):
            self.drop(device, kept)
        if self._persistent is not None:
            device.free(tuple(self._persistent.values()))
            self._persistent.clear()

    def abandon(self, device: Device) -> None:
        """Leave all memory to the device's next sweep: nobody can use this dispatcher any more."""
        for kept in self._by_shape.values():
            device.abandon(kept.owned)
        device.abandon(tuple((self._persistent or {}).values()))

    def trim(self, device: Device, newest: Kept) -> None:
        """Keep the launches used last, while they are few and hold little.

        Where there are too many, an eighth goes at once. What all hold is counted again for each eighth that is new:
        older ones may hold more than they did.
        """
        self._added, self._bytes = self._added + 1, self._bytes + newest.bytes_held
        count = len(self._by_shape)
        if self._added * 8 < count <= MAX_LAUNCHES and self._bytes <= MAX_KEPT_BYTES:
            return
        most = MAX_LAUNCHES if count <= MAX_LAUNCHES else MAX_LAUNCHES - MAX_LAUNCHES // 8
        self._added, self._bytes = 0, sum(kept.bytes_held for kept in self._by_shape.values())
        if count <= most and self._bytes <= MAX_KEPT_BYTES:
            return
        for kept in sorted(self._by_shape.values(), key=lambda kept: (kept is newest, kept.used)):
            if len(self._by_shape) <= most and self._bytes <= MAX_KEPT_BYTES:
                return
            if not kept.holds:
                self._bytes -= kept.bytes_held
                self.drop(device, kept)

    def _require_sound(self) -> None:
        if self.is_closed:
            raise StaleHandle("the pipeline", "it was closed", fix="compile the program again")
        self.require_trust()

    def require_trust(self) -> None:
        """Refuse what was computed in persistent memory that an earlier failure has left in no known state."""
        if self._poison is not None:
            raise PoisonedState(self._backend, self._poison)
