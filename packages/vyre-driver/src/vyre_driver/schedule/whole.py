"""Dispatches over parts of buffers, as copies and dispatches over whole buffers.

Resident memory is bound whole. A range that is not a whole buffer is copied to a temporary, and back if it is written.
"""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.graph.flatten import FlatGraph
from vyre_driver.graph.nodes import (
    BufferKind,
    BufferRange,
    CopyNode,
    DispatchNode,
    GraphBuffer,
    Node,
    RepeatNode,
)


def whole_buffers(flat: FlatGraph) -> FlatGraph:
    """Rewrite a flat graph so that every dispatch binds whole buffers; itself where every one does."""
    graph = flat.graph
    made: dict[str, GraphBuffer] = {}

    def part_of(node: DispatchNode, name: str, part: BufferRange) -> BufferRange:
        stem = f"{node.name}.{name} of {part.buffer}"
        number, own = 1, stem
        while own in made:
            number += 1
            own = f"{stem}#{number}"
        made[own] = GraphBuffer(own, BufferKind.TEMPORARY, graph.buffer(part.buffer).dtype, part.count, node.origin)
        return BufferRange(own, 0, part.count)

    def dispatch(node: DispatchNode) -> list[Node]:
        before: list[Node] = []
        after: list[Node] = []
        ranges: list[tuple[str, BufferRange]] = []
        for name, part in node.ranges:
            if graph.is_whole(part):
                ranges.append((name, part))
                continue
            own = part_of(node, name, part)
            declared = node.program.buffer(name)
            if declared.is_input:
                before.append(CopyNode(f"{node.name}.{name}", part, own, node.origin))
            if declared.is_output:
                after.append(CopyNode(f"{node.name}.{name}", own, part, node.origin))
            ranges.append((name, own))
        return [*before, replace(node, ranges=tuple(ranges)), *after]

    def body(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        out: list[Node] = []
        for node in nodes:
            if isinstance(node, RepeatNode):
                out.append(replace(node, body=body(node.body)))
            else:
                out += dispatch(node) if isinstance(node, DispatchNode) else [node]
        return tuple(out)

    nodes = body(graph.nodes)
    if not made:
        return flat
    return replace(flat, graph=replace(graph, buffers=(*graph.buffers, *made.values()), nodes=nodes))
