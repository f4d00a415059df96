"""Profiling and explaining programs and graphs in one call: arrays by name, the backend by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import vyre_driver
from vyre.execution import ProgramLaunch, backend_for, launch_of, on_host
from vyre_driver.arrays.dispatch import backend_of
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.registration import Selection
from vyre_driver.graph.nodes import Graph
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.plan.programs import HasProgram
from vyre_driver.profiling import SECONDS
from vyre_driver.profiling.verdicts import DispatchExplanation
from vyre_driver.registry.backends import availability, registered_backends_by_precedence
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.tune.routing import backend_for_launch
from vyre_foundation import Program

if TYPE_CHECKING:
    from vyre_driver.profiling.profile import DispatchProfile


def profile(
    what: Program | HasProgram | Graph | GraphRecorder,
    inputs: Mapping[str, object] | None = None,
    /,
    *,
    backend: str | VyreBackend | None = None,
    config: DispatchConfig | None = None,
    invocations: int | Sequence[int] | None = None,
    seconds: float = SECONDS,
    **arrays: object,
) -> DispatchProfile:
    """Run a program or a graph many times, and compare its kernels with the limits of the device.

    This opens the device a second time, and measures each kernel.

    Args:
        what: A program, a kernel, a graph, or the recorder of one.
        inputs: The inputs by name, for names that keywords cannot have.
        backend: As for `run`; for a graph, as for `backend_for`.
        config: The options of the dispatches of a program.
        invocations: As for `run`.
        seconds: The time for repeated runs, in seconds; the first profile on a device takes about a second more.
        **arrays: The inputs by name.

    Returns:
        The profile: ``print`` shows tables, ``to_json()`` gives data, a notebook shows bars and the roofline.

    Raises:
        UnsupportedFeature: The backend evaluates programs and has no kernels, as the reference does.
        VyreError: What `run` raises.
    """
    if isinstance(what, (Graph, GraphRecorder)):
        given, opened = {**(inputs or {}), **arrays}, backend_for(backend)
        return vyre_driver.profile_graph(_graph(what), given, opened, seconds=seconds)
    launch = launch_of(what, inputs, arrays, config, invocations)
    opened = backend_of_run(backend, launch)
    return vyre_driver.profile(launch.program, on_host(launch.arrays), opened, launch.config, seconds=seconds)


def explain(
    what: Program | HasProgram | Graph | GraphRecorder,
    inputs: Mapping[str, object] | None = None,
    /,
    *,
    backend: str | VyreBackend | None = None,
    config: DispatchConfig | None = None,
    invocations: int | Sequence[int] | None = None,
    **arrays: object,
) -> DispatchExplanation:
    """Explain every decision about running a program or a graph, with its reason. Nothing runs.

    Args:
        what: A program, a kernel, a graph, or the recorder of one. Programs are compiled if necessary.
        inputs: The inputs by name, for names that keywords cannot have. Those of a graph are not needed.
        backend: As for `run`; for a graph, as for `backend_for`.
        config: The options of the dispatch of a program.
        invocations: As for `run`.
        **arrays: The inputs by name.

    Returns:
        The decisions in the order in which they are made: ``print`` shows them, ``to_json()`` returns data.

    Raises:
        VyreError: What `run` raises before it runs.
    """
    if isinstance(what, (Graph, GraphRecorder)):
        with compile_graph(_graph(what), backend_for(backend)) as run:
            return vyre_driver.explain_graph(run)
    launch = launch_of(what, inputs, arrays, config, invocations)
    opened, given = backend_of_run(backend, launch), on_host(launch.arrays)
    chosen = why_chosen(backend, opened, launch)
    return vyre_driver.explain(launch.program, given, opened, launch.config, chosen=chosen)


def backend_of_run(asked: str | VyreBackend | None, launch: ProgramLaunch) -> VyreBackend:
    """The backend on which `run` runs a launch."""
    held = backend_of(launch.arrays.values()) if asked is None else None
    return backend_for_launch(asked, launch.program, launch.arrays, launch.config) if held is None else held


def why_chosen(asked: str | VyreBackend | None, found: VyreBackend, launch: ProgramLaunch) -> str:
    """Why a backend is the one: who named it, what it has, or which more preferred ones are not available."""
    if asked not in (None, "auto"):
        return "the caller names it"
    if asked is None and backend_of(launch.arrays.values()) is not None:
        return "the arrays are in its memory"
    if found is not backend_for(None):
        return "the fastest one that `tune` measured"
    passed = "; ".join(_passed_over(found.id()))
    return "the most preferred one that is available" + (f" ({passed})" if passed else "")


def _passed_over(chosen: str) -> Iterator[str]:
    for registration in registered_backends_by_precedence():
        if registration.id == chosen:
            return
        state = availability(registration.id)
        if registration.selection is Selection.AUTOMATIC and not state.is_available:
            yield f"{registration.id}: {state.reason}"


def _graph(what: Graph | GraphRecorder) -> Graph:
    return what.build() if isinstance(what, GraphRecorder) else what
