"""Metrics: what backends count, read when asked, and the seconds of their calls."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from vyre_driver.errors import DeviceLost, InvalidInput, MissingExtra
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.observe.prometheus import BackendMetrics
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.full import FullBackend
from vyre_foundation import program, u32


class Counting(FullBackend, contract=1):
    def backend_metric_snapshot(self) -> dict[str, int]:
        return {"launches": 5, "bytes_in": 24, "bytes_out": 12, "dispatches": 4}


@pytest.fixture
def metrics() -> BackendMetrics:
    return BackendMetrics(CollectorRegistry())


def samples(metrics: BackendMetrics) -> dict[tuple[str, ...], float]:
    found = {}
    for family in text_string_to_metric_families(metrics.text()):
        for sample in family.samples:
            found[(sample.name, *sample.labels.values())] = sample.value
    return found


def test_counts_are_read_when_asked(metrics) -> None:
    metrics.watch(Counting(lambda plan, memory: None, "one"))
    metrics.watch(Counting(lambda plan, memory: None, "two"))
    found = samples(metrics)
    assert found["vyre_driver_dispatch_launches_total", "one"] == 5
    assert found["vyre_driver_dispatch_bytes_total", "two", "input"] == 24
    assert found["vyre_driver_dispatch_bytes_total", "two", "output"] == 12
    assert found["vyre_driver_dispatches_total", "one"] == 4
    assert found["vyre_driver_pipeline_cache_hits_total", "one"] == 3


def test_calls_are_timed(metrics, backend, doubling, words) -> None:
    watched = metrics.watch(backend)
    watched.dispatch(doubling, [words])
    watched.dispatch(doubling, [words])
    backend.lose_device()
    with pytest.raises(DeviceLost):
        watched.dispatch(doubling, [words])
    found = samples(metrics)
    assert found["vyre_driver_call_seconds_count", "full", "dispatch", "ok"] == 2
    assert found["vyre_driver_call_seconds_count", "full", "dispatch", "DeviceLost"] == 1
    assert found["vyre_driver_dispatches_total", "full"] == 2


def test_a_watched_backend_gives_the_same_answers(metrics, backend, doubling, words) -> None:
    assert metrics.watch(backend).dispatch(doubling, [words]) == backend.dispatch(doubling, [words])


def test_launches_of_graphs_are_timed(metrics, backend) -> None:
    with program("copying", workgroup_size=4) as p:  # the backend of these tests computes its double
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)]
    g = GraphRecorder("twice")
    g.output("y", g.dispatch(p.build(), a=g.input("x", u32, 6))["out"])
    with compile_graph(g.build(), metrics.watch(backend)) as run:
        for _ in range(2):
            assert run.run(x=np.arange(6, dtype=np.uint32))["y"].tolist() == [0, 2, 4, 6, 8, 10]
    assert samples(metrics)["vyre_driver_call_seconds_count", "full", "graph", "ok"] == 2


def test_a_registry_has_one_of_them(metrics) -> None:
    with pytest.raises(InvalidInput, match=r"argument 'registry'.*Fix: watch all backends with one BackendMetrics"):
        BackendMetrics(metrics._registry)


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("prometheus", "prometheus_client", "prometheus"), ("spans", "opentelemetry", "otel")],
)
def test_a_missing_package_is_named_with_its_extra(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == package or name == f"vyre_driver.observe.{module}":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'vyre-driver\[{extra}\]'") as caught:
        import_module(f"vyre_driver.observe.{module}")
    assert isinstance(caught.value, ModuleNotFoundError)
    assert (caught.value.name or "").partition(".")[0] == package
