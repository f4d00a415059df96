"""Known gaps: cells that a backend is known to fail, each with the reason and with where its repair is followed.

[[gap]]
cells    = "ops:sqrt:dtype=f64,values=subnormal"
backend  = "mine"
reason   = "the runtime flushes what is less than the least normal number"
upstream = "https://example.org/issues/7"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from vyre_conform.address import Query
from vyre_conform.cell import Cell
from vyre_foundation.errors import VyreError

FIELDS = frozenset(("cells", "backend", "reason", "upstream"))


class BadGapList(VyreError, ValueError):
    """A list of known gaps with an entry without cells, reason or upstream."""

    code = "E1202"


@dataclass(frozen=True, slots=True)
class Gap:
    """Cells that may fail, and must: one that passes is a failure, so that the list never outlives its reasons."""

    query: Query
    reason: str
    upstream: str
    backend: str = "*"
    """A pattern for the ids of backends."""

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Cells, backend, reason and upstream, as they were written."""
        return self.query.text, self.backend, self.reason, self.upstream

    def concerns(self, cell: Cell) -> bool:
        """Whether the gap lists this cell, by its backend and its address."""
        return fnmatchcase(cell.backend, self.backend) and self.query.matches(cell.address)


def gaps_of(rows: Iterable[tuple[str, str, str, str]]) -> tuple[Gap, ...]:
    """Known gaps from rows, as `Gap.row` gives them."""
    return tuple(Gap(Query.parse(cells), reason, upstream, backend) for cells, backend, reason, upstream in rows)


def read_gaps(path: Path) -> tuple[Gap, ...]:
    """Known gaps from a TOML file with a table ``[[gap]]`` for each."""
    try:
        facts = tomllib.loads(path.read_text("utf-8"))
    except ValueError as error:  # no TOML, or not even text
        raise BadGapList(f"not TOML: {error}", fix="write a table [[gap]] for each gap", where=str(path)) from error
    rows = facts.get("gap", [])
    if set(facts) - {"gap"} or not isinstance(rows, list):
        raise BadGapList("there is something beside [[gap]]", fix="write a table [[gap]] for each gap", where=str(path))
    return tuple(_gap(row, f"{path}, gap {number}") for number, row in enumerate(rows, 1))


def _gap(row: object, where: str) -> Gap:
    if not isinstance(row, dict):
        raise BadGapList(f"{row!r} is no table", fix="write a table [[gap]] for each gap", where=where)
    if set(row) - FIELDS or not all(isinstance(value, str) for value in row.values()):
        fix = f"write {', '.join(sorted(FIELDS))}, each as a string"
        raise BadGapList(f"{', '.join(row)} is not what a gap has", fix=fix, where=where)
    for name in ("cells", "reason", "upstream"):
        if not row.get(name, "").strip():
            raise BadGapList(f"it gives no {name}", fix=f'write {name} = "…"', where=where)
    return Gap(Query.parse(row["cells"]), row["reason"], row["upstream"], row.get("backend", "*"))
