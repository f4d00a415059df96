"""`vy.tune` and `vyre tune`: what is found is used by `vy.run`, and kept for later processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import vyre as vy
from vyre import kernels
from vyre.cli import main
from vyre_driver import Availability, BackendRegistration, Selection, register, unregister
from vyre_driver.backend.delegate import innermost
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.observe import live
from vyre_driver.tune import programs
from vyre_driver.tune.routing import Route, RoutingTable, routed_backend, shared_routes
from vyre_reference import ReferenceBackend

pytestmark = pytest.mark.backend("cpu")
X = np.arange(1000, dtype=np.float32)


def scale(factor: float = 2.5) -> vy.Program:
    with vy.program("scale", workgroup_size=1) as p:
        x = p.read("x", vy.f32)
        p.write("out", vy.f32, like=x)[p.global_id(0)] = x[p.global_id(0)] * factor
    return p.build()


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "scale.vyre").write_text(str(scale()))
    np.save(tmp_path / "x.npy", X)
    return [str(tmp_path / "scale.vyre"), "--input", f"x={tmp_path / 'x.npy'}"]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["tune", *arguments])


def test_tune_reports_what_it_tried_and_leaves_the_bytes() -> None:
    before = vy.run(scale(), x=X, backend="cpu")["out"]
    found = vy.tune(scale(), x=X, backend="cpu")
    (report,) = found.reports
    assert (report.backend, report.program, found.route) == ("cpu", "scale", None)
    assert {trial.choice.workgroup_size for trial in report.trials} == {None, (128, 1, 1)}
    assert report.choice in {trial.choice for trial in report.trials} or report.choice.ns > 0
    assert vy.run(scale(), x=X, backend="cpu")["out"].tobytes() == before.tobytes()


def test_the_command_prints_json(files: list[str]) -> None:
    done = invoke(*files, "--backend", "cpu", "--json")
    assert done.exit_code == 0, done.output
    (report,) = json.loads(done.output)["reports"]
    assert report["backend"] == "cpu"
    assert report["bucket"] == (4 * X.size).bit_length()


def test_the_command_prints_a_table(files: list[str]) -> None:
    done = invoke(*files, "--backend", "cpu", "--workgroup-size", "32")
    assert done.exit_code == 0, done.output
    assert "as the engine launches it" in done.output
    assert "32 × 1 × 1" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workgroup-size", "0"], "is no size"),
        (["--workgroup-size", "x"], "is not of the form"),
        (["--backend", "reference"], "tuning of launches"),
        (["--backend", "nothing"], "nothing"),
    ],
)
def test_bad_arguments(files: list[str], arguments: list[str], message: str) -> None:
    done = invoke(*files, *arguments)
    assert done.exit_code != 0
    assert message in done.output


# ── routes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Other(ReferenceBackend, contract=1):
    """The reference by another name."""

    def id(self) -> str:
        return "other"


@pytest.fixture
def other() -> Iterator[str]:
    registration = BackendRegistration(
        id="other",
        factory=Other,
        precedence=5000,
        contract=1,
        probe=Availability.available,
        selection=Selection.AUTOMATIC,
        summary="for a test",
    )
    register(registration)
    yield "other"
    unregister("other")
    for name in ("other", "other:0"):
        live._open.pop(name, None)
    shared_routes.cache_clear()


def test_a_run_without_a_backend_takes_the_route(other: str) -> None:
    routed = scale(3.0)
    identity = live.backend_for(other).device_profile().identity
    shared_routes().record(routed, (4 * X.size).bit_length(), Route(other, identity, {other: 1.0}))
    seen = list[str]()
    backend = live.backend_for(other)
    run, backend.dispatch_arrays = backend.dispatch_arrays, lambda *given: seen.append("other") or run(*given)
    assert vy.run(routed, x=X)["out"].tobytes() == (X * np.float32(3.0)).tobytes()
    vy.run(routed, x=X, backend="auto")
    assert seen == ["other", "other"]
    vy.run(routed, x=X, backend="cpu")
    vy.run(routed, x=X[:100])
    vy.run(scale(), x=X)
    assert len(seen) == 2


def test_a_launch_does_not_ask_for_the_facts_of_the_device(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes the lock of the device, and as long as the rest of a small launch."""
    backend, routed = live.backend_for(other), scale(8.0)
    asked = list[str]()
    profile = backend.device_profile
    route = Route(other, profile().identity, {other: 1.0})
    shared_routes().record(routed, (4 * X.size).bit_length(), route)
    monkeypatch.setattr(backend, "device_profile", lambda: asked.append("profile") or profile())
    for _ in range(3):
        assert routed_backend(routed, [4 * X.size]) is backend
    assert len(asked) == 1


