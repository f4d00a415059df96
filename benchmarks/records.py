"""What was measured, as files: one for each suite, kept in parts, because one run need not measure every case."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).parent / "results"

Record = dict[str, Any]
"""A measured row: suite, case, size, peer, variant, and either `skipped` or seconds for each run with `amount` done."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The rows of a suite. `runs` say when they were measured: each names its cases, and the load of the machine."""

    environment: dict[str, Any] = field(default_factory=dict)
    runs: Sequence[dict[str, Any]] = ()
    rows: Sequence[Record] = ()

    def with_newer(self, newer: Measured) -> Measured:
        """These rows, but for the cases that were measured again; in the order of the rows that were there first."""
        again = {row["case"] for row in newer.rows}
        runs = [{**run, "cases": [case for case in run["cases"] if case not in again]} for run in self.runs]
        rows = [row for row in self.rows if row["case"] not in again]
        kept = [run for run in (*runs, *newer.runs) if run["cases"]]
        return Measured(newer.environment, kept, [*rows, *newer.rows])

    def in_order(self, cases: Sequence[str]) -> Measured:
        """With the rows of these cases alone, in their order."""
        rows = [row for case in cases for row in self.rows if row["case"] == case]
        return Measured(self.environment, self.runs, rows)

    def when(self) -> str:
        """When, for how long, and what else the machine did."""
        several = len(self.runs) > 1
        lines = []
        for run in self.runs:
            before, after = run["load"]
            cases = f"{', '.join(run['cases'])}: " if several else ""
            lines.append(f"{cases}{run['date']}, {run['seconds']} s, load {before} before and {after} after")
        return "".join(f"- {line}.\n" for line in lines) if several else "".join(f"{line}.\n" for line in lines)

    def as_json(self) -> str:
        """One row a line, so that a difference can be read."""
        head, runs = (json.dumps(x, indent=1, ensure_ascii=False) for x in (self.environment, list(self.runs)))
        rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in self.rows)
        return f'{{"environment": {head},\n"runs": {runs},\n"rows": [\n{rows}\n]}}\n'


def load(suite: str, folder: Path = FIGURES) -> Measured:
    """What is on file; nothing where there is no file."""
    file = folder / f"{suite}.json"
    if not file.exists():
        return Measured()
    found = json.loads(file.read_text("utf-8"))
    return Measured(found["environment"], found["runs"], found["rows"])


def save(suite: str, measured: Measured, folder: Path = FIGURES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{suite}.json").write_text(measured.as_json(), "utf-8")


def best_of(rows: Sequence[Record], wanted: Callable[[Record], bool]) -> Record | None:
    """The quickest of the rows that are wanted, by the work that they do in a second."""
    measured = [row for row in rows if "median" in row and wanted(row)]
    return max(measured, key=lambda row: row["amount"] / row["median"], default=None)
