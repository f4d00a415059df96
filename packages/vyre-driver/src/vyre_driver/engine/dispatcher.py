"""The one way to run a program on a device.

``admit → plan → code → bind → upload → launch → read back → count``: the first four happen once for each shape and are
kept, so a warm dispatch looks its launch up and moves bytes. What is kept is bounded, and goes first when the device
is full.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs, TimedDispatchResult
from vyre_driver.backend.typed import ordered_inputs, require_whole_elements
from vyre_driver.device.profile import Extent
from vyre_driver.engine.admission import admit
from vyre_driver.engine.bind import bind
from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Allocation, Device
from vyre_driver.engine.gate import Gate
from vyre_driver.engine.inputs import bind_inputs
from vyre_driver.engine.prepared import EmptyLaunch, Prepared, Runnable
from vyre_driver.engine.queueing import QueueChoice
from vyre_driver.engine.transfer import Form
from vyre_driver.errors import DeviceLost, PoisonedState, StaleHandle, Trapped
from vyre_driver.plan.indirect import find_indirect_dispatch, read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array

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
    """One call that is not known to be like the one before, its inputs as bytes."""

    program: Program
    inputs: Sequence[memoryview]
    shape: Shape
    config: DispatchConfig
    deadline: Deadline | None

    @classmethod
    def of(cls, program: Program, inputs: Inputs, config: DispatchConfig, backend: str) -> Request:
        """Checked by number, name and layout; lengths are the plan's to judge."""
        views = bind_inputs(program, inputs)
        grid = None if config.grid_override is not None else read_indirect_grid(program, views)
        shape = Shape(id(program), tuple([view.nbytes for view in views]), config.launch_shape, grid)
        deadline = None if config.timeout is None else Deadline(config.timeout, backend, config.label)
        return cls(program, views, shape, config, deadline)


@dataclass(slots=True, eq=False)
class Kept:
    """What is kept of one shape. It keeps the program alive, and so its identity its own.

    `used` grows with each dispatch. `is_new`: this code has not run yet. `is_settled`: it is neither new nor to be
    timed; never again once its memory was freed.
    """

    device: Device
    request: Request
    plan: LaunchPlan
    launch: Runnable
    queue: int = 0
    choice: QueueChoice | None = None
    used: int = 0
    is_new: bool = True
    is_settled: bool = False


class Recent:
    """The last dispatch of a program: a call that looks the same needs no checks but these, and no key.

    Only for calls without a timeout, with inputs that have elements, and a grid that does not come with them.
    """

    __slots__ = ("config", "kept", "names", "sizes", "types")

    def __init__(self, kept: Kept) -> None:
        program = kept.request.program
        self.kept, self.config = kept, kept.request.config
        self.sizes = kept.request.shape.byte_lengths
        self.types = [(b.name, np.dtype(b.dtype.numpy), n) for b, n in zip(program.inputs, self.sizes, strict=True)]
        self.names = [buffer.name for buffer in program.outputs]

    @staticmethod
    def fits(kept: Kept) -> bool:
        """Whether such calls exist for what was kept."""
        request = kept.request
        comes_with_inputs = find_indirect_dispatch(request.program) is not None
        return request.deadline is None and 0 not in request.shape.byte_lengths and not comes_with_inputs

    def views(self, inputs: Inputs) -> list[memoryview] | None:
        """The inputs, or None if anything about them is new."""
        if len(inputs) != len(self.sizes):
            return None
        views = []
        for given, size in zip(inputs, self.sizes, strict=True):
            try:
                view = memoryview(given)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                return None
            if view.nbytes != size or not view.c_contiguous:
                return None
            views.append(view if view.format == "B" and view.ndim == 1 else view.cast("B"))
        return views

    def arrays(self, arrays: Mapping[str, object]) -> list[Array] | None:
        """The same for arrays by name."""
        if len(arrays) != len(self.types):
            return None
        given = []
        for name, dtype, size in self.types:
            array = arrays.get(name)
            if type(array) is not np.ndarray or array.dtype is not dtype or array.nbytes != size:
                return None
            if not array.flags.c_contiguous:
                return None
            given.append(array)
        return given


