"""Buffers that are used in parts alone become a buffer for each part.

Resident memory is bound whole, so a dispatch over a part of a buffer needs a copy of it. Where all parts of a buffer
that nodes use are equal or disjoint, each of them is a buffer of its own: nothing is copied, and a part is uploaded, or
read, without the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from vyre_driver.graph.flatten import FlatGraph, with_ranges
from vyre_driver.graph.nodes import BufferKind, BufferRange, GraphBuffer, walk
from vyre_driver.graph.ranges import accesses


def split(flat: FlatGraph) -> FlatGraph:
    """Split the buffers that nodes use in disjoint parts; the graph itself where there are none.

    Args:
        flat: A flat graph.

    Returns:
        The graph with equal outputs. Its `splits` are the parts of each buffer that is gone, in order. Its `downloads`
        are ranges of the buffers as they were.
    """
    parts = _disjoint(flat)
    if not parts:
        return flat
    buffers: list[GraphBuffer] = []
    for buffer in flat.graph.buffers:
        found = parts.get(buffer.name)
        if found is None:
            buffers.append(buffer)
        else:
            buffers += [replace(buffer, name=str(part), count=part.count) for part in found]
    by_range = {part: BufferRange(str(part), 0, part.count) for found in parts.values() for part in found}
    nodes = tuple([with_ranges(node, lambda part: by_range.get(part, part), node.name) for node in flat.graph.nodes])
    return replace(flat, graph=replace(flat.graph, buffers=tuple(buffers), nodes=nodes), splits=parts)


def parts_of(flat: FlatGraph, part: BufferRange) -> Iterator[tuple[BufferRange, int]]:
    """The ranges that stand for a range of a flat graph, each with its first element in `part`."""
    found = flat.splits.get(part.buffer)
    if found is None:
        yield part, 0
        return
    for own in found:
        start, stop = max(own.start, part.start), min(own.stop, part.stop)
        if start < stop:
            yield BufferRange(str(own), start - own.start, stop - start), start - part.start


def _disjoint(flat: FlatGraph) -> dict[str, tuple[BufferRange, ...]]:
    """The parts of each buffer that can be split: they do not overlap, and there is one for all that is read."""
    graph = flat.graph
    used: defaultdict[str, set[BufferRange]] = defaultdict(set)
    for node in walk(graph.nodes):
        own = accesses(graph, node)  # of a loop those of its body, and its flag
        for part in (*own.reads, *own.writes):
            used[part.buffer].add(part)
    taken = {part.buffer for part in flat.parts.values()} | flat.constants.keys()
    read_later = {part.buffer for _, part in flat.downloads}
    splits: dict[str, tuple[BufferRange, ...]] = {}
    for buffer in graph.buffers:
        parts = sorted(used[buffer.name])
        if len(parts) < 2 or buffer.kind is BufferKind.RESIDENT or buffer.name in taken:
            continue
        is_disjoint = all(part.count for part in parts) and all(a.stop <= b.start for a, b in pairwise(parts))
        is_whole = sum(part.count for part in parts) == buffer.count
        if is_disjoint and (is_whole or buffer.name not in read_later):
            splits[buffer.name] = tuple(parts)
    return splits
