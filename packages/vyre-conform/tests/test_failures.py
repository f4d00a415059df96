"""What a vendor sees: equal failures together, why cells were not judged, and of what a run is a proof."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from vyre_conform import Cell, Query, Run, State, Suite, prove
from vyre_conform.address import address
from vyre_conform.cell import Window
from vyre_conform.changes import changes
from vyre_conform.failures import grouped, reasons
from vyre_conform.html.page import page_data
from vyre_conform.oracle.missing import missing
from vyre_conform.proving import task_of
from vyre_conform.report import Report
from vyre_conform.run import Exit
from vyre_conform.show import LOG_LINES, log_lines, show
from vyre_conform.worker import Hello, Worker

pytestmark = pytest.mark.usefixtures("backends", "forked")


def cell(name: str, state: State = State.FAIL, reason: str = "", group: str = "ops", **facts: str) -> Cell:
    return Cell(address=address(group, name), backend="mine", state=state, reason=reason, **facts)  # type: ignore[arg-type]


def run(*cells: Cell) -> Run:
    found = Run(task=task_of(Suite(queries=()), 0), backends=[Hello("mine", "1.2", {"device": "a device"})])
    found.cells = list(cells)
    return found


def printed(report: Report) -> str:
    console = Console(file=StringIO(), width=200, emoji=False, color_system=None)
    show(report, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_equal_failures_stand_together() -> None:
    lost = "it raised DeviceLost: the device 0x7f31 went away after 17 launches"
    cells = [
        cell("add", reason="out[3]: got 1, expected 2", output="out"),
        cell("add", reason="out[9]: got 4, expected 5", output="out"),
        cell("sub", reason="out[3]: got 1, expected 2", output="out"),
        cell("mul", reason=lost),
        cell("div", reason=lost.replace("17", "18").replace("7f31", "10")),
        cell("div", State.CRASHED, reason=lost),
    ]
    found = [[c.address.name for c in failure.cells] for failure in grouped(cells)]
    assert found == [["add", "add"], ["sub"], ["mul", "div"], ["div"]]
    text = printed(Report(run(*cells)))
    assert text.count("✗ fail") == 1 + 3
    assert "and so do 1 more: ops:div" in text


def test_the_terminal_says_why_cells_were_not_judged() -> None:
    cells = [cell(f"a{n}", State.UNSUPPORTED, "mine does not support f64. Fix: choose another") for n in range(3)]
    cells += [cell("b", State.SKIPPED, "it does not show what it emits"), cell("c", State.PASS)]
    cells += [cell("d", State.XFAIL, "it flushes (out[3]: got 0)")]
    found = run(*cells)
    assert reasons(found, "mine", State.UNSUPPORTED) == [("mine does not support f64. Fix: choose another", 3)]
    text = printed(Report(found))
    assert "– 3 unsupported on mine: mine does not support f64." in text
    assert "? 1 skipped on mine: it does not show what it emits" in text
    assert "x 1 xfail on mine: it flushes (out[3]: got 0)" in text
    assert page_data(Report(found))["unsupported"][0] == [
        "mine", "unsupported", "mine does not support f64. Fix: choose another", 3,
    ]  # fmt: skip


def test_a_proof_says_of_what() -> None:
    found = prove(["reference"], Suite(queries=(Query.parse("traps:one"),)), seed=7)
    last = printed(Report(found)).splitlines()[-1]
    assert last.startswith("Proven: reference ")
    assert "on host interpreter" in last
    assert f"corpus {found.task.corpus[:12]}, cases traps:one, size ci, seed 7, each dispatched 2 times" in last
    assert page_data(Report(found))["about"] in last


def test_a_shard_is_no_proof() -> None:
    suite = Suite(queries=(Query.parse("traps:*"),), shard=(2, 3))
    found = Report(prove(["reference"], suite))
    last = printed(found).splitlines()[-1]
    assert found.exit is Exit.PROVEN
    assert last.startswith("A part passes: reference ")
    assert f": shard 2/3, {len(found.run.cells)} of 17 cells, corpus {found.run.task.corpus[:12]}" in last
    page = page_data(found)
    assert page["verdict"] == "A part passes"
    assert page["about"] in last


@pytest.mark.parametrize("state", [State.UNSUPPORTED, State.SKIPPED, State.XFAIL])
def test_a_backend_that_passes_no_cell_is_not_proven(state: State) -> None:
    found = run(cell("a", state, "no"), cell("b", State.UNSUPPORTED, "no"))
    found.is_complete = True
    assert found.exit is Exit.UNPROVEN
    *_, why, last = printed(Report(found)).splitlines()
    assert why == "mine: no cell passes, so nothing is shown"
    assert last.startswith("Nothing proven: mine 1.2 on a device: corpus ")
    other = replace(found.cells[0], backend="other", state=State.PASS)
    found.cells.append(other)
    assert (found.exit, found.without_pass) == (Exit.UNPROVEN, ["mine"])
    found.cells.append(replace(other, backend="mine"))
    assert (found.exit, found.without_pass) == (Exit.PROVEN, [])


@pytest.mark.parametrize("state", [State.UNSUPPORTED, State.SKIPPED, State.XFAIL])
def test_a_pass_that_is_lost_is_worse(state: State) -> None:
    before, after = run(cell("a", State.PASS)), run(cell("a", state))
    (lost,) = changes(before, after)
    (gained,) = changes(after, before)
    assert (lost.is_worse, gained.is_worse) == (True, False)


def test_a_failure_is_no_proof() -> None:
    failed = run(cell("add", reason="x"))
    failed.is_complete = True
    assert printed(Report(failed)).splitlines()[-1].startswith("Failed: mine 1.2 on a device: corpus ")


def test_a_dead_backend_shows_where_it_died() -> None:
    queries = tuple(Query.parse(f"ops:{name}:dtype=u8,values=zeros") for name in ("max", "div"))
    found = prove(["backends:FRAGILE"], Suite(queries=queries))
    assert {c.state for c in found.cells} == {State.CRASHED, State.FAIL}
    text = printed(Report(found))
    for words in ("Fatal Python error: Segmentation fault", "in string_at", "ZeroDivisionError: not a typed error"):
        assert words in text


def test_a_backend_that_does_not_open_shows_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("vyre_conform.bench"), "Worker", Worker)  # forks have another path
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "broken.py").write_text(
        "from vyre_driver.backend.registration import Availability, BackendRegistration\n"
        "def factory():\n    raise RuntimeError('no such queue')\n"
        "MINE = BackendRegistration(id='m', precedence=9, contract=1, factory=factory, probe=Availability.available)\n"
    )
    found = prove(["broken:MINE"], Suite(queries=(Query.parse("traps:one"),)))
    text = printed(Report(found))
    assert "broken:MINE: its process did not start: exit status 1. Fix: repair what its last words name" in text
    assert "RuntimeError: no such queue" in text
    assert "in factory" in text


def test_long_logs_are_cut_where_it_matters_least() -> None:
    trace = [f"frame {n}" for n in range(50)]
    assert log_lines("\n".join(trace)) == trace[-LOG_LINES:]
    death = [*trace, "noise", "Fatal Python error: Aborted", "", "Current thread", *trace]
    assert log_lines("\n".join(death))[2] == "Fatal Python error: Aborted"


def test_the_elements_round_the_wrong_one_are_kept() -> None:
    found = prove(["backends:FRAGILE"], Suite(queries=(Query.parse("ops:rem:dtype=u8,values=random"),)), 9)
    (bad,) = found.cells
    assert bad.window is not None
    got, expected = bad.window.got.split(), bad.window.expected.split()
    assert bad.index is not None
    at = bad.index - bad.window.first
    assert (int(got[at], 16), int(expected[at], 16)) == (int(bad.got.split()[0]), int(bad.expected.split()[0]))
    assert got[:at] == expected[:at]
    assert set(got) == {"00"}
    assert Cell.from_json(bad.to_json()).window == bad.window
    facts = page_data(Report(found))["details"][0]["window"]
    assert Window(**facts) == bad.window


def test_a_missing_oracle_is_said() -> None:
    found = run(cell("a", State.PASS))
    complete = {"gmpy2": "2", "vyre-math": "1"}
    for absent, words in (("gmpy2", "pip install 'vyre-conform[oracle]'"), ("vyre-math", "are not judged at all")):
        versions = {name: version for name, version in complete.items() if name != absent}
        assert [oracle.distribution for oracle in missing(versions)] == [absent]
        task = type(found.task).from_json(found.task.to_json() | {"versions": versions, "shard": [1, 1], "queries": [],
                                                                  "gaps": []})  # fmt: skip
        weaker = Report(Run(task=task, backends=found.backends, cells=found.cells))
        assert f"weaker cells: {absent} is not installed" in printed(weaker)
        assert words in printed(weaker)
        assert words in page_data(weaker)["weaker"][0]
    assert missing(complete) == []


@pytest.mark.parametrize("make", [lambda: "gmpy2", lambda: "numpy"])
def test_what_judges_is_part_of_the_task(make: Callable[[], str]) -> None:
    pytest.importorskip(make())
    assert make() in task_of(Suite(queries=()), 0).versions
