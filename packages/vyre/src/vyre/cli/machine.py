"""Commands about this machine: which backends are installed, on which devices they run, what is wrong."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.text import Text

from vyre.cli.child import ask
from vyre.cli.exit import ExitCode
from vyre.cli.outcome import JSON, Answer, readable_size, readable_time
from vyre.cli.spellings import print_spellings
from vyre_driver import Availability, availability, backend_problems, registered_backends_by_precedence
from vyre_driver.pipeline.entry import PayloadKind
from vyre_driver.pipeline.store import shared_store
from vyre_driver.registry.backends import device_names
from vyre_foundation.plugins import installed_distributions

# Those of other authors; the family is whatever is installed of it.
DISTRIBUTIONS = (
    *("numpy", "blake3", "ml_dtypes", "llvmlite", "dask", "distributed"),
    *("pyopencl", "pocl-binary-distribution", "intel-opencl-rt"),
    *("cuda-bindings", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc", "cupy-cuda12x", "cupy-cuda13x"),
)


def list_backends(answer: Answer) -> ExitCode:
    """List the registered backends, most preferred first, and whether each can run here."""
    rows = [(r, availability(r.id)) for r in registered_backends_by_precedence()]
    problems = backend_problems()
    if answer.as_json:
        answer.json(
            {
                "backends": [
                    {
                        "id": r.id,
                        "precedence": r.precedence,
                        "selection": r.selection.value,
                        "summary": r.summary,
                        "available": state.is_available,
                        "reason": state.reason,
                        "fix": state.fix,
                    }
                    for r, state in rows
                ],
                "problems": [
                    {"id": p.id, "distribution": p.distribution, "reason": p.reason, "fix": p.fix} for p in problems
                ],
            }
        )
        return ExitCode.OK
    table: list[tuple[str | Text, ...]] = []
    for r, state in rows:
        about = _about(state.reason or r.summary, state.fix)
        table.append((r.id, str(r.precedence), r.selection.value, _state(state.is_available), about))
    for p in problems:
        table.append((p.id, "–", "–", Text("left out", "red"), _about(f"{p.distribution}: {p.reason}", p.fix)))
    answer.table("", ("backend", "precedence", "chosen", "state", "about"), table)
    return ExitCode.OK


def list_devices(answer: Answer, spellings: bool = False) -> ExitCode:
    """Show the devices of each available backend, queried in separate processes."""
    found = _ask_all(answer, _states())
    if answer.as_json:
        answer.json({"devices": found})
        return ExitCode.OK
    if spellings:
        print_spellings(answer, found)
        return ExitCode.OK
    for id, report in found.items():
        answer.console.print(Text(id, "bold"))
        if "error" in report:
            answer.console.print(Text(f"  {_about(report['error'], report['fix'])}", "red"), soft_wrap=True)
            continue
        for name, text in _described(report["profile"]):
            answer.console.print(f"  {name:10} {text}", markup=False, soft_wrap=True)
    return ExitCode.OK


def _described(profile: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a profile says, without what it does not know."""
    if "device" in profile:
        yield "device", profile["device"]
    if "driver_version" in profile:
        yield "driver", profile["driver_version"]
    if units := ", ".join(f"{q['workers']} {q['name']}" for q in profile.get("queues", ())):
        yield "workers", units
    elif "compute_units" in profile:
        yield "workers", str(profile["compute_units"])
    if "max_resident_invocations" in profile:
        yield "resident", f"up to {profile['max_resident_invocations']} invocations at the same time"
    if "global_memory_bytes" in profile:
        yield "memory", readable_size(profile["global_memory_bytes"])
    yield "workgroup", f"up to {profile['max_invocations_per_workgroup']} invocations"
    abilities = (name for name, has in profile.items() if name.startswith("supports_") and has)
    yield "native", ", ".join(name.removeprefix("supports_") for name in abilities)


def examine(answer: Answer, prove: bool = False) -> ExitCode:
    """Check versions and environment, and run a small dispatch on every available backend.

    Exit code 1 if a backend computes a wrong result.
    """
    started = time.perf_counter()
    store = shared_store() if prove else None
    if store is not None:
        store.forget(PayloadKind.FACTS)
    family = sorted({name for name, _ in installed_distributions() if name.partition("-")[0] == "vyre"})
    versions = {name: v for name in (*family, *DISTRIBUTIONS) if (v := _version(name))}
    environment = {k: v for k, v in sorted(os.environ.items()) if k.startswith(("VYRE_", "OCL_", "POCL_", "CUDA_"))}
    states = _states()
    found = _ask_all(answer, states, measure=prove)
    problems = backend_problems()
    well = all(report.get("computes") for report in found.values()) and not problems
    took = time.perf_counter() - started
    if answer.as_json:
        answer.json(
            {
                "python": platform.python_version(),
                "system": platform.platform(),
                "versions": versions,
                "environment": environment,
                "backends": found,
                "unavailable": {
                    id: {"reason": s.reason, "fix": s.fix} for id, s in states.items() if not s.is_available
                },
                "problems": [str(p) for p in problems],
                "well": well,
                "took_s": took,
            }
        )
        return ExitCode.OK if well else ExitCode.FAILED
    answer.console.print(f"Python {platform.python_version()} on {platform.platform()}")
    answer.console.print(", ".join(f"{name} {v}" for name, v in versions.items()))
    for name, value in environment.items():
        answer.console.print(f"{name}={value}", markup=False)
    rows = [_checked(id, report) for id, report in found.items()]
    rows += [(id, _state(False), _about(s.reason, s.fix)) for id, s in states.items() if not s.is_available]
    rows += [(p.id, Text("left out", "red"), _about(p.reason, p.fix)) for p in problems]
    answer.table("", ("backend", "state", "about"), rows)
    _print_times(answer, found, took)
    return ExitCode.OK if well else ExitCode.FAILED


