"""Reproducers: a `.vyre` program with its launch in comments, which ``vyre-conform replay`` runs again.

# fuzz:everything:seed=7 on mine: out1[3]: got 4 (0x04), expected 5 (0x05)
# launch: {"grid": [2, 1, 1], "iterations": 1, "workgroup": null, "entry": "canaries"}
# input in0: 00ff17
program random_7 workgroup(8, 1, 1) { … }
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vyre_conform.case import Launch
from vyre_conform.cell import Cell
from vyre_conform.plain import read_json, require
from vyre_conform.worker.entries import entry_of
from vyre_driver.observe.writing import writing
from vyre_foundation.errors import VyreError
from vyre_foundation.text import parse, print_program


class BadReproducer(VyreError, ValueError):
    """A file that does not state the launch of its program."""

    code = "E1203"


def write_reproducer(folder: Path, launch: Launch, cell: Cell) -> Path:
    """Write the launch of a failing cell; the file is named after the case and the backend."""
    keys = "-".join(value for _, value in cell.address.keys)
    path = folder / f"{cell.address.group}-{cell.address.name}-{keys}-{cell.backend.replace(':', '-')}.vyre"
    reason = cell.reason.splitlines()[0] if cell.reason else cell.state.value
    with writing(path, "--reproducers"):
        path.write_text(format_launch(launch, f"{cell.address} on {cell.backend}: {reason}"), "utf-8")
    return path


def format_launch(launch: Launch, title: str) -> str:
    """A launch as text."""
    facts = {name: getattr(launch, name) for name in ("grid", "iterations", "workgroup", "entry")}
    lines = [f"# {title}", f"# launch: {json.dumps(facts)}"]
    lines += [f"# input {name}: {data.hex()}" for name, data in launch.inputs.items()]
    return "\n".join([*lines, print_program(launch.program)]).rstrip() + "\n"


def read_reproducer(path: Path) -> Launch:
    """The launch that a file holds; inputs that it does not mention are empty. `BadReproducer` says what is wrong."""
    text = path.read_text("utf-8", "replace")
    facts: dict[str, Any] = {}
    inputs: dict[str, bytes] = {}
    try:
        for line in text.splitlines():
            if line.startswith("# launch: "):
                facts = require(read_json(line.removeprefix("# launch: ")), dict, what="the launch")
            elif line.startswith("# input "):
                name, _, data = line.removeprefix("# input ").rpartition(":")
                inputs[name] = bytes.fromhex(data)
        if not facts:
            raise ValueError("it has no `# launch:` line")
        program = parse(text)
        return Launch(
            program=program,
            inputs={buffer.name: inputs.get(buffer.name, b"") for buffer in program.inputs},
            grid=_extent(facts.get("grid")),
            workgroup=_extent(facts.get("workgroup")),
            iterations=require(facts.get("iterations", 1), int, what="iterations"),
            entry=_entry(facts.get("entry", "dispatch")),
        )
    except ValueError as error:
        fix = 'write a line `# launch: {"grid": null, "iterations": 1, "workgroup": null}`, and inputs in hexadecimal'
        raise BadReproducer(str(error), fix=fix, where=str(path)) from error


def _entry(name: object) -> str:
    entry: str = require(name, str, what="the entry")
    try:
        entry_of(entry)
    except KeyError:
        raise ValueError(f"{entry!r} is no way into a backend") from None
    return entry


def _extent(sizes: object) -> tuple[int, int, int] | None:
    if sizes is None:
        return None
    found = require(sizes, list, what="a size")
    if len(found) != 3:
        raise ValueError(f"a size has {len(found)} axes, expected 3")
    x, y, z = (require(size, int, what="a size") for size in found)
    return x, y, z
