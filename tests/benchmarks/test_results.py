"""Tables and verdicts follow from figures on file, whichever parts of a suite were measured when."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import results
import targets
from harness import SUITES
from records import Measured, Record, best_of, load, save


def row(case: str, peer: str, seconds: float, variant: str = "kernel", amount: float = 1.0) -> Record:
    return {"case": case, "size": 1, "peer": peer, "variant": variant, "amount": amount, "median": seconds}


def run(*cases: str, date: str = "2026-01-01") -> dict[str, object]:
    return {"date": date, "seconds": 1, "load": [0.5, 1.0], "commit": "abc", "cases": list(cases)}


OLDER = Measured({"commit": "a"}, [run("copy", "xor")], [row("copy", "vyre", 1.0), row("xor", "vyre", 2.0)])
NEWER = Measured({"commit": "b"}, [run("xor", date="2026-02-02")], [row("xor", "vyre", 3.0)])


def test_what_was_measured_again_replaces_what_was_there() -> None:
    merged = OLDER.with_newer(NEWER)
    assert [(r["case"], r["median"]) for r in merged.rows] == [("copy", 1.0), ("xor", 3.0)]
    assert [r["cases"] for r in merged.runs] == [["copy"], ["xor"]]
    assert merged.environment == {"commit": "b"}


def test_a_run_of_which_nothing_is_left_is_forgotten() -> None:
    again = Measured({}, [run("copy", "xor")], OLDER.rows)
    assert len(OLDER.with_newer(again).runs) == 1


def test_rows_are_put_in_order_and_cases_that_are_gone_are_dropped() -> None:
    assert [r["case"] for r in OLDER.in_order(["xor", "copy"]).rows] == ["xor", "copy"]
    assert [r["case"] for r in OLDER.in_order(["xor"]).rows] == ["xor"]


def test_files_keep_everything(tmp_path: Path) -> None:
    save("kernels", OLDER, tmp_path)
    assert load("kernels", tmp_path) == OLDER
    assert load("startup", tmp_path) == Measured()


def test_when_names_the_cases_of_several_runs() -> None:
    assert OLDER.when() == "2026-01-01, 1 s, load 0.5 before and 1.0 after.\n"
    assert "- xor: 2026-02-02, 1 s" in OLDER.with_newer(NEWER).when()


def test_the_best_does_most_in_a_second() -> None:
    rows = [row("copy", "gcc", 2.0, amount=8.0), row("copy", "NumPy", 1.0), {"case": "copy", "skipped": "not here"}]
    assert best_of(rows, lambda r: True) is rows[0]
    assert best_of(rows, lambda r: False) is None


@pytest.mark.parametrize(
    ("value", "is_limit", "verdict"),
    [
        (1.0, False, "met"),
        (0.99, False, "behind"),
        (1.0, True, "met"),
        (1.01, True, "behind"),
        (None, True, "not measured"),
    ],
)
def test_verdict(value: float | None, is_limit: bool, verdict: str) -> None:
    assert targets.Verdict("x", value, 1.0, " ×", is_limit=is_limit).cells()["verdict"] == verdict


def test_a_target_beside_the_best_peer() -> None:
    rows = [
        row("histogram", "vyre, CPU", 1.0),
        row("histogram", "gcc -O3, OpenMP", 3.0, ""),
        row("histogram", "Numba", 2.0, ""),
    ]
    measured = {suite: Measured() for suite in SUITES} | {"kernels": Measured({}, (), rows)}
    values = {verdict.what: verdict.value for verdict in targets.all_of(measured)}
    assert values["histogram beside gcc"] == 3.0
    assert values["histogram beside Numba"] == 2.0
    assert values["hash chain beside gcc"] is None


def test_a_start_is_judged_beside_pyopencl() -> None:
    rows = [
        row("warm cache", "vyre, CPU", 0.004, "first"),
        row("warm cache", "vyre, CPU", 0.24, "process"),
        row("warm cache", "vyre, reference", 0.1, "process"),
        row("warm cache", "JAX", 0.6, "process"),
        row("warm cache", "PyOpenCL", 0.3, "process"),
    ]
    measured = {suite: Measured() for suite in SUITES} | {"startup": Measured({}, (), rows)}
    verdicts = {verdict.what: verdict for verdict in targets.all_of(measured)}
    assert verdicts["first dispatch of a fresh process"].value == 4.0
    assert verdicts["first dispatch of a fresh process"].is_met
    whole = verdicts["the whole process beside PyOpenCL's"]
    assert whole.value == pytest.approx(0.8)
    assert whole.is_met


def test_every_verdict_has_a_name_of_its_own() -> None:
    verdicts = list(targets.all_of({suite: load(suite) for suite in SUITES}))
    assert len({verdict.what for verdict in verdicts}) == len(verdicts)


def test_the_page_shows_what_is_on_file() -> None:
    page = results.RESULTS.read_text("utf-8")
    for suite in SUITES:
        assert f"<!-- {suite} -->\n\n{results.section(suite, load(suite))}\n<!-- end of {suite} -->" in page
    assert targets.table({suite: load(suite) for suite in SUITES}) in page
