"""Compilation in the background: dispatches go on, and the winner of a race takes over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.port import SourceUnit
from vyre_driver.errors import KernelCompileFailed, UnsupportedFeature
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.fake_port import FakeModule, FakePort
from vyre_driver.tune.choice import LaunchChoice, size_bucket
from vyre_driver.tune.speculate import (
    SAMPLES,
    SpeculativePipeline,
    SpeculativeVariantKeys,
    SpeculativeVariantKind,
    SpeculativeVariantRace,
    compile_async,
    compile_speculative,
    decide_race,
    record_speculative_variant_race,
)
from vyre_foundation import Program, program, u32
from vyre_reference import ReferenceBackend

A = np.arange(300, dtype=np.uint32)
DOUBLED = (2 * A).tobytes()
SPECULATIVE, CONSERVATIVE = SpeculativeVariantKind.SPECULATIVE, SpeculativeVariantKind.CONSERVATIVE


def doubling(size: int = 4) -> Program:
    with program("doubling", size) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)] * 2
    return p.build()


class Machine:
    """A device whose second opening compiles only when a test lets it, and is fast with workgroups of 256."""

    def __init__(self) -> None:
        self.openings, self.wrong, self.fails = 0, False, False
        self.may_compile = threading.Event()
        self.compiles = list[str]()

    def open(self) -> FakePort:
        self.openings += 1
        return SlowPort(self.evaluate, self) if self.openings > 1 else FakePort(self.evaluate)

    def evaluate(self, plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
        is_fast = plan.program.workgroup_size[0] == 256
        if not is_fast:
            time.sleep(0.001)
        given, made = (np.frombuffer(memory[name], np.uint32) for name in ("a", "out"))
        made[:] = given * 2 + (is_fast and self.wrong)


class SlowPort(FakePort):
    """Compiles when it may."""

    def __init__(self, evaluate: Any, machine: Machine) -> None:
        super().__init__(evaluate)
        self.machine = machine

    def compile(self, unit: SourceUnit, queue: int = 0) -> FakeModule:
        self.machine.compiles.append("begins")
        assert self.machine.may_compile.wait(60)
        self.machine.compiles.append("ends")
        if self.machine.fails:
            raise KernelCompileFailed("fake", "the compiler does not like it")
        return super().compile(unit, queue)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def backend(machine: Machine) -> Iterator[EngineBackend]:
    made = EngineBackend("fake", machine.open)
    yield made
    machine.may_compile.set()
    made.shutdown()


def decided(pipeline: SpeculativePipeline) -> None:
    """Dispatch until the candidate is decided."""
    ends = time.monotonic() + 60
    while pipeline.decision is None:
        assert time.monotonic() < ends
        assert bytes(pipeline.dispatch([A])[0]) == DOUBLED


def speculative(backend: EngineBackend, **options: Any) -> SpeculativePipeline:
    found = compile_speculative(backend, doubling(), **options)
    assert isinstance(found, SpeculativePipeline)
    return found


def test_no_dispatch_waits_for_a_speculative_compilation(backend: EngineBackend, machine: Machine) -> None:
    """The compiler does not come back before the test lets it, and 50 dispatches end meanwhile."""
    with speculative(backend) as pipeline:
        done = sum(bytes(pipeline.dispatch([A])[0]) == DOUBLED for _ in range(50))
        assert done == 50
        assert "ends" not in machine.compiles
        assert pipeline.decision is None
        machine.may_compile.set()
        decided(pipeline)


def test_the_faster_one_takes_over_and_is_kept(backend: EngineBackend, machine: Machine) -> None:
    machine.may_compile.set()
    with speculative(backend) as pipeline:
        decided(pipeline)
        assert pipeline.decision is not None
        assert pipeline.decision.winner is SPECULATIVE
        assert pipeline.decision.saved_ns > 0
        assert bytes(pipeline.dispatch([A + 1])[0]) == (2 * (A + 1)).tobytes()
    choice = backend.launch_choice(doubling(), [A.nbytes])
    assert choice is not None
    assert choice.workgroup_size == (256, 1, 1)


def test_other_bytes_never_take_over(backend: EngineBackend, machine: Machine) -> None:
    machine.may_compile.set()
    machine.wrong = True
    with speculative(backend) as pipeline:
        decided(pipeline)
        assert pipeline.decision is not None
        assert (pipeline.decision.winner, pipeline.decision.reason) == (CONSERVATIVE, "its outputs are other bytes")
    assert backend.launch_choice(doubling(), [A.nbytes]) is None


def test_a_candidate_that_does_not_compile_is_given_up(backend: EngineBackend, machine: Machine) -> None:
    machine.fails = True
    machine.may_compile.set()
    with speculative(backend) as pipeline:
        decided(pipeline)
        assert pipeline.decision is not None
        assert "does not like it" in pipeline.decision.reason


def test_without_another_size_there_is_no_second_launch(backend: EngineBackend, machine: Machine) -> None:
    with program("named", 4) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)] * 2 + p.local_id(0) * 0
    with program("barred", 4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        p.barrier()
        out[p.global_id(0)] = a[p.global_id(0)] * 2
    pipeline = compile_speculative(backend, p.build())
    pipeline.dispatch([A])
    assert isinstance(pipeline, SpeculativePipeline)
    assert pipeline.decision is not None
    assert "no other workgroup size" in pipeline.decision.reason
    assert machine.openings == 1


def test_speculation_can_be_disabled(backend: EngineBackend) -> None:
    config = DispatchConfig(speculation=Preference.DISABLE)
    assert not isinstance(compile_speculative(backend, doubling(), config), SpeculativePipeline)


def test_a_backend_that_cannot_be_opened_twice_says_so() -> None:
    with pytest.raises(UnsupportedFeature, match="speculative compilation"):
        compile_speculative(ReferenceBackend(), doubling())


def test_closing_does_not_wait_for_the_compiler(backend: EngineBackend, machine: Machine) -> None:
    pipeline = speculative(backend)
    pipeline.dispatch([A])
    pipeline.close()
    assert "ends" not in machine.compiles


# ── the rule ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def race(first: float, second: float, *, is_equal: bool = True, samples: int = SAMPLES) -> SpeculativeVariantRace:
    return SpeculativeVariantRace((first,) * samples, (second,) * samples, is_equal)


# fmt: off
RACES = [
    (race(100.0, 50.0),                   SPECULATIVE,  50.0),
    (race(100.0, 96.0),                   CONSERVATIVE, 0.0),
    (race(50.0, 100.0),                   CONSERVATIVE, 0.0),
    (race(100.0, 50.0, is_equal=False),   CONSERVATIVE, 0.0),
    (race(100.0, 50.0, samples=7),        CONSERVATIVE, 0.0),
    (race(100.0, 50.0, samples=0),        CONSERVATIVE, 0.0),
]
# fmt: on


@pytest.mark.parametrize(("given", "winner", "saved"), RACES)
def test_who_wins(given: SpeculativeVariantRace, winner: SpeculativeVariantKind, saved: float) -> None:
    found = decide_race(given)
    assert (found.winner, found.saved_ns) == (winner, saved)


def test_the_winner_is_found_by_what_is_launched(backend: EngineBackend) -> None:
    lengths = [A.nbytes]
    choice = LaunchChoice((64, 1, 1))
    keys = SpeculativeVariantKeys(doubling(), size_bucket(lengths, DispatchConfig()), LaunchChoice(), choice)
    assert record_speculative_variant_race(backend, keys, race(1.0, 2.0)).winner is CONSERVATIVE
    assert backend.launch_choice(doubling(), lengths) is None
    assert record_speculative_variant_race(backend, keys, race(2.0, 1.0)).winner is SPECULATIVE
    assert backend.launch_choice(doubling(), lengths) == choice


# ── compile_async ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_dispatches_go_on_while_another_program_compiles(backend: EngineBackend, machine: Machine) -> None:
    backend.dispatch(doubling(), [A])
    future = compile_async(backend, doubling(8))
    for _ in range(20):
        assert bytes(backend.dispatch(doubling(), [A])[0]) == DOUBLED
    assert not future.done()
    assert "ends" not in machine.compiles
    compiled = backend.backend_metric_snapshot()["compiles"]
    machine.may_compile.set()
    with future.result(60) as pipeline:
        assert bytes(pipeline.dispatch([A])[0]) == DOUBLED
    assert backend.backend_metric_snapshot()["compiles"] == compiled


def test_an_error_of_the_compiler_is_raised_by_the_wait(backend: EngineBackend, machine: Machine) -> None:
    machine.fails = True
    backend.prepare()
    future = compile_async(backend, doubling(8))
    machine.may_compile.set()
    with pytest.raises(KernelCompileFailed, match="does not like it"):
        future.result(60)


def test_a_backend_without_an_engine_compiles_in_the_background() -> None:
    pipeline = compile_async(ReferenceBackend(), doubling()).result(60)
    assert bytes(pipeline.dispatch([A])[0]) == DOUBLED
