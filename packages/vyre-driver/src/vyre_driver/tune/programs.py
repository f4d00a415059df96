"""Tune a program: its launches on each backend, and then which backend runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import innermost
from vyre_driver.backend.registration import Selection
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.device.profile import is_extent
from vyre_driver.errors import BackendError, InvalidLaunch, UnsupportedFeature
from vyre_driver.observe.live import backend_for
from vyre_driver.registry.backends import availability, registered_backends_by_precedence
from vyre_driver.tune.choice import size_bucket
from vyre_driver.tune.race import race
from vyre_driver.tune.routing import Route, shared_routes
from vyre_driver.tune.tuner import Tunable, TuningReport, clock_of, tune_launches

if TYPE_CHECKING:
    from vyre_driver.backend.results import Outputs
    from vyre_driver.device.profile import Extent
    from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of `tune_program`: a report for each backend, and the route if there were several.

    `refused` has the reasons for which backends were excluded.
    """

    reports: tuple[TuningReport, ...]
    route: Route | None
    refused: Mapping[str, str]

    def __str__(self) -> str:
        lines = [*map(str, self.reports), *(f"{backend} is refused: {why}" for backend, why in self.refused.items())]
        return "\n".join([*lines, *([] if self.route is None else [f"the route is {self.route}"])])


def tune_program(
    program: Program,
    inputs: Mapping[str, object],
    *,
    backend: str | VyreBackend | Sequence[str | VyreBackend] | None = None,
    config: DispatchConfig = DEFAULT_CONFIG,
    workgroup_sizes: Iterable[Extent] | None = None,
) -> Tuning:
    """Find the fastest launch of a program over data of this size by measurement, and use it for later launches.

    Args:
        program: A valid program.
        inputs: Arrays by name, as for a dispatch. What is found holds for inputs of about this size in bytes: of the
            same power of two.
        backend: The backend to tune for, or several. None: all that are available and may be chosen without being
            named; then a launch that names no backend takes the fastest.
        config: The options of the dispatches.
        workgroup_sizes: The sizes to try, where nothing proves that they do not matter. By default those that are
            proven.

    Returns:
        What was tried, with times, and what was chosen. Only launches with the same bytes are chosen.

    Raises:
        InvalidLaunch: No backend is named, or a workgroup size is invalid.
        UnsupportedFeature: None of the named backends can be tuned.
        BackendError: The program cannot be dispatched on any of the backends; this is the error of the first.
    """
    started = time.perf_counter_ns()
    names = _automatic() if backend is None or backend == "auto" else _listed(backend)
    sizes = None if workgroup_sizes is None else _extents(workgroup_sizes)
    if not names:
        fix = "name a backend, or leave the argument out for all available ones"
        raise InvalidLaunch("backend", needed="an id, or several", got="none", fix=fix)
    reports: list[TuningReport] = []
    refused: dict[str, str] = {}
    failures: list[BackendError] = []
    running: dict[str, VyreBackend] = {}
    for name in names:
        given = backend_for(name)
        engine = innermost(given)
        label = name if isinstance(name, str) and name != "auto" else given.id()
        if any(given is other for other in running.values()):  # another name of the same device
            continue
        try:
            if isinstance(engine, Tunable):
                reports.append(tune_launches(engine, program, inputs, config, sizes))
        except BackendError as error:
            refused[label] = error.message
            failures.append(error)
            continue
        running[label] = given
    if not running:
        raise failures[0]
    if not reports and len(names) == 1:
        fix = "name a backend of the engine, or several backends to choose among"
        raise UnsupportedFeature("tuning of launches", backend=next(iter(running)), fix=fix)
    route = _route(program, inputs, config, running, refused, started) if len(running) > 1 else None
    return Tuning(tuple(reports), route, refused)


def _automatic() -> list[str | VyreBackend]:
    found = [r.id for r in registered_backends_by_precedence() if r.selection is Selection.AUTOMATIC]
    usable: list[str | VyreBackend] = [id for id in found if availability(id).is_available]
    return usable or [backend_for(None)]


def _extents(sizes: Any) -> tuple[Extent, ...]:
    """The sizes that a caller names, checked."""
    found: tuple[Any, ...] = tuple(sizes) if isinstance(sizes, Iterable) else (sizes,)
    for size in found:
        if not is_extent(size) or min(size) < 1:
            fix = "pass a list of sizes, such as [(64, 1, 1), (256, 1, 1)]"
            needed = "tuples of three positive integers"
            raise InvalidLaunch("workgroup_sizes", needed=needed, got=repr(size), fix=fix)
    return found


def _listed(backend: str | VyreBackend | Sequence[str | VyreBackend]) -> list[str | VyreBackend]:
    return [backend] if isinstance(backend, (str, VyreBackend)) else list(backend)


def _route(
    program: Program,
    arrays: Mapping[str, object],
    config: DispatchConfig,
    running: Mapping[str, VyreBackend],
    refused: dict[str, str],
    started: int,
) -> Route | None:
    """Race the backends, each launching as it was tuned; the first is the incumbent. Keep the route."""
    inputs = ordered_inputs(program, arrays)

    def dispatching(backend: VyreBackend) -> Callable[[], Outputs]:
        return lambda: backend.dispatch(program, inputs, config)

    calls = {id: dispatching(backend) for id, backend in running.items()}
    outputs = {id: [bytes(output) for output in call()] for id, call in calls.items()}
    expected = next(iter(outputs.values()))
    for id in [id for id, found in outputs.items() if found != expected]:
        refused[id] = f"its outputs are other bytes than those of {next(iter(running))}"
        del calls[id]
    result = race([clock_of(call) for call in calls.values()])
    winner = list(calls)[result.winner]
    times = {id: result.median_ns(n) for n, id in enumerate(calls)}
    route = Route(winner, running[winner].device_profile().identity, times)
    bucket = size_bucket([given.nbytes for given in inputs], config)
    shared_routes().record(program, bucket, route, time.perf_counter_ns() - started)
    return route
