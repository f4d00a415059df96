"""Commands about one program file: check it, read it, run it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

import vyre_reference
from vyre.cli.compile import load, read_compiled
from vyre.cli.given import BACKEND, GRID, MAX_EXTENT, Seconds, require_inputs
from vyre.cli.outcome import JSON, Answer, coloured, readable_time
from vyre.cli.plan import MAX_DIGITS, show_plan
from vyre.cli.source import (
    named_paths,
    read_array,
    read_program,
    require_distinct,
    require_writable,
    specialized,
    write_array,
    writing,
)
from vyre.cli.trace import TRACE, tracing
from vyre.execution import backend_for, checked, launch_of
from vyre_driver import (
    DispatchConfig,
    EngineBackend,
    EvidenceBundle,
    UnsupportedFeature,
    VyreBackend,
    output_layout_from_program,
    validate_program_for_backend,
)
from vyre_driver.backend.delegate import innermost
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.engine.lowering import lowered_for, named_passes, run_pass
from vyre_driver.errors import Trapped
from vyre_driver.observe.accesses import placed
from vyre_driver.observe.bounds import out_of_bounds
from vyre_driver.observe.diagnostics import Diagnostic, DiagnosticCode, Severity, of_finding
from vyre_driver.observe.evidence import counted
from vyre_driver.plan.lengths import fixed_lengths
from vyre_foundation import Program, print_program
from vyre_foundation.ir.stmt import Trap
from vyre_foundation.ir.walk import statements
from vyre_foundation.optimize import optimize
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Facts
from vyre_reference.place import describe

FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
SPEC = click.option("--spec", "spec", multiple=True, metavar="NAME=VALUE",
                    help="Replace a uniform of one element by a constant. Repeatable.")  # fmt: skip
INPUTS = click.option("--input", "inputs", multiple=True, metavar="NAME=FILE",
                      help="Input: a .npy file, or raw elements. Repeatable.")  # fmt: skip
INVOCATIONS = click.option("--invocations", metavar="X[,Y[,Z]]",
                           help="Minimum number of invocations, such as 640,480 for an image.")  # fmt: skip


@click.command()
@FILE
@click.option(
    "--target", metavar="BACKEND", help="Also check whether this backend can run it; print every reason if not."
)
@JSON
def validate(file: Path, target: str | None, as_json: bool) -> None:
    """Validate a program: print its facts, or all findings with exit code 1."""
    answer = Answer(as_json)
    with answer.failures():
        program = read_program(file, answer)
        facts = program.validate()
        if target is not None:
            validate_program_for_backend(backend_for(target), program)
        if as_json:
            answer.json({"valid": True, "fingerprint": program.fingerprint(), **_facts(answer, facts)})
        else:
            answer.console.print(f"{file}: valid", markup=False)
            _print_facts(answer, facts)


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
                **_facts(answer, facts),
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
            _print_facts(answer, facts)


@click.command()
@FILE
@INPUTS
@click.option("--output", "outputs", multiple=True, metavar="NAME=FILE",
              help="File for an output; NAME can be omitted if there is one output. Repeatable.")  # fmt: skip
@BACKEND
@SPEC
@INVOCATIONS
@GRID
@click.option("--races", is_flag=True, help="Detect data races; exit code 1 if there is one.")
@click.option("--bounds", is_flag=True, help="Show accesses out of bounds, which are defined, with their lines.")
@click.option("--timeout", type=Seconds(), help="Seconds after which the dispatch fails.")
@click.option("--evidence", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write a record of the run: device, sources, and digests of inputs and outputs.")  # fmt: skip
@click.option("--scheduler", metavar="ADDRESS",
              help="Scheduler for --backend dask, such as tcp://host:8786; by default a local cluster.")  # fmt: skip
@TRACE
@JSON
def run(
    file: Path,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    backend: str,
    spec: tuple[str, ...],
    invocations: str | None,
    grid: tuple[int, int, int] | None,
    races: bool,
    bounds: bool,
    timeout: float | None,
    evidence: Path | None,
    scheduler: str | None,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Run a program, or an artifact of `vyre compile`, over files."""
    answer = Answer(as_json)
    if races and (evidence is not None or trace is not None):
        raise click.UsageError("--races runs other programs than are recorded: leave --evidence and --trace out")
    if scheduler is not None:
        if backend != "dask":
            raise click.UsageError("--scheduler is an option of --backend dask")
        os.environ["VYRE_DASK_SCHEDULER"] = scheduler
    with answer.failures():
        compiled = read_compiled(file)
        program = read_program(file, answer) if compiled is None else compiled.program
        program = specialized(program, spec)
        program.validate()
        types = {buffer.name: buffer.dtype for buffer in program.inputs}
        arrays = {name: read_array(types, name, path) for name, path in named_paths(inputs, "--input").items()}
        targets = _targets(program, arrays, outputs)
        require_distinct(targets, "--output")
        if evidence is not None:
            require_writable(evidence, "--evidence")
        if trace is not None:
            require_writable(trace, "--trace")
        budget = 0 if compiled is None else compiled.ulp_budget
        config = DispatchConfig(grid_override=grid, timeout=timeout, ulp_budget=budget)
        device = backend_for(compiled.backend if compiled is not None and backend == "auto" else backend)
        require_inputs(program, arrays)
        config = launch_of(program, arrays, {}, config, numbers(invocations)).config
        notes = _accesses_out_of_bounds(answer, device, program, arrays, config) if bounds else []
        if not as_json:
            answer.show(notes)
        if races:
            started = time.perf_counter()
            results = _without_races(answer, device, program, arrays, config)
            _finish(answer, device.id(), started, results, targets, notes)
            return
        with _lines_of_traps(answer, program), answer.progress(), tracing(device, trace) as watched:
            if compiled is not None:
                load(watched, compiled)
            started = time.perf_counter()
            if evidence is None:
                results = watched.dispatch_arrays(program, arrays, config)
            else:
                results = _dispatch_with_evidence(watched, program, arrays, config, evidence)
        _finish(answer, device.id(), started, results, targets, notes)


