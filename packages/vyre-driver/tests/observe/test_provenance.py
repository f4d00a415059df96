"""Provenance: the facts of a checkout, and what stands in for them where there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from vyre_driver.observe import provenance
from vyre_driver.observe.provenance import (
    SourceProvenance,
    capture_git_info,
    capture_git_info_at,
    source_fingerprint,
    source_tree_fingerprint,
    source_tree_fingerprint_at,
)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "a.py").write_text("a = 1\n")
    (root / ".gitignore").write_text("*.log\n")
    git(root, "init", "--quiet", "--initial-branch", "trunk")
    commit(root)
    return root


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "change")


def test_a_clean_checkout(checkout: Path) -> None:
    info = capture_git_info_at(checkout)
    assert set(info) == {"commit", "branch", "dirty", "commit_timestamp"}
    assert (info["commit"], info["branch"], info["dirty"]) == (git(checkout, "rev-parse", "HEAD"), "trunk", "false")
    assert source_fingerprint(info) == f"git:{info['commit']}:dirty=false"


def test_a_second_commit_has_a_parent(checkout: Path) -> None:
    first = git(checkout, "rev-parse", "HEAD")
    (checkout / "b.py").write_text("b = 1\n")
    commit(checkout)
    assert capture_git_info_at(checkout)["parent_commit"] == first


def test_a_change_makes_it_dirty_and_is_in_the_fingerprint(checkout: Path) -> None:
    (checkout / "a.py").write_text("a = 2\n")
    info = capture_git_info_at(checkout)
    assert info["dirty"] == "true"
    assert source_fingerprint(info).endswith(f":dirty=true:worktree={source_tree_fingerprint_at(checkout)}")


def test_the_tree_s_fingerprint_changes_with_contents_names_and_new_files_alone(checkout: Path) -> None:
    before = source_tree_fingerprint_at(checkout)
    (checkout / "x.log").write_text("ignored")
    assert source_tree_fingerprint_at(checkout) == before
    (checkout / "a.py").rename(checkout / "c.py")
    renamed = source_tree_fingerprint_at(checkout)
    (checkout / "new.py").touch()
    assert len({before, renamed, source_tree_fingerprint_at(checkout)}) == 3


def test_it_is_the_whole_tree_wherever_one_stands(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "inner").mkdir()
    (checkout / "inner" / "d.py").write_text("d = 1\n")
    monkeypatch.chdir(checkout / "inner")
    assert source_tree_fingerprint() == source_tree_fingerprint_at(checkout)
    assert capture_git_info() == capture_git_info_at(checkout)


def test_without_a_checkout_versions_and_sources_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "a.py").write_text("a = 1\n")
    assert capture_git_info_at(tmp_path) == {}
    found = SourceProvenance.capture(tmp_path)
    assert found.source_fingerprint.startswith("vyre-foundation==")
    before = found.source_tree_fingerprint
    (tmp_path / "a.py").write_text("a = 2\n")
    assert source_tree_fingerprint_at(tmp_path) != before


def test_without_git_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance.subprocess, "run", _missing)
    assert capture_git_info_at(tmp_path) == {}
    assert source_tree_fingerprint_at(tmp_path).startswith("source-tree-v1:")


def _missing(*arguments: object, **named: object) -> None:
    raise FileNotFoundError("git")
