"""`vyre explain`: what a code stands for, or what is decided about a program or a graph, at length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click
from rich.text import Text

from vyre.cli.given import arrays_of, graph_in
from vyre.cli.outcome import JSON, Answer
from vyre.cli.program import numbers
from vyre.cli.source import read_program
from vyre.profiles import explain as explain_now
from vyre_foundation.explain import Explanation, explanations, nearest


@click.command()
@click.argument("code", required=False, metavar="[CODE|FILE]")
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE",
              help="Of FILE: an input, a .npy file or raw elements. Repeatable.")  # fmt: skip
@click.option("--length", "lengths", multiple=True, metavar="NAME=COUNT",
              help="Of FILE: the elements of an input without a file. Repeatable.")  # fmt: skip
@click.option("--backend", default="auto", show_default=True, help="Of FILE: id of a backend.")
@click.option("--invocations", metavar="X[,Y[,Z]]", help="Of FILE: the minimum number of invocations.")
@JSON
def explain(
    code: str | None,
    inputs: tuple[str, ...],
    lengths: tuple[str, ...],
    backend: str,
    invocations: str | None,
    as_json: bool,
) -> None:
    """Explain a code (V021, D001, E1007) or an error (InvalidInput); list all of them without CODE.

    With a program or a graph: every verdict about running it, such as backend, queue, bounds and fusion, and why.
    """
    answer, known = Answer(as_json), explanations()
    if code is None:
        _list(answer, known)
        return
    with answer.failures():
        is_file = Path(code).is_file()
    if is_file:
        _explain_file(answer, Path(code), inputs, lengths, backend, invocations)
        return
    found = _find(code, known)
    if as_json:
        answer.json({name: text for name, text in asdict(found).items() if text})
    else:
        answer.console.print(_page(found), soft_wrap=False)


def _explain_file(
    answer: Answer,
    file: Path,
    inputs: tuple[str, ...],
    lengths: tuple[str, ...],
    backend: str,
    invocations: str | None,
) -> None:
    with answer.failures():
        graph = graph_in(file)
        if graph is not None:
            found = explain_now(graph, backend=backend)
        else:
            program = read_program(file, answer)
            program.validate()
            arrays = arrays_of(program, inputs, lengths)
            found = explain_now(program, arrays, backend=backend, invocations=numbers(invocations))
        if answer.as_json:
            answer.json(found.to_json())
        else:
            click.echo(str(found))


def _find(code: str, known: Mapping[str, Explanation]) -> Explanation:
    for explanation in known.values():
        if code.lower() in (explanation.code.lower(), explanation.name.lower()):
            return explanation
    close = nearest(code, known.values())
    hint = "" if close is None else f"; the nearest is {close.code} ({close.name or close.meaning})"
    raise click.UsageError(f"no code {code!r} is known{hint}. Fix: `vyre explain` lists all codes")


def _list(answer: Answer, known: Mapping[str, Explanation]) -> None:
    if answer.as_json:
        answer.json({e.code: e.name or e.meaning for e in known.values()})
        return
    answer.table("", ("code", "error", "means"), [(e.code, e.name, e.meaning) for e in known.values()])


def _page(e: Explanation) -> Text:
    """The explanation as a page: what, why, when, and what to do."""
    heading = f"{e.code} {e.name}".strip()
    page = Text.assemble((heading, "bold"), "\n\n", e.meaning, "\n\n", e.why)
    page.append("\n\n").append("Comes up with", "bold").append(f" {e.when}.")
    if e.broken:
        page.append("\n\n").append(_indented(e.broken), "red")
    page.append("\n\n").append("Fix:", "bold").append(f" {e.repair}.")
    if e.repaired:
        page.append("\n\n").append(_indented(e.repaired), "green")
    return page


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
