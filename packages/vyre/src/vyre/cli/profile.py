"""`vyre profile`: what the kernels of a program or a graph take, beside what the device can do."""

from __future__ import annotations

from pathlib import Path

import click

from vyre.cli.given import BACKEND, FILE, INPUT, LENGTH, Seconds, arrays_of, arrays_of_graph, graph_in
from vyre.cli.outcome import JSON, Answer
from vyre.cli.program import INVOCATIONS, SPEC, numbers
from vyre.cli.source import read_program, require_writable, specialized, writing
from vyre.profiles import profile as profile_now
from vyre_driver.profiling import SECONDS


@click.command("profile")
@FILE
@INPUT
@LENGTH
@BACKEND
@SPEC
@INVOCATIONS
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write a page with bars and the roofline, which loads nothing.")  # fmt: skip
@click.option("--seconds", type=Seconds(zero_is_allowed=True), default=SECONDS, show_default=True,
              help="How long to run; 0 is the fewest runs.")  # fmt: skip
@JSON
def profile_command(
    file: Path,
    inputs: tuple[str, ...],
    lengths: tuple[str, ...],
    backend: str,
    spec: tuple[str, ...],
    invocations: str | None,
    html: Path | None,
    seconds: float,
    as_json: bool,
) -> None:
    """Profile a program or a graph: time, bytes and operations of each kernel, and the verdicts taken."""
    answer = Answer(as_json)
    with answer.failures(), answer.progress():
        if html is not None:
            require_writable(html, "--html")
        graph = graph_in(file)
        if graph is not None:
            if lengths or spec or invocations:
                raise click.UsageError(
                    f"{file} is a graph: its lengths are fixed. Fix: leave --length, --spec and --invocations out"
                )
            found = profile_now(graph, arrays_of_graph(graph, inputs), backend=backend, seconds=seconds)
        else:
            program = specialized(read_program(file, answer), spec)
            program.validate()
            arrays = arrays_of(program, inputs, lengths)
            found = profile_now(program, arrays, backend=backend, invocations=numbers(invocations), seconds=seconds)
        if html is not None:
            with writing(html, "--html"):
                html.write_text(found.to_html(), "utf-8")
        if as_json:
            answer.json(found.to_json())
        else:
            click.echo(str(found))
