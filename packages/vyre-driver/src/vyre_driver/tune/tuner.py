"""Search for the fastest launch of a program by measurement.

Candidates that cannot be faster are not measured: workgroup sizes that `policy.sizes` excludes, queues that another one
dominates, and queues whose lower bound is too long (`policy.queue`).

Queues are compared first, then workgroup sizes on the fastest queue. Each candidate runs twice before it is timed,
which compiles it, and always on one queue. Candidates whose outputs differ from those of the unchanged program are
excluded. The others race (`race`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.results import Inputs, host_bytes
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.errors import BackendError, InvalidLaunch
from vyre_driver.plan.cost import estimate
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_driver.plan.resize import dependence, resized
from vyre_driver.policy.queue import at_best_ns, competing_queues
from vyre_driver.policy.sizes import SizeVerdict, promising_sizes
from vyre_driver.tune.choice import LaunchChoice, size_bucket
from vyre_driver.tune.race import MARGIN, Clock, race

if TYPE_CHECKING:
    from vyre_driver.backend.pipeline import CompiledPipeline
    from vyre_driver.device.profile import DeviceProfile, Extent
    from vyre_driver.device.queue import Queue
    from vyre_foundation.ir.program import Program

WARM_UPS = 8
"""Runs before the first that is timed: backends and graphs settle on queues in as many. Slow programs stop earlier."""
WARM_UP_NS = 20e6
SAMPLE_NS = 200e3
"""A sample is as many dispatches as take so long: clocks and interrupts matter less then."""
WIDTHS = tuple(2**n for n in range(3, 11))
"""Workgroup sizes on one axis that are tried, as far as the device has them."""


@runtime_checkable
class Tunable(Protocol):
    """A backend whose launches can be chosen. Backends on the engine are."""

    def id(self) -> str:
        """Return the id of the backend."""

    def device_profile(self) -> DeviceProfile:
        """Return the facts of the device."""

    def pipeline_for_trial(self, program: Program, config: DispatchConfig, choice: LaunchChoice) -> CompiledPipeline:
        """Return a pipeline whose launches use `choice`."""

    def queue_of_trial(self, pipeline: CompiledPipeline) -> int:
        """Return the position of the queue that the launches of such a pipeline use now."""

    def launch_choice(
        self, program: Program, byte_lengths: Sequence[int], config: DispatchConfig
    ) -> LaunchChoice | None:
        """Return the choice that launches of this size use, or None."""

    def take_choice(
        self, program: Program, bucket: int, choice: LaunchChoice, cost_ns: int = 0, *, drops_prepared: bool = True
    ) -> None:
        """Use `choice` for later launches of a program."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate with the nanoseconds of a dispatch (the median of `samples`), or the reason for their absence."""

    choice: LaunchChoice
    ns: float | None
    samples: int
    verdict: str


@dataclass(frozen=True, slots=True)
class TuningReport:
    """The result of a search for one program, on one device, for one size bucket.

    `choice` is used for later launches; it is that of the engine if nothing is faster beyond noise. `sizes` states
    which workgroup sizes were tried, and the reason for which others were not.
    """

    backend: str
    device: str
    program: str
    bucket: int
    choice: LaunchChoice
    trials: tuple[Trial, ...]
    seconds: float
    sizes: str = ""

    def __str__(self) -> str:
        lines = [f"{self.program!r} on {self.device} ({self.backend}), bucket {self.bucket}: {self.choice}"]
        for trial in self.trials:
            samples = "1 sample" if trial.samples == 1 else f"{trial.samples} samples"
            took = "" if trial.ns is None else f"{trial.ns / 1e3:.1f} µs in {samples}, "
            lines.append(f"  {trial.choice}: {took}{trial.verdict}")
        lines.append(f"  {self.sizes}")
        return "\n".join(lines)

    @property
    def speedup(self) -> float:
        """The speedup of a dispatch by the choice."""
        return self.choice.own_ns / self.choice.ns if self.choice.ns else 1.0


