"""The command: ``vyre-conform``, and ``vyre conform`` where the front door is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console

import vyre_conform
from vyre_conform.address import BadQuery, Query, address
from vyre_conform.case import AsEvaluated, Case
from vyre_conform.controls import run_controls
from vyre_conform.gaps import read_gaps
from vyre_conform.judge import judge
from vyre_conform.oracle import settle
from vyre_conform.prove import prove, task_of
from vyre_conform.report import Report
from vyre_conform.reproducer import read_reproducer
from vyre_conform.run import Exit, Run
from vyre_conform.show import Live, command, show
from vyre_conform.suite import Suite
from vyre_conform.worker import Worker
from vyre_driver.registry.backends import availability, registered_backends
from vyre_foundation.errors import VyreError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(vyre_conform.__version__, prog_name="vyre-conform")
def conform() -> None:
    """Prove that backends answer as the language says, byte for byte.

    \b
    Exit codes: 0 proven, 1 a cell failed (or a planted fault survived), 2 wrong usage,
    3 a backend is not available, 4 the opinions about a case disagree.
    """


@conform.command()
@click.option("--backend", "backends", multiple=True, metavar="ID", help="Judge this backend; may be repeated. [all]")
@click.option("--cases", "queries", multiple=True, metavar="QUERY", help="Only these, as in ops:add:dtype=u32,*. [*]")
@click.option("--seed", default=0, show_default=True, help="Of random values and random programs.")
@click.option("--fuzz", default=0, show_default=True, metavar="N", help="Random programs beside the corpus.")
@click.option("--seconds", default=60.0, show_default=True, help="What one launch may take.")
@click.option("--repeats", default=2, show_default=True, help="Dispatches of each case, which must agree.")
@click.option("--known-gaps", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
              help="Cells that fail, and why, as TOML; one that passes is a failure.")  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the report as JSON.")  # fmt: skip
@click.option("--reproducers", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              default=Path("conform-failures"), show_default=True,
              help="Where failing random programs go.")  # fmt: skip
@click.option("--controls/--no-controls", default=False, help="Also show that the suite finds planted faults.")
def run(
    backends: tuple[str, ...],
    queries: tuple[str, ...],
    seed: int,
    fuzz: int,
    seconds: float,
    repeats: int,
    known_gaps: Path | None,
    json_file: Path | None,
    reproducers: Path,
    controls: bool,
) -> None:
    """Run cases on backends and compare every byte."""
    console = Console()
    try:
        chosen = tuple(Query.parse(query) for query in queries or ("*",))
        gaps = read_gaps(known_gaps) if known_gaps else ()
        suite = Suite(queries=chosen, fuzz=fuzz, seconds=seconds, repeats=repeats, gaps=gaps)
        if not suite.specs(seed):
            raise BadQuery(f"no case matches {', '.join(queries)}", fix="`vyre-conform list` shows the cases")
    except VyreError as error:
        raise click.UsageError(str(error)) from error
    with Live(console) as live:
        report = Report(prove(backends or _available(), suite, seed, watch=live, reproducers=reproducers))
    if controls:
        report.kills = run_controls(suite.specs(seed), seed)
    show(report, console)
    _write(report, json_file)
    sys.exit(report.exit)


@conform.command("list")
@click.argument("queries", nargs=-1)
def list_(queries: tuple[str, ...]) -> None:
    """Print the addresses of the cases that QUERIES mean (all without one)."""
    try:
        suite = Suite(queries=tuple(Query.parse(query) for query in queries or ("*",)))
    except VyreError as error:
        raise click.UsageError(str(error)) from error
    for spec in suite.specs(0):
        click.echo(str(spec.address))


@conform.command("show")
@click.argument("query")
@click.option("--seed", default=0, show_default=True)
def show_(query: str, seed: int) -> None:
    """Print the program of the first case that QUERY means."""
    try:
        specs = Suite(queries=(Query.parse(query),)).specs(seed)
    except VyreError as error:
        raise click.UsageError(str(error)) from error
    if not specs:
        raise click.UsageError(f"no case matches {query}. Fix: `vyre-conform list` shows the cases")
    click.echo(f"# {specs[0].address}")
    click.echo(str(specs[0].case(seed).launch.program), nl=False)


@conform.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--backend", "backends", multiple=True, metavar="ID", help="Judge this backend; may be repeated. [all]")
@click.option("--seconds", default=60.0, show_default=True, help="What the launch may take.")
def replay(file: Path, backends: tuple[str, ...], seconds: float) -> None:
    """Launch a reproducer again and compare every byte with the evaluators."""
    console = Console()
    try:
        launch = read_reproducer(file)
    except VyreError as error:
        raise click.UsageError(str(error)) from error
    case = Case(address=address("fuzz", file.stem), launch=launch, expected=AsEvaluated())
    verdict = settle(case, seconds=seconds)
    found = Run(task=task_of(Suite(queries=()), 0))
    for backend in backends or _available():
        with Worker(backend, seconds) as worker:
            (cell,) = judge(case, verdict, backend, worker.ask(launch))
        found.cells.append(cell)
        console.print(f"{cell.state.value}  {backend}  {cell.reason}", markup=False, highlight=False, soft_wrap=True)
    for opinion, quarrel in verdict.disagreements.items():
        console.print(f"opinions disagree: {opinion}: {quarrel}", markup=False)
    sys.exit(Exit.DISAGREEMENT if verdict.disagreements else found.exit)


@conform.command()
@click.option("--seed", default=0, show_default=True)
def controls(seed: int) -> None:
    """Show that the suite finds every planted fault."""
    report = Report(Run(task=task_of(Suite(), seed)))
    report.kills = run_controls(Suite().specs(seed), seed)
    show(report, Console())
    sys.exit(report.exit)


def _available() -> tuple[str, ...]:
    """Every registered backend that can run here."""
    return tuple(r.id for r in registered_backends() if availability(r.id).is_available)


def _write(report: Report, path: Path | None) -> None:
    if path is not None:
        facts = report.to_json()
        for cell, plain in zip(report.run.cells, facts["cells"], strict=True):
            if cell.state.is_bad:
                plain["command"] = command(cell, report.run.task.seed)
        path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> None:
    """The entry point."""
    conform(prog_name="vyre-conform")
