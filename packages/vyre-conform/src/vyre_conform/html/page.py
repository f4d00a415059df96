"""The page: a template, a style and a script of this package, and the run as data."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

from vyre_conform.cell import Cell, State
from vyre_conform.failures import grouped, reasons
from vyre_conform.html.details import details
from vyre_conform.oracle.missing import missing
from vyre_conform.report import Report
from vyre_conform.run import Run
from vyre_conform.show import EXPLAINED, again, scope
from vyre_conform.worker import NamedBy

DETAILED = 100
"""Failures that are shown with their sources; each costs a process."""
STATES = list(State)


def write_page(report: Report, path: Path, *, named_by: NamedBy = NamedBy.FILE, detailed: int = DETAILED) -> None:
    """Write the report as one file. `named_by` says where the names of its backends come from."""
    facts = page_data(report, detailed, named_by)
    data = json.dumps(facts, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    page = _asset("page.html").replace("/*STYLE*/", _asset("page.css")).replace("/*SCRIPT*/", _asset("page.js"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.replace('"DATA"', data), "utf-8")


def page_data(report: Report, detailed: int = DETAILED, named_by: NamedBy = NamedBy.FILE) -> dict[str, Any]:
    """What the script shows. Cells are rows of numbers: there are tens of thousands of them."""
    run = report.run
    addresses = list(dict.fromkeys(str(cell.address) for cell in run.cells))
    numbers = {address: n for n, address in enumerate(addresses)}
    backends = [hello.backend for hello in run.backends]
    failures = grouped(run.bad())
    bad = {id(cell) for cell in (*(f.first for f in failures), *run.bad())[:detailed]}
    at = {id(cell): n for n, cell in enumerate(run.cells)}
    return {
        "states": [state.value for state in STATES],
        "backends": [
            {"id": h.backend, "version": h.version, "problem": h.problem, "fix": h.fix, "facts": h.facts}
            for h in run.backends
        ],
        "addresses": addresses,
        "cells": [_row(cell, numbers, backends) for cell in run.cells],
        "reasons": {n: cell.reason for n, cell in enumerate(run.cells) if cell.reason},
        "details": {n: details(cell, run, named_by) for n, cell in enumerate(run.cells) if id(cell) in bad},
        "failures": [[at[id(cell)] for cell in failure.cells] for failure in failures],
        "unsupported": [
            [hello.backend, state.value, reason, count]
            for hello in run.backends
            for state in EXPLAINED
            for reason, count in reasons(run, hello.backend, state)
        ],
        "about": scope(run),
        "verdict": report.verdict,
        "weaker": [str(oracle) for oracle in missing(run.task.versions)],
        "undecided": [late.to_json() for late in run.undecided.values()],
        "kills": [[k.layer, k.fault, k.summary, k.by, k.how] for k in report.kills],
        "executed": [
            [row.family, row.kinds, row.executed, row.times, [".".join(kind[1:]) or kind[0] for kind in row.missing]]
            for row in report.executed
        ],
        "mismatches": [mismatch.to_json() for mismatch in run.mismatches],
        "facts": _facts(run),
        "exit": int(report.exit),
        "again": shlex.join(again(run.task)),
    }


def _row(cell: Cell, numbers: dict[str, int], backends: list[str]) -> list[int]:
    """Address, backend, state, microseconds."""
    return [
        numbers[str(cell.address)],
        backends.index(cell.backend),
        STATES.index(cell.state),
        round(cell.seconds * 1e6),
    ]


def _facts(run: Run) -> list[list[str]]:
    """What the run was about, and where it took place."""
    counts = Counter(cell.state for cell in run.cells)
    return [
        ["cells", f"{len(run.cells):,}"],
        ["pass exact", f"{counts[State.PASS]:,}"],
        ["size", run.task.size],
        ["queries", " ".join(run.task.queries)],
        ["random programs", f"{run.task.fuzz:,}"],
        ["seed", str(run.task.seed)],
        ["dispatches of each case", str(run.task.repeats)],
        ["took", f"{run.seconds:.1f} s"],
        ["complete", "yes" if run.is_complete else "no"],
        *[[name, version] for name, version in run.task.versions.items()],
        *[[name, value] for name, value in run.host.items()],
        *[[f"sources of {hello.backend}", hello.code] for hello in run.backends if hello.code],
        ["digest of the run", run.digest],
    ]


def _asset(name: str) -> str:
    return (files("vyre_conform.html") / name).read_text("utf-8")
