"""Commands that run cases, or show them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from vyre_conform import determinism, stability
from vyre_conform.address import BadQuery, Query, address
from vyre_conform.case import AsEvaluated, Case, Size
from vyre_conform.cli import options
from vyre_conform.controls import FAULTS, Fault, run_controls
from vyre_conform.gaps import read_gaps
from vyre_conform.judge import judge
from vyre_conform.oracle import settle
from vyre_conform.proving import prove, task_of
from vyre_conform.report import Report
from vyre_conform.reproducer import read_reproducer
from vyre_conform.run import Exit, Run
from vyre_conform.show import Hunt, Live, show
from vyre_conform.suite import Suite
from vyre_conform.worker import NamedBy, Worker
from vyre_driver.errors import BackendUnavailable
from vyre_driver.registry.backends import availability, backend_problems, registered_backends

MAX_SHARD = 30
"""Characters; Python reads no numbers of thousands of digits."""
SIZES = click.Choice([size.name.lower() for size in Size])


def _shard(context: click.Context, option: click.Parameter, text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and len(text) <= MAX_SHARD and 1 <= int(part) <= int(parts)):
        raise click.BadParameter("Fix: write PART/PARTS, as in 2/3")
    return int(part), int(parts)


@click.command()
@options.backends
@click.option(
    "--cases",
    "queries",
    multiple=True,
    metavar="QUERY",
    help="Cases to run, such as ops:add:dtype=u32,*. Repeatable. [*]",
)
@click.option("--size", type=SIZES, default="ci", show_default=True, help="Size of the corpus.")
@options.seed
@click.option(
    "--fuzz", type=click.IntRange(min=0), metavar="N", help="Number of random programs. [none; nightly: 100,000]"
)
@options.seconds
@options.repeats
@options.jobs
@click.option("--shard", default="1/1", callback=_shard, metavar="N/M", help="Run only the N-th of M shards.")
@click.option("--known-gaps", type=options.IN, metavar="FILE",
              help="TOML file of cells that fail, with reasons; a listed cell that passes is a failure.")  # fmt: skip
@click.option(
    "--journal", type=options.OUT, metavar="FILE", help="Journal to write, for `report`, `certify` and --resume."
)
@click.option("--resume/--overwrite", default=None,
              help="Resume the run in the journal, or replace it. [refuse a journal with cells]")  # fmt: skip
@click.option("--reproducers", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              default=Path("conform-failures"), show_default=True,
              help="Folder for failing random programs.")  # fmt: skip
@click.option("--controls/--no-controls", default=False, help="Also run the planted faults, which the suite must find.")
@options.written
def run(
    backends: tuple[str, ...],
    queries: tuple[str, ...],
    size: str,
    seed: int,
    fuzz: int | None,
    seconds: float,
    repeats: int,
    jobs: int,
    shard: tuple[int, int],
    known_gaps: Path | None,
    journal: Path | None,
    resume: bool | None,
    reproducers: Path,
    controls: bool,
    **files: Any,
) -> None:
    """Run cases on backends and compare every byte."""
    console = options.console()
    if resume and journal is None:
        raise click.UsageError("--resume needs --journal. Fix: name the file of the run by --journal")
    with options.usage():
        suite = Suite(
            queries=tuple(Query.parse(query) for query in queries or ("*",)),
            size=Size[size.upper()],
            fuzz=fuzz if fuzz is not None or size == "nightly" else 0,
            seconds=seconds,
            repeats=repeats,
            gaps=read_gaps(known_gaps) if known_gaps else (),
            shard=shard,
        )
        if not suite.specs(seed):
            part, parts = shard
            raise BadQuery(f"the part {part}/{parts} has no case", fix="run fewer parts: each of them needs a case")
        options.require_writable(journal=journal, reproducers=reproducers if suite.programs else None, **files)
        with Live(console) as live, _interruptible(journal):
            found = prove(_chosen(backends), suite, seed, watch=live, reproducers=reproducers,
                          journal=journal, resume=resume is True, overwrite=resume is False, jobs=jobs)  # fmt: skip
    report = Report(found)
    if controls:
        specs = Suite().specs(seed)
        with Hunt(console) as hunt, _interruptible(journal):
            report.kills = run_controls(specs, seed, jobs=jobs, watch=hunt.caught)
    show(report, console)
    options.write(report, sys.argv[1:], named_by=NamedBy.CALLER, **files)
    sys.exit(report.exit)


@click.command("list")
@click.argument("queries", nargs=-1)
@click.option("--size", type=SIZES, default="ci", show_default=True, help="Size of the corpus.")
@click.option("--cells", is_flag=True, help="Print every cell instead of every case.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(queries: tuple[str, ...], size: str, cells: bool, as_json: bool) -> None:
    """Print the addresses of the cases that match QUERIES; by default all."""
    with options.usage():
        suite = Suite(queries=tuple(Query.parse(query) for query in queries or ("*",)), size=Size[size.upper()])
        found = [str(a) for spec in suite.specs(0) for a in (spec.cells if cells else (spec.address,))]
    click.echo(json.dumps(found, indent=1) if as_json else "\n".join(found))


@click.command("show")
@click.argument("query")
@options.seed
def show_(query: str, seed: int) -> None:
    """Print the program of the first case that matches QUERY."""
    with options.usage():
        specs = Suite(queries=(Query.parse(query),), size=Size.NIGHTLY, fuzz=0).specs(seed)
    click.echo(f"# {specs[0].address}")
    click.echo(str(specs[0].case(seed).launch.program), nl=False)


@click.command()
@click.argument("file", type=options.IN)
@options.backends
@options.seconds
@options.repeats
def replay(file: Path, backends: tuple[str, ...], seconds: float, repeats: int) -> None:
    """Run a reproducer again and compare every byte with the evaluators."""
    console = options.console()
    with options.usage():
        launch = read_reproducer(file)
    case = Case(address=address("fuzz", file.stem), launch=launch, expected=AsEvaluated())
    verdict = settle(case, seconds=seconds)
    found = Run(task=task_of(Suite(queries=()), 0), is_complete=True)
    for backend in _chosen(backends):
        with Worker(backend, seconds, named_by=NamedBy.CALLER) as worker:
            (cell,) = judge(case, verdict, backend, worker.ask(launch, repeats))
        found.cells.append(cell)
        console.print(f"{cell.state.value}  {backend}  {cell.reason}", markup=False, highlight=False, soft_wrap=True)
    for opinion, reason in verdict.mismatches.items():
        console.print(f"opinions disagree: {opinion}: {reason}", markup=False)
    sys.exit(Exit.MISMATCH if verdict.mismatches else found.exit)


def _faults(context: click.Context, argument: click.Parameter, ids: tuple[str, ...]) -> tuple[Fault, ...]:
    """The planted faults of these ids, or all, in the order of the table."""
    known = [fault.id for fault in FAULTS]
    for given in ids:
        if given not in known:
            near = get_close_matches(given, known, 1)
            fix = f"write {near[0]}" if near else "choose one of docs/planted-faults.md"
            raise click.BadParameter(f"{given!r} is no planted fault. Fix: {fix}")
    return tuple(fault for fault in FAULTS if not ids or fault.id in ids)


@click.command()
@click.argument("faults", metavar="[FAULT]...", nargs=-1, callback=_faults)
@options.seed
@options.jobs
@click.option("--json", "json_file", type=options.OUT, metavar="FILE", help="Write the result as JSON.")
def controls(faults: tuple[Fault, ...], seed: int, jobs: int, json_file: Path | None) -> None:
    """Run planted faults, by default all, and check that the suite finds each."""
    console = options.console()
    options.require_writable(json_file=json_file)
    report = Report(Run(task=task_of(Suite(), seed)))
    with Hunt(console, len(faults)) as hunt:
        report.kills = run_controls(Suite().specs(seed), seed, faults, jobs=jobs, watch=hunt.caught)
    if json_file is not None:
        options.write_kills(report.kills, json_file)
    show(report, console)
    sys.exit(report.exit)


@click.command()
@options.backends
@click.option("--cases", "queries", multiple=True, metavar="QUERY", help="Cases to run. [a selection of every kind]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def sweep(backends: tuple[str, ...], queries: tuple[str, ...], as_json: bool) -> None:
    """Check that hash seeds and the number of cores do not change results; exit code 1 if they do."""
    cases = queries or stability.QUERIES
    with options.usage():
        specs = Suite(queries=tuple(Query.parse(query) for query in cases)).specs(0)
    found: dict[str, list[str]] = {}
    chosen = _chosen(backends)
    for backend in chosen:
        with Worker(backend, named_by=NamedBy.CALLER) as worker:
            if (hello := worker.start()).problem:
                click.echo(f"{backend}: {hello.problem}. Fix: {hello.fix}", err=True)
                sys.exit(Exit.UNAVAILABLE)
    for backend in chosen:
        unstable = stability.sweep(cases, backends=[backend])
        words = [f"{case} differs between processes that hash differently" for case in unstable]
        words += [f"{d.case} with {d.cores} cores: {d.difference}" for d in determinism.deviations(backend, specs)]
        found[backend] = words
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        for backend, words in found.items():
            click.echo("\n  ".join([f"{backend}: {len(specs)} cases, {len(words)} deviations", *words]))
    sys.exit(Exit.FAILED if any(found.values()) else Exit.PROVEN)


@contextmanager
def _interruptible(journal: Path | None) -> Iterator[None]:
    """An interrupt from the keyboard ends the command with the status of a run that is not complete."""
    try:
        yield
    except KeyboardInterrupt:
        hint = f"{journal} has the cells so far: go on with --resume" if journal else "no --journal was written"
        click.echo(f"interrupted; {hint}", err=True)
        sys.exit(Exit.INCOMPLETE)


def _chosen(named: tuple[str, ...]) -> tuple[str, ...]:
    """The backends that were named, each once; else every installed one that can run here and starts no cluster.

    A line on standard error says of each other one why it is left out. It changes no exit code: what has to run is
    named, and then has to run.
    """
    if named:
        return tuple(dict.fromkeys(named))
    left_out = [str(problem) for problem in backend_problems()]
    found = []
    for registration in registered_backends():
        id = registration.id
        if registration.is_distributed:
            left_out.append(f"backend {id!r} starts a cluster. Fix: name it, --backend {id}")
        elif (state := availability(id)).is_available:
            found.append(id)
        else:
            left_out.append(str(BackendUnavailable(id, state.reason, fix=state.fix)))
    for words in left_out:
        click.echo(f"left out: {words}", err=True)
    return tuple(found)
