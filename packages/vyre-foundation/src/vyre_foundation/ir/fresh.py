"""Fresh names: a local is declared once in a whole program, and so are buffers."""

from __future__ import annotations

from collections.abc import Iterable

from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, For, Let, Subgroup, Var
from vyre_foundation.ir.walk import statements

MAX_NAME = 1000
"""Bytes of a name that others are derived from, so that these stay within the limit of the language."""


class Fresh:
    """Names that are not `taken`, in the same order for the same program."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    @classmethod
    def of(cls, program: Program) -> Fresh:
        """Names that no buffer and no local of `program` has."""
        taken = {buffer.name for buffer in program.buffers}
        for stmt in statements(program.body):
            match stmt:
                case Let(name) | Var(name) | For(name):
                    taken.add(name)
                case Atomic(result=str(name)) | Subgroup(result=str(name)):
                    taken.add(name)
                case _:
                    pass
        return cls(taken)

    def __call__(self, stem: str) -> str:
        """Take `stem` if it is free, else the next of ``stem_1``, ``stem_2`` and so on."""
        if stem in self._taken:
            return self.numbered(stem)
        self._taken.add(stem)
        return stem

    def numbered(self, stem: str) -> str:
        """Take the next of ``stem_1``, ``stem_2`` and so on."""
        if stem == "_" or len(stem.encode()) > MAX_NAME:  # two underscores begin a reserved name
            stem = "local"
        number = self._counts.get(stem, 0) + 1
        while (name := f"{stem}_{number}") in self._taken:
            number += 1
        self._counts[stem] = number
        self._taken.add(name)
        return name
