"""What the nodes of a graph read and write, as ranges of its buffers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.graph.nodes import (
    BufferKind,
    BufferRange,
    CallNode,
    CopyNode,
    DispatchNode,
    DownloadNode,
    FillNode,
    Graph,
    GraphBuffer,
    Node,
    RepeatNode,
    UploadNode,
    walk,
)
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True)
class NodeAccesses:
    """The ranges that a node reads and those that it writes. A range that it may change in part is among both."""

    reads: tuple[BufferRange, ...]
    writes: tuple[BufferRange, ...]

    def conflicts(self, later: NodeAccesses) -> bool:
        """Whether a node with the accesses `later` has to wait for the node with these."""
        pairs = ((self.writes, later.reads), (self.writes, later.writes), (self.reads, later.writes))
        return any(a.overlaps(b) for first, second in pairs for a in first for b in second)


def accesses(graph: Graph, node: Node) -> NodeAccesses:
    """What a node of `graph` reads and writes."""
    match node:
        case DispatchNode(program=program, ranges=ranges):
            declared = {buffer.name: buffer for buffer in program.buffers}
            bound = [(declared[name], part) for name, part in ranges if name in declared]
            return NodeAccesses(
                tuple([part for buffer, part in bound if buffer.is_input]),
                tuple([part for buffer, part in bound if buffer.is_output]),
            )
        case UploadNode(target=target) | FillNode(target=target):
            return NodeAccesses((), (target,))
        case DownloadNode(source=source):
            return NodeAccesses((source,), ())
        case CopyNode(source=source, target=target):
            return NodeAccesses((source,), (target,))
        case RepeatNode(until_zero=flag, body=body):
            inner = [accesses(graph, n) for n in body]
            reads = [part for a in inner for part in a.reads] + ([] if flag is None else [flag])
            return NodeAccesses(tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(p for a in inner for p in a.writes)))
        case CallNode(graph=called, inputs=inputs, outputs=outputs):
            written = written_buffers(called)
            resident = {buffer.name for buffer in called.of(BufferKind.RESIDENT)}
            changed = [part for name, part in inputs if name in resident and name in written]
            return NodeAccesses(tuple([part for _, part in inputs]), (*changed, *[part for _, part in outputs]))


def written_buffers(graph: Graph) -> frozenset[str]:
    """The names of the buffers that a graph writes to. Computed once for each graph."""
    return graph.memoised(_written_buffers)


def _written_buffers(graph: Graph) -> frozenset[str]:
    return frozenset(part.buffer for node in walk(graph.nodes) for part in accesses(graph, node).writes)


def declaration(buffer: GraphBuffer) -> Buffer:
    """A buffer of a graph as the declaration of a program, which arrays are checked against; a number if it has one."""
    memory = Memory.UNIFORM if buffer.count == 1 else Memory.STORAGE
    return Buffer(buffer.name, buffer.dtype, Access.READ, memory, buffer.count, binding=0)


def plan_dispatch(program: Program, ranges: Mapping[str, BufferRange], config: DispatchConfig) -> LaunchPlan:
    """The launch plan of a program over ranges. A grid that is read from a buffer counts as (1, 1, 1)."""
    byte_lengths = [ranges[buffer.name].count * buffer.dtype.size for buffer in program.inputs]
    grid = None if find_indirect_dispatch(program) is None else (1, 1, 1)
    return plan_launch(program, byte_lengths, config, indirect_grid=grid)


class ElementSet:
    """Elements of one buffer, as disjoint intervals in ascending order that do not touch."""

    __slots__ = ("_starts", "_stops")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []

    def add(self, start: int, stop: int) -> None:
        """Add the elements ``start … stop``."""
        if start >= stop:
            return
        first = bisect_left(self._stops, start)
        last = bisect_left(self._starts, stop + 1)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        self._starts[first:last], self._stops[first:last] = [start], [stop]

    def missing(self, start: int, stop: int) -> int | None:
        """The first of the elements ``start … stop`` that is not in the set; None if all are."""
        if start >= stop:
            return None
        place = bisect_left(self._stops, start + 1)
        if place == len(self._stops) or self._starts[place] > start:
            return start
        return None if self._stops[place] >= stop else self._stops[place]
