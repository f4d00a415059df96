"""Profiles on a device whose clock says 1000 ns for each kernel: rates and shares are exact."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import InvalidInput, UnsupportedFeature
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.observe.trace import KernelRun
from vyre_driver.pipeline.signature import DeviceSignatureTable
from vyre_driver.profiling import roofs as roofs_module
from vyre_driver.profiling.profile import KernelProfile, _kernels, profile, profile_graph
from vyre_driver.profiling.roofs import Roofs, chains, copying, measure_roofs, roofs_of, stream
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.full import FullBackend
from vyre_foundation import u32
from vyre_foundation.errors import VyreError

from .conftest import compute

KNOWN = Roofs(24e9, 10e9)


@pytest.fixture(autouse=True)
def known_roofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device's: 24 bytes and 10 operations in a nanosecond."""
    monkeypatch.setattr("vyre_driver.profiling.profile.roofs_of", lambda backend, measure: KNOWN)


def test_rates_and_shares(backend, summing, arrays) -> None:
    found = profile(summing, arrays, backend, seconds=0)
    (kernel,) = found.kernels
    assert (kernel.program, kernel.launches, kernel.ns) == ("summing", 1, 1000)
    assert (kernel.moved_bytes, kernel.operations) == (12 * 1024, 1024)
    assert kernel.bytes_per_second == 12.288e9
    assert kernel.operations_per_second == 1.024e9
    assert kernel.memory_share == pytest.approx(0.512)
    assert kernel.arithmetic_share == pytest.approx(0.1024)
    assert kernel.limit == "memory"
    assert found.device_ns == 1000
    assert found.runs == 5
    assert {"plan", "optimize", "legalize", "emit", "compile", "bind"} <= found.phases.keys()
    assert sum(found.phases.values()) <= found.first_ns


def test_the_backend_itself_is_not_used(backend, summing, arrays) -> None:
    profile(summing, arrays, backend, seconds=0)
    assert backend.backend_metric_snapshot()["dispatches"] == 0


def test_kernels_of_a_graph_are_told_apart(backend, summing) -> None:
    g = GraphRecorder("sums")
    x, y = g.input("x", u32, 1024), g.input("y", u32, 64)
    first = g.dispatch(summing, a=g.dispatch(summing, a=x, b=x)["out"], b=x)["out"]
    g.output("wide", first)
    g.output("narrow", g.dispatch(summing, a=y, b=y)["out"])
    given = {"x": np.zeros(1024, np.uint32), "y": np.zeros(64, np.uint32)}
    found = profile_graph(g.build(), given, backend, fusion=False, seconds=0)
    assert [(kernel.grid, kernel.launches) for kernel in found.kernels] == [((16, 1, 1), 2), ((1, 1, 1), 1)]
    assert found.device_ns == 3000
    assert "executor" in {verdict.subject for verdict in found.verdicts}


MOVED = [
    ("aaaabbbb", [("b", 2, 20)]),  # two launches in each of four runs; a queue has taken the place of the other
    ("aaaaaaab", [("b", 2, 20)]),
    ("aaaaaaaa", [("a", 2, 10)]),
    ("abababab", [("b", 1, 20), ("a", 1, 10)]),  # both in each run
]


@pytest.mark.parametrize(("queues", "rows"), MOVED)
def test_a_queue_that_changes_is_one_row(queues: str, rows: list[tuple[str, int, int]]) -> None:
    runs = [
        KernelRun("k", "k", "d", queue, (1, 1, 1), (64, 1, 1), n, n + 1, {"a": 10, "b": 20}[queue], None)
        for n, queue in enumerate(queues)
    ]
    assert [(kernel.queue, kernel.launches, kernel.ns) for kernel in _kernels(runs, 4, None)] == rows


