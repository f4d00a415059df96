"""What is shown of a run: its cells, nothing summed up that could hide one, and the planted faults that were hunted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from vyre_conform.coverage import CoverageRow, table
from vyre_conform.run import WHOLE, Exit, Run

VERDICTS = {
    Exit.PROVEN: "Proven",
    Exit.FAILED: "Failed",
    Exit.UNAVAILABLE: "A backend is missing",
    Exit.MISMATCH: "The opinions disagree",
    Exit.INCOMPLETE: "Not complete",
    Exit.UNPROVEN: "Nothing proven",
}
PART = "A part passes"
"""What is said in place of "Proven" of a run over one shard."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A planted fault, and the case that found it; None if none did."""

    fault: str
    layer: str
    summary: str
    by: str | None
    how: str = ""
    tried: int = 0
    """Cases that ran until then."""


@dataclass(slots=True)
class Report:
    """A run, and what became of planted faults."""

    run: Run
    kills: list[Kill] = field(default_factory=list)

    @property
    def exit(self) -> Exit:
        """The exit code that the run and the planted faults call for."""
        if any(kill.by is None for kill in self.kills):
            return Exit.FAILED
        is_hunt_alone = bool(self.kills) and not self.run.backends and not self.run.cells
        return Exit.PROVEN if is_hunt_alone else self.run.exit

    @property
    def verdict(self) -> str:
        """The exit code in words. A shard proves nothing by itself: the others may fail."""
        is_part = self.exit is Exit.PROVEN and self.run.task.shard != WHOLE
        return PART if is_part else VERDICTS[self.exit]

    @property
    def executed(self) -> list[CoverageRow]:
        """What the textbook evaluator has executed of all that the language has; nothing if it was not asked."""
        return table(self.run.coverage) if self.run.coverage else []

    def to_json(self) -> dict[str, Any]:
        """The report as plain data, cells in the order in which they ended up."""
        return {
            "format": 4,
            "task": self.run.task.to_json(),
            "host": dict(self.run.host),
            "sources": dict(self.run.sources),
            "seconds": round(self.run.seconds, 3),
            "digest": self.run.digest,
            "exit": int(self.exit),
            "backends": [asdict(hello) for hello in self.run.backends],
            "cells": [cell.to_json() for cell in self.run.cells],
            "mismatches": [mismatch.to_json() for mismatch in self.run.mismatches],
            "undecided": [late.to_json() for late in self.run.undecided.values()],
            "coverage": {".".join(kind): count for kind, count in sorted(self.run.coverage.items())},
            "executed": [asdict(row) | {"missing": [".".join(kind) for kind in row.missing]} for row in self.executed],
            "kills": [asdict(kill) for kill in self.kills],
        }
