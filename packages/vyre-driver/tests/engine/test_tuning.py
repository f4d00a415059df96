"""Tuning launches on an engine: what is taken, what is refused, and that later launches use it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.device.queue import Queue
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import InvalidLaunch, UnsupportedFeature
from vyre_driver.legalization.target import Groups
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.signature import DeviceSignatureTable
from vyre_driver.pipeline.store import DiskStore
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.target import generous_profile, generous_target
from vyre_driver.tune import tuner
from vyre_driver.tune.choice import LaunchChoice, LaunchChoices, size_bucket
from vyre_driver.tune.programs import tune_program
from vyre_driver.tune.routing import Route, RoutingTable
from vyre_driver.tune.tuner import tune_launches
from vyre_foundation import Program, program, u32

A = np.arange(64, dtype=np.uint32)
BEST = LaunchChoice((32, 1, 1))


def doubling(size: int = 4) -> Program:
    with program("doubling", size) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)] * 2
    return p.build()


class Machine:
    """Doubles, slowly but for workgroups of 32; those of `wrong` invocations compute something else."""

    def __init__(self, wrong: int = 0) -> None:
        self.wrong, self.sizes = wrong, list[int]()

    def evaluate(self, plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
        width = plan.program.workgroup_size[0]
        self.sizes.append(width)
        if width != 32:
            time.sleep(0.001)
        given, made = (np.frombuffer(memory[name], np.uint32) for name in ("a", "out"))
        made[:] = given * 2 + (width == self.wrong)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def backend(machine: Machine) -> Any:
    made = EngineBackend("fake", lambda: FakePort(machine.evaluate))
    yield made
    made.shutdown()


def test_the_fastest_size_is_taken_and_used(backend: EngineBackend, machine: Machine) -> None:
    before = backend.dispatch(doubling(), [A])
    report = tune_launches(backend, doubling(), {"a": A})
    assert report.choice.workgroup_size == (32, 1, 1)
    assert report.speedup > 2
    assert {4, 32} <= set(machine.sizes)
    machine.sizes.clear()
    assert backend.dispatch(doubling(), [A]) == before
    with backend.compile_native(doubling()) as pipeline:
        pipeline.dispatch([A + 1])
    given, made = backend.allocate_resident(A.nbytes), backend.allocate_resident(A.nbytes)
    backend.dispatch_resident_timed(doubling(), [given, made])
    assert machine.sizes == [32, 32, 32]


def test_other_sizes_and_configurations_are_left_alone(backend: EngineBackend, machine: Machine) -> None:
    tune_launches(backend, doubling(), {"a": A})
    machine.sizes.clear()
    backend.dispatch(doubling(), [np.arange(1024, dtype=np.uint32)])
    backend.dispatch(doubling(), [A], DispatchConfig(workgroup_override=(16, 1, 1)))
    assert machine.sizes == [4, 16]


def test_a_candidate_with_other_bytes_is_refused(backend: EngineBackend, machine: Machine) -> None:
    machine.wrong = 32
    report = tune_launches(backend, doubling(), {"a": A})
    verdicts = {trial.choice: trial.verdict for trial in report.trials}
    assert verdicts[BEST] == "refused: its outputs are other bytes"
    assert report.choice.workgroup_size != (32, 1, 1)


def test_what_is_taken_stays_unless_another_is_clearly_faster(backend: EngineBackend, machine: Machine) -> None:
    first = tune_launches(backend, doubling(), {"a": A})
    again = tune_launches(backend, doubling(), {"a": A})
    assert again.choice.workgroup_size == first.choice.workgroup_size
    assert LaunchChoice((32, 1, 1)) in [trial.choice for trial in again.trials]


def test_a_choice_that_is_wrong_today_loses_its_place(backend: EngineBackend, machine: Machine) -> None:
    tune_launches(backend, doubling(), {"a": A})
    machine.wrong = 32
    assert tune_launches(backend, doubling(), {"a": A}).choice.workgroup_size != (32, 1, 1)


def test_sizes_that_could_matter_are_tried_only_if_the_caller_answers_for_them(backend: EngineBackend) -> None:
    with program("named", 4) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.workgroup_id(0) * 0 + p.global_id(0)] * 2
    named = p.build()
    assert [trial.choice for trial in tune_launches(backend, named, {"a": A}).trials] == [LaunchChoice()]
    declared = tune_launches(backend, named, {"a": A}, workgroup_sizes=[(32, 1, 1), (5000, 1, 1)])
    assert declared.choice.workgroup_size == (32, 1, 1)
    assert declared.choice.is_declared
    assert len(declared.trials) == 2
    assert declared.sizes.endswith("not possible on this device and grid: 5000 × 1 × 1")


@pytest.mark.parametrize("sizes", [64, "64", [64], [(0, 1, 1)], [(64, 1)], [(True, 1, 1)], [(64.0, 1, 1)]])
def test_sizes_that_are_none_are_refused_by_their_name(backend: EngineBackend, sizes: Any) -> None:
    with pytest.raises(InvalidLaunch, match=r"workgroup_sizes: got .* Fix: pass a list of sizes"):
        tune_program(doubling(), {"a": A}, backend=backend, workgroup_sizes=sizes)


def test_no_backend_is_refused(backend: EngineBackend) -> None:
    with pytest.raises(InvalidLaunch, match=r"backend: got none"):
        tune_program(doubling(), {"a": A}, backend=[])


def test_a_backend_that_is_named_twice_is_tuned_once(backend: EngineBackend) -> None:
    found = tune_program(doubling(), {"a": A}, backend=[backend, backend])
    assert (len(found.reports), found.route) == (1, None)


def test_a_choice_of_the_queue_that_the_engine_chooses_is_no_other_candidate(machine: Machine) -> None:
    queues = (Queue(name="caller"), Queue(name="pool", workers=8, launch_ns=1e9))
    made = EngineBackend("fake", lambda: FakePort(machine.evaluate, profile=replace(generous_profile(), queues=queues)))
    first, again = (tune_launches(made, once(), {"a": A}) for _ in range(2))
    assert first.choice.queue == again.choice.queue == "caller"
    assert [trial.choice for trial in again.trials] == [LaunchChoice()]
    made.shutdown()


def test_nothing_is_run_where_no_other_launch_is_worth_a_trial(machine: Machine) -> None:
    target = replace(generous_target(), groups=Groups.LOOPS)
    made = EngineBackend("fake", lambda: FakePort(machine.evaluate, spelled=target))
    many = np.arange(2**14, dtype=np.uint32)
    report = tune_launches(made, doubling(256), {"a": many})
    assert machine.sizes == []
    assert [(trial.samples, trial.verdict) for trial in report.trials] == [(0, "taken: no other is worth a trial")]
    assert str(report).endswith("workgroups are loops, and 256 × 1 × 1 are long enough and divide evenly")
    tuned = tune_launches(made, doubling(4), {"a": many})
    assert set(machine.sizes) == {4, 128}
    assert [trial.choice.workgroup_size for trial in tuned.trials] == [None, (128, 1, 1)]
    made.shutdown()


@pytest.mark.parametrize(("launch_ns", "compiled"), [(1e9, 1), (1e3, 2)])
def test_a_queue_that_cannot_be_faster_is_not_compiled_for(machine: Machine, launch_ns: float, compiled: int) -> None:
    queues = (Queue(name="caller"), Queue(name="pool", workers=8, launch_ns=launch_ns))
    ports = [FakePort(machine.evaluate, profile=replace(generous_profile(), queues=queues))]
    made = EngineBackend("fake", ports.pop)
    report = tune_launches(made, once(), {"a": A})
    assert made.backend_metric_snapshot()["compiles"] == compiled
    assert report.choice.queue in ("caller", "pool")  # the engine need not find it out again
    made.shutdown()


def once() -> Program:
    """A program whose workgroup size may matter, so that queues alone are tried."""
    with program("once", 4) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0) + p.workgroup_id(0) * 0] * 2
    return p.build()


@pytest.mark.parametrize(("workers", "launch_ns"), [(1, 2e3), (8, 2e3), (1, 1e3)])
def test_a_queue_that_another_one_dominates_is_not_tried(machine: Machine, workers: int, launch_ns: float) -> None:
    """A single workgroup has no use for more workers."""
    queues = (Queue(name="caller", launch_ns=1e3), Queue(name="pool", workers=workers, launch_ns=launch_ns))
    made = EngineBackend("fake", lambda: FakePort(machine.evaluate, profile=replace(generous_profile(), queues=queues)))
    report = tune_launches(made, once(), {"a": A[:4]})
    assert len(machine.sizes) == (0 if launch_ns > 1e3 else 3)
    assert len(report.trials) == 1
    assert report.choice.queue == "caller"  # the engine need not find it out
    made.shutdown()


def test_candidates_stay_in_their_queue(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine may change the queue of a launch after some runs; that of a candidate is decided before."""
    queues = (Queue(name="caller"), Queue(name="pool", workers=8, launch_ns=1e3))
    made = EngineBackend("fake", lambda: FakePort(machine.evaluate, profile=replace(generous_profile(), queues=queues)))
    taken = list[LaunchChoice]()
    of_trial = made.pipeline_for_trial

    def pipeline_for_trial(program: Program, config: DispatchConfig, choice: LaunchChoice) -> Any:
        taken.append(choice)
        return of_trial(program, config, choice)

    monkeypatch.setattr(made, "pipeline_for_trial", pipeline_for_trial)
    tune_launches(made, once(), {"a": A})
    first, *timed = taken
    assert first == LaunchChoice()
    assert sorted(str(choice.queue) for choice in timed) == ["caller", "pool"]
    made.shutdown()


