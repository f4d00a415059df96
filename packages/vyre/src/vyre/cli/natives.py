"""`vyre natives`: the device's own elementary functions beside the exact ones."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.progress import Progress, TaskID

from vyre.cli.exit import ExitCode
from vyre.cli.outcome import JSON, Answer
from vyre_driver.backend.delegate import innermost
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.policy.native import ANY_ERROR, Measured, NativeVerdict
from vyre_driver.registry.backends import acquire

HEAD = ("function", "off by", "at", "ps", "exact", "verdict")


@click.command()
@click.argument("functions", nargs=-1, metavar="[FUNCTION]...")
@click.option("--backend", metavar="ID", required=True, help="Backend whose functions are measured.")
@click.option(
    "--budget", type=click.IntRange(0), default=4, show_default=True, help="Error allowed, in units in the last place."
)
@click.option(
    "--measure", is_flag=True, help="Compare all 2**32 operands first; takes seconds to a minute per function."
)
@click.option(
    "--stride", type=click.IntRange(1), default=1, help="Measure every N-th operand only; no budget accepts the result."
)
@JSON
def natives(functions: tuple[str, ...], backend: str, budget: int, measure: bool, stride: int, as_json: bool) -> None:
    """Measure error and speed of a device's own functions of f32.

    Shows which of them a dispatch with a budget (`ulp_budget`) uses.

    A FUNCTION is an op of a dialect, such as math.exp; without any, all that the device has.
    """
    answer = Answer(as_json)
    with answer.failures():
        engine = innermost(acquire(backend))
        if not isinstance(engine, EngineBackend):
            raise UnsupportedFeature("functions of the device's own", backend=backend)
        names = _chosen(functions, engine)
        if measure:
            _measure(answer, engine, names, stride)
        _report(answer, {name: found for name, found in engine.natives(budget).items() if name in names})
        raise SystemExit(int(ExitCode.OK))


def _chosen(functions: tuple[str, ...], engine: EngineBackend) -> tuple[str, ...]:
    known = tuple(engine.natives())
    for name in functions:
        if name not in known:
            fix = f"name one of {', '.join(known)}" if known else "choose another device"
            raise click.BadParameter(f"the device has no function {name!r} of its own. Fix: {fix}")
    return functions or known


def _measure(answer: Answer, engine: EngineBackend, names: tuple[str, ...], stride: int) -> None:
    with Progress(console=answer.errors, transient=True) as progress:
        for name in names:
            task = progress.add_task(name, total=1.0)

            def show(done: float, task: TaskID = task) -> None:
                progress.update(task, completed=done)

            engine.measure_native(name, stride=stride, progress=show)


def _report(answer: Answer, found: dict[str, tuple[Measured | None, NativeVerdict]]) -> None:
    if answer.as_json:
        answer.json({"functions": {name: _document(*row) for name, row in found.items()}})
    elif not found:
        answer.console.print("The device has no functions of its own: under every budget the exact ones are used.")
    else:
        answer.table("", HEAD, [_row(name, *row) for name, row in found.items()])


def _document(measured: Measured | None, verdict: NativeVerdict) -> dict[str, object]:
    return {"measured": None if measured is None else asdict(measured), **asdict(verdict)}


def _row(name: str, measured: Measured | None, verdict: NativeVerdict) -> tuple[str, ...]:
    if measured is None:
        return name, "–", "–", "–", "–", verdict.reason
    error = "NaN" if measured.error == ANY_ERROR else f"{measured.error} ulp"
    times = (f"{measured.native_ps:.0f}", f"{measured.exact_ps:.0f}")
    return name, error, f"{measured.worst:#010x}", *times, verdict.reason
