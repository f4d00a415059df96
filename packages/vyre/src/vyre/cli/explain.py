"""`vyre explain`: what a code stands for, at length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import click
from rich.text import Text

from vyre.cli.outcome import JSON, Answer
from vyre_foundation.explain import Explanation, explanations, nearest


@click.command()
@click.argument("code", required=False)
@JSON
def explain(code: str | None, as_json: bool) -> None:
    """Explain a code (V021, D001, E1007) or an error (InvalidInput); list all of them without CODE."""
    answer, known = Answer(as_json), explanations()
    if code is None:
        _list(answer, known)
        return
    found = _find(code, known)
    if as_json:
        answer.json({name: text for name, text in asdict(found).items() if text})
    else:
        answer.console.print(_page(found), soft_wrap=False)


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
