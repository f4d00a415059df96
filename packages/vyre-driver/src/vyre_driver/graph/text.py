"""A graph for people: its buffers, its nodes with their ranges, and the nodes that each waits for."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_driver.graph.edges import edges
from vyre_driver.graph.nodes import (
    BufferRange,
    CallNode,
    CopyNode,
    DispatchNode,
    DownloadNode,
    FillNode,
    Graph,
    Node,
    RepeatNode,
    UploadNode,
)


def print_graph(graph: Graph) -> str:
    """Write a graph as text, one line for each buffer and node."""
    lines = [f"graph {graph.name} {{"]
    lines += [f"  {b.kind.value} {b.name}: {b.dtype}[{b.count}];" for b in graph.buffers]
    lines += [*([""] if graph.buffers and graph.nodes else []), *_nodes(graph, graph.nodes, "  "), "}"]
    return "\n".join(lines)


def _nodes(graph: Graph, nodes: tuple[Node, ...], indent: str) -> Iterator[str]:
    for node, needed in zip(nodes, edges(graph, nodes), strict=True):
        after = f"  // after {', '.join(nodes[number].name for number in needed)}" if needed else ""
        if isinstance(node, RepeatNode):
            yield f"{indent}{node.name}: {node_text(graph, node)} {{{after}"
            yield from _nodes(graph, node.body, f"{indent}  ")
            yield f"{indent}}}"
        else:
            yield f"{indent}{node.name}: {node_text(graph, node)};{after}"


def node_text(graph: Graph, node: Node) -> str:
    """What a node does, in one line without its name; of a loop without its body."""
    match node:
        case DispatchNode(program=program, ranges=ranges, config=config):
            grid = "" if config.grid_override is None else f" grid {config.grid_override}"
            return f"dispatch {program.name}({_bound(graph, ranges)}){grid}"
        case UploadNode(data=data, target=target):
            return f"upload {_part(graph, target)} = {len(data)} bytes"
        case DownloadNode(output=output, source=source):
            return f"download {output} = {_part(graph, source)}"
        case CopyNode(source=source, target=target):
            return f"copy {_part(graph, target)} = {_part(graph, source)}"
        case FillNode(element=element, target=target):
            return f"fill {_part(graph, target)} = 0x{element[::-1].hex()}"
        case CallNode(graph=called, inputs=inputs, outputs=outputs):
            return f"call {called.name}({_bound(graph, (*inputs, *outputs))})"
        case RepeatNode(limit=limit, until_zero=flag):
            return f"repeat {limit}{'' if flag is None else f' until_zero {_part(graph, flag)}'}"


def _bound(graph: Graph, ranges: tuple[tuple[str, BufferRange], ...]) -> str:
    return ", ".join(f"{name}={_part(graph, part)}" for name, part in ranges)


def _part(graph: Graph, part: BufferRange) -> str:
    return part.buffer if graph.is_whole(part) else str(part)
