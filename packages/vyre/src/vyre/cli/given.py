"""Inputs of a program or a graph for commands that need any: from files, or zeros of a length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from vyre.cli.plan import byte_lengths, counted
from vyre.cli.source import named_paths, read_array, read_bytes
from vyre_driver.graph.nodes import BufferKind, Graph
from vyre_driver.graph.wire import MAGIC, decode_graph
from vyre_foundation import Program

FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
INPUT = click.option("--input", "inputs", multiple=True, metavar="NAME=FILE",
                     help="Input: a .npy file, or raw elements. Repeatable.")  # fmt: skip
LENGTH = click.option("--length", "lengths", multiple=True, metavar="NAME=COUNT",
                      help="Zeros for an input without a file: how many. Repeatable.")  # fmt: skip
BACKEND = click.option("--backend", default="auto", show_default=True,
                       help="A backend, or a device such as opencl:1; auto is the most preferred backend.")  # fmt: skip


def graph_in(file: Path) -> Graph | None:
    """The graph in a file, which its first bytes tell; None for any other file."""
    data = read_bytes(file)
    return decode_graph(data) if data.startswith(MAGIC) else None


def arrays_of(program: Program, inputs: tuple[str, ...], lengths: tuple[str, ...]) -> dict[str, Any]:
    """An array for each input of a program: from its file, else zeros."""
    types = {buffer.name: buffer.dtype for buffer in program.inputs}
    arrays = {name: read_array(types, name, path) for name, path in named_paths(inputs, "--input").items()}
    counts = {name: array.size for name, array in arrays.items()} | counted(lengths)
    for buffer, size in zip(program.inputs, byte_lengths(program, counts), strict=True):
        dtype = np.dtype(buffer.dtype.numpy)
        arrays.setdefault(buffer.name, np.zeros(size // dtype.itemsize, dtype))
    return arrays


def arrays_of_graph(graph: Graph, inputs: tuple[str, ...]) -> dict[str, Any]:
    """An array for each input of a graph: from its file, else zeros."""
    declared = graph.of(BufferKind.INPUT)
    types = {buffer.name: buffer.dtype for buffer in declared}
    arrays = {name: read_array(types, name, path) for name, path in named_paths(inputs, "--input").items()}
    return {b.name: arrays.get(b.name, np.zeros(b.count, b.dtype.numpy)) for b in declared}
