"""Tests that write what they compare with do so by one module, and say how: `vyre_foundation.testing.goldens`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = [
    file for folder in ("packages/*/tests", "tests", "examples/*/tests") for file in ROOT.glob(f"{folder}/**/*.py")
]
ACCEPTING = [file for file in TESTS if re.search(r"\bis_accepted\(", file.read_text("utf-8"))]


def test_the_variable_is_read_in_one_place() -> None:
    reads = re.compile(r"""(environ|getenv)\W+(get\W+)?VYRE_ACCEPT""")
    assert [str(file.relative_to(ROOT)) for file in TESTS if reads.search(file.read_text("utf-8"))] == []


def test_it_is_known_which_tests_accept() -> None:
    assert "packages/vyre-algorithms/tests/test_digests.py" in {str(file.relative_to(ROOT)) for file in ACCEPTING}


@pytest.mark.parametrize("file", ACCEPTING, ids=lambda file: file.stem)
def test_a_failure_has_the_command_that_accepts_it(file: Path) -> None:
    assert re.search(r"\b(accepting|check_golden)\(", file.read_text("utf-8"))
