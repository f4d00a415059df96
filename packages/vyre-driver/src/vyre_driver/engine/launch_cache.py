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
from vyre_driver.engine.launch import Again, EmptyLaunch, PreparedLaunch, Runnable
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.resident import bound_buffers, require_places, used_bytes
from vyre_driver.engine.session import Session
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


class LaunchRequest(NamedTuple):
    """One call that is not known to be like the one before. `places` are the resident buffers by name, if they are."""

    program: Program
    inputs: Sequence[memoryview]
    shape: Shape
    config: DispatchConfig
    deadline: Deadline | None
    places: Mapping[str, Allocation] | None = None

    @classmethod
    def of(cls, program: Program, inputs: Inputs, config: DispatchConfig, backend: str) -> LaunchRequest:
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
) -> LaunchRequest:
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
    return LaunchRequest(program, (), shape, config, deadline, places)


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
class CachedLaunch:
    """What is kept of one shape. It keeps the program alive, and so its identity its own.

    `launch` serves dispatches that end before the next begins; `idle` are more of the same, each with memory of its
    own, for those that are in flight together. `used` grows with each dispatch. `is_new`: this code has not run yet.
    `again` runs it once it is settled: neither new nor to be timed. It is None until then, and for good once the memory
    was freed, which ends `is_live` too.
    No launch takes more than `longest` seconds, whatever its data. `holds` counts those who are about to use it: it is
    not given up meanwhile. `known_as` are its keys among `Launches.resident`. `bytes_each` is about what one dispatch
    holds in flight.
    """

    device: Device
    request: LaunchRequest
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
    idle: list[PreparedLaunch] = field(default_factory=list)
    known_as: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)
    bytes_each: int = field(init=False)

    def __post_init__(self) -> None:
        bound = [buffer.name for buffer in self.plan.program.buffers if buffer.memory.is_bound]
        self.bytes_each = sum(map(self.plan.byte_length, bound))

    @property
    def prepared(self) -> PreparedLaunch:
        """The launch of a shape that is known not to be empty."""
        assert isinstance(self.launch, PreparedLaunch)
        return self.launch

    @property
    def bytes_held(self) -> int:
        """How much that is."""
        return sum(allocation.size for allocation in self.owned)

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """All device memory that it holds."""
        return (*self.launch.owned, *(allocation for launch in self.idle for allocation in launch.owned))


PLAIN = frozenset("?bBhHiIlLqQefd")
"""Types of NumPy that the buffer protocol has letters for."""


class Recent:
    """The last dispatch of a program: a call that looks the same needs no checks but these, and no key.

    Only for calls without a timeout, with inputs that have elements, and a grid that does not come with them.
    """

    __slots__ = ("cached", "config", "names", "output_bytes", "output_sizes", "sizes", "types")

    def __init__(self, cached: CachedLaunch) -> None:
        program = cached.request.program
        self.cached, self.config = cached, cached.request.config
        self.sizes = cached.request.shape.byte_lengths
        self.types = [(b.name, np.dtype(b.dtype.numpy), n) for b, n in zip(program.inputs, self.sizes, strict=True)]
        self.output_sizes = [layout.size for layout in cached.plan.outputs]
        self.output_bytes = sum(self.output_sizes)
        self.names = [buffer.name for buffer in program.outputs]

    @staticmethod
    def fits(cached: CachedLaunch) -> bool:
        """Whether such calls exist for what was kept."""
        request = cached.request
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

    def targets(self, inputs: Sequence[memoryview | Array], output_buffers: OutputBuffers) -> list[memoryview] | None:
        """`output_buffers` as memory for the outputs; None unless all are arrays that fit, without overlaps.

        `inputs` are what `views` gave.
        """
        launch = self.cached.launch
        if (
            len(output_buffers) != len(self.output_sizes)
            or not isinstance(launch, PreparedLaunch)
            or launch.traps is not None
        ):
            return None
        taken: list[Array] = [
            given if type(given) is np.ndarray else np.frombuffer(given, np.uint8) for given in inputs
        ]
        found = []
        for output_buffer, size in zip(output_buffers, self.output_sizes, strict=True):
            if (
                type(output_buffer) is not np.ndarray
                or output_buffer.nbytes != size
                or not size
                or not output_buffer.flags.carray
            ):
                return None
            if output_buffer.dtype.char not in PLAIN or any(
                np.may_share_memory(output_buffer, other) for other in taken
            ):
                return None
            taken.append(output_buffer)
            found.append(
                output_buffer.data
                if output_buffer.dtype.char == "B" and output_buffer.ndim == 1
                else output_buffer.data.cast("B")
            )
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
MAX_IDLE_BYTES = MAX_KEPT_BYTES // 4
"""Device memory that launches of one shape may hold for being in flight together."""