def test_a_device_without_a_clock_has_no_rates(summing, arrays) -> None:
    made = EngineBackend("fake", lambda: FakePort(compute, elapsed_ns=None))
    found = profile(summing, arrays, made, seconds=0)
    made.shutdown()
    (kernel,) = found.kernels
    assert (kernel.ns, kernel.bytes_per_second, kernel.memory_share, kernel.limit) == (None, None, None, "")
    assert found.device_ns is None
    assert "–" in str(found)


def test_text_and_data(backend, summing, arrays) -> None:
    found = profile(summing, arrays, backend, seconds=0)
    document = json.loads(json.dumps(found.to_json()))
    assert document["kernels"][0]["limit"] == "memory"
    assert document["roofs"] == {"bytes_per_second": 24e9, "operations_per_second": 10e9}
    head, row = str(found).splitlines()[2:4]
    assert head.split() == [
        *("kernel", "queue", "launches", "time", "bytes", "GB/s", "memory"),
        *("operations", "Gop/s", "arithmetic", "limit"),
    ]
    assert row.split()[:2] == ["summing", "queue"]
    assert "51 %" in row
    assert repr(found).startswith("<Profile of 'summing' on 'fake': ")


# memory share, arithmetic share → limit
LIMITS = [(0.5, 0.2, "memory"), (0.2, 0.5, "arithmetic"), (1.5, 0.2, "caches"), (0.05, 0.01, "neither")]


@pytest.mark.parametrize(("memory", "arithmetic", "limit"), LIMITS)
def test_the_limit_is_the_nearest_roof(memory: float, arithmetic: float, limit: str) -> None:
    kernel = KernelProfile("k", "q", (1, 1, 1), 1, 1, 1.0, 1.0, 1.0, True, memory, arithmetic)
    assert kernel.limit == limit


def test_what_cannot_be_profiled_says_why(backend, summing, arrays) -> None:
    with pytest.raises(UnsupportedFeature, match="nothing knows its kernels"):
        profile(summing, arrays, FullBackend(compute))
    with pytest.raises(InvalidInput):
        profile(summing, {"a": arrays["a"]}, backend)
    g = GraphRecorder("resident")
    g.output("z", g.dispatch(summing, a=g.resident("x", u32, 64), b=g.input("y", u32, 64))["out"])
    with pytest.raises(VyreError, match="resident buffers"):
        profile_graph(g.build(), {}, backend)


# ── roofs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_roofs_are_what_the_programs_reach(backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofs_module, "STREAM_BYTES", 2**16)
    found = measure_roofs(backend)
    assert found is not None
    # 3 arrays of 2**16 bytes, and 2**16 invocations of 8 chains of 512 multiplications and additions, in 1000 ns
    assert found.bytes_per_second == 3 * 2**16 * 1e6
    assert found.operations_per_second == pytest.approx(2**16 * 8 * 512 * 2 * 1e6, rel=0.01)
    assert found.ridge == pytest.approx(found.operations_per_second / found.bytes_per_second)


def test_roofs_need_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofs_module, "STREAM_BYTES", 2**16)
    made = EngineBackend("fake", lambda: FakePort(compute, elapsed_ns=None))
    assert roofs_of(made) is None
    made.shutdown()


def test_roofs_are_measured_once_for_a_device(backend, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[object, bytes] = {}

    def put(self, signature, answer, cost_ns=0) -> None:
        kept[signature] = answer

    def get(self, signature, read):
        return read(kept[signature]) if "roofs" in signature.question and signature in kept else None

    monkeypatch.setattr(DeviceSignatureTable, "put", put)
    monkeypatch.setattr(DeviceSignatureTable, "get", get)
    assert roofs_of(backend, measure=False) is None
    monkeypatch.setattr(roofs_module, "STREAM_BYTES", 2**16)
    first = roofs_of(backend)
    monkeypatch.setattr(roofs_module, "measure_roofs", lambda backend, memory: pytest.fail("measured again"))
    assert roofs_of(backend) == first


def test_the_programs_of_the_roofs_are_valid() -> None:
    for made in (stream(), copying(), chains()):
        assert made.validate().determinism.is_deterministic