def test_two_launches_are_compared_in_few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With scripted clocks: 3 runs of each, and no more when neither is ahead."""
    ran = list[str]()

    def clock_of(dispatch: Callable[[], object], warm_ups: int) -> Callable[[], float]:
        for _ in range(warm_ups):
            dispatch()

        def clock() -> float:
            dispatch()
            return 100e3

        return clock

    monkeypatch.setattr(tuner, "clock_of", clock_of)
    evaluate = Machine().evaluate

    def counted(plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
        ran.append(plan.program.name)
        evaluate(plan, memory)

    queues = (Queue(name="caller"), Queue(name="pool", workers=8, launch_ns=1e3))
    made = EngineBackend("fake", lambda: FakePort(counted, profile=replace(generous_profile(), queues=queues)))
    report = tune_launches(made, once(), {"a": A})
    assert [trial.samples for trial in report.trials] == [3, 3]
    assert len(ran) <= 11
    made.shutdown()


def test_a_report_can_be_read(backend: EngineBackend) -> None:
    report = str(tune_launches(backend, doubling(), {"a": A}))
    assert report.startswith("'doubling' on")
    assert "workgroups of 32 × 1 × 1: " in report
    assert report.endswith("each size fills a subgroup")


def test_choices_survive_the_process(tmp_path: Path) -> None:
    store = DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path, 2**20))
    device = ("fake", "device", "", "", "")
    choice = LaunchChoice((8, 1, 1), "pool", True, 10.0, 20.0)
    LaunchChoices(DeviceSignatureTable(store), device).put(doubling(), 9, choice)
    later = LaunchChoices(DeviceSignatureTable(store), device)
    assert later.get(doubling(), [A.nbytes], DispatchConfig()) == choice
    assert later.get(doubling(), [4 * A.nbytes], DispatchConfig()) is None
    assert LaunchChoices(DeviceSignatureTable(store), ("fake", "other", "", "", "")).of(doubling()) == {}
    later.put(doubling(), 9, LaunchChoice())
    assert LaunchChoices(DeviceSignatureTable(store), device).of(doubling()) == {}
    store.close()


# fmt: off
UNREADABLE = [
    {"9": {"workgroup_size": [0, 1, 1], "is_declared": False, "ns": 1.0, "own_ns": 1.0}},
    {"9": {"workgroup_size": [8, 1],    "is_declared": False, "ns": 1.0, "own_ns": 1.0}},
    {"9": {"workgroup_size": [8, 1, 1], "is_declared": "no",  "ns": 1.0, "own_ns": 1.0}},
    {"x": {"workgroup_size": [8, 1, 1], "is_declared": False, "ns": 1.0, "own_ns": 1.0}},
    {"9": {"workgroup_size": [8, 1, 1]}},
]
# fmt: on


@pytest.mark.parametrize("document", UNREADABLE)
def test_what_cannot_be_read_is_no_choice(document: object) -> None:
    class Table(DeviceSignatureTable):
        def get(self, signature: object, read: Callable[[bytes], Any]) -> Any:
            with pytest.raises((ValueError, LookupError, TypeError)):
                read(json.dumps(document).encode())

    assert LaunchChoices(Table(None), ("a", "b")).of(doubling()) == {}


def test_buckets_are_powers_of_two() -> None:
    default = DispatchConfig()
    assert [size_bucket([n], default) for n in (0, 1, 1023, 1024, 2047, 2048)] == [0, 1, 10, 11, 11, 12]
    assert size_bucket([512, 512], default) == size_bucket([1024], default)
    assert size_bucket([4], DispatchConfig(grid_override=(32, 32, 1))) == 11


def test_a_backend_that_cannot_be_tuned_says_so() -> None:
    with pytest.raises(UnsupportedFeature, match="tuning of launches"):
        tune_program(doubling(), {"a": A}, backend="reference")


def test_a_winner_without_a_new_rival_is_not_timed_again(
    backend: EngineBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    raced, race = list[int](), tuner.race
    monkeypatch.setattr(tuner, "race", lambda clocks: raced.append(len(clocks)) or race(clocks))
    for _ in range(2):
        found = tune_launches(backend, once(), {"a": A}, workgroup_sizes=[(32, 1, 1)])
        assert found.choice.workgroup_size == (32, 1, 1)
    assert raced == [1, 2, 2]


def test_a_workgroup_override_is_refused(backend: EngineBackend) -> None:
    """What would be stored is for launches without one."""
    tuned = tune_launches(backend, doubling(), {"a": A}).choice
    with pytest.raises(InvalidLaunch, match=r"workgroup_override: got \(16, 1, 1\), .* Fix: leave it out"):
        tune_program(doubling(), {"a": A}, backend=backend, config=DispatchConfig(workgroup_override=(16, 1, 1)))
    assert backend.launch_choice(doubling(), [A.nbytes]) == tuned


def test_two_processes_keep_what_both_have_found(tmp_path: Path) -> None:
    stores = [DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path, 2**20)) for _ in range(2)]
    device = ("fake", "device", "", "", "")
    tables = [LaunchChoices(DeviceSignatureTable(store), device) for store in stores]
    routes = [RoutingTable(DeviceSignatureTable(store)) for store in stores]
    assert [*tables[0].of(doubling()), *tables[1].of(doubling())] == []
    assert [*routes[0].of(doubling()), *routes[1].of(doubling())] == []
    for number in range(2):
        tables[number].put(doubling(), 9 + number, LaunchChoice((8, 1, 1)))
        routes[number].record(doubling(), 9 + number, Route("fake", device, {}))
    assert set(LaunchChoices(DeviceSignatureTable(stores[0]), device).of(doubling())) == {9, 10}
    assert set(RoutingTable(DeviceSignatureTable(stores[0])).of(doubling())) == {9, 10}
    for store in stores:
        store.close()


def test_a_failure_on_all_backends_is_raised(engine: Callable[..., SimpleNamespace]) -> None:
    def fail(arrays: Mapping[str, Any]) -> None:
        raise UnsupportedFeature("everything", backend="fake")

    with pytest.raises(UnsupportedFeature, match="everything"):
        tune_program(doubling(), {"a": A}, backend=[engine(fail).backend, engine(fail).backend])


def test_a_failure_of_the_program_is_raised(engine: Callable[..., SimpleNamespace]) -> None:
    def fail(arrays: Mapping[str, Any]) -> None:
        raise UnsupportedFeature("everything", backend="fake")

    with pytest.raises(UnsupportedFeature, match="everything"):
        tune_launches(engine(fail).backend, doubling(), {"a": A})
