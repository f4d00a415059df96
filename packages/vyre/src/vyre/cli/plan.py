"""`vyre show --stage plan`: what a dispatch of a program will do, for inputs of given lengths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from vyre.cli.outcome import Answer
from vyre.cli.source import one_of
from vyre.execution import backend_for
from vyre_driver import (
    DispatchConfig,
    EngineBackend,
    LaunchPlan,
    dispatch_element_count,
    plan_launch,
    program_vsa_fingerprint,
    validate_program_for_backend,
)
from vyre_driver.backend.delegate import innermost
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_foundation import Program
from vyre_foundation.ir.buffer import RUNTIME

MAX_DIGITS = 18
"""Of a count: more elements than any memory holds."""


def show_plan(answer: Answer, program: Program, lengths: Iterable[str], target: str | None) -> None:
    """Print grid, bindings and outputs, and for a target the queue of its device."""
    # The grid of an indirect dispatch is in the bytes of an input, which are not here.
    grid = None if find_indirect_dispatch(program) is None else (1, 1, 1)
    config = DispatchConfig(grid_override=grid)
    plan = plan_launch(program, byte_lengths(program, counted(lengths)), config)
    document = _described(plan)
    if target is not None:
        document |= _on(target, plan, config)
    if answer.as_json:
        answer.json(document)
        return
    _print(answer, document)


def counted(pairs: Iterable[str]) -> dict[str, int]:
    """``name=count`` options as a mapping."""
    found = {}
    for pair in pairs:
        name, _, count = pair.partition("=")
        if not (name and count.isdecimal() and len(count) <= MAX_DIGITS):
            raise click.BadParameter(
                f"--length {pair!r} is not of the form name=count. Fix: write a name, = and a count"
            )
        found[name] = int(count)
    return found


def byte_lengths(program: Program, counts: dict[str, int]) -> list[int]:
    """Bytes of each input: as declared, else as given; inputs that follow others must be given too."""
    known = {b.name: counts.get(b.name, b.count if isinstance(b.count, int) else None) for b in program.inputs}
    unknown = sorted(counts.keys() - known.keys())
    if unknown:
        raise click.BadParameter(f"--length: the program has no input {unknown[0]!r}{one_of(known)}")
    for buffer in program.inputs:
        if known[buffer.name] is None:
            what = "any length" if buffer.count is RUNTIME else "a length that follows from another"
            raise click.UsageError(f"input {buffer.name!r} has {what}. Fix: add --length {buffer.name}=COUNT")
    return [(known[b.name] or 0) * b.dtype.size for b in program.inputs]


def _described(plan: LaunchPlan) -> dict[str, Any]:
    bindings = plan.bindings
    return {
        "name": plan.program.name,
        "fingerprint": program_vsa_fingerprint(plan.program),
        "grid": plan.grid,
        "workgroup": plan.program.workgroup_size,
        "elements": dispatch_element_count(bindings),
        "invocations": plan.tail.rounded_count,
        "idle": plan.tail.tail_lanes,
        "repeats": plan.repeats,
        "layout": bindings.fingerprint().digest(),
        "bindings": [
            {
                "name": b.name,
                "binding": b.binding,
                "role": b.role.value,
                "count": b.element_count,
                "bytes": b.byte_len,
                "input": b.input,
                "output": b.output,
            }
            for b in bindings.bindings
        ],
        "arguments": [
            {"binding": slot.binding, "class": slot.kind.value, "read_only": slot.read_only}
            for slot in bindings.layout().slots
        ],
        "outputs": [{"name": out.buffer, "start": out.start, "stop": out.stop} for out in plan.outputs],
    }


def _on(target: str, plan: LaunchPlan, config: DispatchConfig) -> dict[str, Any]:
    """What the backend says to it, or the error that it would raise."""
    backend = backend_for(target)
    validate_program_for_backend(backend, plan.program, config.replace(grid_override=plan.grid))
    result: dict[str, Any] = {"target": target}
    engine = innermost(backend)
    if isinstance(engine, EngineBackend):
        with engine.session() as device:
            choice = device.choose_queue(device.cost(plan))
            if choice is not None:
                queue = device.profile.queues[choice.verdict.queue].name
                result |= {"queue": queue, "queue_reason": choice.verdict.reason}
    return result


def _print(answer: Answer, document: dict[str, Any]) -> None:
    lines = [
        ("grid", " × ".join(map(str, document["grid"]))),
        ("workgroup", " × ".join(map(str, document["workgroup"]))),
        ("invocations", f"{document['invocations']} for {document['elements']} elements ({document['idle']} idle)"),
        ("repeats", str(document["repeats"])),
        ("layout", document["layout"]),
    ]
    if "queue" in document:
        lines.append(("queue", f"{document['queue']} ({document['queue_reason']})"))
    for name, text in lines:
        answer.console.print(f"{name:12} {text}", markup=False, soft_wrap=True)
    shown = ("name", "binding", "role", "count", "bytes")
    rows = [[_cell(row[key]) for key in shown] for row in document["bindings"]]
    answer.table("", ("buffer", *shown[1:]), rows)
    rows = [[out["name"], f"{out['start']} … {out['stop']}"] for out in document["outputs"]]
    answer.table("", ("output", "bytes that the host gets"), rows)


def _cell(value: object) -> str:
    return "–" if value is None else str(value)
