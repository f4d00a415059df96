"""Races of the forms of a graph, over scripted times: what is taken, kept, and refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs, borrowed_input_slices
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.resident import HostMemoryBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.graph.nodes import Graph
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.signature import DeviceSignatureTable
from vyre_driver.pipeline.store import DiskStore
from vyre_driver.schedule import choice
from vyre_driver.schedule.choice import FormChoices, GraphForm
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.evaluate import dispatch_on_host
from vyre_driver.testing.graphs import compute, programs
from vyre_driver.tune import graphs
from vyre_driver.tune.graphs import tune_graph
from vyre_driver.tune.race import Clock
from vyre_foundation.dtype import u32

X = np.arange(100, dtype=np.uint32)
AS_RECORDED = GraphForm(fusion=False, batching=True, overlap=False)
FUSED = GraphForm(fusion=True, batching=True, overlap=False)


class Adding(HostMemoryBackend, contract=1):
    """It computes ``x * 3 + 1`` for a dispatch that is not fused, and with `error` another number for one that is."""

    def __init__(self, error: int = 0) -> None:
        self.error = error
        super().__init__()

    def id(self) -> str:
        return "adding"

    def device_profile(self) -> DeviceProfile:
        most = (1024, 1024, 1024)
        return DeviceProfile(
            backend="adding", device="adder", max_workgroup_size=most, max_invocations_per_workgroup=1024
        )

    def dispatch(self, program: Any, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        def evaluate(plan: Any, memory: Any) -> None:
            names = [buffer.name for buffer in (*plan.program.inputs, *plan.program.outputs)]
            x, out = (np.frombuffer(memory[name], np.uint32) for name in names)
            made = compute("affine", {"x": x})["out"]
            if plan.program.name != "affine":
                made = made * np.uint32(3) + np.uint32(1 + self.error)
            out[:] = made

        return dispatch_on_host(program, borrowed_input_slices(inputs), config, evaluate)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskStore]:
    """A store of its own for each test, which later processes are played with."""
    found = DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path))
    monkeypatch.setattr(choice, "shared_store", lambda: found)
    choice.shared_forms.cache_clear()
    yield found
    choice.shared_forms.cache_clear()
    found.close()


def pair() -> Graph:
    g = GraphRecorder("pair")
    x = g.input("x", u32, 100)
    for _ in range(2):
        x = g.dispatch(programs()["affine"], x=x)["out"]
    g.output("y", x)
    return g.build()


def clocks(**ns: float) -> Callable[[Callable[[], object]], Clock]:
    """Scripted times: `fused` of a launch with one dispatch, `recorded` of one with two."""

    def clock(launch: Callable[[], object]) -> Clock:
        run = launch.args[0]  # type: ignore[attr-defined]
        return lambda: ns["fused" if len(run.dispatches) == 1 else "recorded"]

    return clock


def test_the_faster_form_is_taken_and_kept(store: DiskStore) -> None:
    backend, graph = Adding(), pair()
    report = tune_graph(graph, {"x": X}, backend, clocks(fused=300.0, recorded=100.0))
    assert (report.verdict.form, report.graph, report.device) == (AS_RECORDED, "pair", "adder")
    assert report.verdict.times == {str(FUSED): 300.0, str(AS_RECORDED): 100.0}
    run = compile_graph(graph, backend)
    assert run.dispatches == ("affine", "affine#2")
    told = f"measured: {FUSED} 0.3 µs, {AS_RECORDED} 0.1 µs"
    assert run.reason == f"all of it is enqueued at once: {told}"
    later = FormChoices(DeviceSignatureTable(store)).get(graph, backend)
    assert later == report.verdict
    assert "taken" in str(report)


def test_a_form_keeps_its_place_against_noise() -> None:
    backend, graph = Adding(), pair()
    for ns in ({"fused": 103.0, "recorded": 100.0}, {"fused": 98.0, "recorded": 100.0}):
        assert tune_graph(graph, {"x": X}, backend, clocks(**ns)).verdict.form == FUSED
    tune_graph(graph, {"x": X}, backend, clocks(fused=200.0, recorded=100.0))
    for ns in ({"fused": 97.0, "recorded": 100.0}, {"fused": 101.0, "recorded": 100.0}):
        assert tune_graph(graph, {"x": X}, backend, clocks(**ns)).verdict.form == AS_RECORDED
    assert tune_graph(graph, {"x": X}, backend, clocks(fused=50.0, recorded=100.0)).verdict.form == FUSED


def test_a_form_with_other_bytes_takes_no_part() -> None:
    report = tune_graph(pair(), {"x": X}, Adding(error=1), clocks(fused=1.0, recorded=100.0))
    assert report.verdict.form == AS_RECORDED
    assert [(trial.form, trial.ns) for trial in report.trials] == [(FUSED, None), (AS_RECORDED, 100.0)]
    assert report.trials[0].verdict == "refused: its outputs are other bytes"


def test_what_was_kept_and_cannot_be_read_is_asked_again(store: DiskStore) -> None:
    backend, graph = Adding(), pair()
    asked = choice._signature(graph, backend)
    for written in (b"[]", b'{"allowed": [1, true, true], "reason": "", "times": {}}', b'{"allowed": [true]}'):
        DeviceSignatureTable(store).put(asked, written)
        assert FormChoices(DeviceSignatureTable(store)).get(graph, backend) is None


def test_resident_buffers_are_refused() -> None:
    g = GraphRecorder("g")
    g.dispatch(programs()["mix"], y=g.resident("y", u32, 4))
    with pytest.raises(UnsupportedFeature, match="tuning of graphs over resident buffers"):
        tune_graph(g.build(), {}, Adding())


def test_launches_are_timed_where_no_clock_is_given() -> None:
    report = graphs.tune_graph(pair(), {"x": X}, Adding())
    assert all(trial.ns is not None and trial.ns > 0 for trial in report.trials)
