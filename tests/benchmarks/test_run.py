"""Every suite of the benchmarks runs at toy size: what it measures there means nothing, that it measures does."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from run import names_in

from vyre_driver.registry.backends import availability

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ROWS = {  # suite: a row that nobody may lose
    "ir": ("sharing", "vyre lowering", "emit"),
    "evaluators": ("histogram, result used", "vyre, all lanes at once", ""),
    "races": ("histogram", "vyre, the program itself", ""),
    "dispatch": ("xor", "vyre", "compiled pipeline"),
    "resident": ("sequence", "vyre, CPU", "over two buffers"),
    "graphs": ("PageRank", "vyre", "graph"),
    "kernels": ("matmul", "vyre", "kernel"),
    "core": ("xor", "vyre", ""),
    "written": ("softmax of rows", "vyre", ""),
    "algorithms": ("sort", "vyre, CPU", ""),
    "elementary": ("hypot", "vyre", ""),
    "startup": ("warm cache", "vyre, reference", "first"),
}
SOME = {
    "ir": ["sharing"],
    "races": ["histogram"],
    "dispatch": ["xor"],
    "resident": ["sequence"],
    "graphs": ["PageRank"],
    "kernels": ["matmul"],
    "core": ["xor"],
    "written": ["softmax of rows", "Collatz"],
    "algorithms": ["sort"],
    "elementary": ["exp", "hypot"],
    "startup": ["warm cache"],
}
"""A case of each suite whose cases can be named; `test_every_case_of_a_suite` has the others."""

LONG = {"algorithms", "core", "dispatch", "elementary", "ir", "kernels", "races", "resident", "startup", "written"}
"""Suites that take many processes or compilations; the others measure with the same harness."""

OPTIONAL = {"vyre, Intel"}
"""Its runtime is a large download."""

if not availability("opencl").is_available:
    OPTIONAL |= {"vyre", "vyre, PoCL", "vyre, PoCL basic", "vyre lowering"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Peers cache in a folder of the run, as they do when they are measured: a warm cache is one."""
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--toy", "--rounds", "1", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "VYRE_CACHE"}
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False)


@pytest.mark.parametrize("suite", [pytest.param(s, marks=pytest.mark.slow if s in LONG else ()) for s in ROWS])
def test_suite(suite: str, tmp_path: Path) -> None:
    """Chosen cases are those that are measured, in the order of the suite."""
    cases = SOME.get(suite)
    require_rows(suite, tmp_path, *(("--cases", ",".join(cases)) if cases else ()))
    if cases:
        measured = json.loads((tmp_path / f"{suite}.json").read_text("utf-8"))
        assert {row["case"] for row in measured["rows"]} == set(cases)
        assert [run["cases"] for run in measured["runs"]] == [cases]


@pytest.mark.parametrize(
    ("listed", "found", "rest"),
    [
        ("copy,matmul", {"copy", "matmul"}, ""),
        ("scan, unrolled", {"scan, unrolled"}, ""),
        ("scan,scan, unrolled", {"scan", "scan, unrolled"}, ""),
        ("copyy,scan", {"scan"}, "copyy"),
    ],
)
def test_names_of_cases(listed: str, found: set[str], rest: str) -> None:
    assert names_in(listed, ["copy", "matmul", "scan", "scan, unrolled"]) == (found, rest)


def test_a_case_that_no_suite_has() -> None:
    done = bench("evaluators", "core", "--cases", "xor,xorr")
    assert done.returncode == 2
    assert "no case is called xorr; there are " in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("suite", SOME)
def test_every_case_of_a_suite(suite: str, tmp_path: Path) -> None:
    require_rows(suite, tmp_path)


def require_rows(suite: str, tmp_path: Path, *arguments: str) -> None:
    done = bench(suite, "--peers", "none", "--output", str(tmp_path), *arguments)
    assert done.returncode == 0, done.stderr
    measured: list[dict[str, Any]] = json.loads((tmp_path / f"{suite}.json").read_text("utf-8"))["rows"]
    assert not [row for row in measured if "skipped" in row and row["peer"] not in OPTIONAL]
    assert ROWS[suite][1] in OPTIONAL or ROWS[suite] in {(row["case"], row["peer"], row["variant"]) for row in measured}
    assert all(row["p25"] <= row["median"] <= row["p75"] for row in measured if "skipped" not in row)
    assert (tmp_path / f"{suite}.md").read_text("utf-8") in done.stdout


def test_a_peer_that_is_missing_is_a_row_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "triton.py").write_text("raise ModuleNotFoundError('No module named triton', name='triton')", "utf-8")
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "worker.py"), "evaluators", "Triton interpreter"],
        input=json.dumps({"do": "prepare", "case": "xor", "size": 256, "without": []}) + "\n",
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.removeprefix("\x1eanswer ")) == {"skipped": "not installed (triton)"}