class LaunchCache:
    """See the module. `persistent` is the memory of a pipeline that stays from one dispatch to the next, or None.

    `recent` are the last dispatches of programs from host memory, `resident` those over resident memory, by the
    identities of program and handles: a handle that is gone has taken its launches with it.
    """

    def __init__(self, backend: str, session: Session, persistent: dict[str, Allocation] | None) -> None:
        self._backend, self._session, self._persistent = backend, session, persistent
        self._entries: dict[tuple[object, ...], CachedLaunch] = {}
        self._over: dict[int, dict[CachedLaunch, None]] = {}  # those over resident memory by each of its ids
        self._added, self._bytes = 0, 0  # launches since all were counted, and what was held then and by these
        self.recent: dict[int, Recent] = {}
        self.resident: dict[tuple[int, tuple[int, ...]], CachedLaunch] = {}
        self._poison: str | None = None
        self.is_closed = False

    # ── found or made ────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, device: Device, request: LaunchRequest) -> CachedLaunch:
        """What is kept of this shape, or made of it now."""
        try:
            self._require_sound()
            cached = self._entries.get(request.shape)
            if cached is None:
                cached = self._entries[request.shape] = self.make(device, request)
                for resource in request.shape.resources:
                    self._over.setdefault(resource, {})[cached] = None
        except BaseException:
            device.counters.failures += 1
            raise
        if request.places is None and Recent.fits(cached):
            self.recent[request.shape.program] = Recent(cached)
        return cached

    def make(self, device: Device, request: LaunchRequest) -> CachedLaunch:
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
            return CachedLaunch(device, asked, plan, EmptyLaunch(plan))
        cost = device.cost(plan)
        choice = device.choose_queue(cost) if shape.queue is None else None
        queue = shape.queue if shape.queue is not None else choice.verdict.queue if choice else 0
        longest = math.inf if cost is None else longest_seconds(cost)
        launch = self._bound(device, plan, asked, request.deadline, queue, longest)
        return CachedLaunch(device, asked, plan, launch, longest, queue, choice)

    def _bound(
        self,
        device: Device,
        plan: LaunchPlan,
        request: LaunchRequest,
        deadline: Deadline | None,
        queue: int,
        longest: float,
    ) -> PreparedLaunch:
        code = code_for(device, plan, request.config, queue, deadline)
        if deadline is not None:
            deadline.check("compilation")
        with device.counters.timing("bind_ns"):
            return bind(device, plan, code, self._persistent, request.places, longest)

    # ── several in flight ────────────────────────────────────────────────────────────────────────────────────────────

    def another(self, device: Device, cached: CachedLaunch) -> PreparedLaunch:
        """A launch of this shape for one dispatch in flight, which gives it back at its end."""
        if cached.idle:
            return cached.idle.pop()
        try:
            return self._bound(device, cached.plan, cached.request, None, cached.queue, cached.longest)
        except BaseException:
            device.counters.failures += 1
            raise

    def begin(
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
            event = launch.begin(inputs, deadline, targets)
            if is_awaited_alone and event is not None:
                device.port.submit(event)
            return event
        except BaseException as error:
            self.failed(device, cached, error, launch)
            raise

    def give_back(self, device: Device, cached: CachedLaunch, launch: PreparedLaunch) -> None:
        """Take back what `another` gave; its dispatch has ended well."""
        is_same = isinstance(cached.launch, PreparedLaunch) and cached.launch.code is launch.code
        is_kept = self._entries.get(cached.request.shape) is cached
        if is_kept and is_same and (len(cached.idle) + 1) * cached.bytes_each <= MAX_IDLE_BYTES:
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
        *,
        timed: bool,
    ) -> Any:
        """A dispatch from its upload to its end: outputs, or a result with times."""
        try:
            if cached.again is None:
                outputs = self._run_watched(device, cached, inputs, deadline, form, timed)
            elif timed:
                outputs = cached.launch.run_timed(inputs, deadline, form)
            else:
                outputs = cached.launch.run(inputs, deadline, form)
        except BaseException as error:
            self.failed(device, cached, error)
            raise
        self.ran(device, cached)
        return outputs

    def ran(self, device: Device, cached: CachedLaunch) -> None:
        """Count a dispatch that went well."""
        counters = device.counters
        counters.dispatches += 1
        cached.used = counters.dispatches

    def ran_together(self, device: Device, launches: Iterable[CachedLaunch], dispatches: int) -> None:
        """The same for a row of dispatches."""
        device.counters.dispatches += dispatches
        for cached in launches:
            cached.used = device.counters.dispatches
            self.settle(device, cached)

    def _run_watched(
        self,
        device: Device,
        cached: CachedLaunch,
        inputs: Sequence[Any],
        deadline: Deadline | None,
        form: Form,
        timed: bool,
    ) -> Any:
        """A run of code that is new, or whose queue is still in question."""
        choice = cached.choice
        if choice is not None and choice.verdict.queue != cached.queue:
            self._move(device, cached, deadline, choice.verdict.queue)
        started = time.perf_counter_ns()
        outputs = (cached.launch.run_timed if timed else cached.launch.run)(inputs, deadline, form)
        if choice is not None and choice.is_watching:
            choice.took(time.perf_counter_ns() - started)
        self.settle(device, cached)
        return outputs

    def settle(self, device: Device, cached: CachedLaunch) -> None:
        """After a run that went well: save the code, and see whether anything is left to find out."""
        if cached.is_new:
            self.save(device, cached)
            self.trim(device, cached)
        choice = cached.choice
        is_settled = choice is None or not (choice.is_watching or choice.verdict.queue != cached.queue)
        if not is_settled:
            cached.again = None
        elif cached.again is None and cached.is_live:
            cached.again = cached.launch.again

    def save(self, device: Device, cached: CachedLaunch) -> None:
        """Save the code if it is new."""
        if cached.is_new:
            cached.is_new = False
            if isinstance(cached.launch, PreparedLaunch):
                device.code.ran(cached.launch.code)

    def _move(self, device: Device, cached: CachedLaunch, deadline: Deadline | None, queue: int) -> None:
        """Prepare the launch again, for another queue. Nobody may reclaim it meanwhile."""
        del self._entries[cached.request.shape]
        device.free(cached.owned)
        cached.idle.clear()
        cached.queue, cached.is_new = queue, True
        cached.launch = self._bound(device, cached.plan, cached.request, deadline, queue, cached.longest)
        self._entries[cached.request.shape] = cached

    # ── given up ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def failed(
        self, device: Device, cached: CachedLaunch, error: BaseException, launch: Runnable | None = None
    ) -> None:
        """Forget the launch that failed; trust persistent memory only after a trap, which lets every kernel end.

        `launch` is the one of several; None: that which serves dispatches one by one.
        """
        device.counters.failures += 1
        if isinstance(error, DeviceLost):
            self._session.lost = error
        if launch is None or launch is cached.launch:
            self.drop(device, cached)
        else:
            device.free(launch.owned)
        if self._persistent and not isinstance(error, Trapped):
            device.free(tuple(self._persistent.values()))
            self._persistent.clear()
            self.recent.clear()
            self._poison = f"a dispatch of this pipeline ended with {type(error).__name__}: {error}"

    def failed_together(self, device: Device, launches: Iterable[CachedLaunch], error: BaseException) -> None:
        """The same for a row of launches over resident memory; after a trap they are as good as before."""
        device.counters.failures += 1
        if isinstance(error, DeviceLost):
            self._session.lost = error
        if not isinstance(error, Trapped):
            for cached in tuple(launches):
                self.drop(device, cached)

    def drop(self, device: Device, cached: CachedLaunch) -> None:
        """Free what is kept of one shape."""
        cached.again, cached.is_live = None, False
        request = cached.request
        self._entries.pop(request.shape, None)
        if request.places is None:
            self.recent.pop(request.shape.program, None)
        for resource in request.shape.resources:
            if (others := self._over.get(resource)) is not None:
                others.pop(cached, None)
                if not others:
                    del self._over[resource]
        for key in cached.known_as:
            if self.resident.get(key) is cached:
                del self.resident[key]
        device.free(cached.owned)
        cached.idle.clear()

    def forget(self, device: Device, resource: int) -> None:
        """Free every launch over a resource that is no more."""
        for cached in tuple(self._over.get(resource, ())):
            self.drop(device, cached)

    def reclaim(self, device: Device) -> None:
        """Free what is kept for speed and not about to be used."""
        for cached in tuple(self._entries.values()):
            if not cached.holds:
                self.drop(device, cached)

    def release(self, device: Device) -> None:
        """Free everything, persistent memory too."""
        for cached in tuple(self._entries.values()):
            self.drop(device, cached)
        if self._persistent is not None:
            device.free(tuple(self._persistent.values()))
            self._persistent.clear()

    def abandon(self, device: Device) -> None:
        """Leave all memory to the device's next sweep: nobody can use this dispatcher any more."""
        for cached in self._entries.values():
            device.abandon(cached.owned)
        device.abandon(tuple((self._persistent or {}).values()))

    def trim(self, device: Device, newest: CachedLaunch) -> None:
        """Keep the launches used last, while they are few and hold little.

        Where there are too many, an eighth goes at once. What all hold is counted again for each eighth that is new:
        older ones may hold more than they did.
        """
        self._added, self._bytes = self._added + 1, self._bytes + newest.bytes_held
        count = len(self._entries)
        if self._added * 8 < count <= MAX_LAUNCHES and self._bytes <= MAX_KEPT_BYTES:
            return
        most = MAX_LAUNCHES if count <= MAX_LAUNCHES else MAX_LAUNCHES - MAX_LAUNCHES // 8
        self._added, self._bytes = 0, sum(cached.bytes_held for cached in self._entries.values())
        if count <= most and self._bytes <= MAX_KEPT_BYTES:
            return
        for cached in sorted(self._entries.values(), key=lambda cached: (cached is newest, cached.used)):
            if len(self._entries) <= most and self._bytes <= MAX_KEPT_BYTES:
                return
            if not cached.holds:
                self._bytes -= cached.bytes_held
                self.drop(device, cached)

    def _require_sound(self) -> None:
        if self.is_closed:
            raise StaleHandle("the pipeline", "it was closed", fix="compile the program again")
        self.require_trust()

    def require_trust(self) -> None:
        """Refuse what was computed in persistent memory that an earlier failure has left in no known state."""
        if self._poison is not None:
            raise PoisonedState(self._backend, self._poison)
