"""Commands about this machine: which backends are installed, on which devices they run, what is wrong."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click
from rich.progress import Progress, SpinnerColumn, TextColumn

from vyre.cli.child import ask
from vyre.cli.outcome import Answer, Exit, readable_size, readable_time
from vyre.cli.spellings import print_spellings
from vyre_driver import availability, backend_problems, registered_backends_by_precedence
from vyre_driver.pipeline.entry import Kind
from vyre_driver.pipeline.store import shared_store

DISTRIBUTIONS = (
    *("vyre", "vyre-foundation", "vyre-math", "vyre-driver", "vyre-reference", "vyre-conform"),
    *("vyre-driver-opencl", "vyre-driver-cuda", "numpy", "blake3", "ml_dtypes"),
    *("pyopencl", "pocl-binary-distribution", "intel-opencl-rt"),
    *("cuda-bindings", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc", "cupy-cuda12x", "cupy-cuda13x"),
)


def list_backends(answer: Answer) -> Exit:
    """The registered backends, the most preferred first, with what their own probes say."""
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
        return Exit.OK
    table = [
        (r.id, str(r.precedence), r.selection.value, _state(state.is_available), state.reason or r.summary, state.fix)
        for r, state in rows
    ]
    table += [(p.id, "–", "–", "[red]left out[/]", f"{p.distribution}: {p.reason}", p.fix) for p in problems]
    answer.table("", ("backend", "rank", "chosen", "state", "about", "fix"), table)
    return Exit.OK


def list_devices(answer: Answer, spellings: bool = False) -> Exit:
    """The device of each available backend, each asked in a process of its own."""
    found = _ask_all(answer)
    if answer.as_json:
        answer.json({"devices": found})
        return Exit.OK
    if spellings:
        print_spellings(answer, found)
        return Exit.OK
    rows = []
    for id, said in found.items():
        p: dict[str, Any] = said.get("profile", {})
        if "error" in said:
            rows.append((id, f"[red]{said['error']}[/]", "", "", "", "", said["fix"]))
            continue
        abilities = [k.removeprefix("supports_") for k, v in p.items() if k.startswith("supports_") and v]
        memory = readable_size(p["global_memory_bytes"]) if "global_memory_bytes" in p else "–"
        units = ", ".join(f"{q['workers']} {q['name']}" for q in p.get("queues", ())) or str(
            p.get("compute_units", "–")
        )
        group = str(p["max_invocations_per_workgroup"])
        device, driver = p.get("device", "–"), p.get("driver_version", "–")
        rows.append((id, device, driver, units, group, memory, ", ".join(abilities)))
    answer.table("", ("backend", "device", "driver", "workers", "workgroup", "memory", "native"), rows)
    return Exit.OK


def examine(answer: Answer, prove: bool = False) -> Exit:
    """Versions, environment, and one small dispatch on every available backend. Fails if one computes wrongly."""
    store = shared_store() if prove else None
    if store is not None:
        store.forget(Kind.FACTS)
    versions = {name: v for name in DISTRIBUTIONS if (v := _version(name))}
    environment = {k: v for k, v in sorted(os.environ.items()) if k.startswith(("VYRE_", "OCL_", "POCL_", "CUDA_"))}
    found = _ask_all(answer)
    states = {r.id: availability(r.id) for r in registered_backends_by_precedence()}
    problems = backend_problems()
    well = all(said.get("computes") for said in found.values()) and not problems
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
            }
        )
        return Exit.OK if well else Exit.FAILED
    answer.console.print(f"Python {platform.python_version()} on {platform.platform()}")
    answer.console.print(", ".join(f"{name} {v}" for name, v in versions.items()))
    for name, value in environment.items():
        answer.console.print(f"{name}={value}", markup=False)
    rows = [_checked(id, said) for id, said in found.items()]
    rows += [(id, "[yellow]not available[/]", s.reason, s.fix) for id, s in states.items() if not s.is_available]
    rows += [(p.id, "[red]left out[/]", p.reason, p.fix) for p in problems]
    answer.table("", ("backend", "state", "about", "fix"), rows)
    return Exit.OK if well else Exit.FAILED


def _checked(id: str, said: dict[str, Any]) -> tuple[str, str, str, str]:
    if "error" in said:
        return id, "[red]fails[/]", said["error"], said["fix"]
    kept = " with code that was kept" if said["compiled_before"] else ""
    times = f"opens in {readable_time(said['open_s'])}, first dispatch {readable_time(said['first_dispatch_s'])}{kept}"
    if not said["computes"]:
        return id, "[red]wrong[/]", "it computes wrong results", "update the device's driver, then run `vyre conform`"
    device, queues = said["profile"].get("device", said["version"]), _queues(said["profile"])
    return id, "[green]works[/]", f"{device}, {times}" + (f"; launches: {queues}" if queues != "–" else ""), ""


def _queues(profile: dict[str, Any]) -> str:
    """What each of the device's queues offers, as `pool: 8 workers, 40 µs a launch`."""
    said = [
        f"{q['name']}: {q['workers']} worker{'s' * (q['workers'] > 1)}, {readable_time(q['launch_ns'] / 1e9)} a launch"
        for q in profile.get("queues", ())
    ]
    return "; ".join(said) or "–"


def _ask_all(answer: Answer) -> dict[str, dict[str, Any]]:
    ids = [r.id for r in registered_backends_by_precedence() if availability(r.id).is_available]
    columns = (SpinnerColumn(), TextColumn("asking {task.description}"))
    with Progress(*columns, console=answer.errors, transient=True, disable=answer.as_json) as progress:
        task = progress.add_task("", total=len(ids))
        found = {}
        for id in ids:
            progress.update(task, description=id, advance=1)
            found[id] = ask(id)
    return found


def _state(available: bool) -> str:
    return "[green]available[/]" if available else "[yellow]not available[/]"


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _command(name: str, function: Callable[..., Exit], **flags: str) -> click.Command:
    """A command that takes ``--json`` and flags, each with its help."""

    @click.command(name, help=function.__doc__)
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    def command(as_json: bool, **given: bool) -> None:
        answer = Answer(as_json)
        with answer.failures():
            raise SystemExit(int(function(answer, **given)))

    for flag, text in flags.items():
        command.params.append(click.Option([f"--{flag}"], is_flag=True, help=text))
    return command


backends = _command("backends", list_backends)
devices = _command("devices", list_devices, spellings="How each op is spelled, and what else was tried.")
doctor = _command("doctor", examine, prove="Forget what devices have proven, and have them prove it again.")
