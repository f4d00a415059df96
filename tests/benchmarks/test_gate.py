"""What the compiler emits and what a warm dispatch does, counted: neither may grow unless somebody accepts it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import gate
import vectorized
from counted import counts
from workloads import WORKLOADS


@pytest.mark.parametrize("name", WORKLOADS)
def test_nothing_has_grown(name: str) -> None:
    grown, _ = gate.compared(gate.accepted(), {name: counts(name)})
    assert not grown, "\n".join([*grown, gate.FIX])


@pytest.mark.parametrize("name", WORKLOADS)
def test_no_vectors_are_lost(name: str) -> None:
    title = vectorized.title(name)
    if title not in gate.accepted():
        pytest.skip(f"no counts of {vectorized.COMPILER} were accepted yet")
    grown, _ = gate.compared(gate.accepted(), {title: vectorized.counts(name)})
    assert not grown, "\n".join([*grown, gate.FIX])


def test_counts_are_the_same_again() -> None:
    assert counts("prefix sum") == counts("prefix sum")


def test_more_is_reported_and_fewer_is_not_a_failure() -> None:
    before, now = {"xor": {"guards": 2, "warm: launches": 1}}, {"xor": {"guards": 3, "warm: launches": 0}}
    assert gate.compared(before, now) == (["xor, guards: 2 → 3"], ["xor, warm: launches: 1 → 0"])


def test_nodes_have_a_tolerance() -> None:
    before = {"xor": {"loops: nodes": 100}}
    assert gate.compared(before, {"xor": {"loops: nodes": 102}}) == ([], [])
    assert gate.compared(before, {"xor": {"loops: nodes": 103}}) == (["xor, loops: nodes: 100 → 103"], [])


def test_what_nobody_accepted_fails() -> None:
    assert gate.compared({}, {"xor": {"guards": 0}}) == (["xor, guards: not accepted yet → 0"], [])


def test_the_gate_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gate, "WORKLOADS", {"xor": WORKLOADS["xor"]})
    monkeypatch.setattr(gate.instructions, "per_node", dict)
    monkeypatch.setattr(gate, "accepted", lambda: {"xor": counts("xor") | {"loops: kernels": 0}})
    assert gate.main(accept=False) == 1
    assert capsys.readouterr().out.endswith(f"MORE: xor, loops: kernels: 0 → 1\n{gate.FIX}\n")


def test_what_is_accepted_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gate, "WORKLOADS", {"xor": WORKLOADS["xor"]})
    monkeypatch.setattr(gate.instructions, "per_node", dict)
    monkeypatch.setattr(gate, "ACCEPTED", tmp_path / "counts.json")
    assert gate.main(accept=True) == 0
    assert gate.main(accept=False) == 0


def test_without_valgrind_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gate, "WORKLOADS", {})
    monkeypatch.setattr(gate.instructions, "TOOLS", ("no-such-tool",))
    assert gate.main(accept=False) == 0
    assert "not counted: valgrind is not installed. Fix: apt install valgrind" in capsys.readouterr().out


def test_stages_that_callgrind_watches_do_what_they_say() -> None:
    for prepare, stage in gate.instructions.stages().values():
        stage(prepare(1))