def tune_launches(
    backend: Tunable,
    program: Program,
    arrays: Mapping[str, object],
    config: DispatchConfig = DEFAULT_CONFIG,
    workgroup_sizes: Iterable[Extent] | None = None,
) -> TuningReport:
    """Find the fastest launch of `program` over arrays of this size, and use it for later launches.

    Args:
        backend: A backend of the engine.
        program: A valid program.
        arrays: Its inputs by name.
        config: The options of the dispatches, without a `workgroup_override`.
        workgroup_sizes: The sizes to try. The caller answers for a program whose meaning may depend on them. By default
            those that are proven not to matter.

    Returns:
        The report. Its choice is kept with the device's identity, for this program and size bucket.

    Raises:
        InvalidLaunch: The configuration has a `workgroup_override`.
        BackendError: The program as it is cannot be dispatched.
    """
    if config.workgroup_override is not None:
        fix = "leave it out; `workgroup_sizes` names the sizes to try"
        needed, got = "none: launches with one use no tuned choice", repr(config.workgroup_override)
        raise InvalidLaunch("workgroup_override", needed=needed, got=got, fix=fix)
    started = time.perf_counter_ns()
    inputs = ordered_inputs(program, arrays)
    lengths = [given.nbytes for given in inputs]
    profile, bucket = backend.device_profile(), size_bucket(lengths, config)
    plan = plan_launch(program, lengths, config, indirect_grid=_grid(program, inputs, config))
    present = backend.launch_choice(program, lengths, config) or LaunchChoice()
    verdict, queues = _sizes(plan, config, profile, workgroup_sizes), _queues(plan, profile)
    best, trials = LaunchChoice(), [Trial(LaunchChoice(), None, 0, "taken: no other is worth a trial")]
    if verdict.sizes or len(queues) > 1 or not present.is_default:
        with ExitStack() as stack:
            search = Search(backend, program, config, inputs, stack)
            best = search.best([present, LaunchChoice()])
            own_ns, here = search.ns(LaunchChoice()), search.here
            if others := _faster(profile.queues, here, queues, plan.num_workgroups, own_ns):
                best = search.best([best, *(LaunchChoice(queue=profile.queues[n].name) for n in others)])
            if verdict.sizes:
                declared = workgroup_sizes is not None
                best = search.best([best, *(LaunchChoice(size, best.queue, declared) for size in verdict.sizes)])
            best = replace(best, ns=search.ns(best), own_ns=own_ns)
            if best.is_default and len(queues) > 1:
                best = replace(best, queue=profile.queues[here].name)
            trials = list(search.trials.values())
    if best.is_default and len(queues) == 1:  # so no later launch has to find it out
        best = replace(best, queue=profile.queues[queues[0]].name)
    if not (best.is_default and present.is_default):
        backend.take_choice(program, bucket, best, time.perf_counter_ns() - started)
    seconds = (time.perf_counter_ns() - started) / 1e9
    return TuningReport(
        backend.id(), profile.device, program.name, bucket, best, tuple(trials), seconds, verdict.reason
    )


class Search:
    """The candidates of one program that have run, by choice, each with its pipeline and what became of it.

    `here` is the position of the queue that the engine chooses. Candidates without a queue take this one.
    """

    def __init__(
        self, backend: Tunable, program: Program, config: DispatchConfig, inputs: Inputs, stack: ExitStack
    ) -> None:
        self._backend, self._program, self._config, self._inputs = backend, program, config, inputs
        self._stack = stack
        self._pipelines: dict[LaunchChoice, CompiledPipeline] = {}
        self._clocks: dict[LaunchChoice, Clock] = {}
        self.trials: dict[LaunchChoice, Trial] = {}
        self._queue: str | None = None
        first, self._expected = self._run(LaunchChoice())
        self.here = backend.queue_of_trial(first)
        queues = backend.device_profile().queues
        if len(queues) > 1:  # the engine may change the queue of launches that leave it to the engine
            self._queue, first = queues[self.here].name, self._pipeline(LaunchChoice(queue=queues[self.here].name))
        self._pipelines[LaunchChoice()] = first

    def best(self, choices: Sequence[LaunchChoice]) -> LaunchChoice:
        """The fastest; the first is the incumbent."""
        bare = list(dict.fromkeys(map(self._bare, choices)))
        racing = [choice for choice in bare if self._is_right(choice)]
        if bare[0] not in racing:  # an incumbent that is wrong today has no place to keep
            racing = [LaunchChoice(), *(choice for choice in racing if not choice.is_default)]
        if len(racing) == 1 and racing[0] in self.trials:  # the winner of an earlier race has no new rival
            return racing[0]
        result = race([self._clock(choice) for choice in racing])
        for n, choice in enumerate(racing):
            ns, samples = result.median_ns(n), len(result.times[n])
            verdict = "taken" if n == result.winner else "not clearly faster"
            if n != result.winner and ns > result.median_ns(result.winner):
                verdict = "slower"
            self.trials[choice] = Trial(choice, ns, samples, verdict)
        return racing[result.winner]

    def ns(self, choice: LaunchChoice) -> float:
        """What a dispatch took; infinity for a candidate that took no part."""
        trial = self.trials.get(self._bare(choice))
        return trial.ns if trial is not None and trial.ns is not None else math.inf

    def _bare(self, choice: LaunchChoice) -> LaunchChoice:
        """A choice without its times; without the queue, if the engine chooses that one for the program as it is."""
        bare = replace(choice, ns=0.0, own_ns=0.0)
        return LaunchChoice() if bare == LaunchChoice(queue=self._queue) else bare

    def _is_right(self, choice: LaunchChoice) -> bool:
        """Whether a candidate runs, with the outputs of the program as it is."""
        if choice in self._pipelines:
            return True
        try:
            pipeline, outputs = self._run(choice)
        except BackendError as error:
            self.trials[choice] = Trial(choice, None, 0, f"refused: {error.message}")
            return False
        if outputs != self._expected:
            self.trials[choice] = Trial(choice, None, 0, "refused: its outputs are other bytes")
            return False
        self._pipelines[choice] = pipeline
        return True

    def _run(self, choice: LaunchChoice) -> tuple[CompiledPipeline, list[bytes]]:
        pipeline = self._pipeline(choice if choice.queue else replace(choice, queue=self._queue))
        return pipeline, [bytes(output) for output in pipeline.dispatch(self._inputs)]

    def _pipeline(self, choice: LaunchChoice) -> CompiledPipeline:
        pipeline = self._backend.pipeline_for_trial(self._program, self._config, choice)
        self._stack.callback(pipeline.close)
        return pipeline

    def _clock(self, choice: LaunchChoice) -> Clock:
        """The clock of a candidate that has run, warmed up once."""
        if choice not in self._clocks:
            self._clocks[choice] = clock_of(partial(self._pipelines[choice].dispatch, self._inputs), warm_ups=1)
        return self._clocks[choice]


