"""Commands about one graph in its wire form: read it, run it."""

from __future__ import annotations

import time
from pathlib import Path

import click

from vyre.cli.given import BACKEND
from vyre.cli.outcome import JSON, Answer, readable_size, readable_time
from vyre.cli.source import named_paths, read_array, read_bytes, require_distinct, require_writable, write_array
from vyre.cli.trace import TRACE, tracing
from vyre.execution import backend_for
from vyre_driver.graph.nodes import BufferKind, Graph
from vyre_driver.graph.svg import graph_svg
from vyre_driver.graph.wire import decode_graph
from vyre_driver.schedule.compiled import compile_graph

FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.group()
def graph() -> None:
    """Show or run a graph that `encode()` has written to a file."""


@graph.command()
@FILE
@click.option("--svg", "as_svg", is_flag=True, help="Print the graph as an SVG picture.")
@JSON
def show(file: Path, as_svg: bool, as_json: bool) -> None:
    """Print a graph: buffers, nodes, and the nodes that each waits for; or all findings, with exit code 1."""
    answer = Answer(as_json)
    with answer.failures():
        found = _read(file)
        facts = found.validate()
        if as_json:
            sizes = {kind.value: size for kind, size in facts.bytes.items()}
            counts = {"nodes": facts.nodes, "dispatches": facts.dispatches, "loops": facts.loops, "bytes": sizes}
            answer.json({"text": str(found), "fingerprint": found.fingerprint(), **counts})
            return
        if as_svg:
            click.echo(graph_svg(found))
            return
        click.echo(str(found))
        held = ", ".join(f"{kind.value} {readable_size(size)}" for kind, size in facts.bytes.items() if size)
        click.echo(f"\n{facts.nodes} nodes, {facts.dispatches} dispatches, {facts.loops} loops; {held or 'no buffers'}")


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
        types = {buffer.name: buffer.dtype for buffer in found.of(BufferKind.INPUT)}
        arrays = {name: read_array(types, name, path) for name, path in named_paths(inputs, "--input").items()}
        targets = named_paths(outputs, "--output")
        known = [node.output for node in found.outputs]
        for name in targets:
            if name not in known:
                choices = ", ".join(known) or "none"
                raise click.BadParameter(f"there is no output {name!r}, only {choices}. Fix: name one of them")
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
            for name, path in targets.items():
                write_array(path, results[name])
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


def _read(file: Path) -> Graph:
    return decode_graph(read_bytes(file))
