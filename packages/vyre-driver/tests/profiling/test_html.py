"""What notebooks show of profiles, explanations, graphs, devices and results: well-formed, escaped, without scripts."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.results import ResidentSequenceTiming, TimedDispatchResult
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.device.queue import Queue
from vyre_driver.graph.nodes import BufferKind, Graph, GraphBuffer
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.profiling.charts import COLOURS, bars, roofline
from vyre_driver.profiling.explain import explain
from vyre_driver.profiling.profile import profile
from vyre_driver.profiling.roofs import Roofs
from vyre_driver.schedule.compiled import compile_graph
from vyre_foundation import program, u32
from vyre_foundation.ir.program import Program
from vyre_foundation.testing.html import parsed

NAME = "<script>\"'&"


def hostile() -> Program:
    with program(NAME, workgroup_size=64) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)]
    return p.build()


@pytest.fixture(autouse=True)
def known_roofs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vyre_driver.profiling.profile.roofs_of", lambda backend, measure: Roofs(24e9, 10e9))


def text_of(value: object) -> str:
    return "".join(parsed(value._repr_html_()).text)  # type: ignore[attr-defined]


def test_a_profile_has_bars_a_roofline_and_verdicts(backend) -> None:
    found = profile(hostile(), {"a": np.zeros(64, np.uint32)}, backend, seconds=0)
    page = parsed(found.to_html())
    text = "".join(page.text)
    assert page.elements.count("svg") == 3
    assert f"profile of {NAME}" in text
    assert "operations a byte" in text
    assert "1 µs × 1" in text
    assert "verdicts" in text


def test_an_explanation_is_a_table(backend) -> None:
    found = explain(hostile(), {"a": np.zeros(64, np.uint32)}, backend, chosen=NAME)
    text = text_of(found)
    assert NAME in text
    assert "1 × 1 × 1" in text


def test_graphs_and_compiled_graphs(backend) -> None:
    g = GraphRecorder(NAME)
    x = g.input(NAME, u32, 64)
    g.output("y", g.dispatch(hostile(), a=g.dispatch(hostile(), a=x)["out"])["out"])
    made = g.build()
    assert f"graph {NAME}" in text_of(made)
    assert "2 dispatches" in text_of(made)
    assert '<span class="c">' not in made._repr_html_().replace('<span class="c">// after', "")
    with compile_graph(made, backend) as run:
        assert f"compiled graph {NAME}" in text_of(run)
        assert repr(run) == f"<CompiledGraph {NAME!r} on 'fake' by {'queue'!r}>"


def test_an_invalid_graph_shows_its_findings() -> None:
    made = Graph("bad", (GraphBuffer("x", BufferKind.INPUT, u32, -1),) * 2, ())
    assert "invalid" in text_of(made)


def test_devices() -> None:
    queues = (Queue(name=NAME, workers=8, launch_ns=1500),)
    text = text_of(DeviceProfile(backend="fake", device=NAME, vendor=NAME, supports_f16=True, queues=queues))
    assert "1.5 µs" in text
    assert "f16" in text
    assert NAME in text


def test_results() -> None:
    result = TimedDispatchResult(outputs=[memoryview(b"12345678")], wall_ns=1500, device_ns=500)
    assert repr(result) == "<TimedDispatchResult: 1 outputs, 8 bytes; wall 1.5 µs, device 0.5 µs>"
    assert "8 bytes" in text_of(result)
    timing = ResidentSequenceTiming(wall_ns=1500)
    assert repr(timing) == "<ResidentSequenceTiming: wall 1.5 µs>"
    assert "wall 1.5 µs" in text_of(timing)


def test_bars_are_as_long_as_what_they_show() -> None:
    made = bars([("long", 10.0, "10"), ("half", 5.0, "5"), (NAME, 0.0, "0")])
    parsed(made)
    widths = [float(part.split('"')[0]) for part in made.split(' width="')[2:]]
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.01)
    assert widths[2] == 1
    assert COLOURS[0] in made


def test_no_bars_are_an_empty_picture() -> None:
    parsed(bars([]))


def test_points_below_the_roof_lie_below_its_line() -> None:
    made = roofline([("under", 1.0, 1e9), ("at", 10.0, 10e9)], 10e9, 10e9)
    parsed(made)
    corner = made.split('points="')[1].split('"')[0].split()[1]
    under, at = (float(part.split('"')[0]) for part in made.split(' cy="')[1:])
    assert under > float(corner.split(",")[1])
    assert at == pytest.approx(float(corner.split(",")[1]), abs=0.1)
