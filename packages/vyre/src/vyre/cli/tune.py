"""`vyre tune`: measure which launch of a program is the fastest, and take it from now on."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from vyre.cli.given import GRID, require_inputs
from vyre.cli.outcome import JSON, Answer, readable_time
from vyre.cli.program import FILE, INPUTS, INVOCATIONS, extents, numbers
from vyre.cli.source import read_arrays, read_program
from vyre.execution import tune as tune_over
from vyre_driver import DispatchConfig
from vyre_driver.tune.programs import Tuning
from vyre_driver.tune.tuner import Trial, TuningReport

HEAD = ("launch", "time", "samples", "verdict")


@click.command()
@FILE
@INPUTS
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="ID",
    help="Backend to tune for; by default all that need not be named. Repeatable.",
)
@INVOCATIONS
@GRID
@click.option("--workgroup-size", "sizes", multiple=True, metavar="X[,Y[,Z]]",
              help="Size to try although nothing proves that it does not matter. Repeatable.")  # fmt: skip
@JSON
def tune(
    file: Path,
    inputs: tuple[str, ...],
    backends: tuple[str, ...],
    invocations: str | None,
    grid: tuple[int, int, int] | None,
    sizes: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure which launch of a program is the fastest for inputs of this size.

    Later runs over inputs of about this size use it, on this device. Only launches with the same outputs, byte for
    byte, are used.
    """
    answer = Answer(as_json)
    with answer.failures(), answer.progress():
        program = read_program(file, answer)
        program.validate()
        arrays = read_arrays(program.inputs, inputs)
        require_inputs(program, arrays)
        found = tune_over(
            program,
            arrays,
            backend=tuple(dict.fromkeys(backends)) or None,
            config=DispatchConfig(grid_override=grid),
            invocations=numbers(invocations),
            workgroup_sizes=extents(sizes) if sizes else None,
        )
        if as_json:
            answer.json(_document(found))
        else:
            _print(answer, found)


def _print(answer: Answer, found: Tuning) -> None:
    for report in found.reports:
        title = (
            f"{report.program} on {report.device} ({report.backend}): {report.choice}, {report.speedup:.2f} × as fast"
        )
        answer.table(title, HEAD, [_row(trial) for trial in report.trials])
    for backend, reason in found.refused.items():
        answer.console.print(f"{backend} is not used: {reason}", markup=False)
    if found.route is not None:
        answer.console.print(f"fastest backend: {found.route}", markup=False)


def _row(trial: Trial) -> tuple[str, ...]:
    took = "–" if trial.ns is None else readable_time(trial.ns / 1e9)
    return str(trial.choice), took, str(trial.samples), trial.verdict


def _document(found: Tuning) -> dict[str, Any]:
    route = None
    if found.route is not None:
        route = {"backend": found.route.backend, "device": found.route.device, "times_ns": dict(found.route.times)}
    return {"reports": list(map(_report, found.reports)), "route": route, "refused": dict(found.refused)}


def _report(report: TuningReport) -> dict[str, Any]:
    return asdict(report) | {"speedup": report.speedup}
