"""`vyre cache`: what is kept is shown, checked, bounded and deleted."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from vyre.cli import main
from vyre_driver import registered_backends_by_precedence
from vyre_driver.pipeline import database
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["cache", *arguments])


def answer(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(invoke(*arguments, "--json").stdout)
    return document


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with two entries of code and one of facts."""
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path / "cache"))
    with closing(DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path / "cache"))) as store:
        for key, kind in (("a", PayloadKind.CODE), ("b", PayloadKind.CODE), ("f", PayloadKind.FACTS)):
            store.put(EntryIdentity(kind=kind, key=key, subject=f"of {key}", text=key), bytes(1000), 10**9)
    return tmp_path / "cache"


def test_info_lists_the_entries(folder: Path) -> None:
    said = answer("info")
    assert (said["folder"], said["mode"], said["bytes"]) == (str(folder), "off", 3000)
    assert sorted(entry["key"] for entry in said["entries"]) == ["a", "b", "f"]
    text = invoke("info").stdout
    assert "3 entries, 2.9 KiB of 256.0 MiB" in text
    assert "of f" in text


def test_info_of_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_CACHE_DIR", str(folder / "not there"))
    assert answer("info")["entries"] == []
    assert answer("verify") == {"sound": True, "findings": []}
    assert not (folder / "not there").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no user ids")
def test_a_folder_that_others_may_write_is_reported_with_what_repairs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.chmod(0o777)
    result = invoke("verify")
    assert result.exit_code == 1
    assert f"other users may write {folder} (mode 777)" in result.stdout
    assert f"Fix: `chmod go-w {folder}`, or set VYRE_CACHE_DIR to another folder" in result.stdout
    assert not answer("verify")["sound"]
    monkeypatch.setenv("VYRE_CACHE", "ro")
    assert f"{folder} (ro): unavailable: other users may write" in invoke("info").stdout
    folder.chmod(0o755)
    assert invoke("verify").exit_code == 0


def test_a_file_in_the_place_of_the_folder_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_CACHE_DIR", str(folder / database.FILE))
    result = invoke("verify")
    assert result.exit_code == 1
    assert "Fix: remove that file, or set VYRE_CACHE_DIR to another folder" in result.stdout


@pytest.mark.parametrize("place", [database.FILE, f"{database.FILE}/below"])
def test_a_folder_that_cannot_be_used_is_unavailable(place: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_CACHE_DIR", str(folder / place))
    monkeypatch.setenv("VYRE_CACHE", "rw")
    said = invoke("info").stdout
    assert said.startswith(f"{folder / place} (rw): unavailable: ")
    assert "Fix: " in said
    assert "entries" not in said
    assert answer("info")["refusal"]
    for command in ("clear", "prune"):
        result = invoke(command)
        assert result.exit_code == 1
        assert f"{folder / place} (rw): unavailable: " in result.stderr
        assert answer(command)["error"]["fix"]
        assert (folder / database.FILE).is_file()


def test_a_use_before_the_clock_was_set_back_has_no_age(folder: Path) -> None:
    with closing(sqlite3.connect(folder / database.FILE)) as connection, connection:
        connection.execute("UPDATE heat SET used = used + 1e6, made = made + 1e6")
    shown = invoke("info").stdout
    assert "–" in shown
    assert "-" not in shown.partition("used")[2]


def test_damage_is_found_and_pruned(folder: Path) -> None:
    assert invoke("verify").exit_code == 0
    with closing(sqlite3.connect(folder / database.FILE)) as connection, connection:
        connection.execute("UPDATE entry SET subject = 'of c' WHERE key = 'a'")
    assert invoke("verify").exit_code == 1
    assert answer("verify")["findings"] == ["entry a: its digest is wrong"]
    assert "its digest is wrong" in invoke("info").stdout
    assert answer("prune") == {"dropped": 1}
    assert invoke("verify").exit_code == 0


def test_pruning_to_a_size(folder: Path) -> None:
    assert answer("prune") == {"dropped": 0}
    assert answer("prune", "--size", "1k") == {"dropped": 3}
    assert invoke("prune", "--size", "much").exit_code != 0


def test_clearing(folder: Path) -> None:
    assert answer("clear") == {"dropped": 3}
    assert [*folder.iterdir()] == []
    assert answer("info")["entries"] == []


def test_settings_that_mean_nothing_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_CACHE", "on")
    result = invoke("info")
    assert result.exit_code == 2
    assert "got 'on', expected one of off, ro, rw" in result.output


@pytest.mark.slow  # all spellings of all ops are compiled
@pytest.mark.backend("opencl")
def test_doctor_has_devices_prove_again_and_spellings_are_shown_with_their_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What `doctor --prove` has measured and stored, for people and for programs."""
    monkeypatch.setenv("VYRE_CACHE", "rw")
    only = [backend for backend in registered_backends_by_precedence() if backend.id == "opencl"]
    monkeypatch.setattr("vyre.cli.machine.registered_backends_by_precedence", lambda: only)
    before = CliRunner().invoke(main, ["devices", "--spellings"])
    assert "`vyre doctor --prove` measures the others" in before.output
    CliRunner().invoke(main, ["doctor", "--prove", "--json"])
    facts = [entry for entry in answer("info")["entries"] if entry["kind"] == "facts"]
    assert facts
    assert all(entry["key"] != "f" for entry in facts)
    result = CliRunner().invoke(main, ["devices", "--spellings"])
    assert result.exit_code == 0, result.output
    assert "popcount" in result.output
    assert "chosen" in result.output
    assert "× " in result.output
    said = json.loads(CliRunner().invoke(main, ["devices", "--json"]).stdout)
    rows = said["devices"]["opencl"]["spellings"]
    assert {"op", "type", "text", "wrong", "picoseconds", "chosen"} == set(rows[0])
    assert any(row["text"] is None for row in rows)
