"""The launches that a dispatcher keeps: found or made, run, counted, and given up again.

``plan → admit → choose a queue → compile → bind`` happens once for each shape. What is kept is bounded, and goes first
when the device is full. The backend's lock is held for every call but `abandon`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import Inputs, OutputBuffers, is_plain
from vyre_driver.device.profile import Extent
from vyre_driver.engine.bind import bind
from vyre_driver.engine.buffer_pool import Allocation
from vyre_driver.engine.device import Device, code_for
from vyre_driver.engine.launch import Again, EmptyLaunch, Prepared, Runnable
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.resident import bound_buffers, require_places, used_bytes
from vyre_driver.engine.session import Gate
from vyre_driver.engine.transfer import Form, Targets
from vyre_driver.errors import DeviceLost, PoisonedState, StaleHandle, Trapped
from vyre_driver.plan.admission import admit
from vyre_driver.plan.indirect import find_indirect_dispatch, read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_driver.plan.lengths import bind_inputs
from vyre_driver.policy.queue import longest_seconds
from vyre_driver.tune.queue import QueueChoice
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


class Shape(NamedTuple):
    """What a prepared launch depends on. A program is known by its identity, which is cheaper than its contents.

    `resources` are the ids of resident memory, in which the launch works; none for one from host memory to host memory.
    `queue` is the queue that it must take, None if it may choose.
    """

    program: int
    byte_lengths: tuple[int, ...]
    config: tuple[object, ...]
    indirect_grid: Extent | None
    resources: tuple[int, ...] = ()
    queue: int | None = None


class Request(NamedTuple):
    """One call that is not known to be like the one before. `places` are the resident buffers by name, if they are."""

    program: Program
    inputs: Sequence[memoryview]
    shape: Shape
    config: DispatchConfig
    deadline: Deadline | None
    places: Mapping[str, Allocation] | None = None

    @classmethod
    def of(cls, program: Program, inputs: Inputs, config: DispatchConfig, backend: str) -> Request:
        """From host memory, checked by number, name and layout; lengths are the plan's to judge."""
        views = bind_inputs(program, inputs)
        grid = None if config.grid_override is not None else read_indirect_grid(program, views)
        shape = Shape(id(program), tuple([view.nbytes for view in views]), config.launch_shape, grid)
        return cls(program, views, shape, config, deadline_of(config, backend))


def deadline_of(config: DispatchConfig, backend: str) -> Deadline | None:
    """The timeout of a dispatch that begins now."""
    return None if config.timeout is None else Deadline(config.timeout, backend, config.label)


def resident_request(
    device: Device,
    program: Program,
    resources: Sequence[Resource],
    config: DispatchConfig,
    deadline: Deadline | None,
    queue: int | None = None,
) -> Request:
    """The request for one resource per buffer that the host sees, in binding order.

    A resource may be larger than a buffer of a fixed size: the buffer is its beginning. An indirect grid is read from
    the device, hence after everything that was enqueued before.
    """
    allocations = [device.residents.find(resource) for resource in resources]
    buffers = bound_buffers(program, resources)
    places = {b.name: allocation for b, allocation in zip(buffers, allocations, strict=True)}
    given = used_bytes(buffers, resources)
    sizes = tuple([given[buffer.name] for buffer in program.inputs])
    grid = None if config.grid_override is not None else _grid(device, program, places, given)
    ids = tuple([resource.id for resource in resources])
    shape = Shape(id(program), sizes, config.launch_shape, grid, ids, queue)
    return Request(program, (), shape, config, deadline, places)


def _grid(
    device: Device, program: Program, places: Mapping[str, Allocation], sizes: Mapping[str, int]
) -> Extent | None:
    statement = find_indirect_dispatch(program)
    if statement is None:
        return None
    name = statement.buffer.name
    words = memoryview(bytearray(min(sizes[name], 4 * statement.offset + 12)))
    device.counters.waits += 1
    device.copy_out(places[name], words)
    return read_indirect_grid(program, [words if b.name == name else memoryview(b"") for b in program.inputs])


