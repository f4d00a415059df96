"""Commands about one graph in its wire form: read it, run it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from vyre.cli.given import BACKEND
from vyre.cli.outcome import JSON, Answer, readable_size, readable_time
from vyre.cli.source import (
    named_paths,
    one_of,
    read_arrays,
    read_bytes,
    require_distinct,
    require_writable,
    write_arrays,
)
from vyre.cli.trace import TRACE, tracing
from vyre.execution import backend_for
from vyre_driver.graph.nodes import BufferKind, Graph
from vyre_driver.graph.svg import graph_svg
from vyre_driver.graph.wire import decode_graph
from vyre_driver.profiling.explain import explain_graph
from vyre_driver.profiling.verdicts import DispatchVerdict, verdict_lines
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.tune.graphs import tune_graph

FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.group()
def graph() -> None:
    """Show, measure or run a graph that `encode()` has written to a file."""


@graph.command()
@FILE
@click.option("--svg", "as_svg", is_flag=True, help="Print the graph as an SVG picture.")
@click.option("--backend", metavar="ID", help="Print what this backend decides about it, and why, too.")
@JSON
def show(file: Path, as_svg: bool, backend: str | None, as_json: bool) -> None:
    """Print a graph: buffers, nodes, and the nodes that each waits for; or all findings, with exit code 1."""
    answer = Answer(as_json)
    with answer.failures():
        found = _read(file)
        facts = found.validate()
        verdicts: tuple[DispatchVerdict, ...] = ()
        if backend is not None:
            with compile_graph(found, backend_for(backend)) as compiled:
                verdicts = explain_graph(compiled).verdicts
        if as_json:
            sizes = {kind.value: size for kind, size in facts.bytes.items()}
            counts = {"nodes": facts.nodes, "dispatches": facts.dispatches, "loops": facts.loops, "bytes": sizes}
            document = {"text": str(found), "fingerprint": found.fingerprint(), **counts}
            if verdicts:
                document["verdicts"] = [verdict.to_json() for verdict in verdicts]
            answer.json(document)
            return
        if as_svg:
            click.echo(graph_svg(found))
            return
        click.echo(str(found))
        held = ", ".join(f"{kind.value} {readable_size(size)}" for kind, size in facts.bytes.items() if size)
        click.echo(f"\n{facts.nodes} nodes, {facts.dispatches} dispatches, {facts.loops} loops; {held or 'no buffers'}")
        for line in verdict_lines(verdicts):
            click.echo(line)


@graph.command()
@FILE
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=FILE", help="Input: a .npy file, or raw elements. Repeatable."
)
@BACKEND
@JSON
def tune(file: Path, inputs: tuple[str, ...], backend: str, as_json: bool) -> None:
    """Measure whether a graph is faster fused, with small dispatches together, or in waves, and take that."""
    answer = Answer(as_json)
    with answer.failures(), answer.progress():
        found = _read(file)
        found.validate()
        report = tune_graph(found, _arrays(found, inputs), backend_for(backend))
        if as_json:
            trials = [
                {"form": str(trial.form), "ns": trial.ns, "samples": trial.samples, "verdict": trial.verdict}
                for trial in report.trials
            ]
            answer.json({"backend": report.backend, "form": str(report.verdict.form), "trials": trials})
        else:
            click.echo(str(report))


@graph.command()
@FILE
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=FILE", help="Input: a .npy file, or raw elements. Repeatable."
)
@click.option("--output", "outputs", multiple=True, metavar="NAME=FILE", help="File for an output. Repeatable.")
@BACKEND
@click.option("--no-fusion", is_flag=True, help="Leave every dispatch as it was recorded.")
@TRACE
@JSON
def run(
    file: Path,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    backend: str,
    no_fusion: bool,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Run a graph over files."""
    answer = Answer(as_json)
    with answer.failures():
        found = _read(file)
        found.validate()
        arrays = _arrays(found, inputs)
        targets = named_paths(outputs, "--output")
        known = [node.output for node in found.outputs]
        for name in targets:
            if name not in known:
                raise click.BadParameter(f"there is no output {name!r}{one_of(known)}")
        require_distinct(targets, "--output")
        if trace is not None:
            require_writable(trace, "--trace")
        with (
            answer.progress(),
            tracing(backend_for(backend), trace) as watched,
            compile_graph(found, watched, fusion=not no_fusion) as compiled,
        ):
            started = time.perf_counter()
            results = compiled.run(arrays)
            seconds = time.perf_counter() - started
            write_arrays(targets, results)
            if as_json:
                ran = {"backend": compiled.backend.id(), "executor": compiled.executor, "seconds": seconds}
                lengths = {name: len(array) for name, array in results.items()}
                answer.json({**ran, "dispatches": list(compiled.dispatches), "outputs": lengths})
                return
            count = len(compiled.dispatches)
            plural = "" if count == 1 else "es"
            click.echo(f"{count} dispatch{plural} on {compiled.backend.id()} in {readable_time(seconds)}")
            for name, array in results.items():
                where = f" → {targets[name]}" if name in targets else ""
                click.echo(f"{name}: {array.dtype.name}[{len(array)}]{where}")


def _arrays(graph: Graph, inputs: tuple[str, ...]) -> dict[str, Any]:
    return read_arrays(graph.of(BufferKind.INPUT), inputs)


def _read(file: Path) -> Graph:
    return decode_graph(read_bytes(file))
