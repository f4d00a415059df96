"""Explanations collect what the parts of the engine have decided; the numbers are counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.device.queue import Queue
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.profiling.explain import explain, explain_graph
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.target import generous_profile
from vyre_foundation import program, u32

from .conftest import compute


def test_every_verdict_has_its_choice_and_reason(backend, summing, arrays) -> None:
    found = explain(summing, arrays, backend)
    assert [verdict.subject for verdict in found.verdicts] == [
        *("backend", "device", "workgroup", "grid", "queue", "code", "memory", "zeroing", "launches", "bounds"),
        *("invocations", "passes", "determinism"),
    ]
    assert (found["grid"].choice, found["grid"].reason) == ("16 × 1 × 1", "1024 invocations for 1024 elements")
    assert found["grid"].facts == {"grid": [16, 1, 1], "invocations": 1024, "repeats": 1}
    assert found["code"].choice == "compiled now"
    assert found["memory"].choice == "copied"
    assert found["zeroing"].choice == "not of out"
    assert found["launches"].facts["kernels"] == [{"name": "entry_0", "grid": [16, 1, 1], "workgroup_size": [64, 1, 1]}]
    assert found["determinism"].choice == "proven"
    bounds = found["bounds"].facts
    assert bounds["accesses"] == 3
    assert bounds["proven"] + bounds["guarded"] + bounds["checked"] == 3
    with pytest.raises(KeyError):
        found["nothing"]


def test_nothing_runs_and_the_next_dispatch_prepares_nothing(backend, summing, arrays) -> None:
    explain(summing, arrays, backend)
    explained = backend.backend_metric_snapshot()
    assert (explained["dispatches"], explained["launches"], explained["compiles"]) == (0, 0, 1)
    backend.dispatch_arrays(summing, arrays)
    ran = backend.backend_metric_snapshot()
    assert (ran["prepares"], ran["compiles"]) == (explained["prepares"], 1)
    assert explain(summing, arrays, backend)["code"].choice == "in memory"


def test_the_queue_is_the_verdict_of_the_engine(summing, arrays) -> None:
    queues = (Queue(name="here", launch_ns=10), Queue(name="there", workers=8, launch_ns=1e9))
    made = EngineBackend("fake", lambda: FakePort(compute, profile=replace(generous_profile(), queues=queues)))
    try:
        queue = explain(summing, arrays, made)["queue"]
        assert queue.choice == "here"
        assert queue.facts == {"workers": 1, "launch_ns": 10}
        assert "'there' 1 s" in queue.reason
    finally:
        made.shutdown()


def test_an_empty_grid_has_no_code(backend, summing) -> None:
    empty = np.zeros(0, np.uint32)
    assert explain(summing, {"a": empty, "b": empty}, backend)["code"].choice == "none"


def test_options_are_reasons(backend, summing, arrays) -> None:
    config = DispatchConfig(grid_override=(3, 1, 1), workgroup_override=(32, 1, 1))
    found = explain(summing, arrays, backend, config, chosen="the caller names it")
    assert str(found["backend"]) == "fake: the caller names it"
    assert str(found["grid"]) == "3 × 1 × 1: the configuration or the caller asks for it"
    assert str(found["workgroup"]) == "32 × 1 × 1: the configuration asks for it"


def test_a_backend_without_the_engine_explains_the_plan() -> None:
    with program("copying", workgroup_size=64) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)]
    found = explain(p.build(), {"a": np.zeros(100, np.uint32)}, FullBackend(compute))
    assert found["grid"].choice == "2 × 1 × 1"
    assert found["code"].choice == "none"


def test_missing_inputs_are_named(backend, summing, arrays) -> None:
    with pytest.raises(InvalidInput, match="b"):
        explain(summing, {"a": arrays["a"]}, backend)


def test_data_and_text_say_the_same(backend, summing, arrays) -> None:
    found = explain(summing, arrays, backend)
    document = json.loads(json.dumps(found.to_json()))
    assert document["fingerprint"] == summing.fingerprint()
    lines = str(found).splitlines()
    for verdict, line in zip(document["verdicts"], lines, strict=False):
        assert line.startswith(verdict["subject"])
        assert verdict["choice"] in line
    assert str(summing).strip() in str(found)
    assert repr(found) == "<DispatchExplanation of 'summing': 13 verdicts>"


def test_a_graph_says_what_is_fused_and_how_it_loops(backend, summing) -> None:
    g = GraphRecorder("twice")
    x, y = g.input("x", u32, 64), g.input("y", u32, 64)
    g.output("z", g.dispatch(summing, a=g.dispatch(summing, a=x, b=y)["out"], b=y)["out"])
    for fusion, dispatches in ((True, 1), (False, 2)):
        with compile_graph(g.build(), backend, fusion=fusion) as run:
            found = explain_graph(run)
        assert found["executor"].choice == "queue"
        assert len(found["fusion"].facts["dispatches"]) == dispatches
        assert found["fusion"].choice.startswith("2 dispatches as 1: " if fusion else "none")
