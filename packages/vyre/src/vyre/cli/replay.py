"""`vyre replay`: a dispatch that differed, again."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from vyre.cli.exit import ExitCode
from vyre.cli.outcome import JSON, Answer
from vyre_driver.observe.capsule import read_capsule
from vyre_driver.observe.replay import Replay, replay
from vyre_driver.registry.backends import acquire


@click.command("replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--backend", metavar="ID", help="Backend to run on; by default the one that differed.")
@click.option("--reference", metavar="ID", help="Backend to compare with; by default the capsule's reference.")
@JSON
def replay_command(file: Path, backend: str | None, reference: str | None, as_json: bool) -> None:
    """Run the dispatch of a replay capsule again and compare every byte; exit code 1 if one differs."""
    answer = Answer(as_json)
    with answer.failures():
        capsule = read_capsule(file)
        found = replay(capsule, acquire(backend or capsule.backend), acquire(reference or capsule.reference))
        _report(answer, capsule.program.name, found)
        raise SystemExit(int(ExitCode.OK if found.agrees else ExitCode.FAILED))


def _report(answer: Answer, program: str, found: Replay) -> None:
    if answer.as_json:
        facts = {name: getattr(found, name) for name in Replay.__slots__}
        answer.json({"program": program, "agrees": found.agrees, **facts})
        return
    verdict = ("agrees", "green") if found.agrees else ("differs", "red")
    answer.console.print(Text.assemble(verdict, f": {found.backend} and {found.reference} on {program!r}"))
    rows = [("now", found.now or "no difference"), ("then", found.then)]
    rows += [("since then", found.since)] if found.since else []
    for label, text in rows:
        answer.console.print(f"  {label}: {text}", markup=False, soft_wrap=True)
