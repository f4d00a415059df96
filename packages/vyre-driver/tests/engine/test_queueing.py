"""Choosing among the queues of a device: first by estimate, then by time, and never against the answer."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vyre_driver.backend.resources import ResidentDispatchStep
from vyre_driver.device.queue import Queue
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
from vyre_driver.pipeline.store import DiskStore
from vyre_driver.plan.cost import ESTIMATE, Cost
from vyre_driver.testing.target import generous_profile
from vyre_driver.tune.queue import MOVED, NS_PER_UNIT, RUNS, QueueChoice, Rate
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

Engine = Callable[..., SimpleNamespace]
QUEUES = (
    Queue(name="caller", workers=1, launch_ns=1_000, is_interruptible=False),
    Queue(name="pool", workers=2, launch_ns=40_000),
)
SMALL, LARGE = Cost(1_000, 16, True, 1_000), Cost(10_000_000, 16, True, 10_000_000)


def after(choice: QueueChoice, *times: int) -> int:
    for ns in times:
        choice.took(ns)
    return choice.verdict.queue


def test_what_was_right_is_watched_for_some_runs_and_then_left_alone() -> None:
    choice = QueueChoice(QUEUES, SMALL, Rate())
    assert after(choice, 900_000, *[5_000] * RUNS) == 0
    assert not choice.is_watching
    assert choice.verdict.reason == "measured: 'caller' 5 µs"


def test_another_queue_is_tried_when_it_would_have_paid_for_its_compilation() -> None:
    """200 µs here, 139.5 µs expected there: 60.5 µs saved in each run, and the first run took 600 µs more."""
    choice = QueueChoice(QUEUES, SMALL, Rate())
    moved = [choice.took(ns) for ns in (800_000, *[200_000] * 9)]
    assert moved == [False] * 9 + [True]
    assert choice.verdict.queue == 1
    assert choice.is_watching


def test_another_queue_is_tried_at_once_where_code_moves() -> None:
    """60.5 µs would be saved, and the first run, with a compilation, took 30 ms."""
    choice = QueueChoice(QUEUES, SMALL, Rate(), moves_code=True)
    moved = [choice.took(ns) for ns in (30_000_000, *[200_000] * RUNS)]
    assert moved == [False] * RUNS + [True]
    assert choice.verdict.queue == 1


def test_a_trial_that_fails_goes_back_for_good() -> None:
    choice = QueueChoice(QUEUES, SMALL, Rate())
    assert after(choice, 200_000, *[200_000] * RUNS) == 1
    assert after(choice, 900_000, *[260_000] * RUNS) == 0
    assert not choice.is_watching
    assert choice.verdict.reason == "measured: 'caller' 200 µs, 'pool' 260 µs"


def test_rates_are_learned_from_certain_work_that_takes_long_enough() -> None:
    rate = Rate(1.0)
    rate.learn(Cost(1_000_000, 1, False, 1_000_000), 10e6)
    rate.learn(Cost(1_000_000, 1, True, 1_000_000), 100.0)
    assert rate.ns_per_unit == 1.0
    rate.learn(Cost(1_000_000, 1, True, 1_000_000), 1_000_000 / 16)
    assert rate.ns_per_unit == pytest.approx(0.5)


def test_a_rate_decides_the_next_program() -> None:
    rate = Rate(1.0)
    choice = QueueChoice(QUEUES, Cost(100_000, 16, True, 100_000), rate)
    assert choice.verdict.queue == 1
    after(choice, 90_000, *[70_000] * RUNS)
    assert rate.ns_per_unit < 1.0
    assert QueueChoice(QUEUES, Cost(100_000, 16, True, 100_000), Rate(0.1)).verdict.queue == 0


# ── in the engine ──


def doubling(name: str = "doubling") -> Program:
    with program(name, 4) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 2
    return p.build()


def double(x: dict[str, np.ndarray]) -> None:
    x["out"][:] = x["x"] * 2


@pytest.fixture
def wide(engine: Engine) -> SimpleNamespace:
    return engine(double, profile=replace(generous_profile(), queues=QUEUES))


def test_small_and_large_dispatches_of_one_program_take_different_queues(wide: SimpleNamespace) -> None:
    source, small, large = doubling(), np.arange(8, dtype=np.uint32), np.arange(1 << 21, dtype=np.uint32)
    for x in (small, large):
        (out,) = wide.backend.dispatch(source, [x])
        assert out == (x * 2).tobytes()
    (port,) = wide.ports
    assert port.queues == [0, 1]
    counts = wide.backend.backend_metric_snapshot()
    assert (counts["compiles"], counts["prepares"]) == (2, 2)


def test_a_changed_verdict_prepares_the_launch_again(wide: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def took(choice: QueueChoice, ns: int) -> bool:
        choice.verdict = replace(choice.verdict, queue=1)
        return True

    monkeypatch.setattr(QueueChoice, "took", took)
    source, x = doubling(), np.arange(8, dtype=np.uint32)
    for _ in range(3):
        assert wide.backend.dispatch(source, [x]) == [(x * 2).tobytes()]
    (port,) = wide.ports
    assert port.queues == [0, 1, 1]
    counts = wide.backend.backend_metric_snapshot()
    assert (counts["plans"], counts["compiles"], counts["prepares"]) == (1, 2, 2)


def test_code_that_moves_is_compiled_and_stored_once(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For dispatches that are small and large, in this process and in a later one."""
    monkeypatch.setenv("VYRE_CACHE", "rw")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path))
    source, small, large = doubling(), np.arange(8, dtype=np.uint32), np.arange(1 << 21, dtype=np.uint32)
    profile, compiles = replace(generous_profile(), queues=QUEUES), []
    for sizes in ((small, large), (large, small)):
        e = engine(double, profile=profile, moves_code=True)
        for x in sizes:
            assert e.backend.dispatch(source, [x]) == [(x * 2).tobytes()]
        (port,) = e.ports
        assert port.queues == [0 if x is small else 1 for x in sizes]
        compiles.append(port.count("compile"))
    assert compiles == [1, 0]


