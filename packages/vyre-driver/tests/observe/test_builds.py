"""Compiling with a record: whether the code was there, and what would make it again."""

import json
from dataclasses import replace
from typing import Any

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.compat import compile_shared, compile_shared_with_telemetry
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import InvalidProgram
from vyre_driver.observe.builds import (
    compile_owned,
    compile_owned_with_telemetry,
    compile_with_telemetry,
)
from vyre_driver.plan.specialize import SpecMap
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.mock import MockBackend
from vyre_foundation.text import parse

PROGRAM = parse("""\
program p workgroup(4, 1, 1) {
  write out: u32[4] @0;
  uniform n: u32[1] @1;

  out[global_id.x] = n[0];
}
""")


def nothing(plan: Any, memory: Any) -> None:
    pass


@pytest.fixture
def engine() -> EngineBackend:
    return EngineBackend("fake", lambda: FakePort(nothing), version="7")


def test_a_build_says_whether_the_code_was_there(engine: EngineBackend) -> None:
    first = compile_with_telemetry(engine, PROGRAM)
    second = compile_shared_with_telemetry(engine, PROGRAM)
    other = compile_with_telemetry(engine, PROGRAM, DispatchConfig(workgroup_override=(2, 1, 1)))
    assert [build.cache_hit for build in (first, second, other)] == [False, True, False]
    assert first.pipeline.id() == second.pipeline.id() != other.pipeline.id()
    engine.shutdown()


def test_the_manifest_has_everything(engine: EngineBackend) -> None:
    values = SpecMap.of(PROGRAM, {"n": 9})
    build = compile_with_telemetry(engine, PROGRAM, DispatchConfig(ulp_budget=2), values)
    manifest = json.loads(build.manifest.to_json())
    assert manifest == {
        "schema": 1,
        "backend": "fake",
        "backend_version": "7",
        "pipeline": build.pipeline.id(),
        "program": manifest["program"],
        "specialization": {"n": "9:u32"},
        "dispatch_policy": "ulp=2 workgroup=4x1x1",
        "features": "PipelineFeatureFlags.F16|BF16|PUSH_CONSTANTS",
        "cache_hit": False,
    }
    assert manifest["program"] != PROGRAM.fingerprint()
    short = f"fake {manifest['program'][:16]} (ulp=2 workgroup=4x1x1): compiled"
    assert build.manifest.short() == short
    assert len(build.pipeline.dispatch([])) == 1
    engine.shutdown()


def test_who_does_not_count_does_not_know() -> None:
    assert compile_with_telemetry(MockBackend(nothing), PROGRAM).cache_hit is None
    assert compile_shared(MockBackend(nothing), PROGRAM).id() == "mock:passthrough"


def test_an_owned_backend_ends_with_its_pipeline() -> None:
    backend = FullBackend(nothing)
    with compile_owned(backend, PROGRAM) as pipeline:
        assert len(pipeline.dispatch([bytes(4)])) == 1
        assert "shutdown" not in backend.calls
    assert backend.calls[-1] == "shutdown"


def test_an_owned_backend_ends_if_there_is_no_pipeline() -> None:
    backend = FullBackend(nothing)
    with pytest.raises(InvalidProgram):
        compile_owned_with_telemetry(backend, replace(PROGRAM, workgroup_size=(2**20, 1, 1)))
    assert backend.calls == ["shutdown"]
