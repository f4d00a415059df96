"""`vyre demo`: the main job, on real input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from vyre_driver import VyreBackend

from vyre.cli.outcome import Answer, Exit, readable_size, readable_time
from vyre.demo.corpus import Corpus, standard_library
from vyre.demo.job import Job
from vyre.demo.jobs import jobs
from vyre.demo.measure import Measurement, measure
from vyre.run import backend_for

REFERENCE_BYTES = 1 << 20
"""The interpreter gets the smallest files up to this many bytes; the devices get everything."""


@click.command()
@click.option("--backend", "ids", multiple=True, metavar="ID", help="Run on this one instead of the best. Repeatable.")
@click.option("--reference/--no-reference", default=True, show_default=True, help="Run on the reference too.")
@click.option("--limit", type=int, metavar="BYTES", help="Use only the smallest files up to this many bytes.")
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), default="mandelbrot.png", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def demo(ids: tuple[str, ...], reference: bool, limit: int | None, picture: Path, as_json: bool) -> None:
    """Hash, scan and count the Python standard library's source and draw the Mandelbrot set; compare every byte.

    Each job runs on the best available backend and, on part of the input, on the reference; each result is compared with
    an independent answer (hashlib, bytes.find, NumPy), and the backends with one another.
    """
    answer = Answer(as_json)
    with answer.failures():
        corpus = standard_library()
        if limit is not None:
            corpus = corpus.head(limit)
        backends = [backend_for(id) for id in ids or ("auto",)]
        interpreter = backend_for("reference") if reference else None
        done = _run_all(answer, corpus, backends, interpreter, picture)
        agreed = all(m.agrees for m in done) and _digests_agree(done)
        _report(answer, corpus, done, agreed, picture)
        raise SystemExit(int(Exit.OK if agreed else Exit.FAILED))


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
                job.finish(done[-1].outputs)
            progress.advance(task)
    return done


def _steps(
    corpus: Corpus, backends: list[VyreBackend], interpreter: VyreBackend | None, picture: Path
) -> Iterator[tuple[Job, VyreBackend]]:
    """Every job on every device; and, where the interpreter takes part, the part of the input that it gets."""
    part = corpus if interpreter is None else corpus.head(REFERENCE_BYTES)
    for whole, smaller in zip(jobs(corpus, picture), jobs(part, picture), strict=True):
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
        names = ("job", "backend", "oracle", "input_bytes", "compile_s", "kernel_s", "wall_s", "oracle_s", "digest", "agrees")
        runs: list[dict[str, Any]] = [{name: getattr(m, name) for name in names} for m in done]
        answer.json({"files": len(corpus.names), "bytes": corpus.size, "runs": runs, "picture": str(picture), "agreed": agreed})
        return
    rows = [
        (
            m.job,
            m.backend,
            readable_size(m.input_bytes),
            readable_time(m.compile_s),
            readable_time(m.kernel_s),
            readable_time(m.wall_s),
            m.digest[:16],
            f"[green]= {m.oracle}[/]" if m.agrees else f"[bold red]≠ {m.oracle}[/]",
        )
        for m in done
    ]
    title = f"{len(corpus.names)} files of the standard library, {readable_size(corpus.size)}"
    answer.table(title, ("job", "backend", "input", "compile", "kernel", "wall", "output", "agrees"), rows)
    answer.console.print(f"picture: {picture}", markup=False)
    verdict = "[bold green]All agree[/], byte for byte." if agreed else "[bold red]They do not agree.[/]"
    answer.console.print(verdict)