@dataclass(slots=True, eq=False)
class Kept:
    """What is kept of one shape. It keeps the program alive, and so its identity its own.

    `launch` serves dispatches that end before the next begins; `spare` are more of the same, each with memory of its
    own, for those that are in flight together. `used` grows with each dispatch. `is_new`: this code has not run yet.
    `again` runs it once it is settled: neither new nor to be timed. It is None until then, and for good once the memory
    was freed, which ends `is_live` too.
    No launch takes more than `longest` seconds, whatever its data. `holds` counts those who are about to use it: it is
    not given up meanwhile. `known_as` are its keys among `Launches.resident`. `bytes_each` is about what one dispatch
    holds in flight.
    """

    device: Device
    request: Request
    plan: LaunchPlan
    launch: Runnable
    longest: float = math.inf
    queue: int = 0
    choice: QueueChoice | None = None
    used: int = 0
    is_new: bool = True
    again: Again | None = None
    is_live: bool = True
    holds: int = 0
    spare: list[Prepared] = field(default_factory=list)
    known_as: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)
    bytes_each: int = field(init=False)

    def __post_init__(self) -> None:
        bound = [buffer.name for buffer in self.plan.program.buffers if buffer.memory.is_bound]
        self.bytes_each = sum(map(self.plan.byte_length, bound))

    @property
    def prepared(self) -> Prepared:
        """The launch of a shape that is known not to be empty."""
        assert isinstance(self.launch, Prepared)
        return self.launch

    @property
    def bytes_held(self) -> int:
        """How much that is."""
        return sum(allocation.size for allocation in self.owned)

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """All device memory that it holds."""
        return (*self.launch.owned, *(allocation for launch in self.spare for allocation in launch.owned))


PLAIN = frozenset("?bBhHiIlLqQefd")
"""Types of NumPy that the buffer protocol has letters for."""


class Recent:
    """The last dispatch of a program: a call that looks the same needs no checks but these, and no key.

    Only for calls without a timeout, with inputs that have elements, and a grid that does not come with them.
    """

    __slots__ = ("config", "kept", "names", "output_bytes", "output_sizes", "sizes", "types")

    def __init__(self, kept: Kept) -> None:
        program = kept.request.program
        self.kept, self.config = kept, kept.request.config
        self.sizes = kept.request.shape.byte_lengths
        self.types = [(b.name, np.dtype(b.dtype.numpy), n) for b, n in zip(program.inputs, self.sizes, strict=True)]
        self.output_sizes = [layout.size for layout in kept.plan.outputs]
        self.output_bytes = sum(self.output_sizes)
        self.names = [buffer.name for buffer in program.outputs]

    @staticmethod
    def fits(kept: Kept) -> bool:
        """Whether such calls exist for what was kept."""
        request = kept.request
        comes_with_inputs = find_indirect_dispatch(request.program) is not None
        return request.deadline is None and 0 not in request.shape.byte_lengths and not comes_with_inputs

    def views(self, inputs: Inputs) -> list[memoryview | Array] | None:
        """The inputs as contiguous buffers, or None if anything about them is new."""
        if len(inputs) != len(self.sizes):
            return None
        views: list[memoryview | Array] = []
        for given, size in zip(inputs, self.sizes, strict=True):
            if type(given) is np.ndarray:
                if given.nbytes != size or not given.flags.c_contiguous or given.dtype.hasobject:
                    return None
                views.append(given)
                continue
            try:
                view = memoryview(given)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                return None
            if view.nbytes != size or not view.c_contiguous or not is_plain(view):
                return None
            views.append(view if view.format == "B" and view.ndim == 1 else view.cast("B"))
        return views

    def targets(self, inputs: Sequence[memoryview | Array], slots: OutputBuffers) -> list[memoryview] | None:
        """`slots` as memory for the outputs; None unless all are arrays that fit, apart from `inputs` and each other.

        `inputs` are what `views` gave.
        """
        launch = self.kept.launch
        if len(slots) != len(self.output_sizes) or not isinstance(launch, Prepared) or launch.traps is not None:
            return None
        taken: list[Array] = [
            given if type(given) is np.ndarray else np.frombuffer(given, np.uint8) for given in inputs
        ]
        found = []
        for slot, size in zip(slots, self.output_sizes, strict=True):
            if type(slot) is not np.ndarray or slot.nbytes != size or not size or not slot.flags.carray:
                return None
            if slot.dtype.char not in PLAIN or any(np.may_share_memory(slot, other) for other in taken):
                return None
            taken.append(slot)
            found.append(slot.data if slot.dtype.char == "B" and slot.ndim == 1 else slot.data.cast("B"))
        return found

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
