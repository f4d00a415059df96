"""Names that a program does not use yet: a local is declared once in a whole program, and so are buffers."""

from __future__ import annotations

from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, For, Let, Subgroup, Var
from vyre_foundation.ir.walk import statements


class Fresh:
    """Gives names one after the other, the same ones for the same program."""

    def __init__(self, program: Program) -> None:
        self._used = {b.name for b in program.buffers}
        self._counts: dict[str, int] = {}
        for stmt in statements(program.body):
            match stmt:
                case Let(name) | Var(name) | For(name):
                    self._used.add(name)
                case Atomic(result=str(name)) | Subgroup(result=str(name)):
                    self._used.add(name)
                case _:
                    pass

    def __call__(self, stem: str) -> str:
        """`stem` if it is free, else with the least number that is."""
        name = stem
        while name in self._used:
            self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}_{self._counts[stem]}"
        self._used.add(name)
        return name
