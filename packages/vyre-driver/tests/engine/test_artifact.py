"""Code ahead of time: it is loaded instead of compiled, on the device it was made for and on no other."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.delegate import DelegatingBackend
from vyre_driver.device.queue import Queue
from vyre_driver.engine.artifact import compile_ahead, load_ahead, source_ahead
from vyre_driver.errors import BadArtifact, InvalidProgram, KernelCompileFailed, UnsupportedFeature
from vyre_driver.pipeline.ahead import CompiledProgram
from vyre_driver.testing.fake_port import InjectedError
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.target import generous_profile
from vyre_foundation import dialects
from vyre_foundation.build import Value, program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

Engine = Callable[..., SimpleNamespace]

X = np.arange(6, dtype=np.uint32)


def doubling() -> Program:
    with program("doubling", 4) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 2
    return p.build()


def double(x: Any) -> None:
    x["out"][:] = x["x"] * np.uint32(2)


def made(engine: Engine, config: DispatchConfig = DEFAULT_CONFIG, **options: Any) -> CompiledProgram:
    """What an earlier process has written to a file."""
    earlier = engine(double, **options)
    compiled = compile_ahead(earlier.backend, "fake-binary", doubling(), config)
    assert not earlier.ports[0].live
    return CompiledProgram.from_bytes(compiled.to_bytes())


def test_a_loaded_program_is_not_compiled(engine: Engine) -> None:
    compiled = made(engine)
    later = engine(double)
    load_ahead(later.backend, compiled)
    (out,) = later.backend.dispatch(doubling(), [X])
    assert bytes(out) == (X * 2).tobytes()
    counts = later.backend.backend_metric_snapshot()
    assert (counts["compiles"], counts["loads"]) == (0, 1)
    assert "compile" not in later.ports[0].log
    pipeline = later.backend.compile_native(compiled.program)
    assert bytes(pipeline.dispatch([X])[0]) == (X * 2).tobytes()
    assert later.backend.backend_metric_snapshot()["compiles"] == 0


def test_another_budget_is_another_program(engine: Engine) -> None:
    compiled = made(engine)
    later = engine(double)
    load_ahead(later.backend, compiled)
    later.backend.dispatch(doubling(), [X], DispatchConfig(ulp_budget=1))
    assert later.backend.backend_metric_snapshot()["compiles"] == 1


def test_the_workgroup_size_of_the_configuration_is_the_programs(engine: Engine) -> None:
    compiled = made(engine, DispatchConfig(workgroup_override=(2, 1, 1)))
    assert compiled.program.workgroup_size == (2, 1, 1)
    later = engine(double)
    load_ahead(later.backend, compiled)
    later.backend.dispatch(doubling(), [X], DispatchConfig(workgroup_override=(2, 1, 1)))
    assert later.backend.backend_metric_snapshot()["compiles"] == 0


def test_there_is_code_for_every_queue_and_each_has_run_once(engine: Engine) -> None:
    profile = replace(generous_profile(), queues=(Queue(name="one"), Queue(name="all", workers=8)))
    earlier = engine(double, profile=profile)
    compiled = compile_ahead(earlier.backend, "fake-binary", doubling(), DEFAULT_CONFIG)
    assert [queue for queue, _ in compiled.codes] == ["one", "all"]
    assert earlier.ports[0].log.count("compile") == earlier.ports[0].log.count("launch") == 2
    later = engine(double, profile=replace(profile, queues=profile.queues[:1]))
    load_ahead(later.backend, compiled)
    assert later.backend.backend_metric_snapshot()["loads"] == 1


def test_another_device_says_what_is_different(engine: Engine) -> None:
    compiled = made(engine)
    later = engine(double, profile=replace(generous_profile(), driver_version="2"))
    with pytest.raises(BadArtifact, match=r"here is driver '2' instead of '1'\. Fix: compile the program again"):
        load_ahead(later.backend, compiled)
    assert later.backend.backend_metric_snapshot()["loads"] == 0


def test_a_refused_binary_is_not_compiled_instead(engine: Engine) -> None:
    compiled = made(engine)
    refusing = engine(double, faults=[InjectedError("load", KernelCompileFailed("fake", "not mine"))])
    with pytest.raises(BadArtifact, match="the runtime refuses it \\(not mine\\)"):
        load_ahead(refusing.backend, compiled)
    assert refusing.backend.backend_metric_snapshot()["compiles"] == 0


def test_a_runtime_that_keeps_its_code_to_itself(engine: Engine) -> None:
    one = engine(double, has_binaries=False)
    with pytest.raises(UnsupportedFeature, match="compiled code as bytes"):
        compile_ahead(one.backend, "fake-binary", doubling(), DEFAULT_CONFIG)
    assert not one.ports[0].live


def test_source_is_headed_by_how_it_is_called(engine: Engine) -> None:
    text = source_ahead(engine().backend, doubling(), DEFAULT_CONFIG).decode()
    assert text.startswith(f"// 'doubling', fingerprint {doubling().fingerprint()}\n")
    assert "workgroup 4 × 1 × 1: x (read u32), out (write u32), length of x (u32), length of out (u32)\n" in text


def test_an_invalid_program_is_not_compiled(engine: Engine) -> None:
    invalid = replace(doubling(), workgroup_size=(0, 1, 1))
    with pytest.raises(InvalidProgram):
        compile_ahead(engine().backend, "fake-binary", invalid, DEFAULT_CONFIG)


def calling() -> Program:
    with program("calling", 4) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = Value(dialects.call("ahead.change", x[p.global_id(0)].expr))
    return p.build()


def registered(times: int) -> None:
    dialects.unregister(["ahead.change"])
    dialects.register([dialects.Composition("ahead.change", {(u32,): u32}, lambda x: (Value(x) * times).expr)])


@pytest.fixture
def changing() -> Iterator[None]:
    """A dialect of one op, which multiplies by 2."""
    registered(2)
    yield
    dialects.unregister(["ahead.change"])


@pytest.mark.usefixtures("changing")
def test_a_changed_dialect_is_not_what_the_code_was_made_of(engine: Engine) -> None:
    earlier = engine(double)
    data = compile_ahead(earlier.backend, "fake-binary", calling(), DEFAULT_CONFIG).to_bytes()
    same = engine(double)
    load_ahead(same.backend, CompiledProgram.from_bytes(data))
    same.backend.dispatch(calling(), [X])
    assert same.backend.backend_metric_snapshot()["compiles"] == 0

    registered(3)
    later = engine(double)
    with pytest.raises(
        BadArtifact, match=r"it was compiled with 'ahead of process .*, here is 'ahead of .*\. Fix: compile"
    ):
        load_ahead(later.backend, CompiledProgram.from_bytes(data))
    same.backend.dispatch(calling(), [X])  # loaded before the change
    assert same.backend.backend_metric_snapshot()["compiles"] == 1


def test_a_file_that_does_not_say_its_dialects_is_of_another_version(engine: Engine) -> None:
    compiled = made(engine)
    assert compiled.dialects == ()
    other = replace(compiled, dialects=("math 0.0.1",))
    assert CompiledProgram.from_bytes(other.to_bytes()) == other
    with pytest.raises(BadArtifact, match=r"it was compiled with 'math 0\.0\.1', here is no dialect"):
        load_ahead(engine(double).backend, other)


@pytest.mark.parametrize("wraps", [False, True])
def test_a_backend_that_compiles_nothing_is_refused(engine: Engine, wraps: bool) -> None:
    compiled = made(engine)
    mock = MockBackend(lambda plan, memory: None)
    backend = DelegatingBackend(mock) if wraps else mock
    with pytest.raises(
        UnsupportedFeature, match=r"mock does not support code that .*Fix: load it on the backend 'fake'"
    ):
        load_ahead(backend, compiled)
    with pytest.raises(UnsupportedFeature, match=r"Fix: choose a backend of the engine"):
        compile_ahead(backend, "fake-binary", doubling(), DEFAULT_CONFIG)
    with pytest.raises(UnsupportedFeature, match=r"Fix: choose a backend of the engine"):
        source_ahead(backend, doubling(), DEFAULT_CONFIG)


def test_a_wrapped_backend_takes_what_the_backend_under_it_takes(engine: Engine) -> None:
    later = engine(double)
    load_ahead(DelegatingBackend(later.backend), made(engine))
    later.backend.dispatch(doubling(), [X])
    assert later.backend.backend_metric_snapshot()["compiles"] == 0
