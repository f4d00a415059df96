"""Verification by replay: cells are judged again, here and now, and have to end as certified.

A cell that was skipped is certified as not judged. Where it can be judged now, it may pass, and may not be bad.
A signature says who has seen it; a replay shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from vyre_conform.address import Query
from vyre_conform.case import Size, Spec
from vyre_conform.cell import Cell, State
from vyre_conform.certificate.document import Certificate, cell_digest
from vyre_conform.gaps import Gap
from vyre_conform.judge import forgive, judge
from vyre_conform.oracle import settle
from vyre_conform.suite import Suite
from vyre_conform.worker import Worker


@dataclass(frozen=True, slots=True)
class Verification:
    """How many cells were judged again; those that ended otherwise, those whose case is not there any more,
    whether the list of cells is still that of the installed corpus, and how many were judged that had been skipped."""

    backend: str
    replayed: int
    certified: int
    differing: list[Cell] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    is_same_corpus: bool = True
    beyond: int = 0

    @property
    def holds(self) -> bool:
        return self.replayed > 0 and not self.differing and not self.missing


def verify(
    certificate: Certificate,
    backend: str,
    *,
    on: str | None = None,
    sample: int | None = None,
    watch: Callable[[Cell], None] = lambda cell: None,
) -> Verification:
    """Judge the cells of a certified `backend` again, all or a `sample` of cases that the certificate decides, on the
    backend `on` (by default the same one)."""
    certified: dict[str, str] = certificate.body["cells"][backend]
    task = certificate.body["task"]
    specs = _specs(task)
    known = {str(address) for spec in specs for address in spec.cells}
    missing = sorted(certified.keys() - known)
    chosen = [spec for spec in specs if any(str(address) in certified for address in spec.cells)]
    if sample is not None and sample < len(chosen):
        chosen = Random(certificate.digest).sample(chosen, sample)
    gaps = [Gap(Query.parse(cells), reason, upstream, pattern) for cells, pattern, reason, upstream in task["gaps"]]
    mine = [gap for gap in gaps if fnmatchcase(backend, gap.backend)]
    cells = [
        forgive(cell, [replace(gap, backend="*") for gap in mine]) for cell in _replayed(chosen, on or backend, task)
    ]
    skipped = {row["case"] for row in certificate.body["not_passed"]
               if row["backend"] == backend and row["state"] == State.SKIPPED.value}  # fmt: skip
    differing, beyond = [], 0
    for cell in cells:
        if str(cell.address) in skipped and cell.state is State.PASS:
            beyond += 1
        elif certified.get(str(cell.address)) != cell_digest(cell):
            differing.append(cell)
        watch(cell)
    return Verification(backend, len(cells), len(certified), differing, missing, known == certified.keys(), beyond)


def _specs(task: dict[str, Any]) -> list[Spec]:
    """The cases of the certified task, as the installed suite has them."""
    suite = Suite(
        queries=tuple(Query.parse(query) for query in task["queries"]),
        size=Size[task["size"].upper()],
        fuzz=task["fuzz"],
    )
    return suite.specs(task["seed"])


def _replayed(specs: Iterable[Spec], backend: str, task: dict[str, Any]) -> Iterable[Cell]:
    seconds = task["milliseconds"] / 1000
    with Worker(backend, seconds) as worker:
        for spec in specs:
            case = spec.case(task["seed"])
            verdict = settle(case, seconds=seconds)
            yield from judge(case, verdict, backend, worker.ask(case.launch, task["repeats"]))
