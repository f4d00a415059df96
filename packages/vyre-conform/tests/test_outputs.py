"""Runs as JUnit XML, and what changed between two of them."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

from vyre_conform import Cell, Run, State, Suite
from vyre_conform.address import address
from vyre_conform.cell import Digests
from vyre_conform.changes import changes
from vyre_conform.junit import write_junit
from vyre_conform.proving import task_of
from vyre_conform.worker import Hello


def cell(name: str, state: State, reason: str = "", **facts: str) -> Cell:
    return Cell(address=address("ops", name, dtype="u8"), backend="mine", state=state, reason=reason, **facts)  # type: ignore[arg-type]


def run(*cells: Cell) -> Run:
    return Run(task=task_of(Suite(queries=()), 0), backends=[Hello("mine")], cells=list(cells))


def test_junit_has_a_test_for_each_cell(tmp_path: Path) -> None:
    path = tmp_path / "run.xml"
    found = run(
        cell("a", State.PASS),
        cell("b", State.FAIL, "out[0]: got 1 < 2 \x00"),
        cell("c", State.CRASHED, "signal SIGABRT", log="last words"),
        cell("d", State.UNSUPPORTED, "f64"),
    )
    write_junit(found, path)
    (suite,) = ET.parse(path).getroot()
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert [(t.get("classname"), t.get("name"), [c.tag for c in t]) for t in suite] == [
        ("mine.ops", "a:dtype=u8", []),
        ("mine.ops", "b:dtype=u8", ["failure"]),
        ("mine.ops", "c:dtype=u8", ["error"]),
        ("mine.ops", "d:dtype=u8", ["skipped"]),
    ]
    assert suite[1][0].get("message") == "fail: out[0]: got 1 < 2 �"
    assert suite[2][0].text == "last words"


def test_changes_are_cells_that_ended_otherwise() -> None:
    before = run(
        cell("same", State.PASS), cell("worse", State.PASS), cell("better", State.FAIL, "x"), cell("gone", State.PASS)
    )
    after = run(
        cell("same", State.PASS),
        cell("worse", State.TIMEOUT, "60 s"),
        cell("better", State.PASS),
        cell("new", State.PASS),
    )
    found = {change.cell.address.name: change for change in changes(before, after)}
    assert {name: change.is_worse for name, change in found.items()} == {
        "worse": True, "better": False, "new": False, "gone": True,
    }  # fmt: skip
    assert str(found["worse"]) == "ops:worse:dtype=u8 on mine: pass-exact -> timeout: 60 s"
    assert str(found["gone"]) == "ops:gone:dtype=u8 on mine: pass-exact -> absent"


def test_other_expectations_are_a_change_though_both_pass() -> None:
    first = cell("a", State.PASS)
    (change,) = changes(run(first), run(replace(first, digests=Digests(expected="00"))))
    assert not change.is_worse
    assert str(change) == "ops:a:dtype=u8 on mine: pass-exact"
