"""`vyre demo`: the main job, on real input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from vyre.cli.exit import ExitCode
from vyre.cli.outcome import JSON, Answer, readable_size, readable_time
from vyre.cli.source import require_writable, writing
from vyre.demo.corpus import Corpus, standard_library
from vyre.demo.job import Job
from vyre.demo.jobs import jobs
from vyre.demo.measure import Measurement, measure
from vyre.execution import backend_for
from vyre_driver import VyreBackend
from vyre_driver.errors import MissingExtra

REFERENCE_BYTES = 4 << 20
"""The interpreter hashes the smallest files up to this many bytes; everything else runs on everything everywhere."""


@click.command()
@click.option(
    "--backend",
    "ids",
    multiple=True,
    metavar="ID",
    help="Backend to run on; by default the most preferred. Repeatable.",
)
@click.option(
    "--reference/--no-reference", default=True, show_default=True, help="Whether to run on the reference too."
)
@click.option(
    "--limit", type=click.IntRange(1), metavar="BYTES", help="Use the smallest files, up to this many bytes in total."
)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    default="mandelbrot.png",
    show_default=True,
    help="Image to write.",
)
@JSON
def demo(ids: tuple[str, ...], reference: bool, limit: int | None, picture: Path, as_json: bool) -> None:
    """Run four jobs on real input and compare every byte.

    They hash, scan and count the source of Python's standard library, and draw the Mandelbrot set.

    Each job runs on the best available backend and on the reference; each result is compared with an independent
    answer (hashlib, bytes.find, NumPy), and the backends with one another.
    """
    answer = Answer(as_json)
    with answer.failures():
        _require_pillow()
        _require_format(picture)
        require_writable(picture, "--picture")
        corpus = standard_library()
        if limit is not None:
            corpus = corpus.head(limit)
        backends = [backend_for(id) for id in dict.fromkeys(ids) or ("auto",)]
        interpreter = backend_for("reference") if reference else None
        done = _run_all(answer, corpus, backends, interpreter, picture)
        agreed = all(m.agrees for m in done) and _digests_agree(done)
        _report(answer, corpus, done, agreed, picture)
        raise SystemExit(int(ExitCode.OK if agreed else ExitCode.FAILED))


def _require_pillow() -> None:
    """Refuse to run the jobs where the picture of one cannot be drawn."""
    if find_spec("PIL") is None:
        raise MissingExtra("demo", "pillow", fix="install it: pip install 'vyre[demo]'")


def _require_format(picture: Path) -> None:
    """Refuse a name whose suffix is of no format that a picture can have."""
    from PIL import Image  # an optional package

    if Image.registered_extensions().get(picture.suffix.lower()) not in Image.SAVE:
        message = f"--picture: {picture} has no suffix of a picture"
        raise click.BadParameter(f"{message}. Fix: name a .png file")


def _run_all(
    answer: Answer, corpus: Corpus, backends: list[VyreBackend], interpreter: VyreBackend | None, picture: Path
) -> list[Measurement]:
    steps = list(_steps(corpus, backends, interpreter, picture))
    columns = (TextColumn("{task.description:<45}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done = []
    with Progress(*columns, console=answer.errors, transient=True, disable=answer.as_json) as progress:
        task = progress.add_task("", total=len(steps))
        for job, backend in steps:
            progress.update(task, description=f"{job.name} on {backend.id()}")
            done.append(measure(job, backend))
            if job.finish is not None:
                with writing(picture, "--picture"):
                    job.finish(done[-1].outputs)
            progress.advance(task)
    return done


def _steps(
    corpus: Corpus, backends: list[VyreBackend], interpreter: VyreBackend | None, picture: Path
) -> Iterator[tuple[Job, VyreBackend]]:
    """Every job on every device and the interpreter; where its input is smaller, the devices get that one too."""
    hashed = corpus.head(REFERENCE_BYTES)
    for whole, smaller in zip(jobs(corpus, corpus, picture), jobs(corpus, hashed, picture), strict=True):
        same = whole.input_bytes == smaller.input_bytes
        for backend in backends:
            yield whole, backend
        if interpreter is None:
            continue
        if not same:
            yield from ((smaller, backend) for backend in backends)
        yield smaller, interpreter


def _digests_agree(done: list[Measurement]) -> bool:
    """Whether every backend gave the same bytes for the same job and input."""
    digests: dict[tuple[str, int], set[str]] = {}
    for m in done:
        digests.setdefault((m.job, m.input_bytes), set()).add(m.digest)
    return all(len(found) == 1 for found in digests.values())


def _report(answer: Answer, corpus: Corpus, done: list[Measurement], agreed: bool, picture: Path) -> None:
    if answer.as_json:
        runs = [{f.name: getattr(m, f.name) for f in fields(m) if f.name != "outputs"} for m in done]
        facts = {"files": len(corpus.names), "bytes": corpus.size, "picture": str(picture)}
        answer.json({**facts, "runs": runs, "agreed": agreed})
        return
    answer.console.print(f"{len(corpus.names)} files of the standard library, {readable_size(corpus.size)}")
    for (job, oracle), rows in groupby(done, key=lambda m: (m.job, m.oracle)):
        answer.table(f"{job}, against {oracle}", COLUMNS, list(map(_row, rows)), right=COLUMNS[1:5])
    answer.console.print(f"picture: {picture}", markup=False)
    verdict = "[bold green]All agree[/], byte for byte." if agreed else "[bold red]They do not agree.[/]"
    answer.console.print(verdict)


COLUMNS = ("backend", "input", "compile", "kernel", "wall", "digest", "agrees")


def _row(m: Measurement) -> tuple[str | Text, ...]:
    times = (readable_time(t) for t in (m.compile_s, m.kernel_s, m.wall_s))
    verdict = Text("yes", "green") if m.agrees else Text("NO", "bold red")
    return m.backend, readable_size(m.input_bytes), *times, m.digest[:12], verdict
