"""Edges of a graph, derived from the ranges that nodes read and write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from vyre_driver.graph.nodes import BufferRange, Graph, Node
from vyre_driver.graph.ranges import ElementSet, accesses


def edges(graph: Graph, nodes: Sequence[Node]) -> list[tuple[int, ...]]:
    """Derive the edges between the nodes of one body.

    A node depends on an earlier one if one of the two writes an element that the other reads or writes. Dependences
    that follow from others by way of a write to the same elements are left out.

    Args:
        graph: The graph, which knows the types of buffers.
        nodes: The nodes of the graph, or of the body of one of its loops, in recorded order.

    Returns:
        For each node the positions of those that it depends on, in ascending order.
    """
    # What later nodes may depend on, by buffer. What a write covers, they reach by way of it.
    reads: defaultdict[str, list[tuple[BufferRange, int]]] = defaultdict(list)
    writes: defaultdict[str, list[tuple[BufferRange, int]]] = defaultdict(list)
    found: list[tuple[int, ...]] = []
    for number, node in enumerate(nodes):
        needed: set[int] = set()
        own = accesses(graph, node)
        for part in own.reads:
            needed.update(n for other, n in writes[part.buffer] if other.overlaps(part))
        for part in own.writes:
            for earlier in (reads, writes):
                needed.update(n for other, n in earlier[part.buffer] if other.overlaps(part))
        for part in own.writes:
            for earlier in (reads, writes):
                earlier[part.buffer] = [entry for entry in earlier[part.buffer] if not _covers(part, entry[0])]
            writes[part.buffer].append((part, number))
        for part in own.reads:
            reads[part.buffer].append((part, number))
        found.append(tuple(sorted(needed - {number})))
    return found


def waves(dependences: Sequence[Sequence[int]]) -> list[int]:
    """The earliest wave of each node: nodes of one wave are independent, and depend on nodes of waves before it."""
    found: list[int] = []
    for needed in dependences:
        found.append(1 + max((found[number] for number in needed), default=-1))
    return found


def carries_values(graph: Graph, body: Sequence[Node]) -> bool:
    """Whether an iteration of a loop reads what the iteration before it has written."""
    written: defaultdict[str, ElementSet] = defaultdict(ElementSet)
    before: list[BufferRange] = []
    writes: list[BufferRange] = []
    for node in body:
        own = accesses(graph, node)
        before += [part for part in own.reads if written[part.buffer].missing(part.start, part.stop) is not None]
        writes += own.writes
        for part in own.writes:
            written[part.buffer].add(part.start, part.stop)
    return any(one.overlaps(other) for one in before for other in writes)


def _covers(part: BufferRange, other: BufferRange) -> bool:
    return part.start <= other.start and other.stop <= part.stop
