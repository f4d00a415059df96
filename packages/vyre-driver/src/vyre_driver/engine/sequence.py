"""Sequences of dispatches over resident memory: enqueued in order, waited for once, and recorded where that pays.

A sequence is prepared once: `LaunchTemplate` makes the launches of its steps, `Segments` enqueue or replay them.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, ResidentWave
from vyre_driver.backend.results import ResidentSequenceTiming
from vyre_driver.engine.cached_launch import CachedLaunch
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import Backlog, PreparedLaunch
from vyre_driver.engine.launch_cache import MAX_CACHED_BYTES, LaunchCache
from vyre_driver.engine.launch_request import LaunchKey, LaunchRequest, resident_request, shape_of
from vyre_driver.engine.port import Allocation
from vyre_driver.engine.resident import require_places, whole_bytes
from vyre_driver.engine.session import Session
from vyre_driver.engine.transfer import Copies
from vyre_driver.errors import InvalidLaunch, Trapped
from vyre_driver.legalization.schedule import TRAPS
from vyre_driver.plan.cost import Cost, estimate
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.launch import plan_launch
from vyre_driver.policy.queue import QueueVerdict
from vyre_driver.tune.queue import QueueChoice, Rate

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer


MAX_STEPS = 2**18
"""Steps of the sequences that are cached, so that the next run of one decides nothing. About 1 KiB of host memory each,
less where steps are equal. The last sequence stays however long it is."""
WAVES_AHEAD = 2
"""Waves that are enqueued behind the one whose ranges are read: one runs, and the inputs of the other are copied."""
LEAST_STEPS = 16
"""Steps that a short sequence counts for."""
MOST_MEASURED = 4096
"""Steps of a sequence whose queue is revised by what is measured: it is prepared for both queues then."""
MOST_CHOICES = 16
"""Numbers of repetitions of one sequence for which a queue is chosen each."""

Steps = Sequence[ResidentDispatchStep]
Ranges = Sequence[ResidentReadRange]
Targets: TypeAlias = "Sequence[HostBuffer]"
Key: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...], bool, int | None]"
Resolve = Callable[[ResidentDispatchStep], CachedLaunch]
"""What finds the launch of a step whose grid is known only when the steps before it are done."""


class LaunchTemplate:
    """What launches of one program have in common that differ in their resources alone.

    They follow each other in one queue, so they share scratch memory and loop counters. Each has a record of traps of
    its own, because it says which of them trapped. `holds` counts those who use the template.
    """

    __slots__ = ("_args", "_fills", "_names", "cached", "holds")

    def __init__(self, cached: CachedLaunch) -> None:
        self.cached, self.holds = cached, 0
        binding = cached.prepared.binding
        declared = zip(binding.code.executable.declared, binding.plan.program.buffers, strict=True)
        self._names = {ours: theirs.name for ours, theirs in declared if ours in binding.placed}
        if cached.prepared.traps is not None:
            self._names[TRAPS] = TRAPS
        self._args = [
            [(name and self._names.get(name), value) for name, value in _named(entry.buffers, binding.args(entry))]
            for entry in binding.code.executable.entries
        ]
        names = {allocation: self._names.get(name) for name, allocation in binding.allocations.items()}
        assert isinstance(cached.prepared.transfer, Copies)
        self._fills = [(names[fill[0]], fill) for fill in cached.prepared.transfer.fills]

    @property
    def bytes_held(self) -> int:
        """Device memory that all launches of it share."""
        return self.cached.bytes_held

    def over(self, request: LaunchRequest) -> PreparedLaunch:
        """The launch over the resources of a request that has the same shape otherwise."""
        with self.cached.device.counters.timing("bind_ns"):
            return self._over(request)

    def _over(self, request: LaunchRequest) -> PreparedLaunch:
        base, places = self.cached.prepared, request.places
        assert places is not None
        if request.resources == self.cached.request.resources:
            return base
        require_places(self.cached.plan, places)
        device, traps = base.device, None
        if base.traps is not None:
            traps = device.allocate(base.traps.size)
            places = {**places, TRAPS: traps}
        device.counters.prepares += 1
        args = tuple([tuple([_argument(places, name, value) for name, value in entry]) for entry in self._args])
        fills = [(fill if name is None else (places[name], *fill[1:])) for name, fill in self._fills]
        transfer = Copies(device, args, () if traps is None else (traps,), uploads=(), fills=fills, readbacks=())
        return replace(base, transfer=transfer, traps=traps, runner=None)


def _named(names: tuple[str, ...], args: tuple[Any, ...]) -> list[tuple[str | None, Any]]:
    """The arguments of a kernel with the names of those that are memory."""
    return [*zip(names, args, strict=False), *((None, length) for length in args[len(names) :])]


def _argument(places: Mapping[str, Allocation], name: str | None, value: Any) -> Any:
    return value if name is None else places[name].memory


MOST_RECORDED = 1024
"""Launches of a recording of more than one step: the host may wait between two of them."""

WORTHWHILE = 64
"""Launches that a recording of a short part is made to have."""


class Segments:
    """The `launches` of some steps; None for one that is found when it is reached.

    The steps come with each call: they hold handles, whose last reference ends the memory.
    """

    __slots__ = ("_runs", "_segments")

    def __init__(self, launches: Sequence[PreparedLaunch | None]) -> None:
        self._segments = [RecordedSegment(start, some) for start, some in _cut(launches)]
        self._runs = 0

    @property
    def launches(self) -> tuple[PreparedLaunch | None, ...]:
        """The launch of each step in order; None for one that is found when it is reached."""
        return tuple([launch for segment in self._segments for launch in segment.launches])

    def play(
        self, device: Device, steps: Steps, times: int, resolve: Resolve, backlog: Backlog, *, is_new: bool
    ) -> None:
        """Enqueue all steps `times` times, with recordings where the device has them.

        New code may be compiled at its first launch, which a replay cannot wait for: if code `is_new`, the first
        iteration is not recorded.
        """
        if times > 1 and is_new:
            self.enqueue(steps, resolve, backlog)
            times -= 1
        if device.port.records and times + self._runs > 1:
            for segment in self._segments:
                segment.record(device, steps, resolve, min(times, max(1, WORTHWHILE // len(steps))))
        self._runs += times
        while times > 0 and steps:
            done = 1
            for segment in self._segments:
                if segment.recording is not None and segment.iterations <= times:
                    done = segment.replay(device, backlog)
                else:
                    segment.enqueue(steps, resolve, backlog)
            times -= done

    def enqueue(self, steps: Steps, resolve: Resolve, backlog: Backlog) -> None:
        """Enqueue everything once, one by one."""
        self._runs += 1
        for segment in self._segments:
            segment.enqueue(steps, resolve, backlog)

    def forget(self, device: Device) -> None:
        """Give the recordings back: one of the launches is about to end."""
        for segment in self._segments:
            segment.forget(device)


@dataclass(slots=True, eq=False)
class RecordedSegment:
    """The launches of some steps that follow each other, from the step of the number `start` on.

    A `recording` holds `recorded` launches: those of as many `iterations` as make it long enough to be worth a call. A
    segment that is only a part of the steps is long enough by itself: its recording holds one iteration.
    """

    start: int
    launches: Sequence[PreparedLaunch | None]
    recording: Any = None
    iterations: int = 1
    recorded: int = 0

    def enqueue(self, steps: Steps, resolve: Resolve, backlog: Backlog | None) -> None:
        """Enqueue everything once."""
        for number, launch in enumerate(self.launches, self.start):
            (launch or resolve(steps[number]).prepared).enqueue((), None, None, backlog)

    def record(self, device: Device, steps: Steps, resolve: Resolve, iterations: int) -> None:
        """Record that many iterations, if there is no recording, and all of it is always the same."""
        if self.recording is not None or not self._is_fixed():
            return
        counters = device.counters
        launched, filled = counters.launches, counters.fills

        def enqueue() -> None:
            for _ in range(iterations):
                self.enqueue(steps, resolve, None)

        self.recording, self.iterations = device.port.record(enqueue), iterations
        self.recorded, counters.launches, counters.fills = counters.launches - launched, launched, filled

    def replay(self, device: Device, backlog: Backlog) -> int:
        """Enqueue what was recorded. How many iterations that were."""
        device.counters.launches += self.recorded
        device.counters.replays += 1
        backlog.add(device.port.replay(self.recording), self.recorded)
        return self.iterations

    def forget(self, device: Device) -> None:
        """Give the recording back, if there is one."""
        if self.recording is not None:
            recording, self.recording = self.recording, None
            device.port.forget(recording)

    def _is_fixed(self) -> bool:
        """Whether all of it is launches and fills that are always the same, and there is a launch among them."""
        orders = [None if launch is None else launch.order for launch in self.launches]
        return None not in orders and any(orders)


def _cut(launches: Sequence[PreparedLaunch | None]) -> Iterator[tuple[int, Sequence[PreparedLaunch | None]]]:
    """The segments of a part: where they start, and their launches."""
    start, launched = 0, 0
    for number, launch in enumerate(launches):
        kernels = 1 if launch is None else len(launch.order or ())
        if number > start and launched + kernels > MOST_RECORDED:
            yield start, launches[start:number]
            start, launched = number, 0
        launched += kernels
    if len(launches) > start:
        yield start, launches[start:]


@dataclass(slots=True, eq=False)
class CachedSequence:
    """A prefix, and a part that is repeated. `queue` is where all of it goes; None where there is one alone.

    It owns its launches, and shares the `templates` that they are made of with other sequences. `trapping` are those
    with a record of traps. `step_refs` are its steps, which it does not keep alive; `resources` are the ids of those
    that it uses.
    """

    prefix: Segments
    repeated: Segments
    queue: int | None
    templates: Sequence[LaunchTemplate]
    trapping: Sequence[PreparedLaunch]
    owned: Sequence[Allocation]
    resources: frozenset[int]
    step_refs: Sequence[weakref.ref[ResidentDispatchStep]]
    heaviest: Cost | None
    choices: dict[int, QueueChoice] = field(default_factory=dict)
    is_running: bool = False

    def matches(self, steps: Iterable[ResidentDispatchStep]) -> bool:
        """Whether it was made for these."""
        return all(known() is step for known, step in zip(self.step_refs, steps, strict=True))

    def choice(self, device: Device, launches: int, times: int) -> QueueChoice | None:
        """The choice of a queue for `launches`, repeated `times` times; None where there is nothing to choose."""
        found = self.choices.get(times)
        if found is None and self.heaviest is not None and len(self.choices) < MOST_CHOICES:
            queues = [replace(queue, launch_ns=launches * queue.launch_ns) for queue in device.profile.queues]
            found = self.choices[times] = QueueChoice(queues, self.heaviest, Rate())
            assert self.queue is not None
            found.verdict = QueueVerdict(self.queue, "estimated")
        return found

    def raise_trap(self, steps_before: int = 0) -> None:
        """Raise the trap of the first launch that trapped, with the position of its step behind those before."""
        for launch in self.trapping:
            try:
                launch.raise_trap()
            except Trapped as error:
                order = (*self.prefix.launches, *self.repeated.launches)
                step = next(n for n, known in enumerate(order) if known is launch)
                raise error.at_step(steps_before + step) from None

    @property
    def steps(self) -> int:
        """The steps that count towards the limit of the cache."""
        return max(LEAST_STEPS, len(self.step_refs))

    @property
    def is_new(self) -> bool:
        """Whether some of its code has not run yet."""
        return any(template.cached.is_new for template in self.templates)


class Sequences:
    """The sequences of one backend. A sequence is known by the identity of its steps.

    They are waited for once, with nothing in between but what an indirect grid needs and what bounds the launches in
    flight. A trap is raised at the end: the steps behind it have run.
    """

    def __init__(self, session: Session, launches: LaunchCache) -> None:
        self._session, self._launch_cache = session, launches
        self._entries: dict[Key, CachedSequence] = {}
        self._templates: dict[LaunchKey, LaunchTemplate] = {}

    def run(self, prefix: Steps, repeated: Steps, repetitions: int, ranges: Ranges, targets: Targets) -> None:
        """Run `prefix` once and `repeated` that many times, wait, and read the ranges."""
        _require_count(repetitions)
        with self._session.locked() as device:
            views, started = device.residents.targets(ranges, targets), time.perf_counter_ns()
            sequence, choice = self._chosen(device, prefix, repeated if repetitions else (), repetitions)
            with self._running(device, sequence, len(prefix) + repetitions * len(repeated)) as run:
                backlog, is_new = Backlog(device), sequence.is_new
                sequence.prefix.play(device, prefix, 1, run.resolve, backlog, is_new=is_new)
                sequence.repeated.play(device, repeated, repetitions, run.resolve, backlog, is_new=is_new)
                run.wait(backlog)
            if choice is not None and choice.is_watching:
                choice.took(time.perf_counter_ns() - started)
            device.residents.download_ranges(ranges, views)

    def run_waves(self, waves: Sequence[ResidentWave]) -> None:
        """Enqueue waves without waits, and read what one has made while later ones run."""
        with self._session.locked() as device, ExitStack() as stack:
            views = [device.residents.targets(wave.ranges, wave.targets) for wave in waves]
            runs: list[SequenceRun] = []
            for wave in waves:  # all are prepared before the first runs: nothing compiles in between
                sequence = self._find(device, wave.steps, (), beside=True)
                running = self._running(device, sequence, len(wave.steps), checks=False)
                runs.append(stack.enter_context(running))
            backlog, ends, read = Backlog(device), list[Any](), 0
            for wave, run in zip(waves, runs, strict=True):
                data = [(resource, 0, whole_bytes(resource, contents)) for resource, contents in wave.uploads]
                if ends and _runs_beside(device, run, ends[-1]):
                    device.counters.copies_beside += len(data)
                device.residents.upload(data)
                run.sequence.prefix.play(device, wave.steps, 1, run.resolve, backlog, is_new=run.sequence.is_new)
                if backlog.last is not None:
                    device.port.submit(backlog.last)
                ends.append(backlog.last)
                while read < len(ends) - (WAVES_AHEAD if len(ends) < len(waves) else 0):
                    if ends[-1] is not ends[read] and _runs_beside(device, run, ends[-1]):
                        device.counters.copies_beside += len(views[read])
                    self._read(device, waves[read], views[read], ends[read])
                    read += 1
            if runs:
                runs[-1].wait(backlog)
            done = 0
            for wave, run in zip(waves, runs, strict=True):
                run.raise_trap(done)
                done += len(wave.steps)

    @staticmethod
    def _read(device: Device, wave: ResidentWave, views: Sequence[memoryview], end: Any) -> None:
        """Read the ranges of a wave as soon as its launches have ended."""
        if wave.ranges:
            if end is not None:
                device.counters.waits += 1
                device.port.wait(end)
            device.residents.download_ranges(wave.ranges, views)

    def run_timed(self, steps: Steps, ranges: Ranges, targets: Targets) -> ResidentSequenceTiming:
        """Run the steps with a clock around each kernel."""
        started = time.perf_counter_ns()
        with self._session.locked() as device:
            views = device.residents.targets(ranges, targets)
            sequence = self._find(device, steps, ())
            with self._running(device, sequence, len(steps)) as run:
                backlog = Backlog(device, is_timed=True)
                sequence.prefix.enqueue(steps, run.resolve, backlog)
                enqueued = time.perf_counter_ns()
                run.wait(backlog)
                device_ns = backlog.elapsed()
            device.residents.download_ranges(ranges, views)
        ended = time.perf_counter_ns()
        return ResidentSequenceTiming(
            wall_ns=ended - started, device_ns=device_ns, enqueue_ns=enqueued - started, wait_ns=ended - enqueued
        )

    # ── what is cached ───────────────────────────────────────────────────────────────────────────────────────────────

    def forget(self, device: Device, resource: int) -> None:
        """End every sequence over a resource that is no more."""
        self._drop(device, [key for key, sequence in self._entries.items() if resource in sequence.resources])

    def reclaim(self, device: Device) -> None:
        """Drop every sequence that does not run."""
        self._drop(device, [key for key, sequence in self._entries.items() if not sequence.is_running])

    def release(self, device: Device) -> None:
        """Free everything."""
        self._drop(device, list(self._entries))

    def abandoned(self) -> object:
        """Forget what belongs to the parent of a forked process, and free none of it: what the caller keeps alive."""
        left = self._entries, self._templates
        self._entries, self._templates = {}, {}
        return left

    def _chosen(
        self, device: Device, prefix: Steps, repeated: Steps, times: int
    ) -> tuple[CachedSequence, QueueChoice | None]:
        """The sequence for the queue that is the fastest as far as is known, and the choice of that queue.

        The one for the queue of the estimate has the choices: it is found by the steps alone.
        """
        sequence = self._find(device, prefix, repeated)
        choice = sequence.choice(device, len(prefix) + times * len(repeated), times)
        if choice is not None and choice.verdict.queue != sequence.queue:
            sequence = self._find(device, prefix, repeated, queue=choice.verdict.queue)
        return sequence, choice

    def _find(
        self, device: Device, prefix: Steps, repeated: Steps, *, beside: bool = False, queue: int | None = None
    ) -> CachedSequence:
        """What is cached of these steps, or made of them now: for a `queue`, or for the one of an estimate.

        With `beside` that is one beside which the host copies, if there is any.
        """
        key = tuple(map(id, prefix)), tuple(map(id, repeated)), beside, queue
        sequence = self._entries.get(key)
        if sequence is not None and sequence.matches(chain(prefix, repeated)):
            self._entries[key] = self._entries.pop(key)  # as the one that was used last
            return sequence
        made = self._prepare(device, tuple(prefix), tuple(repeated), beside=beside, queue=queue)
        self._drop(device, [key] if key in self._entries else [])
        self._entries[key] = made
        self._trim(device)
        return made

    def _trim(self, device: Device) -> None:
        """Keep the sequences used last, while they are few and hold little."""
        steps = sum(sequence.steps for sequence in self._entries.values())
        held = sum(template.bytes_held for template in self._templates.values())
        held += sum(allocation.size for sequence in self._entries.values() for allocation in sequence.owned)
        idle = [key for key, sequence in self._entries.items() if not sequence.is_running][:-1]
        while idle and (steps > MAX_STEPS or held > MAX_CACHED_BYTES):
            oldest = idle.pop(0)
            steps -= self._entries[oldest].steps
            held -= self._drop(device, [oldest])

    def _drop(self, device: Device, keys: Iterable[Key]) -> int:
        """Give up these sequences, and the templates that no other uses. The bytes that are freed."""
        freed = 0
        for key in keys:
            sequence = self._entries.pop(key)
            for part in (sequence.prefix, sequence.repeated):
                part.forget(device)
            device.free(sequence.owned)
            freed += sum(allocation.size for allocation in sequence.owned) + self._release_templates(
                device, sequence.templates
            )
        return freed

    def _release_templates(self, device: Device, templates: Iterable[LaunchTemplate]) -> int:
        """Free those that nothing uses any more. Their bytes."""
        freed = 0
        for template in templates:
            template.holds -= 1
            if not template.holds:
                freed += template.bytes_held
                request = template.cached.request
                del self._templates[shape_of(request, request.key.queue)]
                device.free(template.cached.owned)
        return freed

    # ── how it is made ───────────────────────────────────────────────────────────────────────────────────────────────

    def _prepare(
        self, device: Device, prefix: Steps, repeated: Steps, *, beside: bool, queue: int | None
    ) -> CachedSequence:
        fixed = {id(step): step for step in chain(prefix, repeated) if not _is_dynamic(step)}
        used: dict[LaunchTemplate, None] = {}
        bound: dict[LaunchKey, PreparedLaunch] = {}
        try:
            requests = {identity: _request(device, step, None) for identity, step in fixed.items()}
            is_choice = queue is None and len(device.profile.queues) > 1
            costs = _costs(requests.values()) if is_choice else []
            if is_choice:
                queue = device.queue_for(costs, beside=beside) if costs else 0
            for request in requests.values():
                if request.key not in bound:
                    bound[request.key] = self._template(device, request, queue, used).over(request)
        except BaseException:
            device.counters.failures += 1
            device.free(_owned(bound.values(), used))
            self._release_templates(device, used)
            raise
        launches = {identity: bound[request.key] for identity, request in requests.items()}
        first, second = (Segments([launches.get(id(step)) for step in steps]) for steps in (prefix, repeated))
        return CachedSequence(
            first,
            second,
            queue,
            tuple(used),
            [launch for launch in bound.values() if launch.traps is not None],
            _owned(bound.values(), used),
            frozenset(resource.id for step in fixed.values() for resource in step.resources),
            [weakref.ref(step) for step in chain(prefix, repeated)],
            None if beside or len(prefix) + len(repeated) > MOST_MEASURED else _heaviest(costs),
        )

    def _template(
        self, device: Device, request: LaunchRequest, queue: int | None, used: dict[LaunchTemplate, None]
    ) -> LaunchTemplate:
        """The template for a request, made if no sequence has it. It is held for those that have `used` it."""
        key = shape_of(request, queue)
        template = self._templates.get(key)
        if template is None:
            asked = request._replace(key=request.key._replace(queue=queue))
            template = self._templates[key] = LaunchTemplate(self._launch_cache.prepare(device, asked))
        if template not in used:
            template.holds += 1
            used[template] = None
        return template

    # ── how it runs ──────────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _running(
        self, device: Device, sequence: CachedSequence, steps: int, *, checks: bool = True
    ) -> Iterator[SequenceRun]:
        """Around everything that runs: traps, which are looked at in the end if it `checks`, failures, and counts."""
        run, sequence.is_running = SequenceRun(device, self._launch_cache, sequence), True
        try:
            for launch in sequence.trapping:
                launch.clear_traps()
            yield run
            if checks:
                run.raise_trap()
        except BaseException as error:
            self._launch_cache.failed_sequence(device, run.launches, error)
            if not isinstance(error, Trapped):
                self.release(device)
            raise
        finally:
            run.leave()
            sequence.is_running = False
        self._launch_cache.count_sequence(device, run.launches, steps)
        for template in sequence.templates:
            self._launch_cache.save(device, template.cached)


class SequenceRun:
    """One run of a sequence.

    `launches` are those of steps whose grid is computed by earlier steps. They are not dropped before the end of the
    run, and their records of traps are cleared when they are entered.
    """

    def __init__(self, device: Device, launches: LaunchCache, sequence: CachedSequence) -> None:
        self._device, self.launch_cache, self.sequence = device, launches, sequence
        self.launches: dict[CachedLaunch, None] = {}

    def enter(self, cached: CachedLaunch) -> None:
        """One more launch."""
        if cached not in self.launches:
            self.launches[cached] = None
            cached.holds += 1
            cached.prepared.clear_traps()

    def resolve(self, step: ResidentDispatchStep) -> CachedLaunch:
        """The launch of a step whose grid the steps before it have made."""
        cached = self.launch_cache.get(self._device, _request(self._device, step, self.sequence.queue))
        self.enter(cached)
        return cached

    def wait(self, backlog: Backlog) -> None:
        """Wait for the last launch, if there was one."""
        if backlog.last is not None:
            self._device.counters.waits += 1
            self._device.port.wait(backlog.last)

    def raise_trap(self, steps_before: int = 0) -> None:
        """Raise the trap of the first launch that trapped, with the position of its step behind those before."""
        self.sequence.raise_trap(steps_before)
        for cached in self.launches:
            cached.prepared.raise_trap()

    def leave(self) -> None:
        """Let the launches go."""
        for cached in self.launches:
            cached.holds -= 1


def _runs_beside(device: Device, run: SequenceRun, last: Any) -> bool:
    """Whether the host goes on while the `last` launch runs, if there is one."""
    return last is not None and not device.is_synchronous(run.sequence.queue or 0)


def _request(device: Device, step: ResidentDispatchStep, queue: int | None) -> LaunchRequest:
    config = DEFAULT_CONFIG if step.grid_override is None else DispatchConfig(grid_override=step.grid_override)
    return resident_request(device, step.program, step.resources, config, None, queue)


def _costs(requests: Iterable[LaunchRequest]) -> list[tuple[Cost, int]]:
    """The cost of each launch, and how many have it. All take one queue: in between it would be waited for."""
    alike: dict[LaunchKey, list[LaunchRequest]] = {}
    for request in requests:
        alike.setdefault(shape_of(request), []).append(request)
    plans = [(plan_launch(first.program, first.byte_lengths, first.config), more) for first, *more in alike.values()]
    return [(estimate(plan), 1 + len(more)) for plan, more in plans]


def _heaviest(costs: Sequence[tuple[Cost, int]]) -> Cost | None:
    """The cost of the launch that has most of the work; as an estimate, which teaches nothing about the device."""
    if not costs:
        return None
    cost, _ = max(costs, key=lambda given: given[0].units)
    return replace(cost, is_certain=False)


def _owned(launches: Iterable[PreparedLaunch], templates: Iterable[LaunchTemplate]) -> list[Allocation]:
    """The memory of these launches that is not their templates'."""
    shared = {allocation for template in templates for allocation in template.cached.owned}
    return [allocation for launch in launches for allocation in launch.owned if allocation not in shared]


def _is_dynamic(step: ResidentDispatchStep) -> bool:
    return step.grid_override is None and find_indirect_dispatch(step.program) is not None


def _require_count(repetitions: object) -> None:
    if not isinstance(repetitions, int) or isinstance(repetitions, bool) or repetitions < 0:
        raise InvalidLaunch("repetitions", needed="an integer of at least 0", got=repr(repetitions))
