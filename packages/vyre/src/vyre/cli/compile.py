"""`vyre compile`: code ahead of time, for a later process or for people; and what a later process does with it."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import click

from vyre.cli.given import MAX_EXTENT
from vyre.cli.outcome import JSON, Answer, readable_size
from vyre.cli.source import read_program, require_writable, specialized, writing
from vyre_driver import (
    CompiledProgram,
    DispatchConfig,
    EngineBackend,
    UnsupportedFeature,
    VyreBackend,
    emit_aot_target,
    registered_aot_emitters,
)
from vyre_driver.backend.delegate import innermost
from vyre_driver.engine.artifact import load_ahead
from vyre_driver.pipeline.ahead import ANY_VERSION


@click.command("compile")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--target", metavar="TARGET", help="Target to compile for; omit it to list the targets.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Output file; by default beside the program.")  # fmt: skip
@click.option("--workgroup", type=(click.IntRange(1, MAX_EXTENT),) * 3, metavar="X Y Z",
              help="Workgroup size; by default the program's.")  # fmt: skip
@click.option("--spec", "spec", multiple=True, metavar="NAME=VALUE",
              help="Compile a uniform of one element as a constant. Repeatable.")  # fmt: skip
@click.option(
    "--ulp",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Error allowed in elementary functions, in units in the last place.",
)
@JSON
def compile_command(
    file: Path | None,
    target: str | None,
    output: Path | None,
    workgroup: tuple[int, int, int] | None,
    spec: tuple[str, ...],
    ulp: int,
    as_json: bool,
) -> None:
    """Compile a program ahead of time.

    `vyre run` accepts an artifact that was compiled for a device of this machine.
    """
    answer = Answer(as_json)
    with answer.failures():
        if target is None:
            _list(answer)
            return
        if file is None:
            raise click.UsageError("no program to compile is named. Fix: name a file")
        suffixes: dict[str, str] = {emitter.target: emitter.suffix for emitter in registered_aot_emitters()}
        if target not in suffixes:
            near = [name for name in suffixes if name.startswith(f"{target}:")]
            near = near or get_close_matches(target, suffixes, 3) or list(suffixes)
            known = ", ".join(near) or "no target, as no backend that is installed compiles"
            raise click.BadParameter(f"--target {target!r} is none of {known}. Fix: name one of them")
        program = specialized(read_program(file, answer), spec)
        written = output or file.with_suffix(suffixes[target])
        require_writable(written, "--output")
        data = emit_aot_target(target, program, DispatchConfig(workgroup_override=workgroup, ulp_budget=ulp))
        with writing(written, "--output"):
            written.write_bytes(data)
        if as_json:
            answer.json({"target": target, "file": str(written), "bytes": len(data)})
        else:
            answer.console.print(f"{written}: {readable_size(len(data))} for {target}", markup=False)


def read_compiled(file: Path) -> CompiledProgram | None:
    """The compiled program in a file; None for other files, and for pipes, which can be read once."""
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        if not opened.read(len(ANY_VERSION)).startswith(ANY_VERSION):
            return None
    return CompiledProgram.from_bytes(file.read_bytes(), str(file))


def load(device: VyreBackend, made: CompiledProgram) -> None:
    """Have `device` run what was compiled, without a compiler."""
    backend = innermost(device)
    if not isinstance(backend, EngineBackend):
        fix = f"run it with --backend {made.backend}"
        raise UnsupportedFeature("loading of compiled programs", backend=device.id(), fix=fix)
    load_ahead(backend, made)


def _list(answer: Answer) -> None:
    emitters = registered_aot_emitters()
    if answer.as_json:
        rows = [{"target": e.target, "suffix": e.suffix, "runs": e.runs, "summary": e.summary} for e in emitters]
        answer.json({"targets": rows})
        return
    table = [(e.target, e.suffix, "yes" if e.runs else "", e.summary) for e in emitters]
    answer.table("", ("target", "files", "vyre run", "about"), table)
