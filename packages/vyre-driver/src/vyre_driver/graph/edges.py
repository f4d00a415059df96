"""Edges of a graph, derived from the ranges that nodes read and write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from vyre_driver.graph.nodes import BufferRange, Graph, Node
from vyre_driver.graph.ranges import accesses


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
    open_accesses: defaultdict[str, list[tuple[BufferRange, int, bool]]] = defaultdict(list)
    found: list[tuple[int, ...]] = []
    for number, node in enumerate(nodes):
        needed: set[int] = set()
        own = accesses(graph, node)
        for part in own.reads:
            needed.update(n for other, n, writes in open_accesses[part.buffer] if writes and other.overlaps(part))
        for part in own.writes:
            needed.update(n for other, n, _ in open_accesses[part.buffer] if other.overlaps(part))
        for part in own.writes:  # what a write covers, later nodes reach by way of it
            others = [entry for entry in open_accesses[part.buffer] if not _covers(part, entry[0])]
            open_accesses[part.buffer] = [*others, (part, number, True)]
        for part in own.reads:
            open_accesses[part.buffer].append((part, number, False))
        found.append(tuple(sorted(needed - {number})))
    return found


def waves(dependences: Sequence[Sequence[int]]) -> list[int]:
    """The earliest wave of each node: nodes of one wave are independent, and depend on nodes of waves before it."""
    found: list[int] = []
    for needed in dependences:
        found.append(1 + max((found[number] for number in needed), default=-1))
    return found


def _covers(part: BufferRange, other: BufferRange) -> bool:
    return part.start <= other.start and other.stop <= part.stop
