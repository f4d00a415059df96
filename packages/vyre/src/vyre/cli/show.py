"""The command that shows a program: as written, planned, optimized, after each pass, or as source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vyre.cli.facts import facts_of, print_facts
from vyre.cli.outcome import JSON, Answer
from vyre.cli.plan import show_plan
from vyre.cli.program import FILE, SPEC
from vyre.cli.source import read_program, specialized
from vyre.execution import backend_for
from vyre_driver import EngineBackend, UnsupportedFeature
from vyre_driver.backend.delegate import innermost
from vyre_driver.engine.lowering import lowered_for, named_passes, run_pass
from vyre_foundation import Program, print_program
from vyre_foundation.ir.walk import statements
from vyre_foundation.optimize import optimize
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Facts


@click.command()
@FILE
@click.option(
    "--stage",
    type=click.Choice(("source", "plan", "optimized")),
    default="source",
    show_default=True,
    help="What to print: the program as written, the launch plan, or the optimized program.",
)
@click.option("--length", "lengths", multiple=True, metavar="NAME=COUNT",
              help="Number of elements of an input, for the launch plan. Repeatable.")  # fmt: skip
@SPEC
@click.option(
    "--passes",
    is_flag=True,
    help="Print the program after each pass that changes it; with --target, lowering included.",
)
@click.option("--pass", "stage_name", metavar="NAME", help="Print the program after this pass alone.")
@click.option("--target", metavar="BACKEND", help="Print the source that this backend compiles.")
@JSON
def show(
    file: Path,
    stage: str,
    lengths: tuple[str, ...],
    spec: tuple[str, ...],
    passes: bool,
    stage_name: str | None,
    target: str | None,
    as_json: bool,
) -> None:
    """Print a program, its facts, launch plan, passes or source."""
    answer = Answer(as_json)
    with answer.failures():
        program = specialized(read_program(file, answer), spec)
        if stage_name is not None:
            _print_pass(answer, program, stage_name, target)
            return
        facts = program.validate()
        if passes:
            _print_passes(answer, facts, target)
            return
        if stage == "plan":
            show_plan(answer, program, lengths, target)
            return
        emitted = None if target is None else _compiling(target).emitted_source(program)
        made = () if emitted is None or target is None else _compiling(target).described(emitted)
        if stage == "optimized":
            facts = optimize(facts)
            program = facts.program
        if as_json:
            document: dict[str, Any] = {
                "text": print_program(program),
                "fingerprint": program.fingerprint(),
                **facts_of(answer, facts),
            }
            if emitted is not None:
                document |= {"target": target, "source": emitted.text, "machine_code": list(made)}
            answer.json(document)
        elif emitted is not None:
            click.echo(emitted.text, nl=False)
            for line in made:
                click.echo(line, err=True)  # not part of the source
        else:
            click.echo(print_program(program), nl=False)
            print_facts(answer, facts)


def _print_pass(answer: Answer, program: Program, name: str, target: str | None) -> None:
    """The program after one pass alone."""
    words = None if target is None else _compiling(target).lowering_target()
    known = named_passes(words)
    if name not in known:
        fix = "name one of them" if target else "name one of them, or a --target for the passes that lower"
        raise click.BadParameter(f"there is no pass {name!r} among {', '.join(known)}. Fix: {fix}", param_hint="--pass")
    text = print_program(run_pass(known[name], program, words))
    if answer.as_json:
        answer.json({"pass": name, "text": text})
    else:
        click.echo(text, nl=False)


def _print_passes(answer: Answer, facts: Facts, target: str | None) -> None:
    """The program after each pass that changes it, and with a target its source."""
    rows: list[dict[str, Any]] = []
    before: dict[str, str] = {}

    def add(name: str, doc: str, program: Program) -> None:
        text = print_program(program)
        changed = before.get(program.name) != text
        before[program.name] = text
        size = {"statements": sum(1 for _ in statements(program.body)), "expressions": len(program.code.nodes)}
        rows.append({"pass": name, "doc": doc, "program": program.name, "changed": changed, **size, "text": text})

    def watch(stage: Pass[Any], program: Program) -> None:
        add(stage.name, stage.doc, program)

    add("source", "As it was written", facts.program)
    if target is None:
        optimize(facts, watch)
        source = None
    else:
        backend = _compiling(target)
        source = backend.emitted_source(facts.program).text
        lowered_for(backend.lowering_target(), facts, watch=watch)
    if answer.as_json:
        answer.json({"passes": rows} | ({} if source is None else {"target": target, "source": source}))
        return
    for row in rows:
        if row["changed"]:
            click.echo(f"// {row['pass']}: {row['doc']}\n{row['text']}")
    if source is not None:
        click.echo(f"// source for {target}\n{source}", nl=False)


def _compiling(target: str) -> EngineBackend:
    """The backend, if it is one that emits source."""
    backend = innermost(backend_for(target))
    if not isinstance(backend, EngineBackend):
        fix = "name a backend that compiles, such as those that `vyre backends` lists as automatic"
        raise UnsupportedFeature("printing source: it emits none", backend=target, fix=fix)
    return backend
