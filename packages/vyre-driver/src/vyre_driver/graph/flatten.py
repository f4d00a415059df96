"""Nested graphs in line, uploads as constants, downloads at the end: what an executor walks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vyre_driver.graph.nodes import (
    Bindings,
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
    leaves,
)
from vyre_driver.graph.ranges import accesses, written_buffers
from vyre_foundation.ir.origin import Origin


@dataclass(frozen=True, slots=True)
class FlatGraph:
    """A graph of dispatches, copies, fills and loops alone.

    `constants` are the contents of buffers that no node writes. `downloads` are the outputs in recorded order; each
    range keeps its contents from the node that made them to the end. `parts` are the ranges that stand for buffers
    which have become a part of another one. `splits` are the parts of buffers that are gone, of which each is a buffer
    by its name; `downloads` may be ranges of those.
    """

    graph: Graph
    constants: Mapping[str, bytes]
    downloads: tuple[tuple[str, BufferRange], ...]
    parts: Mapping[str, BufferRange] = field(default_factory=dict)
    splits: Mapping[str, tuple[BufferRange, ...]] = field(default_factory=dict)


def flatten(graph: Graph) -> FlatGraph:
    """Rewrite a valid graph into dispatches, copies, fills and loops, with equal outputs.

    Args:
        graph: A valid graph.

    Returns:
        The graph, its constants and its outputs. Names of nodes of nested graphs begin with those of their calls.
    """
    flat = _Flattener(graph)
    nodes = flat.body(graph.nodes, {}, "", in_loop=False)
    return flat.finished(nodes)


class _Flattener:
    """Collects the buffers of one flat graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._buffers = {buffer.name: buffer for buffer in graph.buffers}
        self._constants: dict[str, bytes] = {}
        self._downloads: dict[str, BufferRange] = {}

    def finished(self, nodes: tuple[Node, ...]) -> FlatGraph:
        """The flat graph, without copies of constants to temporaries that nothing else writes."""
        writers = Counter(part.buffer for node in leaves(nodes) for part in accesses(self._graph, node).writes)
        constants = {
            node.target.buffer: node.source
            for node in leaves(nodes)
            if isinstance(node, CopyNode)
            and node.source.buffer in self._constants
            and writers[node.target.buffer] == 1
            and self._buffers[node.target.buffer].kind is BufferKind.TEMPORARY
            and node.target.count == self._buffers[node.target.buffer].count
        }
        nodes = _over_constants(nodes, constants)
        downloads = [(name, relocated_range(part, constants)) for name, part in self._downloads.items()]
        buffers = tuple([buffer for name, buffer in self._buffers.items() if name not in constants])
        return FlatGraph(replace(self._graph, buffers=buffers, nodes=nodes), self._constants, tuple(downloads))

    def body(
        self, nodes: Sequence[Node], places: Mapping[str, BufferRange], path: str, *, in_loop: bool
    ) -> tuple[Node, ...]:
        """The nodes of one body; `places` are the ranges that stand for buffers of a nested graph."""
        out: list[Node] = []
        for number, node in enumerate(nodes):
            moved = relocated(node, places, f"{path}{node.name}")
            match moved:
                case CallNode():
                    out += self._called(moved, in_loop=in_loop)
                case RepeatNode():
                    assert isinstance(node, RepeatNode)
                    out.append(replace(moved, body=self.body(node.body, places, f"{path}{node.name}.", in_loop=True)))
                case UploadNode(name, data, target, origin):
                    out.append(CopyNode(name, self._constant(name, data, target, origin), target, origin))
                case DownloadNode(name, output, source, origin):
                    later = [relocated(n, places, "") for n in nodes[number + 1 :]]
                    if in_loop or self._is_written(later, source):
                        snapshot = self._temporary(f"{name}", source, origin)
                        out.append(CopyNode(name, source, snapshot, origin))
                        source = snapshot
                    self._downloads[output] = source
                case _:
                    out.append(moved)
        return tuple(out)

    def _called(self, node: CallNode, *, in_loop: bool) -> Iterator[Node]:
        """The nodes of a nested graph over the ranges of the call."""
        called, places = node.graph, dict(node.inputs)
        written = written_buffers(called)
        for buffer in called.of(BufferKind.INPUT):
            if buffer.name in written:
                snapshot = self._temporary(f"{node.name}.{buffer.name}", places[buffer.name], node.origin)
                yield CopyNode(f"{node.name}.{buffer.name}", places[buffer.name], snapshot, node.origin)
                places[buffer.name] = snapshot
        outputs, direct = dict(node.outputs), _direct_outputs(called)
        for buffer in called.of(BufferKind.TEMPORARY):
            name = direct.get(buffer.name)
            places[buffer.name] = (
                outputs[name] if name is not None else self._declare(f"{node.name}.{buffer.name}", buffer)
            )
        inner: list[Node] = []
        for n in called.nodes:
            inner += [n] if not isinstance(n, DownloadNode) or n.source.buffer not in direct else []
        inner = [_as_copies(n, outputs) for n in inner]
        yield from self.body(
            inner,
            {**places, **{_OUTPUT + name: part for name, part in outputs.items()}},
            f"{node.name}.",
            in_loop=in_loop,
        )

    def _is_written(self, nodes: Sequence[Node], part: BufferRange) -> bool:
        return any(part.overlaps(other) for node in nodes for other in accesses(self._graph, node).writes)

    def _constant(self, name: str, data: bytes, target: BufferRange, origin: Origin | None) -> BufferRange:
        made = self._temporary(f"{name}.data", target, origin)
        self._constants[made.buffer] = data
        return made

    def _temporary(self, name: str, like: BufferRange, origin: Origin | None) -> BufferRange:
        dtype = self._buffers[like.buffer].dtype
        return self._declare(name, GraphBuffer(name, BufferKind.TEMPORARY, dtype, like.count, origin))

    def _declare(self, stem: str, buffer: GraphBuffer) -> BufferRange:
        name, number = stem, 1
        while name in self._buffers:
            number += 1
            name = f"{stem}#{number}"
        self._buffers[name] = replace(buffer, name=name)
        return BufferRange(name, 0, buffer.count)