def clock_of(dispatch: Any, warm_ups: int = WARM_UPS) -> Clock:
    """Warm a call up, and give the function that times it: nanoseconds for one call."""
    spent, once = 0.0, 0.0
    for _ in range(warm_ups):
        started = time.perf_counter_ns()
        dispatch()
        once = time.perf_counter_ns() - started
        spent += once
        if spent > WARM_UP_NS:
            break
    calls = max(1, int(SAMPLE_NS // max(once, 1.0)))

    def clock() -> float:
        started = time.perf_counter_ns()
        for _ in range(calls):
            dispatch()
        return (time.perf_counter_ns() - started) / calls

    return clock


def _sizes(
    plan: LaunchPlan, config: DispatchConfig, profile: DeviceProfile, declared: Iterable[Extent] | None
) -> SizeVerdict:
    """The workgroup sizes to try, without the program's own."""
    own, limits = plan.program.workgroup_size, profile.max_workgroup_size

    def is_possible(size: Extent) -> bool:
        fits = all(n <= limit for n, limit in zip(size, limits, strict=True))
        return size != own and fits and prod(size) <= profile.max_invocations_per_workgroup

    if declared is not None:
        named = [size for size in dict.fromkeys(declared) if size != own]
        sizes = tuple(s for s in named if is_possible(s) and resized(plan, config, s, is_declared=True))
        others = ", ".join(" × ".join(map(str, size)) for size in named if size not in sizes)
        reason = "the caller has named the workgroup sizes"
        return SizeVerdict(sizes, f"{reason}; not possible on this device and grid: {others}" if others else reason)
    shapes = () if dependence(plan.program) or not plan.num_workgroups else filter(is_possible, _shapes(own))
    return promising_sizes(plan, profile, [size for size in shapes if resized(plan, config, size)])


def _shapes(own: Extent) -> Iterator[Extent]:
    """Sizes on as many axes as the program's own has."""
    _, y, z = own
    if (y, z) == (1, 1):
        yield from ((width, 1, 1) for width in WIDTHS)
        return
    for width in WIDTHS:
        for height in (1, 2, 4, 8, 16, 32):
            if 32 <= width * height <= WIDTHS[-1]:
                yield width, height, z


def _queues(plan: LaunchPlan, profile: DeviceProfile) -> list[int]:
    """The positions of the queues that may be the fastest for this launch, if there are several."""
    is_choice = len(profile.queues) > 1 and plan.num_workgroups
    return competing_queues(profile.queues, estimate(plan)) if is_choice else []


def _faster(queues: Sequence[Queue], here: int, usable: Sequence[int], groups: int, ns: float) -> list[int]:
    """The other queues in which a launch that takes `ns` here may be faster."""
    others = [n for n in usable if n != here]
    return [n for n in others if MARGIN * at_best_ns(queues[here], queues[n], groups, ns) < ns]


def _grid(program: Program, inputs: Inputs, config: DispatchConfig) -> Extent | None:
    if config.grid_override is not None:
        return None
    return read_indirect_grid(program, [host_bytes("input", given) for given in inputs])