def test_a_kernel_asks_for_its_route_once(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, asked, backend_for_launch = doubled.on("auto"), list[str](), kernels.kernel.backend_for_launch
    counted = lambda *given: asked.append("route") or backend_for_launch(*given)
    monkeypatch.setattr(kernels.kernel, "backend_for_launch", counted)
    for _ in range(3):
        kernel(X)
    assert len(asked) == 1


@vy.kernel
def doubled(x: vy.Array[vy.f32, 1000]) -> vy.Array[vy.f32, 1000]:
    return x[vy.index()] * 2.0


def test_a_kernel_that_was_called_takes_a_new_route(other: str) -> None:
    kernel = doubled.on("auto")
    backend, cpu = live.backend_for(other), live.backend_for("cpu")
    seen = list[str]()
    run, backend.dispatch_arrays = backend.dispatch_arrays, lambda *given: seen.append("other") or run(*given)
    for chosen, runs in ((other, 1), ("cpu", 1), (other, 2)):
        identity = (backend if chosen == other else cpu).device_profile().identity
        shared_routes().record(doubled.program, (4 * X.size).bit_length(), Route(chosen, identity, {chosen: 1.0}))
        assert kernel(X).tobytes() == (X * np.float32(2.0)).tobytes()
        assert len(seen) == runs


def test_a_route_is_confirmed_again_when_the_backend_was_opened_again(other: str) -> None:
    routed = scale(9.0)
    identity = live.backend_for(other).device_profile().identity
    shared_routes().record(routed, (4 * X.size).bit_length(), Route(other, identity, {other: 1.0}))
    before = routed_backend(routed, [4 * X.size])
    for name in ("other", "other:0"):
        live._open.pop(name, None)
    after = routed_backend(routed, [4 * X.size])
    assert (before.id(), after.id()) == ("other", "other")
    assert after is live.backend_for(other) is not before


def test_what_explains_a_run_takes_the_route(other: str, files: list[str]) -> None:
    routed = scale()
    identity = live.backend_for(other).device_profile().identity
    assert vy.explain(routed, x=X)["backend"].choice == "cpu"
    shared_routes().record(routed, (4 * X.size).bit_length(), Route(other, identity, {other: 1.0}))
    for named in (None, "auto"):
        found = vy.explain(routed, x=X, backend=named)["backend"]
        assert (found.choice, found.reason) == ("other", "the fastest one that `tune` measured")
        with pytest.raises(UnsupportedFeature, match="other"):
            vy.profile(routed, x=X, backend=named)
    assert vy.explain(routed, x=X, backend="cpu")["backend"].choice == "cpu"
    assert vy.explain(routed, x=X[:100])["backend"].choice == "cpu"
    held = vy.explain(routed, x=vy.array(X, backend="cpu"))["backend"]
    assert (held.choice, held.reason) == ("cpu", "the arrays are in its memory")
    done = CliRunner().invoke(main, ["run", *files])
    assert done.output.startswith("other, "), done.output


def test_a_route_to_another_device_is_forgotten(other: str) -> None:
    routed = scale(4.0)
    bucket = (4 * X.size).bit_length()
    shared_routes().record(routed, bucket, Route(other, ("other", "a device that was here", "", "", ""), {other: 1.0}))
    assert vy.run(routed, x=X)["out"].size == X.size
    assert shared_routes().of(routed) == {}


def test_a_route_to_a_backend_that_is_gone_is_forgotten() -> None:
    routed = scale(5.0)
    shared_routes().record(routed, (4 * X.size).bit_length(), Route("gone", (), {}))
    assert vy.run(routed, x=X)["out"].size == X.size
    assert shared_routes().of(routed) == {}


@pytest.mark.parametrize("winner", ["other", "cpu"])
def test_backends_race_and_the_route_is_recorded(other: str, winner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clocks are scripted, in the order in which the backends are named: what they measure is noise here."""
    names = [other, "cpu"]
    scripted = iter([partial(float, 1 if name == winner else 2) for name in names])
    monkeypatch.setattr(programs, "clock_of", lambda call: next(scripted))
    routed = scale(6.0)
    found = vy.tune(routed, x=X, backend=names)
    assert found.route is not None
    assert found.route.backend == winner
    assert set(found.route.times) == set(names)
    assert f"the route is {winner}" in str(found)
    assert shared_routes().of(routed) == {(4 * X.size).bit_length(): found.route}


def test_a_backend_with_other_bytes_is_refused(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = live.backend_for(other)
    right = wrong.dispatch
    monkeypatch.setattr(wrong, "dispatch", lambda *given: [bytes(len(bytes(o))) for o in right(*given)])
    found = vy.tune(scale(7.0), x=X, backend=["cpu", other])
    assert found.refused == {other: "its outputs are other bytes than those of cpu"}
    assert found.route is not None
    assert found.route.backend == "cpu"


def test_a_bucket_between_two_with_one_route_has_it() -> None:
    table, program = RoutingTable(), scale()
    for bucket, backend in ((10, "a"), (14, "a"), (18, "b")):
        table.record(program, bucket, Route(backend, (), {}))
    found = {bits: table.route(program, [2 ** (bits - 1)]) for bits in (9, 10, 12, 14, 16, 18, 19)}
    assert {bits: route and route.backend for bits, route in found.items()} == {
        9: None,
        10: "a",
        12: "a",
        14: "a",
        16: None,
        18: "b",
        19: None,
    }


def test_what_was_found_is_there_in_the_next_process(files: list[str], tmp_path: Path) -> None:
    code = f"""
import numpy as np, vyre as vy, sys
from vyre_driver.tune.choice import LaunchChoice
from vyre_driver.backend.delegate import innermost
program = vy.parse(open({files[0]!r}).read())
engine = innermost(vy.backend_for("cpu"))
if sys.argv[1] == "put":
    engine.take_choice(program, 12, LaunchChoice((128, 1, 1)))
print(engine.launch_choice(program, [4000]))
"""
    environment = {"VYRE_CACHE_DIR": str(tmp_path / "store"), "VYRE_CACHE": "rw"}
    for word in ("put", "get"):
        done = subprocess.run([sys.executable, "-c", code, word], capture_output=True, text=True, check=True,
                              env={**os.environ, **environment})  # fmt: skip
        assert done.stdout.strip() == "workgroups of 128 × 1 × 1"


def test_the_cpu_is_an_engine() -> None:
    assert isinstance(innermost(vy.backend_for("cpu")), EngineBackend)


@vy.kernel
def tripled(x: vy.Array[vy.f32, 1000]) -> vy.Array[vy.f32, 1000]:
    return x[vy.index()] * 3.0


def test_a_kernel_without_a_backend_takes_the_route(other: str) -> None:
    identity = live.backend_for(other).device_profile().identity
    assert tripled.explain(X)["backend"].choice == "cpu"
    for bucket in range(10, 16):
        shared_routes().record(tripled.program, bucket, Route(other, identity, {other: 1.0}))
    seen = list[str]()
    backend = live.backend_for(other)
    run, backend.dispatch_arrays = backend.dispatch_arrays, lambda *given: seen.append("other") or run(*given)
    assert tripled(X).tobytes() == (X * np.float32(3.0)).tobytes()
    assert seen == ["other"]
    assert tripled.on("cpu")(X).tobytes() == (X * np.float32(3.0)).tobytes()
    assert seen == ["other"]
    assert tripled.explain(X)["backend"].choice == backend.id()
    assert tripled.on("auto")(X).tobytes() == (X * np.float32(3.0)).tobytes()
    assert seen == ["other", "other"]
    with pytest.raises(UnsupportedFeature, match="other"):
        tripled.profile(X)