_OUTPUT = "output "
"""Begins the names under which the outputs of a call are found. Copies to them are made here alone."""


def _as_copies(node: Node, outputs: Mapping[str, BufferRange]) -> Node:
    """A download of a nested graph is a copy to the output of the call."""
    match node:
        case DownloadNode(name, output, source, origin):
            return CopyNode(name, source, BufferRange(_OUTPUT + output, 0, outputs[output].count), origin)
        case RepeatNode(body=body):
            return replace(node, body=tuple([_as_copies(n, outputs) for n in body]))
        case _:
            return node


def _direct_outputs(graph: Graph) -> dict[str, str]:
    """The temporaries that may be an output itself: output once, whole, and never written afterwards."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for number, node in enumerate(graph.nodes):
        if not isinstance(node, DownloadNode):
            continue
        name = node.source.buffer
        later = [part for n in graph.nodes[number + 1 :] for part in accesses(graph, n).writes]
        if (
            name not in seen
            and graph.buffer(name).kind is BufferKind.TEMPORARY
            and graph.is_whole(node.source)
            and not any(node.source.overlaps(part) for part in later)
        ):
            found[name] = node.output
        elif name in found:
            del found[name]
        seen.add(name)
    in_loops = {n.source.buffer for n in graph.outputs if n not in graph.nodes}
    return {name: output for name, output in found.items() if name not in in_loops}


def relocated(node: Node, places: Mapping[str, BufferRange], name: str) -> Node:
    """A node with another name, over the ranges that stand for those of a nested graph."""
    return with_ranges(node, lambda part: relocated_range(part, places), name)


def with_ranges(node: Node, moved: Callable[[BufferRange], BufferRange], name: str) -> Node:
    """A node with another name, over the ranges that `moved` gives for its own."""

    def bound(ranges: Bindings) -> Bindings:
        return tuple([(key, moved(part)) for key, part in ranges])

    match node:
        case DispatchNode(ranges=ranges):
            return replace(node, name=name, ranges=bound(ranges))
        case UploadNode(target=target) | FillNode(target=target):
            return replace(node, name=name, target=moved(target))
        case DownloadNode(source=source):
            return replace(node, name=name, source=moved(source))
        case CopyNode(source=source, target=target):
            return replace(node, name=name, source=moved(source), target=moved(target))
        case RepeatNode(until_zero=flag, body=body):
            # The nodes within are moved too, because callers ask what the loop writes.
            inner = tuple([with_ranges(n, moved, n.name) for n in body])
            return replace(node, name=name, until_zero=None if flag is None else moved(flag), body=inner)
        case CallNode(inputs=inputs, outputs=outputs):
            return replace(node, name=name, inputs=bound(inputs), outputs=bound(outputs))


def relocated_range(part: BufferRange, places: Mapping[str, BufferRange]) -> BufferRange:
    """The range that stands for `part`, where its buffer has a place."""
    place = places.get(part.buffer)
    return part if place is None else BufferRange(place.buffer, place.start + part.start, part.count)


def _over_constants(nodes: tuple[Node, ...], constants: Mapping[str, BufferRange]) -> tuple[Node, ...]:
    """The nodes over constants in place of the temporaries that they were copied to."""
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, RepeatNode):
            moved = relocated(node, constants, node.name)
            assert isinstance(moved, RepeatNode)
            out.append(replace(moved, body=_over_constants(node.body, constants)))
        elif not isinstance(node, CopyNode) or node.target.buffer not in constants:
            out.append(relocated(node, constants, node.name))
    return tuple(out)
