"""`vyre ops`: what a program can call."""

from __future__ import annotations

import click

from vyre.cli.outcome import JSON, Answer
from vyre_driver import DialectRegistry


@click.command()
@JSON
def ops(as_json: bool) -> None:
    """List the ops of the language and of every installed dialect, with their types."""
    answer = Answer(as_json)
    with answer.failures():
        found = DialectRegistry.current()
        if as_json:
            answer.json(_document(found))
            return
        rows = [(op.id, op.dialect, "; ".join(map(str, op.signatures)), op.summary) for op in found]
        answer.table("", ("op", "dialect", "types", "is"), rows)
        for problem in found.problems:
            answer.console.print(f"left out: {problem}", markup=False)


def _document(found: DialectRegistry) -> dict[str, object]:
    return {
        "ops": [
            {
                "id": op.id,
                "dialect": op.dialect,
                "category": op.category.value,
                "signatures": [str(signature) for signature in op.signatures],
                "summary": op.summary,
                "texts": [target.target for target in op.targets],
            }
            for op in found
        ],
        "dialects": [{"id": d.id, "version": d.version, "summary": d.summary} for d in found.dialects],
        "problems": [str(problem) for problem in found.problems],
    }
