"""Programs that are known together are compiled together, and nobody can tell but by the counts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vyre_driver.errors import InvalidProgram, KernelCompileFailed
from vyre_driver.observe.live import compile_many
from vyre_driver.pipeline.store import DiskStore, shared_store
from vyre_driver.testing.fake_port import InjectedError
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.target import generous_target
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

from .programs import DOUBLED, A, Engine, double


def alike(number: int, *, subgroup_size: int | None = None) -> Program:
    """Programs of one name that differ in a constant; the fake device doubles, whatever they say."""
    with program("alike", 4, subgroup_size=subgroup_size) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] * number
    return p.build()


def counted(one: SimpleNamespace, *names: str) -> tuple[int, ...]:
    snapshot = one.backend.backend_metric_snapshot()
    return tuple(snapshot[name] for name in names)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskStore]:
    monkeypatch.setenv("VYRE_CACHE", "rw")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path / "cache"))
    store = shared_store()
    assert store is not None
    yield store
    store.close()


def test_one_compilation_for_ten(engine: Engine) -> None:
    one = engine(double)
    pipelines = compile_many(one.backend, [alike(n) for n in range(12)])
    assert one.ports[0].count("compile") == 2, "ten together, and two"
    assert len({pipeline.id() for pipeline in pipelines}) == 12
    for pipeline in pipelines:
        assert pipeline.dispatch([A]) == [DOUBLED]
    assert one.ports[0].count("compile") == 2


def test_what_is_known_is_not_compiled_again(engine: Engine) -> None:
    one = engine(double)
    one.backend.dispatch(alike(1), [A])
    compile_many(one.backend, [alike(1), alike(2), alike(2), alike(3)])
    assert one.ports[0].count("compile") == 2
    assert compile_many(one.backend, []) == []


def test_the_store_has_each_of_them(engine: Engine, store: DiskStore) -> None:
    first = engine(double)
    for pipeline in compile_many(first.backend, [alike(n) for n in range(3)]):
        pipeline.dispatch([A])
    assert [entry.kind for entry in store.entries()] == ["code"] * 3
    later = engine(double)
    for pipeline in compile_many(later.backend, [alike(n) for n in range(3)]):
        assert pipeline.dispatch([A]) == [DOUBLED]
    assert counted(later, "compiles", "loads") == (0, 3)


def test_a_refusal_of_all_is_no_refusal_of_each(engine: Engine, store: DiskStore) -> None:
    one = engine(double, faults=[InjectedError("compile", KernelCompileFailed("fake", "too long"))])
    for pipeline in compile_many(one.backend, [alike(n) for n in range(3)]):
        assert pipeline.dispatch([A]) == [DOUBLED]
    assert one.ports[0].count("compile") == 4


def test_another_failure_leaves_nothing(engine: Engine, store: DiskStore) -> None:
    one = engine(double, faults=[InjectedError("compile", KeyboardInterrupt())])
    with pytest.raises(KeyboardInterrupt):
        compile_many(one.backend, [alike(n) for n in range(3)])
    assert store.entries() == []


def test_subgroups_stand_apart_and_the_others_together(engine: Engine) -> None:
    one = engine(double, spelled=replace(generous_target(), subgroup_sizes=frozenset({4})))
    compile_many(one.backend, [alike(1, subgroup_size=4), alike(2), alike(3)])
    assert one.ports[0].count("compile") == 2


def test_subgroups_that_the_device_does_not_have_are_no_reason_to_stand_apart(engine: Engine) -> None:
    one = engine(double)
    compile_many(one.backend, [alike(1, subgroup_size=4), alike(2), alike(3)])
    assert one.ports[0].count("compile") == 1


def test_a_program_that_is_not_valid_is_refused_first(engine: Engine) -> None:
    one = engine(double)
    wrong = Program("wrong", alike(1).buffers, (0, 1, 1), alike(1).body)
    with pytest.raises(InvalidProgram):
        compile_many(one.backend, [alike(1), wrong])
    assert not one.ports


def test_a_backend_that_compiles_nothing() -> None:
    def evaluate(plan: object, memory: dict[str, memoryview]) -> None:
        np.frombuffer(memory["out"], np.uint32)[:] = 2 * np.frombuffer(memory["a"], np.uint32)

    pipelines = compile_many(MockBackend(evaluate), [alike(1), alike(2)])  # type: ignore[arg-type]
    assert [bytes(pipeline.dispatch([A])[0]) for pipeline in pipelines] == [DOUBLED] * 2