class Dispatcher:
    """Dispatches programs over launches that it keeps.

    With `kept` it belongs to a pipeline for the device `expected`, and persistent memory stays in it from one dispatch
    to the next. Without, persistent memory is zero in every dispatch.
    """

    def __init__(
        self,
        backend: str,
        gate: Gate,
        expected: Device | None = None,
        kept: dict[str, Allocation] | None = None,
    ) -> None:
        self._backend, self._gate, self._expected, self._kept = backend, gate, expected, kept
        self._launches: dict[Shape, Kept] = {}
        self._recent: dict[int, Recent] = {}
        self._poison: str | None = None
        self._is_closed = False

    # ── the ways in ──────────────────────────────────────────────────────────────────────────────────────────────────

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig) -> Outputs:
        """One dispatch from bytes to bytes; whatever fails, nothing of it stays on the device."""
        recent = self._recent.get(id(program))
        if recent is not None and (recent.config is config or recent.config == config):
            views = recent.views(inputs)
            if views is not None:
                outputs = self._again(recent.kept, views, Form.BYTES)
                if outputs is not None:
                    return outputs
        return self._dispatch(program, inputs, config, Form.BYTES)

    def dispatch_arrays(
        self, program: Program, arrays: Mapping[str, object], config: DispatchConfig
    ) -> dict[str, Array]:
        """The same from arrays by name to arrays by name."""
        recent = self._recent.get(id(program))
        if recent is not None and (recent.config is config or recent.config == config):
            given = recent.arrays(arrays)
            if given is not None:
                outputs = self._again(recent.kept, given, Form.ARRAYS)
                if outputs is not None:
                    return dict(zip(recent.names, outputs, strict=True))
        require_whole_elements(program)
        outputs = self._dispatch(program, ordered_inputs(program, arrays), config, Form.ARRAYS)
        return {buffer.name: array for buffer, array in zip(program.outputs, outputs, strict=True)}

    def dispatch_timed(self, program: Program, inputs: Inputs, config: DispatchConfig) -> TimedDispatchResult:
        """The same from bytes to bytes, with times, also the device's."""
        request = Request.of(program, inputs, config, self._backend)
        with self._gate.session(request.deadline, self._expected) as device:
            kept = self._kept_for(device, request)
            result: TimedDispatchResult = self._run(device, kept, request.inputs, request.deadline, timed=True)
            return result

    def close(self) -> None:
        """End it: everything is freed, and later dispatches are refused."""
        self._is_closed = True
        self._recent.clear()
        with suppress(StaleHandle, DeviceLost), self._gate.session(expected=self._expected) as device:
            self.release(device)

    def release(self, device: Device) -> None:
        """Free everything, persistent memory too. The caller holds the lock."""
        self.reclaim(device)
        if self._kept is not None:
            device.free(tuple(self._kept.values()))
            self._kept.clear()

    def reclaim(self, device: Device) -> None:
        """Free the launches that are kept for speed. The caller holds the lock."""
        for kept in tuple(self._launches.values()):
            self._drop(device, kept)

    def abandon(self, device: Device) -> None:
        """Leave all memory to the device's next sweep: nobody can use this dispatcher any more."""
        for kept in self._launches.values():
            device.abandon(kept.launch.owned)
        device.abandon(tuple((self._kept or {}).values()))

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig, form: Form) -> list[Any]:
        request = Request.of(program, inputs, config, self._backend)
        with self._gate.session(request.deadline, self._expected) as device:
            kept = self._kept_for(device, request)
            outputs: list[Any] = self._run(device, kept, request.inputs, request.deadline, form)
            return outputs

    def _again(self, kept: Kept, inputs: Sequence[Any], form: Form) -> list[Any] | None:
        """A dispatch like the last one. None if there is more to do, such as to time it, or to prepare it again."""
        gate = self._gate
        if gate.is_busy or gate.queued:
            with gate.turn():
                return self._rerun(gate, kept, inputs, form)
        with gate.lock:
            return self._rerun(gate, kept, inputs, form)

    def _rerun(self, gate: Gate, kept: Kept, inputs: Sequence[Any], form: Form) -> list[Any] | None:
        device = kept.device
        if not kept.is_settled or gate.device is not device or gate.lost or device.has_abandoned:
            return None
        gate.is_busy = True
        try:
            outputs = kept.launch.run(inputs, None, form)
        except BaseException as error:
            self._failed(device, kept, error)
            raise
        finally:
            gate.is_busy = False
        counters = device.counters
        counters.dispatches = kept.used = counters.dispatches + 1
        return outputs

    def _run(
        self,
        device: Device,
        kept: Kept,
        inputs: Sequence[Any],
        deadline: Deadline | None,
        form: Form = Form.BYTES,
        *,
        timed: bool = False,
    ) -> Any:
        """Outputs, or a result with times."""
        try:
            if not kept.is_settled:
                outputs = self._run_watched(device, kept, inputs, deadline, form, timed)
            elif timed:
                outputs = kept.launch.run_timed(inputs, deadline, form)
            else:
                outputs = kept.launch.run(inputs, deadline, form)
        except BaseException as error:
            self._failed(device, kept, error)
            raise
        counters = device.counters
        counters.dispatches += 1
        kept.used = counters.dispatches
        return outputs

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
        if kept.is_new:
            kept.is_new = False
            if isinstance(kept.launch, Prepared):
                device.code.ran(kept.launch.code)
            self._trim(device, kept)
        kept.is_settled = choice is None or not (choice.is_watching or choice.verdict.queue != kept.queue)
        return outputs

    def _move(self, device: Device, kept: Kept, deadline: Deadline | None, queue: int) -> None:
        """Prepare the launch again, for another queue. Nobody may reclaim it meanwhile."""
        del self._launches[kept.request.shape]
        device.free(kept.launch.owned)
        kept.queue, kept.is_new = queue, True
        kept.launch = self._bound(device, kept.plan, kept.request.config, deadline, queue)
        self._launches[kept.request.shape] = kept

    def _kept_for(self, device: Device, request: Request) -> Kept:
        """What is kept of this shape, or made of it now: plan, admit, choose a queue, compile, bind."""
        try:
            self._require_sound()
            kept = self._launches.get(request.shape)
            if kept is None:
                kept = self._launches[request.shape] = self._prepared(device, request)
        except BaseException:
            device.counters.failures += 1
            raise
        if Recent.fits(kept):
            self._recent[request.shape.program] = Recent(kept)
        return kept

    def _prepared(self, device: Device, request: Request) -> Kept:
        shape, config = request.shape, request.config
        plan = plan_launch(request.program, shape.byte_lengths, config, indirect_grid=shape.indirect_grid)
        device.counters.plans += 1
        admit(plan, config, device.target, device.profile)
        asked = request._replace(inputs=())
        if plan.num_workgroups == 0:
            return Kept(device, asked, plan, EmptyLaunch(plan))
        choice = device.choose_queue(plan)
        queue = choice.verdict.queue if choice else 0
        return Kept(device, asked, plan, self._bound(device, plan, config, request.deadline, queue), queue, choice)

    def _bound(
        self, device: Device, plan: LaunchPlan, config: DispatchConfig, deadline: Deadline | None, queue: int
    ) -> Runnable:
        code = device.compile(plan.facts, config, queue)
        if deadline is not None:
            deadline.check("compilation")
        return bind(device, plan, code, self._kept)

    def _require_sound(self) -> None:
        if self._is_closed:
            raise StaleHandle("the pipeline", "it was closed", fix="compile the program again")
        if self._poison is not None:
            fix = "compile the program again: its persistent memory begins at zero then"
            raise PoisonedState(self._backend, self._poison, fix=fix)

    def _failed(self, device: Device, kept: Kept, error: BaseException) -> None:
        """Forget the launch that failed; trust persistent memory only after a trap, which lets every kernel end."""
        device.counters.failures += 1
        if isinstance(error, DeviceLost):
            self._gate.lost = error
        self._drop(device, kept)
        if self._kept and not isinstance(error, Trapped):
            device.free(tuple(self._kept.values()))
            self._kept.clear()
            self._recent.clear()
            self._poison = f"a dispatch of this pipeline ended with {type(error).__name__}: {error}"

    def _drop(self, device: Device, kept: Kept) -> None:
        """Free what is kept of one shape."""
        kept.is_settled = False
        self._launches.pop(kept.request.shape, None)
        self._recent.pop(kept.request.shape.program, None)
        device.free(kept.launch.owned)

    def _trim(self, device: Device, newest: Kept) -> None:
        """Keep the launches used last, while they are few and hold little."""
        held = {shape: sum(a.size for a in kept.launch.owned) for shape, kept in self._launches.items()}
        total = sum(held.values())
        for kept in sorted(self._launches.values(), key=lambda kept: (kept is newest, kept.used)):
            if total <= MAX_KEPT_BYTES and len(self._launches) <= MAX_LAUNCHES:
                return
            total -= held[kept.request.shape]
            self._drop(device, kept)
