"""Whole runs: every kind of cell, in a report that adds nothing up."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vyre_conform import Cell, Exit, Query, Report, Run, State, Suite, Task, prove, read_gaps
from vyre_conform.address import BadQuery
from vyre_conform.bench import CaseRunner
from vyre_conform.case import Spec
from vyre_conform.gaps import BadGapList
from vyre_conform.proving import Watch, task_of
from vyre_conform.report import Kill
from vyre_conform.show import command
from vyre_conform.testing import cells

pytestmark = pytest.mark.usefixtures("backends", "forked")

QUERIES = [*(f"ops:{op}:dtype=u8,values=random" for op in ("add", "sub", "mul", "div", "rem"))]
QUERIES.append("ops:add:dtype=f64,values=random")


def suite(*queries: str, **rest: object) -> Suite:
    return Suite(queries=tuple(Query.parse(query) for query in queries), **rest)  # type: ignore[arg-type]


def states(report: Run) -> dict[str, State]:
    return {str(cell.address): cell.state for cell in report.cells}


@pytest.fixture(scope="module")
def fragile() -> Run:
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "worker"))
    report = prove(["backends:FRAGILE"], suite(*QUERIES, seconds=3.0))
    monkeypatch.undo()
    return report


def test_the_reference_is_proven() -> None:
    report = prove(["reference"], suite("control:*", "refusals:*", fuzz=8), seed=3)
    assert set(states(report).values()) == {State.PASS}
    assert report.exit is Exit.PROVEN
    assert report.task.cells == len(report.cells)
    assert report.matrix()["fuzz"]["reference"][State.PASS] == 8


def test_each_backend_has_as_many_processes_as_there_are_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that compiles takes far longer than the others: they would leave its share of the cores idle."""
    opened: list[tuple[str, int]] = []

    def watched(backend: str, suite: Suite, workers: int, *rest: Any) -> CaseRunner:
        opened.append((backend, workers))
        return whole(backend, suite, workers, *rest)

    whole = CaseRunner.opened
    monkeypatch.setattr(CaseRunner, "opened", watched)
    found = prove(["reference", "reference-scalar"], suite("traps:*"), jobs=2)
    assert opened == [("reference", 2), ("reference-scalar", 2)]
    assert {cell.state for cell in found.cells} == {State.PASS}
    prove(["reference"], suite("traps:one"), jobs=2)
    assert opened[2:] == [("reference", 1)], "one case pays for no second process"


@pytest.mark.parametrize("idle", ["limits", "traps:on", "ops:add:dtype=u9"])
def test_a_query_that_means_nothing_is_refused_beside_others(idle: str) -> None:
    with pytest.raises(BadQuery, match=rf"^no case matches {idle}\. Fix: `vyre-conform list` shows the cases"):
        suite("traps:*", idle).specs(0)
    with pytest.raises(BadQuery):
        cells("traps:*", idle)
    assert len(suite("traps:*", "fuzz", fuzz=3).specs(0)) == len(suite("traps:*").specs(0)) + 3


def test_every_kind_of_end_is_a_cell_of_its_own(fragile: Run) -> None:
    assert states(fragile) == {
        "ops:add:dtype=u8,values=random": State.PASS,
        "ops:add:dtype=f64,values=random": State.UNSUPPORTED,
        "ops:sub:dtype=u8,values=random": State.CRASHED,
        "ops:mul:dtype=u8,values=random": State.TIMEOUT,
        "ops:div:dtype=u8,values=random": State.FAIL,
        "ops:rem:dtype=u8,values=random": State.FAIL,
    }
    assert fragile.exit is Exit.FAILED


def test_a_failure_says_what_was_got_and_how_to_see_it_again(fragile: Run) -> None:
    (cell,) = [cell for cell in fragile.cells if cell.address.name == "rem"]
    assert re.match(r"out\[\d+\] of x=\d+ \(0x..\), y=\d+ \(0x..\): got 0 \(0x00\), expected", cell.reason)
    assert (cell.output, cell.got) == ("out", "0 (0x00)")
    assert cell.differing > 60
    again = "vyre-conform run --backend backends:FRAGILE --cases ops:rem:dtype=u8,values=random --seed 0 --seconds 3"
    assert command(cell, fragile.task) == again


def test_a_command_repeats_the_run_that_a_cell_is_of() -> None:
    """With what decides how the cell ends, and without what is so by default."""
    task = task_of(suite("traps:one"), 3)
    cell = Cell(address=suite("traps:one").specs(0)[0].address, backend="b", state=State.FAIL)
    again = "vyre-conform run --backend b --cases traps:one --seed 3"
    assert command(cell, replace(task, seconds=60.0)) == again
    changed = replace(task, seconds=0.5, repeats=9, size="full")
    assert command(cell, changed) == f"{again} --size full --seconds 0.5 --repeats 9"
    assert command(cell, replace(changed, size="nightly")).startswith(f"{again} --size nightly --fuzz 0 ")
    written = replace(cell, reproducer="a.vyre")
    assert command(written, changed) == "vyre-conform replay a.vyre --backend b --seconds 0.5 --repeats 9"


def test_a_crash_keeps_the_last_words(fragile: Run) -> None:
    (cell,) = [cell for cell in fragile.cells if cell.state is State.CRASHED]
    assert cell.reason == "the process ended: signal SIGABRT"
    assert "my last words" in cell.log


