"""What a run has found: one cell for each case and backend, and nothing summed up that could hide one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum, IntEnum
from typing import Any

from vyre_conform.address import Address
from vyre_conform.worker.protocol import Hello


class State(Enum):
    """How a cell ended. They are never added together."""

    PASS = "pass-exact"
    UNSUPPORTED = "unsupported"
    """The backend refuses with `UnsupportedFeature`."""
    SKIPPED = "skipped"
    """Not judged: the opinions disagree about the case."""
    XFAIL = "xfail"
    """It fails, and the list of known gaps says so."""
    FAIL = "fail"
    CRASHED = "crashed"
    TIMEOUT = "timeout"

    @property
    def is_bad(self) -> bool:
        return self in (State.FAIL, State.CRASHED, State.TIMEOUT)


class Exit(IntEnum):
    """The status of the command."""

    PROVEN = 0
    """Every cell passes, is unsupported, or is a known gap."""
    FAILED = 1
    """A cell failed, crashed or timed out, or a planted fault was not found."""
    USAGE = 2
    """A query that means nothing, or a file that can not be read."""
    UNAVAILABLE = 3
    """A backend that was asked for can not run here."""
    DISAGREEMENT = 4
    """The opinions disagree about a case: the suite, not a backend, is in doubt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One case on one backend. Of a failure: the first element that differs, as ``value (hex)``."""

    address: Address
    backend: str
    state: State
    reason: str = ""
    output: str = ""
    index: int | None = None
    got: str = ""
    expected: str = ""
    differing: int = 0
    seconds: float = 0.0
    log: str = ""
    """The last words of a process that died."""
    reproducer: str = ""
    """The file that replays a random program."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An opinion that is not the case's."""

    address: Address
    opinion: str
    quarrel: str


@dataclass(frozen=True, slots=True)
class Kill:
    """A planted fault, and the case that found it; None if none did."""

    fault: str
    summary: str
    by: str | None
    how: str = ""


@dataclass(slots=True, kw_only=True)
class Report:
    """A run over some cases and backends."""

    seed: int
    queries: Sequence[str]
    backends: list[Hello] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    disagreements: list[Disagreement] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    cases: int = 0
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)

    def matrix(self) -> dict[str, dict[str, Counter[State]]]:
        """Group → backend → how many cells ended how."""
        table: dict[str, dict[str, Counter[State]]] = {}
        for cell in self.cells:
            table.setdefault(cell.address.group, {}).setdefault(cell.backend, Counter())[cell.state] += 1
        return table

    def bad(self) -> list[Cell]:
        """The cells that should not be."""
        return [cell for cell in self.cells if cell.state.is_bad]

    @property
    def exit(self) -> Exit:
        if self.bad() or any(kill.by is None for kill in self.kills):
            return Exit.FAILED
        if self.disagreements:
            return Exit.DISAGREEMENT
        return Exit.UNAVAILABLE if any(hello.problem for hello in self.backends) else Exit.PROVEN

    def to_json(self) -> dict[str, Any]:
        """The report as plain data, cells in the order in which they ended up."""
        return {
            "format": 1,
            "seed": self.seed,
            "queries": list(self.queries),
            "cases": self.cases,
            "seconds": round(self.seconds, 3),
            "versions": dict(self.versions),
            "exit": int(self.exit),
            "backends": [asdict(hello) for hello in self.backends],
            "cells": [_cell(cell) for cell in self.cells],
            "disagreements": [
                {"case": str(d.address), "opinion": d.opinion, "quarrel": d.quarrel} for d in self.disagreements
            ],
            "kills": [asdict(kill) for kill in self.kills],
        }


def _cell(cell: Cell) -> dict[str, Any]:
    """A cell without the fields that say nothing."""
    facts = asdict(cell) | {"state": cell.state.value, "seconds": round(cell.seconds, 4)}
    del facts["address"]
    return {"case": str(cell.address)} | {k: v for k, v in facts.items() if v not in ("", None, 0)}
