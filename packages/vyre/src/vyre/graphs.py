"""Recording a graph and compiling it for a backend by its id."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vyre.execution import backend_for
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.edges import carries_values
from vyre_driver.graph.nodes import BufferKind, CallNode, DispatchNode, Graph, RepeatNode, walk
from vyre_driver.graph.ranges import written_buffers
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.schedule.compiled import CompiledGraph, compile_graph
from vyre_driver.schedule.placed import require_placement
from vyre_driver.tune.graphs import GraphTuningReport, tune_graph
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.stmt import Trap


class GraphBuilder(GraphRecorder):
    """Records a graph and compiles it. Made by `graph(…)`."""

    def build(self) -> Graph:
        """Return the graph that was recorded so far, as `GraphRecorder.build` does.

        Raises:
            InvalidGraph: With all findings, each with the line that recorded the node.
            BuildError: A loop is open, all iterations of one do the same, or nothing reads what the graph computes.
        """
        graph = super().build()
        if graph.nodes and not _has_effect(graph):
            message = "nothing reads what the graph computes: it has no output, and writes to no resident range"
            fix = "make the result an output, as in g.output('y', kernel(x)), or store it, as in t.assign(kernel(x, t))"
            raise BuildError(message, fix=fix, where=f"graph {graph.name!r} ({graph.origin})")
        for node in walk(graph.nodes):
            if isinstance(node, RepeatNode) and node.limit > 1 and not carries_values(graph, node.body):
                message = "all iterations of the loop do the same: none reads what the one before it has written"
                fix = "store what an iteration computes where the next one reads it, as in x.assign(kernel(x))"
                raise BuildError(message, fix=fix, where=f"node {node.name!r} ({node.origin})")
        return graph

    def compile(
        self,
        backend: str | VyreBackend | None = None,
        *,
        fusion: bool = True,
        overlap: bool | None = None,
        placement: Mapping[str, str | VyreBackend] = MappingProxyType({}),
    ) -> CompiledGraph:
        """Prepare the recorded graph for a backend.

        Args:
            backend: As for `vyre.backend_for`.
            fusion: Whether dispatches may be fused where that is proven to give the same bytes.
            overlap: Whether transfers may overlap with launches, if the backend can do that. None uses the measured
                choice for this graph on this device, or a default rule.
            placement: Other backends, or other devices, by the names of the nodes that run there. The name of a loop
                or a call places everything in it. Copies between devices are derived.

        Returns:
            The graph with its memory allocated, ready for `launch`.

        Raises:
            InvalidGraph: With all findings, each with the line that recorded the node.
            InvalidLaunch: `placement` names a node that does not exist, or one within a loop.
            UnsupportedFeature: The backend cannot run a node, which the error names.
            DeviceOutOfMemory: The buffers do not fit.
        """
        require_placement(placement)
        placed = {name: backend_for(other) for name, other in placement.items()}
        return compile_graph(self.build(), backend_for(backend), fusion=fusion, overlap=overlap, placement=placed)

    def tune(
        self,
        inputs: Mapping[str, object] | None = None,
        /,
        *,
        backend: str | VyreBackend | None = None,
        **arrays: object,
    ) -> GraphTuningReport:
        """Measure whether the graph is faster with fusion, with merged small dispatches, or in waves.

        Later compilations of the graph for this device use the fastest variant, also in other processes. Only variants
        with the bytes of the recorded order are considered.

        Args:
            inputs: The inputs by name, for names that keywords cannot have.
            backend: As for `vyre.backend_for`.
            **arrays: An array for each input.

        Returns:
            The measurements and the choice. `print` shows them.

        Raises:
            InvalidGraph: With all findings.
            InvalidInput: Something else than arrays by name is passed.
            UnsupportedFeature: The graph has resident buffers.
        """
        given: object = inputs
        if given is not None and not isinstance(given, Mapping):
            fix = "pass each array by its name, as in tune(x=array)"
            raise InvalidInput("inputs", needed="a mapping of names to arrays", got=type(given).__name__, fix=fix)
        return tune_graph(self.build(), {**(inputs or {}), **arrays}, backend_for(backend))


def _has_effect(graph: Graph) -> bool:
    """Whether a launch returns something, changes memory of the caller, or may trap, as a graph that is called may."""
    residents = {buffer.name for buffer in graph.buffers if buffer.kind is BufferKind.RESIDENT}
    if graph.outputs or not residents.isdisjoint(written_buffers(graph)):
        return True
    return any(
        isinstance(node, CallNode)
        or (isinstance(node, DispatchNode) and any(isinstance(stmt, Trap) for stmt in node.program.statements))
        for node in walk(graph.nodes)
    )


def graph(name: str = "graph") -> GraphBuilder:
    """Record a graph: dispatches, copies and loops that are validated and run as one.

    Args:
        name: Its name in messages.

    Returns:
        A recorder. In a ``with`` block, it validates the graph at the end of the block.
    """
    return GraphBuilder(name)
