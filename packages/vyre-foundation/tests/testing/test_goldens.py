"""What tests compare with: a difference has the command that accepts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vyre_foundation.testing.goldens import accepting, check_golden, is_accepted

SAID = "Fix: find what changed; `VYRE_ACCEPT=1 pytest {test}` accepts it"


def test_the_command_works_where_the_tests_were_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert accepting(tmp_path / "tests" / "test_a.py") == SAID.format(test="tests/test_a.py")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert accepting(str(tmp_path / "a b" / "test_a.py")) == SAID.format(test="'../a b/test_a.py'")


def test_a_file_is_compared_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_ACCEPT", "0")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "goldens" / "a.txt"
    with pytest.raises(AssertionError) as missing:
        check_golden(file, "one\n", tmp_path / "test_a.py")
    assert str(missing.value).startswith(f"a.txt differs. {SAID.format(test='test_a.py')}\n--- expected\n+++ found\n")
    assert not file.exists()
    check_golden(file, "one\n", "test_a.py", accept=True)
    check_golden(file, "one\n", "test_a.py")
    with pytest.raises(AssertionError, match=r"accepts it\n(.*\n)*-one\n\+two"):
        check_golden(file, "two\n", "test_a.py")
    monkeypatch.setenv("VYRE_ACCEPT", "1")
    assert is_accepted()
    check_golden(file, "two\n", "test_a.py")
    assert file.read_text("utf-8") == "two\n"
