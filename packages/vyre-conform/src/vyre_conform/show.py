"""The report on a terminal: progress while it runs, then a matrix, then each failure with the command to repeat it."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from vyre_conform.case import Case, Size
from vyre_conform.cell import Cell, State
from vyre_conform.controls import FAULTS
from vyre_conform.coverage import summed_up
from vyre_conform.failures import Failure, grouped, reasons
from vyre_conform.oracle import Verdict
from vyre_conform.oracle.missing import missing
from vyre_conform.proving import Watch
from vyre_conform.report import Kill, Report
from vyre_conform.run import WHOLE, Exit, Run, Task
from vyre_conform.suite import Suite
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
EXPLAINED = (State.UNSUPPORTED, State.SKIPPED, State.XFAIL)
REASONS = 8
"""Reasons that are printed for each of these states."""
CASES = Suite()
"""What options of the command are by default."""
LOG_LINES = 12
"""Lines that are printed of a process's last words, or of a traceback."""


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
        """Show a bar for each backend that can run."""
        for hello in backends:
            if not hello.problem:
                self._bars[hello.backend] = self._progress.add_task(hello.backend, total=cells, bad="")
        self._bars["opinions"] = self._progress.add_task("opinions", total=cases, bad="")
        self._progress.start()

    def settled(self, case: Case, verdict: Verdict) -> None:
        """Advance the bar of the opinions."""
        self._advance("opinions", not verdict.is_settled)

    def judged(self, cell: Cell) -> None:
        """Advance the bar of the cell's backend."""
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

    def __init__(self, console: Console, faults: int = len(FAULTS)) -> None:
        columns = (TextColumn("planted faults"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[last]}"))
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._bar = self._progress.add_task("", total=faults, last="")

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
    for oracle in missing(run.task.versions) if run.cells else ():
        console.print(f"[yellow]weaker cells[/]: {escape(str(oracle))}", highlight=False, soft_wrap=True)
    if run.cells:
        _print_table(_matrix(run), console)
        console.print("  ".join(f"[{style}]{mark}[/] {state.value}" for state, (mark, style) in MARKS.items()))
    for hello in run.backends:
        for state in EXPLAINED:
            _reasons(run, hello.backend, state, console)
    failures = grouped(run.bad())
    for failure in failures[:SHOWN]:
        _failure(failure, run.task, console)
    if len(failures) > SHOWN:
        console.print(f"… and {len(failures) - SHOWN} other failures: --json FILE has all of them")
    for mismatch in run.mismatches[:SHOWN]:
        words = escape(mismatch.reason)
        console.print(f"[magenta]opinions disagree[/] {mismatch.address}: {mismatch.opinion} says: {words}")
    for late in list(run.undecided.values())[:SHOWN]:
        console.print(f"[magenta]undecided[/] {late.address}: {late.opinion}: {escape(late.why)}", soft_wrap=True)
    if report.kills:
        _kills(report, console)
    if report.executed:
        console.print(summed_up(report.executed), highlight=False, soft_wrap=True)
    console.print(_verdict(report), soft_wrap=True)


def _backend(hello: Hello, console: Console) -> None:
    if hello.problem:
        words = f"{escape(hello.problem)}. Fix: {escape(hello.fix)}"
        console.print(f"[yellow]{escape(hello.backend)}[/]: {words}", highlight=False, soft_wrap=True)
        for line in log_lines(hello.log):
            console.print(f"    {escape(line)}", style="dim", highlight=False, soft_wrap=True)
        return
    console.print(f"[bold]{escape(subject(hello))}[/]", highlight=False, soft_wrap=True)


def _print_table(table: Table, console: Console) -> None:
    """As wide as the terminal; elsewhere as wide as it has to be."""
    if not console.is_terminal:
        table.width = Measurement.get(console, console.options.update(max_width=sys.maxsize), table).maximum
    console.print(table, crop=console.is_terminal)


def _matrix(run: Run) -> Table:
    table = Table("group", *(hello.backend for hello in run.backends if not hello.problem), title=None)
    for group, row in run.matrix().items():
        cells = [_counts(row.get(hello.backend, Counter())) for hello in run.backends if not hello.problem]
        table.add_row(group, *cells)
    return table


def _counts(counts: Counter[State]) -> str:
    shown = [(state, counts[state]) for state in State if counts[state]]
    return " ".join(f"[{MARKS[state][1]}]{MARKS[state][0]} {count}[/]" for state, count in shown)


def _reasons(run: Run, backend: str, state: State, console: Console) -> None:
    """Why cells were not judged, or may fail."""
    found = reasons(run, backend, state)
    mark, style = MARKS[state]
    for reason, count in found[:REASONS]:
        why = escape(reason) or "it says no reason"
        title = f"[{style}]{mark} {count:,} {state.value}[/] on {escape(backend)}: {why}"
        console.print(title, highlight=False, soft_wrap=True)
    if len(found) > REASONS:
        rest = sum(count for _, count in found[REASONS:])
        console.print(f"  … and {rest:,} for {len(found) - REASONS} other reasons", highlight=False)


def _failure(failure: Failure, task: Task, console: Console) -> None:
    cell = failure.first
    mark, style = MARKS[cell.state]
    title = f"[{style}]{mark} {cell.state.value}[/] {escape(str(cell.address))} on {escape(cell.backend)}"
    console.print(title, highlight=False, soft_wrap=True)
    console.print(f"    {escape(cell.reason)}", highlight=False, soft_wrap=True)
    for line in log_lines(cell.log):
        console.print(f"    {escape(line)}", style="dim", highlight=False, soft_wrap=True)
    console.print(f"    again: {escape(command(cell, task))}", highlight=False, soft_wrap=True)
    if len(failure.cells) > 1:
        others = [str(other.address) for other in failure.cells[1:4]]
        more = "" if len(failure.cells) <= 4 else ", …"
        words = f"    and so do {len(failure.cells) - 1:,} more: {', '.join(others)}{more}"
        console.print(escape(words), highlight=False, soft_wrap=True)


def log_lines(log: str) -> list[str]:
    """The lines of last words that say most: of a traceback its end, of the report of a death its beginning."""
    lines = log.splitlines()
    if len(lines) <= LOG_LINES:
        return lines
    deaths = [n for n, line in enumerate(lines) if line.startswith(("Fatal Python error", "Timeout ("))]
    start = max(0, deaths[-1] - 2) if deaths else len(lines) - LOG_LINES
    return lines[start : start + LOG_LINES]


def command(cell: Cell, task: Task) -> str:
    """What repeats one cell of a run."""
    if cell.reproducer:
        words = ["replay", cell.reproducer, "--backend", cell.backend, *_limits(task)]
    else:
        words = ["run", "--backend", cell.backend, "--cases", str(cell.address), *again(task)]
    return shlex.join(["vyre-conform", *words])


def again(task: Task) -> list[str]:
    """The options of a run that decide how a cell of it ends: the seed, and what is not as it is by default."""
    words = ["--seed", str(task.seed)]
    if task.size != CASES.size.name.lower():
        words += ["--size", task.size]
    if task.size == Size.NIGHTLY.name.lower():
        words += ["--fuzz", "0"]  # the cell alone, without the random programs of that size
    return [*words, *_limits(task)]


def _limits(task: Task) -> list[str]:
    seconds = ["--seconds", f"{task.seconds:g}"] if task.seconds != CASES.seconds else []
    return [*seconds, "--repeats", str(task.repeats)] if task.repeats != CASES.repeats else seconds


def _kills(report: Report, console: Console) -> None:
    table = Table("layer", "planted fault", "killed by")
    for kill in report.kills:
        by = escape(kill.by) if kill.by is not None else f"[bold red]survived[/] {escape(kill.how)}".rstrip()
        table.add_row(kill.layer, escape(f"{kill.fault}: {kill.summary}"), by)
    _print_table(table, console)


def about(task: Task) -> str:
    """Which cells a run is about, in words."""
    random = f", {task.fuzz:,} random programs" if task.fuzz else ""
    return (
        f"corpus {task.corpus[:12]}, cases {' '.join(task.queries) or 'none'}, size {task.size}, seed {task.seed}"
        f"{random}, each dispatched {task.repeats} times"
    )


def scope(run: Run) -> str:
    """Which cells a run has judged, in words: of a shard also which part, and how many cells of how many."""
    if run.task.shard == WHOLE:
        return about(run.task)
    part, parts = run.task.shard
    judged = len({cell.address for cell in run.cells})
    return f"shard {part}/{parts}, {judged:,} of {run.task.cells:,} cells, {about(run.task)}"


def _verdict(report: Report) -> str:
    run = report.run
    counts = Counter(cell.state for cell in run.cells)
    summed = ", ".join(f"{count} {state.value}" for state in State if (count := counts[state]))
    killed = sum(kill.by is not None for kill in report.kills)
    controls = f"; {killed} of {len(report.kills)} planted faults killed" if report.kills else ""
    unfinished = "" if run.is_complete or not (run.backends and run.cells) else "; not complete: go on with --resume"
    total = f"{len(run.cells):,} cells in {run.seconds:.1f} s: {summed or 'none'}{controls}{unfinished}"
    if not run.cells:
        return total
    if report.exit is Exit.UNPROVEN:
        total += f"\n{', '.join(map(escape, run.without_pass))}: no cell passes, so nothing is shown"
    of = ", ".join(subject(hello) for hello in run.backends if not hello.problem)
    return f"{total}\n{report.verdict}: {escape(of)}: {escape(scope(run))}"


def subject(hello: Hello) -> str:
    """A backend and its device, in words."""
    version = f" {hello.version}" if hello.version and hello.version != "unspecified" else ""
    device = ", ".join(text for text in hello.facts.values() if text)
    return f"{hello.backend}{version}" + (f" on {device}" if device else "")
