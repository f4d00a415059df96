"""The helper for the test suites of vendors."""

import subprocess
import sys
from pathlib import Path

import pytest

from vyre_conform import State
from vyre_conform.case import Spec
from vyre_conform.testing import cells, require
from vyre_driver.testing.mock import MockBackend
from vyre_reference.vector import evaluate

CELLS = cells("traps:*", "indirect:*", fuzz=4)


@pytest.mark.parametrize("spec", CELLS, ids=str)
def test_a_right_backend_conforms(spec: Spec) -> None:
    assert require(MockBackend(evaluate), spec) is State.PASS


def test_a_wrong_backend_does_not() -> None:
    def off_by_one(plan: object, memory: dict[str, bytearray], **rest: object) -> None:
        evaluate(plan, memory, **rest)  # type: ignore[arg-type]
        memory["out"][0] ^= 1

    (spec,) = cells("memory:bool_bytes")
    with pytest.raises(AssertionError, match=r"^memory:bool_bytes on mock: out\[0\]"):
        require(MockBackend(off_by_one), spec)  # type: ignore[arg-type]


PYTEST_ARGUMENTS = ("-q", "-W", "error", "-p", "no:cacheprovider", "--import-mode=importlib")


def judged(pytester_path: Path, text: str, *arguments: str) -> str:
    """What pytest says of a file, in a process of its own."""
    (pytester_path / "test_mine.py").write_text(text)
    command = [sys.executable, "-m", "pytest", *PYTEST_ARGUMENTS, *arguments, "test_mine.py"]
    done = subprocess.run(command, cwd=pytester_path, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


CLASS = """
from vyre_conform.testing import Conformance

class TestConformance(Conformance):
    backend = "backends:FRAGILE"
    queries = ("ops:rem:dtype=u8", "ops:sqrt:dtype=f64", "traps:one")
"""


@pytest.mark.usefixtures("backends")
def test_three_lines_judge_a_backend(tmp_path: Path) -> None:
    said = judged(tmp_path, CLASS, "-rfs")
    assert "FAILED test_mine.py::TestConformance::test_case[backends:FRAGILE-ops:rem:dtype=u8]" in said
    assert "SKIPPED" in said
    assert "f64" in said
    assert "traps:one" not in said


@pytest.mark.usefixtures("backends")
def test_the_command_line_names_another_backend_and_other_cases(tmp_path: Path) -> None:
    said = judged(
        tmp_path, CLASS, "--vyre-backend=reference", "--vyre-backend=backends:RIGHT", "--vyre-cases=traps:one"
    )
    assert "2 passed" in said


@pytest.mark.usefixtures("backends")
def test_a_backend_that_cannot_run_fails_with_the_remedy(tmp_path: Path) -> None:
    said = judged(tmp_path, CLASS, "--vyre-backend=backends:ABSENT", "--vyre-cases=traps:one")
    assert "there is no device. Fix: plug one in" in said
