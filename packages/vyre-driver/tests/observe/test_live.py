"""What the environment and the profile ask for, without a change in the code that dispatches."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import vyre_driver
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.registration import Availability, BackendRegistration
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import InvalidLaunch, InvalidSetting, ShadowDiverged
from vyre_driver.observe.live import by_profile, layered
from vyre_driver.observe.shadow import OnDivergence
from vyre_driver.observe.shadowed import ShadowedBackend, ShadowedPipeline
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.registration import registered


def double(plan, memory) -> None:
    np.frombuffer(memory["out"], np.uint32)[:] = 2 * np.frombuffer(memory["a"], np.uint32)


def flipped(plan, memory) -> None:
    double(plan, memory)
    np.frombuffer(memory["out"], np.uint32)[3] ^= 1


def registration(id: str, evaluate, precedence: int = 0) -> BackendRegistration:
    return BackendRegistration(
        id=id,
        precedence=precedence,
        contract=1,
        factory=lambda: FullBackend(evaluate, id),
        probe=Availability.available,
    )


@pytest.fixture(autouse=True)
def backends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VYRE_SHADOW_REFERENCE", "judge")
    with registered(registration("mine", flipped, -1), registration("judge", double, 5)):
        yield


def test_without_variables_nothing_is_wrapped() -> None:
    assert type(vyre_driver.acquire("mine")) is FullBackend
    assert type(vyre_driver.acquire_preferred_dispatch_backend()) is FullBackend


@pytest.mark.parametrize("setting", ["always", "1/1", " Always "])
def test_a_variable_shadows_what_is_acquired(setting, monkeypatch, doubling, words) -> None:
    monkeypatch.setenv("VYRE_SHADOW", setting)
    for backend in (vyre_driver.acquire("mine"), vyre_driver.acquire_preferred_dispatch_backend()):
        assert backend.id() == "mine"
        with pytest.raises(ShadowDiverged):
            backend.dispatch(doubling, [words])
        with pytest.raises(ShadowDiverged):
            vyre_driver.compile(backend, doubling).dispatch([words])


def test_the_other_variables(doubling, words, tmp_path: Path) -> None:
    backend = layered(
        FullBackend(flipped, "mine"),
        {
            "VYRE_SHADOW": "1/2",
            "VYRE_SHADOW_REFERENCE": "judge",
            "VYRE_SHADOW_DIVERGENCE": "record",
            "VYRE_SHADOW_CAPSULES": str(tmp_path),
        },
    )
    assert isinstance(backend, ShadowedBackend)
    assert backend.shadow.policy.on_divergence is OnDivergence.RECORD
    for _ in range(4):
        backend.dispatch(doubling, [words])
    assert backend.shadow.counts.diverged == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_the_reference_is_not_shadowed_by_itself() -> None:
    judge = FullBackend(double, "judge")
    assert layered(judge, {"VYRE_SHADOW": "always", "VYRE_SHADOW_REFERENCE": "judge"}) is judge


def test_a_variable_logs_every_call(monkeypatch, doubling, words, caplog) -> None:
    monkeypatch.setenv("VYRE_OBSERVE", "log")
    caplog.set_level(logging.DEBUG, "vyre")
    vyre_driver.acquire("mine").dispatch(doubling, [words])
    assert [record.name for record in caplog.records] == ["vyre.dispatch"]


def test_a_variable_makes_spans(doubling, words) -> None:
    assert layered(FullBackend(double), {"VYRE_OBSERVE": "spans, log"}).dispatch(doubling, [words])


def test_spans_need_their_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "vyre_driver.observe.spans", raising=False)
    with pytest.raises(InvalidSetting, match=r"Fix: pip install 'vyre-driver\[otel\]'"):
        layered(FullBackend(double), {"VYRE_OBSERVE": "spans"})


@pytest.mark.parametrize(
    "environment",
    [
        {"VYRE_SHADOW": "sometimes"},
        {"VYRE_SHADOW": "1/0"},
        {"VYRE_SHADOW": "always", "VYRE_SHADOW_DIVERGENCE": "shout", "VYRE_SHADOW_REFERENCE": "judge"},
        {"VYRE_OBSERVE": "everything"},
        {"VYRE_SHADOW": "always", "VYRE_SHADOW_REFERENCE": "judge", "VYRE_SHADOW_CAPSULES": "~no-such-user/x"},
    ],
)
def test_a_value_that_means_nothing_is_refused(environment) -> None:
    with pytest.raises(InvalidSetting):
        layered(FullBackend(double, "mine"), environment)


def test_only_spaces_count_as_unset() -> None:
    backend = FullBackend(double, "mine")
    names = ("TRACE", "SHADOW", "SHADOW_REFERENCE", "SHADOW_CAPSULES", "SHADOW_DIVERGENCE", "OBSERVE")
    assert layered(backend, {f"VYRE_{name}": "  " for name in names}) is backend


@pytest.mark.parametrize(("profile", "every"), [("shadow", 1), ("shadow:16", 16)])
def test_a_profile_shadows_one_pipeline(profile: str, every: int, doubling, words) -> None:
    backend = vyre_driver.acquire("mine")
    pipeline = vyre_driver.compile(backend, doubling, DispatchConfig(profile=profile))
    assert isinstance(pipeline, ShadowedPipeline)
    assert pipeline.shadow.policy.every == every
    with pytest.raises(ShadowDiverged):
        pipeline.dispatch([words])
    assert vyre_driver.compile(backend, doubling, DispatchConfig(profile="night")).dispatch([words])


def test_a_backend_with_a_shadow_keeps_it() -> None:
    backend = layered(FullBackend(double, "mine"), {"VYRE_SHADOW": "1/2", "VYRE_SHADOW_REFERENCE": "judge"})
    assert by_profile(backend, DispatchConfig(profile="shadow")) is backend


@pytest.mark.parametrize("profile", ["shadow:0", "shadow:x", "shadows"])
def test_a_profile_that_is_nearly_shadow_is_refused(profile: str) -> None:
    with pytest.raises(InvalidLaunch, match="profile: got"):
        by_profile(FullBackend(double, "mine"), DispatchConfig(profile=profile))


class TestADispatchByItsProfile:
    """On a backend of the engine, whatever way it is dispatched."""

    @pytest.fixture
    def engine(self):
        backend = EngineBackend("mine", lambda: FakePort(flipped))
        yield backend
        backend.shutdown()

    @pytest.mark.parametrize(
        "dispatch",
        [
            lambda b, p, x, c: b.dispatch(p, [x], c),
            lambda b, p, x, c: b.dispatch_arrays(p, {"a": np.frombuffer(x, np.uint32)}, c),
            lambda b, p, x, c: b.dispatch_borrowed(p, [x], c),
            lambda b, p, x, c: b.dispatch_borrowed_timed(p, [x], c),
            lambda b, p, x, c: b.dispatch_borrowed_into(p, [x], c, []),
            lambda b, p, x, c: b.dispatch_async(p, [x], c).await_result(),
            lambda b, p, x, c: b.dispatch_borrowed_async(p, [x], c).await_result(),
        ],
    )
    def test_every_way(self, engine, dispatch, doubling, words) -> None:
        dispatch(engine, doubling, words, DispatchConfig(profile="nightly"))
        with pytest.raises(ShadowDiverged):
            dispatch(engine, doubling, words, DispatchConfig(profile="shadow"))
        dispatch(engine, doubling, words, DispatchConfig())

    def test_one_in_two_is_compared(self, engine, doubling, words, monkeypatch, caplog) -> None:
        monkeypatch.setenv("VYRE_SHADOW_DIVERGENCE", "record")
        for _ in range(4):
            engine.dispatch(doubling, [words], DispatchConfig(profile="shadow:2"))
        assert [record.name for record in caplog.records] == ["vyre.shadow"] * 2

    def test_threads_that_begin_together_have_one_shadow(self, engine, doubling, words, monkeypatch, caplog) -> None:
        monkeypatch.setenv("VYRE_SHADOW_DIVERGENCE", "record")
        made: list[object] = []

        def counted(backend, config):
            made.append(config.profile)
            return by_profile(backend, config)

        monkeypatch.setattr("vyre_driver.engine.backend.by_profile", counted)
        together = threading.Barrier(8)

        def run() -> None:
            together.wait()
            for _ in range(4):
                engine.dispatch(doubling, [words], DispatchConfig(profile="shadow:2"))

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == ["shadow:2"]
        assert [record.name for record in caplog.records] == ["vyre.shadow"] * 16

    def test_a_shadow_is_not_shadowed(self, engine, doubling, words, monkeypatch, caplog) -> None:
        monkeypatch.setenv("VYRE_SHADOW_DIVERGENCE", "record")
        layered(
            engine, {"VYRE_SHADOW": "always", "VYRE_SHADOW_DIVERGENCE": "record", "VYRE_SHADOW_REFERENCE": "judge"}
        ).dispatch(doubling, [words], DispatchConfig(profile="shadow"))
        assert [record.name for record in caplog.records] == ["vyre.shadow"]

    def test_a_profile_that_means_nothing_is_refused(self, engine, doubling, words) -> None:
        with pytest.raises(InvalidLaunch, match="shadow:N"):
            engine.dispatch(doubling, [words], DispatchConfig(profile="shadows"))