def _print_times(answer: Answer, found: dict[str, dict[str, Any]], took: float) -> None:
    """Where the time went: each backend is asked in a process of its own, one after the other."""
    rows = [_times(id, report) for id, report in found.items()]
    rest = took - sum(report["took_s"] for report in found.values())
    rows += [("this process", "", "", "", readable_time(rest)), ("all", "", "", "", readable_time(took))]
    answer.table("", ("time", "start", "open", "dispatch", "all"), rows)
    answer.console.print(
        "start: a process and its imports; open: the runtime, and proofs of its operations unless they are cached; "
        "dispatch: the first, with its compilation"
    )


def _times(id: str, report: dict[str, Any]) -> tuple[str, ...]:
    if "open_s" not in report:
        return id, "–", "–", "–", readable_time(report["took_s"])
    parts = (report["open_s"], report["first_dispatch_s"])
    return id, *map(readable_time, (report["took_s"] - sum(parts), *parts, report["took_s"]))


def _checked(id: str, report: dict[str, Any]) -> tuple[str | Text, ...]:
    if "error" in report:
        return id, Text("fails", "red"), _about(report["error"], report["fix"])
    cached = ", with cached code" if report["compiled_before"] else ""
    if not report["computes"]:
        fix = "update the device's driver, then run `vyre conform`"
        return id, Text("wrong", "red"), _about("it computes wrong results", fix)
    device, queues = report["profile"].get("device", report["version"]), _queues(report["profile"])
    return id, Text("works", "green"), f"{device}{cached}" + (f"; launches: {queues}" if queues != "–" else "")


def _queues(profile: dict[str, Any]) -> str:
    """What each of the device's queues offers, as `pool: 8 workers, 40 µs a launch`."""
    queues = [
        f"{q['name']}: {q['workers']} worker{'s' * (q['workers'] > 1)}, {readable_time(q['launch_ns'] / 1e9)} a launch"
        for q in profile.get("queues", ())
    ]
    return "; ".join(queues) or "–"


def _states() -> dict[str, Availability]:
    """Whether each registered backend can run here; a probe may take seconds."""
    return {r.id: availability(r.id) for r in registered_backends_by_precedence()}


def _ask_all(answer: Answer, states: Mapping[str, Availability], *, measure: bool = False) -> dict[str, dict[str, Any]]:
    """What each device says of itself, without those of a cluster."""
    here = [r.id for r in registered_backends_by_precedence() if states[r.id].is_available and not r.is_distributed]
    ids = [name for id in here for name in _named(id)]
    columns = (SpinnerColumn("line"), TextColumn("asking {task.description}"))
    with Progress(*columns, console=answer.errors, transient=True, disable=answer.as_json) as progress:
        task = progress.add_task("", total=len(ids))
        found = {}
        for id in ids:
            progress.update(task, description=id, advance=1)
            found[id] = ask(id, measure=measure)
    return found


def _named(id: str) -> list[str]:
    """The names of the devices of a backend: of one device its id alone.

    That one is asked for too where the backend cannot list its devices: its process says why.
    """
    try:
        count = len(device_names(id))
    except (Exception, SystemExit):  # whatever foreign code raises
        return [id]
    return [id] if count == 1 else [f"{id}:{index}" for index in range(count)]


def _about(reason: str, fix: str) -> str:
    return f"{reason}. Fix: {fix}" if fix else reason


def _state(available: bool) -> Text:
    return Text("available", "green") if available else Text("not available", "yellow")


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _command(name: str, function: Callable[..., ExitCode], **flags: str) -> click.Command:
    """A command that takes ``--json`` and flags, each with its help."""

    @click.command(name, help=function.__doc__)
    @JSON
    def command(as_json: bool, **given: bool) -> None:
        answer = Answer(as_json)
        with answer.failures():
            raise SystemExit(int(function(answer, **given)))

    for flag, text in flags.items():
        command.params.append(click.Option([f"--{flag}"], is_flag=True, help=text))
    return command


backends = _command("backends", list_backends)
devices = _command(
    "devices", list_devices, spellings="Show the instructions chosen for each op, and the rejected candidates."
)
doctor = _command(
    "doctor",
    examine,
    prove="Forget all facts about devices, including tuned launches, and test and time their instructions again; takes "
    "seconds per device.",
)
