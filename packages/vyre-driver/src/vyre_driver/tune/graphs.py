"""The fastest form of a graph on a device, by measurement. It is stored with the device.

A form states what an executor may do: fuse, launch small dispatches together, overlap transfers with launches. Forms
whose outputs differ from those of the recorded order are excluded. The present form is the incumbent, so repeated races
do not alternate between forms (`race`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.graph.nodes import BufferKind, Graph
from vyre_driver.schedule.choice import FORMS, FormVerdict, GraphForm, choose_form, shared_forms
from vyre_driver.schedule.compiled import CompiledGraph, compile_form
from vyre_driver.schedule.executors import PlannedGraph, plan_graph
from vyre_driver.tune.race import Clock, race
from vyre_driver.tune.tuner import clock_of


@dataclass(frozen=True, slots=True)
class FormTrial:
    """A form with the nanoseconds of a launch (the median of `samples`), or the reason for which there are none."""

    form: GraphForm
    ns: float | None
    samples: int
    verdict: str


@dataclass(frozen=True, slots=True)
class GraphTuningReport:
    """The result of a race for one graph on one device."""

    backend: str
    device: str
    graph: str
    verdict: FormVerdict
    trials: tuple[FormTrial, ...]
    seconds: float

    def __str__(self) -> str:
        lines = [f"{self.graph!r} on {self.device} ({self.backend}): {self.verdict.form}, {self.verdict.reason}"]
        for trial in self.trials:
            samples = "1 sample" if trial.samples == 1 else f"{trial.samples} samples"
            took = "" if trial.ns is None else f"{trial.ns / 1e3:.1f} µs in {samples}, "
            lines.append(f"  {trial.form}: {took}{trial.verdict}")
        return "\n".join(lines)


def tune_graph(
    graph: Graph,
    arrays: Mapping[str, object],
    backend: VyreBackend,
    clock: Callable[[Callable[[], object]], Clock] = clock_of,
) -> GraphTuningReport:
    """Find the fastest form of a graph on a backend by measurement, and use it when the graph is compiled.

    Args:
        graph: A graph without resident buffers: each launch begins with the same contents.
        arrays: Its inputs by name.
        backend: A backend with resident memory.
        clock: A function that warms a launch up, and returns a function that times it.

    Returns:
        The report. Its verdict is kept with the device's identity, for this graph.

    Raises:
        InvalidGraph: With all findings.
        UnsupportedFeature: The graph has resident buffers, or the backend has no choice.
        BackendError: The graph cannot be launched.
    """
    started = time.perf_counter_ns()
    graph.validate()
    if graph.of(BufferKind.RESIDENT):
        fix = "measure a graph with inputs in place of its resident buffers"
        raise UnsupportedFeature("tuning of graphs over resident buffers", backend=backend.id(), fix=fix)
    present = choose_form(graph, backend)
    trials: list[FormTrial] = []
    with ExitStack() as stack:
        racing = dict[GraphForm, CompiledGraph]()
        recorded = stack.enter_context(compile_form(graph, backend, _trial(_RECORDED)))
        expected = {name: array.tobytes() for name, array in recorded.run(arrays).items()}
        for form in _different(graph, [present.form, *FORMS], overlap=backend.supports_async_compute()):
            run = stack.enter_context(compile_form(graph, backend, _trial(form)))
            if {name: array.tobytes() for name, array in run.run(arrays).items()} == expected:
                racing[form] = run
            else:
                trials.append(FormTrial(form, None, 0, "refused: its outputs are other bytes"))
        racing = racing or {_RECORDED: recorded}
        result = race([clock(partial(_launch, run, arrays)) for run in racing.values()])
    forms = list(racing)
    times = {str(form): result.median_ns(n) for n, form in enumerate(forms)}
    for n, form in enumerate(forms):
        stated = "taken" if n == result.winner else "slower, or not clearly faster"
        trials.append(FormTrial(form, result.median_ns(n), len(result.times[n]), stated))
    best = forms[result.winner]
    told = ", ".join(f"{name} {ns / 1e3:.1f} µs" for name, ns in times.items())
    verdict = FormVerdict(best, f"measured: {told}", times)
    shared_forms().put(graph, backend, verdict, time.perf_counter_ns() - started)
    seconds = (time.perf_counter_ns() - started) / 1e9
    device = backend.device_profile().device
    return GraphTuningReport(backend.id(), device, graph.name, verdict, tuple(trials), seconds)


_RECORDED = GraphForm(fusion=False, batching=False, overlap=False)


def _launch(run: CompiledGraph, arrays: Mapping[str, object]) -> None:
    run.run(arrays)


def _trial(form: GraphForm) -> FormVerdict:
    return FormVerdict(form, "it is being measured")


def _different(graph: Graph, forms: list[GraphForm], *, overlap: bool) -> list[GraphForm]:
    """The forms that are possible and differ for this graph, in order."""
    found: list[tuple[GraphForm, PlannedGraph]] = []
    for form in dict.fromkeys(forms):
        if form.overlap and not overlap:
            continue
        planned = plan_graph(graph, _trial(form))
        if not any(planned.is_like(other) for _, other in found):
            found.append((form, planned))
    return [form for form, _ in found]
