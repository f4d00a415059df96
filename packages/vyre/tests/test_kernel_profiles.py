"""`vy.profile` and `vy.explain`, and their commands, on the devices of this machine."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import vyre as vy
from vyre.cli import main
from vyre_driver import Trace, traced
from vyre_driver.testing.graphs import programs
from vyre_driver.tune.choice import LaunchChoice, LaunchChoices
from vyre_foundation.testing.html import parsed

X = np.linspace(0, 1, 4096, dtype=np.float32)
AFFINE = programs()["affine"]


@vy.kernel
def scaled(x: vy.Array[vy.f32, "n"], factor: vy.f32) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] * factor


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scaled.vyre"
    path.write_text(vy.print_program(scaled.program))
    return path


@pytest.mark.parametrize("backend", ["cpu", "opencl"])
def test_a_kernel_has_a_profile(backend: str) -> None:
    found = scaled.on(backend).profile(X, 2.0)
    assert {kernel.program for kernel in found.kernels} == {"scaled"}
    assert len({kernel.queue for kernel in found.kernels}) == len(found.kernels)  # a busy machine may change the queue
    assert found.roofs is not None
    for kernel in found.kernels:
        assert kernel.launches == 1
        assert kernel.moved_bytes == 2 * 4 * 4096 + 4
        assert kernel.ns is not None
        assert kernel.ns > 0
        assert found.wall_ns >= kernel.ns or len(found.kernels) > 1
        share = kernel.moved_bytes / kernel.ns * 1e9 / found.roofs.bytes_per_second
        assert kernel.memory_share == pytest.approx(share)


@pytest.mark.parametrize("backend", ["cpu", "opencl"])
def test_a_kernel_runs_between_its_launch_and_the_end_of_its_dispatch(backend: str) -> None:
    trace = Trace()
    watched = traced(vy.backend_for(backend), trace)
    for count in (64, 100_000, 64):
        given = np.ones(count, np.uint32)
        assert watched.dispatch_arrays(AFFINE, {"x": given})["out"].tolist() == [4] * count
    dispatches = sorted((s for s in trace.spans() if s.category == "call"), key=lambda span: span.begin_ns)
    kernels = sorted((s for s in trace.spans() if s.category == "kernel"), key=lambda span: span.begin_ns)
    assert len(kernels) == len(dispatches) == 3
    for dispatch, kernel, run in zip(dispatches, kernels, trace.kernels, strict=True):
        assert dispatch.begin_ns <= kernel.begin_ns <= kernel.end_ns <= dispatch.end_ns
        assert run.device_ns == kernel.end_ns - kernel.begin_ns > 0


def test_a_graph_is_taken_as_recorded() -> None:
    g = vy.graph("twice")
    x = g.input("x", vy.u32, 64)
    g.output("y", g.dispatch(AFFINE, x=g.dispatch(AFFINE, x=x)["out"])["out"])
    found = vy.profile(g, x=np.zeros(64, np.uint32), backend="cpu", seconds=0)
    assert sum(kernel.launches for kernel in found.kernels) == 1, "the two are fused"
    assert vy.explain(g, backend="cpu")["fusion"].choice.startswith("2 dispatches as 1")


def test_the_chosen_backend_has_its_reason() -> None:
    assert vy.explain(scaled.program, x=X, factor=2.0, backend="cpu")["backend"].reason == "the caller names it"
    reason = vy.explain(scaled.program, x=X, factor=2.0)["backend"].reason
    assert reason.startswith("the most preferred one that is available")


def test_what_tuning_found_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = vy.backend_for("cpu")
    choice = LaunchChoice(workgroup_size=(128, 1, 1), queue="threads", is_declared=True, ns=2000, own_ns=3000)
    monkeypatch.setattr(LaunchChoices, "get", lambda self, program, lengths, config: choice)
    made = vy.parse(vy.print_program(scaled.program).replace("scaled", "tuned"))
    found = vy.explain(made, x=X, factor=2.0, backend=backend)
    assert str(found["tuning"]) == (
        "workgroups of 128 × 1 × 1, the queue 'threads': measured by tuning: 2.0 µs beside 3.0 µs of the engine's own"
    )
    assert str(found["queue"]) == "threads: tuning chose it"
    assert str(found["workgroup"]) == "128 × 1 × 1: tuning asks for it"


def test_the_command_prints_tables_or_data(file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    given = ("--input", f"x={tmp_path / 'x.npy'}", "--length", "factor=1", "--backend", "cpu")
    result = invoke("profile", file, *given, "--seconds", "0")
    assert result.exit_code == 0, result.output
    assert "roofs: " in result.stdout
    document = json.loads(invoke("profile", file, *given, "--seconds", "0", "--json").stdout)
    assert document["backend"] == "cpu"
    assert [kernel["program"] for kernel in document["kernels"]] == ["scaled"]


def test_the_command_writes_a_page(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    given = ("--length", "x=1000", "--length", "factor=1", "--backend", "cpu", "--seconds", "0")
    assert invoke("profile", file, *given, "--html", page).exit_code == 0
    found = parsed(page.read_text("utf-8"))
    assert found.elements.count("svg") == 3
    assert "profile of scaled" in "".join(found.text)
    assert "Fix: " in invoke("profile", file, *given, "--html", page / "folder.html").stderr


def test_notebooks_show_kernels() -> None:
    assert "program scaled" in "".join(parsed(scaled._repr_html_()).text)


def test_the_command_profiles_and_explains_graphs(tmp_path: Path) -> None:
    g = vy.graph("once")
    g.output("y", g.dispatch(AFFINE, x=g.input("x", vy.u32, 64))["out"])
    path = tmp_path / "once.graph"
    path.write_bytes(g.build().encode())
    assert "affine" in invoke("profile", path, "--backend", "cpu", "--seconds", "0").stdout
    verdicts = json.loads(invoke("explain", path, "--backend", "cpu", "--json").stdout)["verdicts"]
    assert ("executor", "queue") in [(verdict["subject"], verdict["choice"]) for verdict in verdicts]
    assert "its lengths are fixed. Fix: " in invoke("profile", path, "--length", "x=3").stderr


def test_the_command_explains_programs(file: Path) -> None:
    result = invoke("explain", file, "--length", "x=100", "--length", "factor=1", "--backend", "cpu")
    assert result.exit_code == 0, result.output
    assert "grid          2 × 1 × 1: 128 invocations for 100 elements" in result.stdout
    missing = invoke("explain", file)
    assert missing.exit_code == 2
    assert "Fix: add --length x=COUNT" in missing.stderr


def test_a_backend_without_kernels_says_so(file: Path) -> None:
    result = invoke("profile", file, "--length", "x=100", "--length", "factor=1", "--backend", "reference")
    assert result.exit_code == 4
    assert "Fix: name a backend that compiles" in result.stderr
