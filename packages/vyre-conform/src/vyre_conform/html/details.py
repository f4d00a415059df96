"""What a person wants to see of a cell that failed: the launch, both results, the source, how to repeat it."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from vyre_conform.case import Launch
from vyre_conform.cell import Cell
from vyre_conform.html.emit import emitted
from vyre_conform.html.ulp import ulps
from vyre_conform.run import Run
from vyre_conform.show import command
from vyre_conform.suite import find
from vyre_conform.worker import NamedBy
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.text import print_program

SHOWN = 128
"""Elements of each input, round the one that differs in the output: the rest is what the command gives."""
_HEX = re.compile(r"\(0x([0-9a-f]+)\)")


def details(cell: Cell, run: Run, named_by: NamedBy) -> dict[str, Any]:
    """The facts of one cell, for the page."""
    facts: dict[str, Any] = {
        "output": cell.output, "index": cell.index, "got": cell.got, "expected": cell.expected,
        "differing": cell.differing, "window": asdict(cell.window) if cell.window else None,
        "log": cell.log, "command": command(cell, run.task),
    }  # fmt: skip
    try:
        launch = find(_case_of(cell, run)).case(run.task.seed).launch
    except VyreError as error:
        return facts | {"program": str(error)}
    return facts | {
        "ulp": _ulp(cell, launch),
        "program": "\n".join(dict.fromkeys(print_program(one.program) for one in launch.launches)),
        "launch": {"grid": launch.grid, "workgroup": launch.workgroup, "iterations": launch.iterations},
        "inputs": [_input(b, launch.inputs[b.name], cell.index or 0) for b in launch.program.inputs],
        "source": emitted(cell.backend, launch.program, named_by),
    }  # fmt: skip


def _input(buffer: Buffer, data: bytes, index: int) -> dict[str, Any]:
    """An input as numbers in hexadecimal, as results are written."""
    size = buffer.dtype.size
    elements = [data[n : n + size][::-1].hex() for n in range(0, len(data), size)]
    first = max(0, min(index - SHOWN // 2, len(elements) - SHOWN))
    shown = elements[first : first + SHOWN]
    return {"name": buffer.name, "type": str(buffer.dtype), "count": len(elements),
            "first": first, "shown": len(shown), "hex": " ".join(shown)}  # fmt: skip


def _case_of(cell: Cell, run: Run) -> str:
    """The address of the case of which the cell is a part: that has fewer keys."""
    text = str(cell.address)
    while text:
        try:
            find(text)
        except VyreError:
            text = text.rpartition("," if "," in text else ":")[0]
        else:
            return text
    return str(cell.address)


def _ulp(cell: Cell, launch: Launch) -> int | None:
    found = [_HEX.search(text) for text in (cell.got, cell.expected)]
    dtype = next((buffer.dtype for buffer in launch.outputs if buffer.name == cell.output), None)
    if dtype is None or found[0] is None or found[1] is None:
        return None
    return ulps(dtype, int(found[0][1], 16), int(found[1][1], 16))
