"""Goldens: files of what tests compare with. `VYRE_ACCEPT=1` writes them anew."""

from __future__ import annotations

import os
import shlex
from difflib import unified_diff
from pathlib import Path

from vyre_foundation.errors import VyreError


def is_accepted() -> bool:
    """Whether tests write what they find, in place of comparing it."""
    given = os.environ.get("VYRE_ACCEPT", "").strip()
    if given not in ("", "0", "1"):
        raise VyreError(f"got {given!r}, expected 0 or 1", fix="set it to 1, or unset it", where="VYRE_ACCEPT")
    return given == "1"


def accepting(test: str | Path) -> str:
    """What a failure says behind its finding: the command that accepts it, for a file of tests."""
    return f"Fix: find what changed; `VYRE_ACCEPT=1 pytest {shlex.quote(os.path.relpath(test))}` accepts it"


def check_golden(file: Path, found: str, test: str | Path, *, accept: bool | None = None) -> None:
    """Compare `found` with the text of a file, or write the file where findings are accepted.

    Args:
        file: Has what is expected; none is a file without text.
        found: What a test finds.
        test: The file of the test.
        accept: Whether `found` is accepted; by default `is_accepted` says so.

    Raises:
        AssertionError: They differ; the message has the difference, and the command that accepts it.
    """
    expected = file.read_text("utf-8") if file.exists() else ""
    if found == expected:
        return
    if is_accepted() if accept is None else accept:
        file.parent.mkdir(exist_ok=True)
        file.write_text(found, "utf-8")
        return
    lines = unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", lineterm="")
    raise AssertionError("\n".join((f"{file.name} differs. {accepting(test)}", *lines)))
