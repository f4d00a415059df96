"""The one way to run a program on a device.

``admit → plan → code → bind → upload → launch → read back → count``: the first four happen once for each shape and are
kept, so a warm dispatch looks its launch up and moves bytes. What is kept is bounded, and goes first when the device
is full.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, TimedDispatchResult
from vyre_driver.device.profile import Extent
from vyre_driver.engine.admission import admit
from vyre_driver.engine.bind import bind
from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Allocation, Device
from vyre_driver.engine.inputs import bind_inputs
from vyre_driver.engine.prepared import EmptyLaunch, Prepared, Runnable
from vyre_driver.engine.queueing import QueueChoice
from vyre_driver.errors import DeviceLost, PoisonedState, StaleHandle, Trapped
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.ir.program import Program

Session = Callable[[Deadline], AbstractContextManager[Device]]
"""Takes the backend's lock, within the deadline, and gives the open device."""

MAX_LAUNCHES = 64
MAX_KEPT_BYTES = 256 * 2**20
"""Launches that a dispatcher keeps, and the device memory that they may hold together between dispatches."""


class Shape(NamedTuple):
    """What a prepared launch depends on. A program is known by its identity, which is cheaper than its contents."""

    program: int
    byte_lengths: tuple[int, ...]
    config: tuple[object, ...]
    indirect_grid: Extent | None


class Request(NamedTuple):
    """One call of `Dispatcher.dispatch`, its inputs as bytes."""

    program: Program
    inputs: tuple[memoryview, ...]
    shape: Shape
    config: DispatchConfig
    deadline: Deadline
    timed: bool


@dataclass(slots=True)
class Kept:
    """What is kept of one shape. It keeps the program alive, and so its identity its own."""

    program: Program
    plan: LaunchPlan
    launch: Runnable
    queue: int = 0
    choice: QueueChoice | None = None


class Dispatcher:
    """Dispatches programs over launches that it keeps.

    With `kept` it belongs to a pipeline, and persistent memory stays in it from one dispatch to the next. Without,
    persistent memory is zero in every dispatch.
    """

    def __init__(self, backend: str, session: Session, kept: dict[str, Allocation] | None = None) -> None:
        self._backend, self._session, self._kept = backend, session, kept
        self._launches: OrderedDict[Shape, Kept] = OrderedDict()
        self._poison: str | None = None
        self._is_closed = False

    def dispatch(
        self, program: Program, inputs: Inputs, config: DispatchConfig, *, timed: bool = False
    ) -> TimedDispatchResult:
        """One dispatch from bytes to bytes; whatever fails, nothing of it stays on the device."""
        deadline = Deadline(config.timeout, self._backend, config.label)
        views = bind_inputs(program, inputs)
        grid = None if config.grid_override is not None else read_indirect_grid(program, views)
        shape = Shape(id(program), tuple([view.nbytes for view in views]), config.launch_shape, grid)
        with self._session(deadline) as device:
            try:
                result = self._run(device, Request(program, views, shape, config, deadline, timed))
            except BaseException:
                device.counters.failures += 1
                raise
            device.counters.dispatches += 1
            return result

    def close(self) -> None:
        """End it: everything is freed, and later dispatches are refused."""
        self._is_closed = True
        with suppress(StaleHandle, DeviceLost), self._session(Deadline(None, self._backend)) as device:
            self.release(device)

    def release(self, device: Device) -> None:
        """Free everything, persistent memory too. The caller holds the lock."""
        self.reclaim(device)
        if self._kept is not None:
            device.free(tuple(self._kept.values()))
            self._kept.clear()

    def reclaim(self, device: Device) -> None:
        """Free the launches that are kept for speed. The caller holds the lock."""
        while self._launches:
            device.free(self._launches.popitem()[1].launch.owned)

    def abandon(self, device: Device) -> None:
        """Leave all memory to the device's next sweep: nobody can use this dispatcher any more."""
        for kept in self._launches.values():
            device.abandon(kept.launch.owned)
        device.abandon(tuple((self._kept or {}).values()))

    def _run(self, device: Device, request: Request) -> TimedDispatchResult:
        self._require_sound()
        shape = request.shape
        kept = self._launches.get(shape)
        is_new = kept is None
        if kept is None:
            kept = self._launches[shape] = self._prepare(device, request)
        try:
            if kept.choice is not None and kept.choice.verdict.queue != kept.queue:
                self._move(device, kept, request)
                is_new = True
            result = kept.launch.run(request.inputs, request.deadline, timed=request.timed)
        except BaseException as error:
            self._discard(device, shape, error)
            raise
        if kept.choice is not None and kept.choice.is_watching:
            kept.choice.took(result.wall_ns)
        self._launches.move_to_end(shape)
        if is_new:
            if isinstance(kept.launch, Prepared):
                device.code.ran(kept.launch.code)
            self._trim(device)
        return result

    def _prepare(self, device: Device, request: Request) -> Kept:
        """The cold path: plan, admit, choose a queue, compile, bind."""
        shape, config = request.shape, request.config
        plan = plan_launch(request.program, shape.byte_lengths, config, indirect_grid=shape.indirect_grid)
        device.counters.plans += 1
        admit(plan, config, device.target, device.profile)
        if plan.num_workgroups == 0:
            return Kept(request.program, plan, EmptyLaunch(plan))
        choice = device.choose_queue(plan)
        queue = choice.verdict.queue if choice else 0
        return Kept(request.program, plan, self._bound(device, request, plan, queue), queue, choice)

    def _move(self, device: Device, kept: Kept, request: Request) -> None:
        """Prepare the launch again, for the queue that is now thought to be faster."""
        assert kept.choice is not None
        device.free(kept.launch.owned)
        kept.queue = kept.choice.verdict.queue
        kept.launch = self._bound(device, request, kept.plan, kept.queue)

    def _bound(self, device: Device, request: Request, plan: LaunchPlan, queue: int) -> Runnable:
        code = device.compile(plan.facts, request.config, queue)
        request.deadline.check("compilation")
        return bind(device, plan, code, self._kept)

    def _require_sound(self) -> None:
        if self._is_closed:
            raise StaleHandle("the pipeline", "it was closed", fix="compile the program again")
        if self._poison is not None:
            fix = "compile the program again: its persistent memory begins at zero then"
            raise PoisonedState(self._backend, self._poison, fix=fix)

    def _discard(self, device: Device, shape: Shape, error: BaseException) -> None:
        """Forget the launch that failed; trust persistent memory only after a trap, which lets every kernel end."""
        device.free(self._launches.pop(shape).launch.owned)
        if self._kept and not isinstance(error, Trapped):
            device.free(tuple(self._kept.values()))
            self._kept.clear()
            self._poison = f"a dispatch of this pipeline ended with {type(error).__name__}: {error}"

    def _trim(self, device: Device) -> None:
        """Keep the launches used last, while they are few and hold little."""
        held = {shape: sum(a.size for a in kept.launch.owned) for shape, kept in self._launches.items()}
        total = sum(held.values())
        for shape, size in held.items():
            if total <= MAX_KEPT_BYTES and len(self._launches) <= MAX_LAUNCHES:
                return
            total -= size
            device.free(self._launches.pop(shape).launch.owned)
