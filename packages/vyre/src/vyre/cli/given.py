"""Inputs of a program or a graph for commands that need any: from files, or zeros of a length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from vyre.cli.plan import byte_lengths, counted
from vyre.cli.source import read_arrays, read_bytes
from vyre_driver.backend.config import MAX_TIMEOUT
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.nodes import BufferKind, Graph
from vyre_driver.graph.wire import MAGIC, decode_graph
from vyre_foundation import Program
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.shapes import LAUNCH_SHAPE


class Seconds(click.FloatRange):
    """Seconds above 0, or from 0 on if `zero_is_allowed`. click finds nan within every range; it is refused here."""

    def __init__(self, *, zero_is_allowed: bool = False) -> None:
        super().__init__(min=0, max=MAX_TIMEOUT, min_open=not zero_is_allowed)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of seconds."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value} is not a number of seconds.", param, ctx)
        return seconds


MAX_EXTENT = 2**32 - 1
GRID = click.option("--grid", type=(click.IntRange(0, MAX_EXTENT),) * 3, metavar="X Y Z",
                    help="Workgroups along x, y and z; by default inferred.")  # fmt: skip
FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
INPUT = click.option("--input", "inputs", multiple=True, metavar="NAME=FILE",
                     help="Input: a .npy file, or raw elements. Repeatable.")  # fmt: skip
LENGTH = click.option("--length", "lengths", multiple=True, metavar="NAME=COUNT",
                      help="Zeros for an input without a file: how many. Repeatable.")  # fmt: skip
BACKEND = click.option("--backend", default="auto", show_default=True,
                       help="A backend, or a device such as opencl:1; auto is the one that `vyre tune` found to be the "
                            "fastest for a program, or the most preferred one.")  # fmt: skip


def graph_in(file: Path) -> Graph | None:
    """The graph in a file, which its first bytes tell; None for any other file."""
    data = read_bytes(file)
    return decode_graph(data) if data.startswith(MAGIC) else None


def require_inputs(program: Program, arrays: Mapping[str, object]) -> None:
    """Refuse a program from a file without an array for each input, and say what the command line takes for it."""
    missing = [buffer for buffer in program.inputs if buffer.name not in arrays]
    if not missing or program.shapes is not None:
        return
    needed = f"an array or a number for {' and '.join(repr(buffer.name) for buffer in missing)}"
    fix = f"add {'; '.join(_option_for(buffer) for buffer in missing)}"
    raise InvalidInput(missing[0].name, needed=needed, got="nothing", fix=fix)


def _option_for(buffer: Buffer) -> str:
    if buffer.name == LAUNCH_SHAPE:  # text and bytes do not hold the shapes from which Python computes it
        example = (
            "for an image numpy.save('shape.npy', numpy.uint32([480, 640])) writes it, and --invocations is 640,480"
        )
        return f"--input {LAUNCH_SHAPE}=FILE with the {buffer.count} lengths of axes that the kernel uses ({example})"
    if buffer.memory is Memory.UNIFORM and buffer.count == 1:
        return f"--spec {buffer.name}=NUMBER"
    return f"--input {buffer.name}=FILE"


def arrays_of(program: Program, inputs: tuple[str, ...], lengths: tuple[str, ...]) -> dict[str, Any]:
    """An array for each input of a program: from its file, else zeros."""
    arrays = read_arrays(program.inputs, inputs)
    others = dict.fromkeys(buffer.name for buffer in program.inputs if buffer.name != LAUNCH_SHAPE)
    require_inputs(program, {**others, **arrays})
    counts = {name: array.size for name, array in arrays.items()} | counted(lengths)
    for buffer, size in zip(program.inputs, byte_lengths(program, counts), strict=True):
        dtype = np.dtype(buffer.dtype.numpy)
        arrays.setdefault(buffer.name, np.zeros(size // dtype.itemsize, dtype))
    return arrays


def arrays_of_graph(graph: Graph, inputs: tuple[str, ...]) -> dict[str, Any]:
    """An array for each input of a graph: from its file, else zeros."""
    declared = graph.of(BufferKind.INPUT)
    arrays = read_arrays(declared, inputs)
    return {b.name: arrays.get(b.name, np.zeros(b.count, b.dtype.numpy)) for b in declared}
