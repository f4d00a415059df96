"""From a run to what is certified about it, or to the reasons why nothing is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from vyre_conform.case import Size
from vyre_conform.cell import State
from vyre_conform.certificate.document import Certificate, canonical, cell_digest, contradictions, counted
from vyre_conform.digest import digest_of
from vyre_conform.host import code_digest, package_digest
from vyre_conform.proving import suite_of
from vyre_conform.report import Report
from vyre_conform.run import WHOLE, Run
from vyre_foundation.errors import VyreError
from vyre_foundation.plugins import installed_distributions

REFERENCE = "reference"
OF_A_BACKEND = ("backend", "version", "facts", "packages", "code", "sources")


class NotCertifiable(VyreError, ValueError):
    """A run that cannot be certified."""

    code = "E1212"


def certify(report: Report, command: Sequence[str]) -> Certificate:
    """The certificate of a run; `NotCertifiable` lists every reason against it."""
    reasons = list(_reasons(report))
    if not reasons:
        certificate = Certificate(json.loads(canonical(_body(report, command))))
        reasons = list(contradictions(certificate.body))
    if reasons:
        fix = "run all cases of a backend other than the reference, from committed sources, until every cell passes"
        raise NotCertifiable("; ".join(reasons), fix=fix)
    return certificate


def _reasons(report: Report) -> Iterator[str]:
    run = report.run
    if not run.cells:
        yield "no cell was judged"
    if not run.is_complete:
        yield "the run is not complete"
    if run.task.shard != WHOLE:
        yield "it is one shard of a run"
    elif problem := run.missing or _other_cells(run):
        yield problem
    if run.backends and all(hello.backend == REFERENCE for hello in run.backends):
        yield "the reference alone agrees with itself"
    for hello in run.backends:
        if hello.problem:
            yield f"{hello.backend} did not run: {hello.problem}"
        elif not any(cell.state is State.PASS for cell in run.on(hello.backend)):
            yield f"{hello.backend} passes no cell"
        if hello.code and hello.code != package_digest(hello.packages.split()):
            yield f"the sources of {hello.backend} that are installed ({hello.packages}) are not those of the run"
    if bad := run.bad():
        yield f"{len(bad)} cells failed"
    if run.mismatches:
        yield f"the opinions disagree about {len(run.mismatches)} cases"
    if run.undecided:
        yield f"{len(run.undecided)} cases are undecided"


def _other_cells(run: Run) -> str:
    """Why the cells of a run are not those of its task; "" if they are. A file can claim any number of them."""
    if run.task.code != code_digest():
        return "the sources of vyre that are installed are not those of the run"
    if run.task.size not in (size.name.lower() for size in Size):
        return f"there is no corpus of the size {run.task.size!r}"
    wanted = [str(address) for spec in suite_of(run.task).specs(run.task.seed) for address in spec.cells]
    if (len(wanted), digest_of(*map(str.encode, wanted))) != (run.task.cells, run.task.corpus):
        return "the corpus of the task is not the one that is installed"
    known = set(wanted)
    others = [cell.address for cell in run.cells if str(cell.address) not in known]
    return f"{len(others)} cells are not in the corpus, as {others[0]}" if others else ""


def _body(report: Report, command: Sequence[str]) -> dict[str, Any]:
    run = report.run
    task = run.task.to_json() | {"seconds": round(1000 * run.task.seconds)}
    task["milliseconds"] = task.pop("seconds")
    body: dict[str, Any] = {
        "task": task,
        "run": run.digest,
        "command": list(command),
        "host": dict(run.host),
        "backends": [{name: getattr(hello, name) for name in OF_A_BACKEND} for hello in run.backends],
        "distributions": _distributions(),
        "sources": dict(run.sources),
        "cells": {hello.backend: _cells(run, hello.backend) for hello in run.backends},
        "not_passed": [
            {"case": str(cell.address), "backend": cell.backend, "state": cell.state.value, "reason": cell.reason}
            for cell in run.cells
            if cell.state is not State.PASS
        ],
        "kills": {kill.fault: kill.by for kill in report.kills},
    }
    return body | {"counts": counted(body)}


def _cells(run: Run, backend: str) -> dict[str, str]:
    return {str(cell.address): cell_digest(cell) for cell in run.on(backend)}


def _distributions() -> dict[str, str]:
    """Everything that is installed: any of it may have taken part."""
    return {name: distribution.version for name, distribution in installed_distributions()}
