"""The report on a terminal: progress while it runs, then a matrix, then each failure with the command to repeat it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from vyre_conform.case import Case
from vyre_conform.cell import Cell, State
from vyre_conform.controls import FAULTS
from vyre_conform.coverage import summed_up
from vyre_conform.oracle import Verdict
from vyre_conform.prove import Watch
from vyre_conform.report import Kill, Report
from vyre_conform.run import Run
from vyre_conform.worker import Hello

# fmt: off
MARKS = {
    State.PASS:        ("✓", "green"),
    State.UNSUPPORTED: ("–", "cyan"),
    State.SKIPPED:     ("?", "magenta"),
    State.XFAIL:       ("x", "yellow"),
    State.FAIL:        ("✗", "bold red"),
    State.CRASHED:     ("☠", "bold white on red"),
    State.TIMEOUT:     ("⏱", "bold red"),
}
# fmt: on
SHOWN = 20
"""Failures that are printed in full; the JSON file has all."""


class Live(Watch):
    """A progress bar for each backend."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[bad]}"),
        )
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._bars: dict[str, TaskID] = {}
        self._bad: Counter[str] = Counter()

    def began(self, cases: int, cells: int, backends: Sequence[Hello]) -> None:
        for hello in backends:
            if not hello.problem:
                self._bars[hello.backend] = self._progress.add_task(hello.backend, total=cells, bad="")
        self._bars["opinions"] = self._progress.add_task("opinions", total=cases, bad="")
        self._progress.start()

    def settled(self, case: Case, verdict: Verdict) -> None:
        self._advance("opinions", not verdict.is_settled)

    def judged(self, cell: Cell) -> None:
        self._advance(cell.backend, cell.state.is_bad)

    def _advance(self, name: str, bad: bool) -> None:
        self._bad[name] += bad
        self._progress.update(self._bars[name], advance=1, bad=f"[red]{self._bad[name]}" if self._bad[name] else "")

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


class Hunt:
    """A progress bar for planted faults."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("planted faults"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[last]}"))
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._bar = self._progress.add_task("", total=len(FAULTS), last="")

    def caught(self, kill: Kill) -> None:
        """A hunt has ended."""
        last = kill.fault if kill.by is not None else f"[red]{kill.fault} survived"
        self._progress.update(self._bar, advance=1, last=last)

    def __enter__(self) -> Hunt:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def show(report: Report, console: Console) -> None:
    """Print all of a report that a person wants to read."""
    run = report.run
    for hello in run.backends:
        _backend(hello, console)
    if run.cells:
        console.print(_matrix(run))
        console.print("  ".join(f"[{style}]{mark}[/] {state.value}" for state, (mark, style) in MARKS.items()))
    for cell in run.bad()[:SHOWN]:
        _failure(cell, run.task.seed, console)
    if len(run.bad()) > SHOWN:
        console.print(f"… and {len(run.bad()) - SHOWN} more: --json FILE has all of them")
    for quarrel in run.disagreements[:SHOWN]:
        words = escape(quarrel.quarrel)
        console.print(f"[magenta]opinions disagree[/] {quarrel.address}: {quarrel.opinion} says: {words}")
    if report.kills:
        _kills(report, console)
    if report.executed:
        console.print(summed_up(report.executed), highlight=False, soft_wrap=True)
    console.print(_verdict(report), soft_wrap=True)


def _backend(hello: Hello, console: Console) -> None:
    if hello.problem:
        console.print(f"[yellow]{hello.backend}[/]: {escape(hello.problem)}. Fix: {escape(hello.fix)}", soft_wrap=True)
        return
    device = ", ".join(text for text in hello.facts.values() if text)
    console.print(f"[bold]{hello.backend}[/] {hello.version}  {escape(device)}", highlight=False, soft_wrap=True)


def _matrix(run: Run) -> Table:
    table = Table("group", *(hello.backend for hello in run.backends if not hello.problem), title=None)
    for group, row in run.matrix().items():
        cells = [_counts(row.get(hello.backend, Counter())) for hello in run.backends if not hello.problem]
        table.add_row(group, *cells)
    return table


def _counts(counts: Counter[State]) -> str:
    shown = [(state, counts[state]) for state in State if counts[state]]
    return " ".join(f"[{MARKS[state][1]}]{MARKS[state][0]} {count}[/]" for state, count in shown)


def _failure(cell: Cell, seed: int, console: Console) -> None:
    mark, style = MARKS[cell.state]
    title = f"[{style}]{mark} {cell.state.value}[/] {cell.address} on {cell.backend}"
    console.print(title, highlight=False, soft_wrap=True)
    console.print(f"    {escape(cell.reason)}", highlight=False, soft_wrap=True)
    if cell.log:
        console.print(f"    {escape(cell.log.splitlines()[0])}", style="dim", highlight=False, soft_wrap=True)
    console.print(f"    again: {escape(command(cell, seed))}", highlight=False, soft_wrap=True)


def command(cell: Cell, seed: int) -> str:
    """What repeats one cell."""
    if cell.reproducer:
        return shlex.join(["vyre-conform", "replay", cell.reproducer, "--backend", cell.backend])
    words = ["vyre-conform", "run", "--backend", cell.backend, "--cases", str(cell.address), "--seed", str(seed)]
    return shlex.join(words)


def _kills(report: Report, console: Console) -> None:
    table = Table("layer", "planted fault", "killed by")
    for kill in report.kills:
        by = escape(kill.by) if kill.by is not None else f"[bold red]survived[/] {escape(kill.how)}".rstrip()
        table.add_row(kill.layer, escape(f"{kill.fault}: {kill.summary}"), by)
    console.print(table)


def _verdict(report: Report) -> str:
    run = report.run
    counts = Counter(cell.state for cell in run.cells)
    summed = ", ".join(f"{count} {state.value}" for state in State if (count := counts[state]))
    killed = sum(kill.by is not None for kill in report.kills)
    controls = f"; {killed} of {len(report.kills)} planted faults killed" if report.kills else ""
    unfinished = "" if run.is_complete or not (run.backends and run.cells) else "; not complete: go on with --resume"
    return f"{len(run.cells):,} cells in {run.seconds:.1f} s: {summed or 'none'}{controls}{unfinished}"
