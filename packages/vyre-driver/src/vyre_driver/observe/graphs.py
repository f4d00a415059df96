"""The comparison of a launch of a graph with its definition on another backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.typed import array_bytes
from vyre_driver.errors import ShadowDiverged, UnsupportedFeature
from vyre_driver.graph.evaluate import evaluate
from vyre_driver.graph.nodes import BufferKind, Graph
from vyre_driver.graph.ranges import declaration
from vyre_driver.observe.compare import first_mismatch
from vyre_driver.schedule.compiled import CompiledGraph
from vyre_foundation.ir.buffer import Access, Buffer
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


def check_graph(run: CompiledGraph, reference: VyreBackend, arrays: Mapping[str, object]) -> dict[str, Array]:
    """Launch a graph once, and compare its outputs with those of its definition on another backend, byte for byte.

    Args:
        run: The compiled graph.
        reference: The backend that executes one node after another, as recorded.
        arrays: The inputs by name.

    Returns:
        The outputs by name.

    Raises:
        ShadowDiverged: An output differs; the error has the first element that does.
        UnsupportedFeature: The graph has resident buffers, whose contents the launch changes.
    """
    graph = run.graph
    if graph.of(BufferKind.RESIDENT):
        fix = "record the graph with inputs and outputs in their place"
        raise UnsupportedFeature("comparisons of graphs with resident buffers", backend=run.backend.id(), fix=fix)
    outputs = run.run(arrays)
    given = {
        buffer.name: array_bytes(declaration(buffer), arrays[buffer.name]) for buffer in graph.of(BufferKind.INPUT)
    }
    expected = evaluate(graph, reference, given)
    declared = _outputs(graph)
    got = [outputs[buffer.name].view(np.uint8).data for buffer in declared.outputs]
    found = first_mismatch(declared, got, [expected[buffer.name].data for buffer in declared.outputs])
    if found is not None:
        raise ShadowDiverged(run.backend.id(), reference.id(), str(found), where=f"graph {graph.name!r}")
    return outputs


def _outputs(graph: Graph) -> Program:
    """The outputs of a graph as those of a program, which comparisons are about."""
    rows = [(node.output, graph.buffer(node.source.buffer).dtype, node.source.count) for node in graph.outputs]
    buffers = [Buffer(name, dtype, Access.WRITE, count=count, binding=n) for n, (name, dtype, count) in enumerate(rows)]
    return Program(graph.name, tuple(buffers), (1, 1, 1), ())
