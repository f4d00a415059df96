"""Which sources made the code: a released version says it, and a working copy only by its files.

A version does not change while somebody edits, but what lowering and emission give does. So packages that are not
installed among the others (editable ones) are known by the sizes and times of their files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from blake3 import blake3

_INSTALLED = frozenset(("site-packages", "dist-packages"))


def source_stamp(*packages: str) -> str:
    """A text that changes when a file of these packages does, for those that are not installed; "" if all are."""
    return "-".join(filter(None, map(_stamp, dict.fromkeys(packages))))


@cache
def _stamp(package: str) -> str:
    roots = getattr(sys.modules.get(package), "__path__", ())
    edited = [root for root in roots if _INSTALLED.isdisjoint(Path(root).parts)]
    lines = sorted(line for root in edited for line in _files(root))
    return str(blake3("".join(lines).encode("utf-8", "surrogateescape")).hexdigest(8)) if lines else ""


def _files(folder: str) -> Iterator[str]:
    """Every source below a folder with its size and time."""
    with os.scandir(folder) as found:
        for one in found:
            if one.is_dir() and not one.name.startswith(("_", ".")):
                yield from _files(one.path)
            elif one.name.endswith(".py"):
                status = one.stat()
                yield f"{one.path} {status.st_size} {status.st_mtime_ns}\n"
