"""Compilation in the background, and replacement of launches by faster ones.

A speculative pipeline at first uses the launch that the engine chooses. Meanwhile a second launch of the same program
is compiled and run once, on a second instance of the device and in another thread. After that, dispatches run both
launches: the outputs are compared byte for byte, and the times are compared as in every race. The second launch
replaces the first if it is faster beyond noise. No dispatch waits for the compilation of the second launch, and no
dispatch returns outputs of a launch that was not compared.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingPipeline, innermost
from vyre_driver.backend.results import Inputs, Outputs, host_bytes
from vyre_driver.errors import BackendError, UnsupportedFeature
from vyre_driver.observe.live import compile as compile_pipeline
from vyre_driver.pipeline.log import logger
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.resize import resized
from vyre_driver.tune.choice import LaunchChoice, size_bucket
from vyre_driver.tune.race import MARGIN, is_slower
from vyre_driver.tune.tuner import Tunable
from vyre_foundation.locks import acquire_into

if TYPE_CHECKING:
    from vyre_driver.backend.pipeline import CompiledPipeline
    from vyre_driver.device.profile import Extent
    from vyre_foundation.ir.program import Program

SAMPLES = 9
"""Dispatches that run both launches; the sign test needs 8 at least."""
WIDTHS = (256, 64)
"""The workgroup sizes to speculate on, the first that the program does not have itself."""

T = TypeVar("T")


class SpeculativeVariantKind(Enum):
    """The launch that runs at first, and the one that is compiled in the background."""

    CONSERVATIVE = "conservative"
    SPECULATIVE = "speculative"


@dataclass(frozen=True, slots=True)
class SpeculativeVariantKeys:
    """A program, the size bucket of a launch, and the two launches."""

    program: Program
    bucket: int
    conservative: LaunchChoice
    speculative: LaunchChoice


@dataclass(frozen=True, slots=True)
class SpeculativeVariantRace:
    """The nanoseconds of each dispatch by both launches, in the same order, and whether all outputs were equal."""

    conservative_ns: tuple[float, ...]
    speculative_ns: tuple[float, ...]
    has_equal_bytes: bool
    compile_ns: int = 0


@dataclass(frozen=True, slots=True)
class SpeculativeVariantDecision:
    """The launch that is used from now on, the nanoseconds saved in each dispatch, and the reason."""

    winner: SpeculativeVariantKind
    saved_ns: float
    reason: str


def decide_race(race: SpeculativeVariantRace) -> SpeculativeVariantDecision:
    """Decide a race. The speculative launch wins with equal bytes, by the margin of every race, and beyond noise."""
    conservative = SpeculativeVariantKind.CONSERVATIVE
    if not race.has_equal_bytes:
        return SpeculativeVariantDecision(conservative, 0.0, "its outputs are other bytes")
    if not race.conservative_ns or not race.speculative_ns:
        return SpeculativeVariantDecision(conservative, 0.0, "nothing was measured")
    first, second = median(race.conservative_ns), median(race.speculative_ns)
    times = f"{second / 1e3:.1f} µs beside {first / 1e3:.1f} µs"
    if first <= MARGIN * second or not is_slower(race.conservative_ns, race.speculative_ns):
        return SpeculativeVariantDecision(conservative, 0.0, f"not clearly faster: {times}")
    return SpeculativeVariantDecision(SpeculativeVariantKind.SPECULATIVE, first - second, times)


def record_speculative_variant_race(
    backend: Tunable, keys: SpeculativeVariantKeys, race: SpeculativeVariantRace
) -> SpeculativeVariantDecision:
    """Decide a race, and use the winner for later launches of the program, also in later processes.

    The winner is stored under the program and its size. Prepared launches are not changed.
    """
    decision = decide_race(race)
    if decision.winner is SpeculativeVariantKind.SPECULATIVE:
        backend.take_choice(keys.program, keys.bucket, keys.speculative, race.compile_ns, drops_prepared=False)
    return decision


@runtime_checkable
class Reopenable(Protocol):
    """A backend that can open a second instance of its device for another thread."""

    def opened_again(self) -> VyreBackend:
        """Return a backend of the same device that shares nothing with this one. The caller shuts it down."""


def in_background(work: Callable[[], T]) -> Future[T]:
    """Run `work` in a daemon thread, or in this thread if no thread can be started."""
    future: Future[T] = Future()

    def run() -> None:
        future.set_running_or_notify_cancel()
        try:
            future.set_result(work())
        except BaseException as error:  # the wait raises it
            future.set_exception(error)

    try:
        threading.Thread(target=run, name="vyre-background", daemon=True).start()
    except RuntimeError:  # at the end of the interpreter
        run()
    return future


def compile_speculative(
    backend: VyreBackend,
    program: Program,
    config: DispatchConfig = DEFAULT_CONFIG,
    candidate: LaunchChoice | None = None,
) -> CompiledPipeline:
    """Compile a program, and search for a faster launch in the background.

    Args:
        backend: A backend of the engine.
        program: A valid program.
        config: The options of the dispatches. With ``speculation=Preference.DISABLE`` this is `compile`.
        candidate: The launch to try. By default another workgroup size, where it is proven not to matter.

    Returns:
        A pipeline that can be used at once. `SpeculativePipeline.decision` has the result for the candidate.

    Raises:
        UnsupportedFeature: The backend's device cannot be opened twice.
    """
    conservative = compile_pipeline(backend, program, config)
    if config.speculation is Preference.DISABLE:
        return conservative
    engine = innermost(backend)
    if not isinstance(engine, Tunable) or not isinstance(engine, Reopenable):
        fix = "compile without speculation, or choose a backend of the engine"
        raise UnsupportedFeature("speculative compilation", backend=backend.id(), fix=fix)
    return SpeculativePipeline(conservative, engine, program, config, candidate)


class SpeculativePipeline(DelegatingPipeline):
    """A pipeline that replaces its launch by a candidate that was compiled and has won a race."""

    def __init__(
        self,
        conservative: CompiledPipeline,
        backend: Tunable,
        program: Program,
        config: DispatchConfig,
        candidate: LaunchChoice | None = None,
    ) -> None:
        super().__init__(conservative)
        self._conservative, self._backend, self._program, self._config = conservative, backend, program, config
        self._candidate = candidate
        self._compiled: Future[tuple[VyreBackend, CompiledPipeline]] | None = None
        self._keys: SpeculativeVariantKeys | None = None
        self._times: list[tuple[float, float]] = []
        self._lock = threading.Lock()
        self._started = 0
        self.decision: SpeculativeVariantDecision | None = None
        """What became of the candidate; None while it is not decided."""

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """See `CompiledPipeline.dispatch`."""
        if self.decision is not None:
            return self.inner.dispatch(inputs, config)
        taken: list[bool] = []
        try:
            acquire_into(taken, self._lock, 0)
            if not taken[0]:
                return self.inner.dispatch(inputs, config)
            if self._compiled is None:
                self._begin(inputs)
                return self.inner.dispatch(inputs, config)
            if not self._compiled.done():
                return self.inner.dispatch(inputs, config)
            return self._both(self._compiled, inputs, config)
        finally:
            if taken and taken[0]:
                self._lock.release()

    def close(self) -> None:
        """Free both launches. A running compilation ends in the background, and then frees its results."""
        self._conservative.close()
        if self.decision is None:
            reason = "the pipeline was closed"
            self.decision = SpeculativeVariantDecision(SpeculativeVariantKind.CONSERVATIVE, 0.0, reason)
        if self._compiled is not None:
            self._compiled.add_done_callback(_free)

    def _begin(self, inputs: Inputs) -> None:
        """Begin to compile the candidate for inputs of this size."""
        views = [host_bytes("input", given) for given in inputs]
        lengths = [view.nbytes for view in views]
        choice = self._candidate or self._other_size(lengths)
        if choice is None:
            reason = "no other workgroup size is proven to mean the same"
            self.decision = SpeculativeVariantDecision(SpeculativeVariantKind.CONSERVATIVE, 0.0, reason)
            return
        bucket = size_bucket(lengths, self._config)
        self._keys = SpeculativeVariantKeys(self._program, bucket, LaunchChoice(), choice)
        copies = [bytes(view) for view in views]
        self._started = time.perf_counter_ns()

        def compile_and_warm_up() -> tuple[VyreBackend, CompiledPipeline]:
            assert isinstance(self._backend, Reopenable)
            again = self._backend.opened_again()
            try:
                assert isinstance(again, Tunable)
                pipeline = again.pipeline_for_trial(self._program, self._config, choice)
                for _ in range(2):
                    pipeline.dispatch(copies)
            except BaseException:
                again.shutdown()
                raise
            return again, pipeline

        self._compiled = in_background(compile_and_warm_up)

    def _other_size(self, lengths: Sequence[int]) -> LaunchChoice | None:
        try:
            plan = plan_launch(self._program, lengths, self._config)
        except BackendError:
            return None
        own = plan.program.workgroup_size
        profile = self._backend.device_profile()
        for width in WIDTHS:
            size: Extent = (width, 1, 1)
            fits = width <= min(profile.max_invocations_per_workgroup, profile.max_workgroup_size[0])
            if fits and size != own and resized(plan, self._config, size) is not None:
                return LaunchChoice(size)
        return None

    def _both(
        self, compiled: Future[tuple[VyreBackend, CompiledPipeline]], inputs: Inputs, config: DispatchConfig | None
    ) -> Outputs:
        """Run both launches over the same inputs: the outputs of the conservative one."""
        error = compiled.exception()
        if error is not None:
            self._end(SpeculativeVariantDecision(SpeculativeVariantKind.CONSERVATIVE, 0.0, f"it failed: {error}"))
            return self.inner.dispatch(inputs, config)
        _, candidate = compiled.result()
        began = time.perf_counter_ns()
        outputs = self.inner.dispatch(inputs, config)
        between = time.perf_counter_ns()
        try:
            others = candidate.dispatch(inputs, config)
        except BackendError as failure:
            self._end(SpeculativeVariantDecision(SpeculativeVariantKind.CONSERVATIVE, 0.0, f"it failed: {failure}"))
            return outputs
        self._times.append((between - began, time.perf_counter_ns() - between))
        is_equal = list(map(bytes, outputs)) == list(map(bytes, others))
        if not is_equal or len(self._times) == SAMPLES:
            self._decide(candidate, is_equal)
        return outputs

    def _decide(self, candidate: CompiledPipeline, is_equal: bool) -> None:
        first, second = zip(*self._times, strict=True)
        race = SpeculativeVariantRace(first, second, is_equal, time.perf_counter_ns() - self._started)
        assert self._keys is not None
        decision = record_speculative_variant_race(self._backend, self._keys, race)
        if decision.winner is SpeculativeVariantKind.SPECULATIVE:
            self.inner = candidate
        self._end(decision)

    def _end(self, decision: SpeculativeVariantDecision) -> None:
        self.decision = decision
        logger().debug("speculation on %s: %s, %s", self._program.name, decision.winner.value, decision.reason)
        if decision.winner is SpeculativeVariantKind.CONSERVATIVE and self._compiled is not None:
            self._compiled.add_done_callback(_free)


def _free(compiled: Future[tuple[VyreBackend, CompiledPipeline]]) -> None:
    if compiled.exception() is None:
        backend, pipeline = compiled.result()
        pipeline.close()
        backend.shutdown()


def compile_async(
    backend: VyreBackend, program: Program, config: DispatchConfig = DEFAULT_CONFIG
) -> Future[CompiledPipeline]:
    """Compile a program while other dispatches continue.

    Args:
        backend: The backend. If it uses the engine, it compiles on a second instance of its device and loads the code;
            dispatches wait only for the loading. Other backends compile in a background thread.
        program: A valid program.
        config: As for `compile`.

    Returns:
        A future, whose result is the pipeline. It raises the errors of `compile`.
    """
    engine = innermost(backend)
    if not isinstance(engine, CompilesAhead):
        return in_background(lambda: compile_pipeline(backend, program, config))

    def work() -> CompiledPipeline:
        engine.compile_beside(program, config)
        return compile_pipeline(backend, program, config)

    return in_background(work)


@runtime_checkable
class CompilesAhead(Protocol):
    """A backend that can compile on a second instance of its device."""

    def compile_beside(self, program: Program, config: DispatchConfig) -> None:
        """Compile a program on a second instance and load its code, if the runtime can export code."""
