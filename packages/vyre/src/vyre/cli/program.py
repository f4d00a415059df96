"""Commands about one program file: check it, run it."""

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
from vyre.cli.facts import facts_of, print_facts
from vyre.cli.given import BACKEND, GRID, MAX_EXTENT, Seconds, require_inputs
from vyre.cli.outcome import JSON, Answer, readable_time
from vyre.cli.plan import MAX_DIGITS
from vyre.cli.source import (
    named_paths,
    one_of,
    read_arrays,
    read_program,
    require_distinct,
    require_writable,
    specialized,
    write_arrays,
    writing,
)
from vyre.cli.trace import TRACE, tracing
from vyre.execution import backend_for, checked, launch_of
from vyre_driver import (
    DispatchConfig,
    EvidenceBundle,
    VyreBackend,
    output_layout_from_program,
    validate_program_for_backend,
)
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.errors import Trapped
from vyre_driver.observe.accesses import placed
from vyre_driver.observe.bounds import out_of_bounds
from vyre_driver.observe.diagnostics import Diagnostic, DiagnosticCode, Severity
from vyre_driver.observe.evidence import counted
from vyre_driver.plan.lengths import fixed_lengths
from vyre_driver.tune.routing import backend_for_launch
from vyre_foundation import Program
from vyre_foundation.ir.stmt import Trap
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
            answer.json({"valid": True, "fingerprint": program.fingerprint(), **facts_of(answer, facts)})
        else:
            answer.console.print(f"{file}: valid", markup=False)
            print_facts(answer, facts)


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
        arrays = read_arrays(program.inputs, inputs)
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
        if backend == "auto" and compiled is None:
            device = backend_for_launch(None, program, arrays, config)
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
    write_arrays(targets, results)
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


def _targets(program: Program, arrays: dict[str, Any], outputs: tuple[str, ...]) -> dict[str, Path]:
    """Where each output goes; of a program with one output a file alone says it."""
    if len(outputs) == 1 and "=" not in outputs[0]:
        lengths = fixed_lengths(program, {name: array.size for name, array in arrays.items()})
        return {output_layout_from_program(program, lengths).buffer: Path(outputs[0])}
    targets = named_paths(outputs, "--output")
    names = [b.name for b in program.outputs]
    for name in targets:
        if name not in names:
            raise click.BadParameter(f"the program has no output {name!r}{one_of(names)}")
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