def test_one_queue_is_never_timed(engine: Engine) -> None:
    e = engine(double)
    e.backend.dispatch(doubling(), [np.arange(8, dtype=np.uint32)])
    (kept,) = e.backend._dispatcher.launch_cache.entries.values()
    assert kept.choice is None


def test_what_was_learned_is_kept_for_later_processes(tmp_path: Path) -> None:
    store = DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path))
    known, device = DeviceSignatureTable(store), ("fake", "one")
    rate = Rate.of(known, device)
    assert rate.ns_per_unit == NS_PER_UNIT
    for _ in range(20):
        rate.learn(LARGE, 10 * LARGE.units * NS_PER_UNIT)
    assert rate.ns_per_unit > 5 * NS_PER_UNIT
    later = Rate.of(known, device).ns_per_unit
    assert 1 / MOVED < later / rate.ns_per_unit < MOVED
    assert Rate.of(known, ("fake", "other")).ns_per_unit == NS_PER_UNIT
    store.close()


@pytest.mark.parametrize("kept", [b"", b"fast", b"nan", b"0", b"1e9"])
def test_a_rate_that_cannot_be_believed_is_forgotten(tmp_path: Path, kept: bytes) -> None:
    store = DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path))
    known, device = DeviceSignatureTable(store), ("fake", "one")
    known.put(DeviceSignature(device, f"ns for a unit of estimate {ESTIMATE}"), kept)
    assert Rate.of(known, device).ns_per_unit == NS_PER_UNIT
    store.close()


# ── sequences ──


class Repeated:
    """A sequence that doubles `a` into `b`, and `b` into `a`, over and over."""

    def __init__(self, backend: EngineBackend) -> None:
        self.backend, self.x = backend, np.arange(8, dtype=np.uint32)
        self.a, self.b = backend.allocate_resident(32), backend.allocate_resident(32)
        source = doubling()
        self.steps = [
            ResidentDispatchStep(program=source, resources=pair) for pair in ((self.a, self.b), (self.b, self.a))
        ]

    def run(self, times: int) -> None:
        self.backend.upload_resident(self.a, self.x)
        self.backend.dispatch_resident_repeated_sequence_read_ranges_into([], self.steps, times, [], [])
        assert bytes(self.backend.download_resident(self.a)) == (self.x * 4**times).tobytes()


def test_a_sequence_takes_the_queue_that_was_measured(wide: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number of repetitions is measured by itself."""
    seen: dict[int, int] = {}

    def took(choice: QueueChoice, ns: int) -> bool:
        assert ns > 0
        seen[id(choice)] = seen.get(id(choice), 0) + 1
        choice.verdict, choice.is_watching = replace(choice.verdict, queue=1), seen[id(choice)] < 2
        return True

    monkeypatch.setattr(QueueChoice, "took", took)
    repeated = Repeated(wide.backend)
    for times in (2, 2, 2, 3, 2):
        repeated.run(times)
    (port,) = wide.ports
    assert port.queues == [0] * 4 + [1] * 8 + [0] * 6 + [1] * 4
    assert sorted(seen.values()) == [1, 2]  # a choice that is settled is not timed
    assert wide.backend.backend_metric_snapshot()["compiles"] == 2


def test_a_sequence_is_measured_for_few_numbers_of_repetitions_and_steps(
    wide: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeated = Repeated(wide.backend)
    for times in range(1, 15):
        repeated.run(times)
    monkeypatch.setattr("vyre_driver.engine.sequence.MOST_CHOICES", 2)
    monkeypatch.setattr("vyre_driver.engine.sequence.MOST_MEASURED", 1)
    monkeypatch.setattr(QueueChoice, "took", lambda choice, ns: pytest.fail("it is measured"))
    repeated.run(15)
    Repeated(wide.backend).run(2)


def test_the_rate_of_single_dispatches_learns_nothing_from_sequences(wide: SimpleNamespace) -> None:
    repeated = Repeated(wide.backend)
    for _ in range(2 * RUNS):
        repeated.run(2)
    with wide.backend.session() as device:
        assert device.rate.ns_per_unit == NS_PER_UNIT
