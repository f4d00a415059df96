"""The sources of a result: the commit of a checkout, or the versions of installed distributions."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from blake3 import blake3

from vyre_driver.registry.versions import distribution_version

FAMILY = ("vyre-foundation", "vyre-driver")
"""The distributions that stand for the sources where there is no checkout."""

GitInfo: TypeAlias = Mapping[str, str]
"""``commit``, ``branch``, ``dirty`` (true or false), ``parent_commit``, ``commit_timestamp``, and of a dirty checkout
``dirty_worktree_fingerprint``; what git does not say is missing, outside of a checkout everything."""


def capture_git_info() -> GitInfo:
    """Return the facts of the checkout that contains the current folder."""
    return capture_git_info_at(Path.cwd())


def capture_git_info_at(root: Path) -> GitInfo:
    """Return the facts of the checkout that contains `root`."""
    found = {
        "commit": _git(root, "rev-parse", "HEAD"),
        "branch": _git(root, "rev-parse", "--abbrev-ref", "HEAD"),
        "parent_commit": _git(root, "rev-parse", "--verify", "--quiet", "HEAD^"),
        "commit_timestamp": _git(root, "show", "--no-patch", "--format=%cI", "HEAD"),
    }
    info = {name: text for name, text in found.items() if text}
    if "commit" in info:
        changes = _git(root, "status", "--porcelain") or ""
        info["dirty"] = "true" if changes else "false"
        if changes:
            info["dirty_worktree_fingerprint"] = source_tree_fingerprint_at(root)
    return info


def source_fingerprint(info: GitInfo) -> str:
    """Return one line that identifies the sources: the commit, or otherwise the installed versions."""
    if "commit" not in info:
        return " ".join(f"{name}=={distribution_version(name)}" for name in FAMILY)
    line = f"git:{info['commit']}:dirty={info['dirty']}"
    changed = info.get("dirty_worktree_fingerprint")
    return line if changed is None else f"{line}:worktree={changed}"


def source_tree_fingerprint() -> str:
    """Return the digest of `source_tree_fingerprint_at` for the current folder."""
    return source_tree_fingerprint_at(Path.cwd())


def source_tree_fingerprint_at(root: Path) -> str:
    """Return a digest of the names and contents of all files that git tracks, or does not ignore.

    Outside a checkout, it is the digest of all Python files below `root`.
    """
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--full-name", ":/")
    top = Path(_git(root, "rev-parse", "--show-toplevel") or root)
    names = sorted(set(listed.split("\0")) - {""}) if listed else _python_files(top)
    hasher = blake3(b"vyre source tree")
    for name in names:
        file = top / name
        if file.is_file():
            for part in (name.encode(), file.read_bytes()):
                hasher.update(len(part).to_bytes(8, "little"))
                hasher.update(part)
    return f"source-tree-v1:{hasher.hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProvenance:
    """The sources of a result."""

    git: GitInfo
    source_fingerprint: str
    source_tree_fingerprint: str

    @classmethod
    def capture(cls, root: Path | None = None) -> SourceProvenance:
        """Return the sources of the checkout that contains `root`, by default the installed package."""
        root = Path(__file__).parent if root is None else root
        info = capture_git_info_at(root)
        return cls(
            git=info,
            source_fingerprint=source_fingerprint(info),
            source_tree_fingerprint=source_tree_fingerprint_at(root),
        )


def _python_files(root: Path) -> list[str]:
    return sorted(file.relative_to(root).as_posix() for file in root.rglob("*.py"))


def _git(root: Path, *arguments: str) -> str | None:
    """What git says, or None: there is no git, or nothing that it knows."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape").strip("\n")
