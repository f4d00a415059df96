"""From a complete run to a certificate, or to the reasons why there is none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import distributions
from typing import Any

from vyre_conform.cell import State
from vyre_conform.certificate.document import Certificate, canonical, cell_digest
from vyre_conform.report import Report
from vyre_conform.run import WHOLE, Run
from vyre_driver.observe.provenance import SourceProvenance
from vyre_foundation.errors import VyreError

REFERENCE = "reference"
HARMLESS = frozenset(("VYRE_CACHE", "VYRE_CACHE_DIR", "VYRE_CACHE_SIZE", "VYRE_DEBUG"))
"""Settings that change nothing of what is judged; those that choose a device end with ``_DEVICE``."""


class NotCertifiable(VyreError, ValueError):
    """A run that proves nothing, or not what a certificate would say."""

    code = "E1212"


def certify(report: Report, command: Sequence[str], sources: SourceProvenance | None = None) -> Certificate:
    """The certificate of a run; `NotCertifiable` lists every reason against it. `sources` are those of the installed
    distributions, from a checkout if they are in one."""
    found = sources or SourceProvenance.capture()
    reasons = list(_reasons(report, found))
    if reasons:
        fix = "run all cases of a backend other than the reference, from committed sources, until every cell passes"
        raise NotCertifiable("; ".join(reasons), fix=fix)
    return Certificate(json.loads(canonical(_body(report, command, found))))


def _reasons(report: Report, sources: SourceProvenance) -> Iterator[str]:
    run = report.run
    if not run.cells:
        yield "no cell was judged"
    if not run.is_complete:
        yield "the run is not complete"
    if run.task.shard != WHOLE:
        yield "it is one shard of a run"
    if run.backends and all(hello.backend == REFERENCE for hello in run.backends):
        yield "the reference alone agrees with itself"
    for hello in run.backends:
        if hello.problem:
            yield f"{hello.backend} did not run: {hello.problem}"
        elif not any(cell.state is State.PASS for cell in run.on(hello.backend)):
            yield f"{hello.backend} passes no cell"
    if bad := run.bad():
        yield f"{len(bad)} cells failed"
    if run.disagreements:
        yield f"the opinions disagree about {len(run.disagreements)} cases"
    if survived := [kill.fault for kill in report.kills if kill.by is None]:
        yield f"planted faults survived: {', '.join(survived)}"
    if sources.git.get("dirty") == "true":
        yield "the sources have changes that are not committed"
    for name in run.host:
        if name.startswith("VYRE_") and name not in HARMLESS and not name.endswith("_DEVICE"):
            yield f"{name} is set in the environment"


def _body(report: Report, command: Sequence[str], sources: SourceProvenance) -> dict[str, Any]:
    run = report.run
    counts = Counter((cell.backend, cell.state.value) for cell in run.cells)
    task = run.task.to_json() | {"seconds": round(1000 * run.task.seconds)}
    task["milliseconds"] = task.pop("seconds")
    return {
        "task": task,
        "run": run.digest,
        "command": list(command),
        "host": dict(run.host),
        "backends": [asdict(hello) for hello in run.backends],
        "distributions": _distributions(),
        "sources": {"fingerprint": sources.source_fingerprint, "tree": sources.source_tree_fingerprint,
                    "git": dict(sources.git)},
        "counts": {f"{backend} {state}": count for (backend, state), count in sorted(counts.items())},
        "cells": {hello.backend: _cells(run, hello.backend) for hello in run.backends},
        "not_passed": [
            {"case": str(cell.address), "backend": cell.backend, "state": cell.state.value, "reason": cell.reason}
            for cell in run.cells
            if cell.state is not State.PASS
        ],
        "kills": {kill.fault: kill.by for kill in report.kills},
    }  # fmt: skip


def _cells(run: Run, backend: str) -> dict[str, str]:
    return {str(cell.address): cell_digest(cell) for cell in run.on(backend)}


def _distributions() -> dict[str, str]:
    """Everything that is installed: any of it may have taken part."""
    return {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"]}