def test_the_report_is_plain_data(fragile: Run) -> None:
    plain = json.loads(json.dumps(Report(fragile).to_json()))
    assert plain["exit"] == 1
    assert plain["backends"][0]["backend"] == "backends:FRAGILE"
    assert [cell["state"] for cell in plain["cells"]].count("fail") == 2
    assert set(plain["task"]["versions"]) >= {"vyre-foundation", "vyre-conform"}


def test_known_gaps_may_fail_and_must(tmp_path: Path) -> None:
    gaps = tmp_path / "gaps"
    gaps.write_text(
        '[[gap]]\ncells = "ops:rem:*"\nbackend = "backends:*"\nreason = "zeros"\nupstream = "issue 7"\n'
        '[[gap]]\ncells = "ops:add:*"\nreason = "long repaired"\nupstream = "issue 8"\n'
        '[[gap]]\ncells = "*"\nbackend = "another"\nreason = "not ours"\nupstream = "issue 9"\n'
    )
    report = prove(
        ["backends:FRAGILE"],
        suite("ops:rem:dtype=u8,values=small", "ops:add:dtype=u8,values=small", gaps=read_gaps(gaps)),
    )
    cells = {str(cell.address): cell for cell in report.cells}
    assert cells["ops:rem:dtype=u8,values=small"].state is State.XFAIL
    assert cells["ops:rem:dtype=u8,values=small"].reason.startswith("zeros (out[")
    assert cells["ops:add:dtype=u8,values=small"].state is State.FAIL
    assert cells["ops:add:dtype=u8,values=small"].reason == "it passes: strike the known gap 'ops:add:*'"
    assert report.task.gaps[0] == ("ops:rem:*", "backends:*", "zeros", "issue 7")
    assert Task.from_json(json.loads(json.dumps(report.task.to_json()))) == report.task


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[gap]]\ncells = "ops"\nupstream = "i"', r"gaps, gap 1: it gives no reason\. Fix: write reason"),
        ('[[gap]]\ncells = "ops"\nreason = "r"', r"gaps, gap 1: it gives no upstream"),
        ('[[gap]]\ncells = "ops"\nreason = 3', r"cells, reason is not what a gap has"),
        ("[[gaps]]", r"something beside \[\[gap\]\]"),
        ("ops:rem:*  zeros", r"not TOML"),
    ],
)
def test_a_gap_says_what_why_and_where(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "gaps").write_text(text)
    with pytest.raises(BadGapList, match=problem):
        read_gaps(tmp_path / "gaps")


def test_a_backend_that_is_not_there_is_not_a_failure_of_the_others() -> None:
    report = prove(["reference", "backends:ABSENT"], suite("traps:*"))
    assert report.exit is Exit.UNAVAILABLE
    assert {cell.backend for cell in report.cells} == {"reference"}
    assert report.backends[1].problem == "backend 'absent' is not available: there is no device"


def test_a_run_in_which_no_backend_starts_proves_nothing() -> None:
    for backends in ([], ["backends:ABSENT"]):
        report = prove(backends, suite("traps:*"))
        assert (report.cells, report.is_complete, report.exit) == ([], False, Exit.UNAVAILABLE)


def test_cells_come_in_corpus_order_whichever_backend_was_first() -> None:
    report = prove(["reference", "backends:RIGHT"], suite("traps:*"))
    places = [(str(cell.address), cell.backend) for cell in report.cells]
    expected = [str(spec.address) for spec in suite("traps:*").specs(0)]
    assert places == [(case, backend) for case in expected for backend in ("reference", "backends:RIGHT")]


def test_opinions_that_disagree_are_nobodys_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    from vyre_conform.case import Exactly, Launch

    spec = suite("ops:add:dtype=u8").specs(0)[0]
    case = spec.case()

    def lie(rng: object) -> tuple[Launch, Exactly]:
        assert isinstance(case.expected, Exactly)
        return case.launch, Exactly((bytes(len(case.expected.outputs[0])),))

    monkeypatch.setattr(Suite, "specs", lambda self, seed: [Spec(case.address, lie)])
    report = prove(["reference"])
    assert {cell.state for cell in report.cells} == {State.SKIPPED}
    assert {d.opinion for d in report.mismatches} == {"scalar", "vector", "optimized", "numpy"}
    assert report.exit is Exit.MISMATCH


def test_an_error_of_the_suite_itself_ends_the_run() -> None:
    class Broken(Watch):
        def judged(self, cell: Cell) -> None:
            raise RuntimeError("the watch is broken")

    with pytest.raises(RuntimeError, match="the watch is broken"):
        prove(["reference"], suite("ops:a*", "traps:*"), watch=Broken())


def test_exit_codes() -> None:
    cell = Cell(address=suite("traps:one").specs(0)[0].address, backend="b", state=State.PASS)
    task = prove([], suite("traps:one")).task
    assert Report(Run(task=task, cells=[cell], is_complete=True)).exit is Exit.PROVEN
    assert Report(Run(task=task, cells=[cell])).exit is Exit.INCOMPLETE
    failed = replace(cell, state=State.FAIL)
    assert Report(Run(task=task, cells=[cell, failed])).exit is Exit.FAILED
    assert Report(Run(task=task), [Kill("f", "compiler", "a fault", None)]).exit is Exit.FAILED
    assert Report(Run(task=task), [Kill("f", "compiler", "a fault", "ops:add")]).exit is Exit.PROVEN