def numbers(text: str | None, option: str = "--invocations") -> tuple[int, ...] | None:
    """``640,480`` as numbers."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) > 3 or not all(part.isdecimal() and len(part) <= MAX_DIGITS for part in parts):
        problem = f"{option} {text!r} is not of the form X, X,Y or X,Y,Z"
        raise click.BadParameter(f"{problem}. Fix: write one to three numbers")
    return tuple(int(part) for part in parts)


def extents(texts: Iterable[str]) -> list[tuple[int, int, int]]:
    """``16,16`` as a size on three axes."""
    found = []
    for text in texts:
        size = numbers(text, "--workgroup-size") or ()
        if not all(1 <= number <= MAX_EXTENT for number in size):
            fix = f"write one to three numbers in 1 … {MAX_EXTENT}"
            raise click.BadParameter(f"--workgroup-size {text!r} is no size. Fix: {fix}")
        x, y, z = (*size, 1, 1)[:3]
        found.append((x, y, z))
    return found


def _without_races(
    answer: Answer, device: VyreBackend, program: Program, arrays: dict[str, Any], config: DispatchConfig
) -> dict[str, Any]:
    """The outputs by name; a race says which lines of the file its two accesses are."""
    try:
        return checked(device, program, arrays, config)
    except vyre_reference.DataRace as race:
        source = None if answer.source is None else answer.source()
        for invocation, does, path in filter(None, (race.fields["first"], race.fields["second"])):
            line = None if source is None else source.place_of(path)
            if line is not None:
                race.add_note(f"invocation {invocation} {does} at {line.file}:{line.line}: {line.code.strip()}")
        raise


@contextmanager
def _lines_of_traps(answer: Answer, program: Program) -> Iterator[None]:
    """A trap says which lines of the file may have recorded it: a device knows its tag."""
    try:
        yield
    except Trapped as trap:
        source = None if answer.source is None else answer.source()
        for path in [path for stmt, path in placed(program.body) if isinstance(stmt, Trap) and stmt.tag == trap.tag]:
            line = None if source is None else source.place_of(describe(program.body, path))
            if line is not None:
                trap.add_note(f"trap({trap.tag!r}) at {line.file}:{line.line}: {line.code.strip()}")
        raise


def _accesses_out_of_bounds(
    answer: Answer, device: VyreBackend, program: Program, arrays: dict[str, Any], config: DispatchConfig
) -> list[Diagnostic]:
    """A note for each place in the program that has made such accesses, with its line."""
    source = None if answer.source is None else answer.source()
    notes = []
    for found in out_of_bounds(device, program, arrays, config):
        path = describe(program.body, found.path)
        notes.append(
            Diagnostic(
                severity=Severity.NOTE,
                code=DiagnosticCode(""),
                message=f"out of bounds: {found}",
                where=path,
                source=None if source is None else source.place_of(path),
                fix="check the index, or leave it: loads give 0, stores are dropped",
            )
        )
    return notes


def _finish(
    answer: Answer,
    backend: str,
    started: float,
    results: dict[str, Any],
    targets: dict[str, Path],
    notes: list[Diagnostic],
) -> None:
    """Write and report what a run gave."""
    seconds = time.perf_counter() - started
    for name, path in targets.items():
        with writing(path, "--output"):
            write_array(path, results[name])
    _report_run(answer, backend, seconds, results, targets, notes)


def _targets(program: Program, arrays: dict[str, Any], outputs: tuple[str, ...]) -> dict[str, Path]:
    """Where each output goes; of a program with one output a file alone says it."""
    if len(outputs) == 1 and "=" not in outputs[0]:
        lengths = fixed_lengths(program, {name: array.size for name, array in arrays.items()})
        return {output_layout_from_program(program, lengths).buffer: Path(outputs[0])}
    targets = named_paths(outputs, "--output")
    names = [b.name for b in program.outputs]
    for name in targets:
        if name not in names:
            known = ", ".join(names) or "none"
            raise click.BadParameter(f"the program has no output {name!r}; it has {known}. Fix: name one of them")
    return targets


def _dispatch_with_evidence(
    device: VyreBackend, program: Program, arrays: dict[str, Any], config: DispatchConfig, file: Path
) -> dict[str, Any]:
    """The outputs by name; the bundle goes to `file`."""
    given = ordered_inputs(program, arrays)
    before = device.backend_metric_snapshot()
    result = device.dispatch_borrowed_timed(program, given, config)
    counters = counted(before, device.backend_metric_snapshot())
    bundle = EvidenceBundle.of_dispatch(device, program, given, config, result, counters=counters)
    with writing(file, "--evidence"):
        file.write_text(bundle.to_json(), "utf-8")
    pairs = zip(program.outputs, result.outputs, strict=True)
    return {buffer.name: np.frombuffer(view, buffer.dtype.numpy) for buffer, view in pairs}


def _report_run(
    answer: Answer,
    backend: str,
    seconds: float,
    results: dict[str, Any],
    targets: dict[str, Path],
    notes: list[Diagnostic],
) -> None:
    if answer.as_json:
        described = {
            name: {"dtype": str(a.dtype), "count": a.size, "file": str(targets[name]) if name in targets else None}
            for name, a in results.items()
        }
        shown = {"diagnostics": [note.to_json() for note in notes]} if notes else {}
        answer.json({"backend": backend, "wall_s": seconds, "outputs": described, **shown})
        return
    rows = [
        (name, str(a.dtype), str(a.size), str(targets.get(name, "–")), np.array2string(a, threshold=6, edgeitems=3))
        for name, a in results.items()
    ]
    answer.table(
        f"{backend}, {readable_time(seconds)} with compilation", ("output", "type", "count", "file", "elements"), rows
    )


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


def _facts(answer: Answer, facts: Facts) -> dict[str, Any]:
    return {
        "name": facts.program.name,
        "features": sorted(f.value for f in facts.features),
        "buffers": [
            {
                "name": b.name,
                "memory": b.memory.value,
                "access": b.access.value,
                "dtype": b.dtype.name,
                "binding": b.binding,
            }
            for b in facts.program.buffers
        ],
        "locals": {name: dtype.name for name, dtype in facts.locals.items()},
        "deterministic": facts.determinism.is_deterministic,
        "determinism_reasons": [reason.to_json() for reason in _reasons(answer, facts)],
    }


def _reasons(answer: Answer, facts: Facts) -> list[Diagnostic]:
    """Why determinism is not proven, each with its line."""
    source = answer.source() if answer.source is not None else None
    return [of_finding(reason, source, Severity.NOTE) for reason in facts.determinism.reasons]


def _print_facts(answer: Answer, facts: Facts) -> None:
    program: Program = facts.program
    needs = ", ".join(sorted(f.value for f in facts.features)) or "nothing beyond 32-bit integers and f32"
    lines = [f"fingerprint    {program.fingerprint()}", f"needs          {needs}"]
    proven = facts.determinism.is_deterministic
    lines.append(f"deterministic  {'every schedule gives the same bytes' if proven else 'not proven:'}")
    for line in lines:
        answer.console.print(line, markup=False, soft_wrap=True)
    for reason in _reasons(answer, facts):
        answer.console.print(coloured(reason), soft_wrap=True)
