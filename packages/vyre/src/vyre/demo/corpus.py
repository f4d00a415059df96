"""The demo's input: the source files of the Python standard library that runs it."""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vyre_foundation.cached import cached_property

SEPARATOR = b"\0"
"""Stands between files in the joined text, so that nothing matches across a file's end."""


@dataclass(frozen=True)
class Corpus:
    """Files by name, with their bytes."""

    names: tuple[str, ...]
    contents: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.contents))

    @cached_property
    def text(self) -> npt.NDArray[np.uint8]:
        """All files, one after the other, each followed by `SEPARATOR`."""
        return np.frombuffer(b"".join(c + SEPARATOR for c in self.contents), np.uint8)

    def head(self, limit: int) -> Corpus:
        """The smallest files that make up at most `limit` bytes in total (at least one file)."""
        by_size = sorted(range(len(self.names)), key=lambda k: len(self.contents[k]))
        total = 0
        taken: list[int] = []
        for k in by_size:
            total += len(self.contents[k])
            if taken and total > limit:
                break
            taken.append(k)
        taken.sort()
        return Corpus(tuple(self.names[k] for k in taken), tuple(self.contents[k] for k in taken))


def standard_library() -> Corpus:
    """Every ``.py`` file of the running interpreter's standard library, in the order of their paths."""
    root = Path(sysconfig.get_path("stdlib"))
    files = sorted(f for f in root.rglob("*.py") if "site-packages" not in f.parts)
    return Corpus(tuple(str(f.relative_to(root)) for f in files), tuple(f.read_bytes() for f in files))
