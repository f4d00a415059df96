"""Failures as a vendor looks into them: equal ones together, and what stands in the way of the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from vyre_conform.cell import Cell, State
from vyre_conform.run import Run

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?")


@dataclass(slots=True)
class Failure:
    """Cells of one backend that fail in the same way; the first stands for all."""

    cells: list[Cell] = field(default_factory=list)

    @property
    def first(self) -> Cell:
        """The first of the cells, which stands for all."""
        return self.cells[0]


def grouped(cells: Iterable[Cell]) -> list[Failure]:
    """Equal failures together, in the order of their first cells.

    Wrong elements are equal within one op or one kind of case. Errors, deaths and silence are equal where their reasons
    are, whatever the numbers in them.
    """
    found: dict[tuple[str, ...], Failure] = {}
    key: tuple[str, ...]
    for cell in cells:
        if cell.output:
            key = (cell.backend, cell.state.value, cell.address.group, cell.address.name)
        else:
            key = (cell.backend, cell.state.value, _NUMBER.sub("#", cell.reason.partition("\n")[0]))
        found.setdefault(key, Failure()).cells.append(cell)
    return list(found.values())


def reasons(run: Run, backend: str, state: State) -> list[tuple[str, int]]:
    """Why cells of a backend have ended in a state that is no failure, and how many for each reason; most first."""
    counts = Counter(cell.reason.partition("\n")[0] for cell in run.on(backend) if cell.state is state)
    return counts.most_common()
