"""The data of a graph: nodes in recorded order over ranges of buffers (`buffers`).

The meaning of a graph is the execution of its nodes one after another, in recorded order. Every executor gives the
bytes of that execution. Edges are not declared: they follow from the ranges that the nodes read and write (`edges`).

A `Graph` is frozen. `origin` of a buffer or a node is the line of Python that recorded it; it is no part of the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from vyre_driver import graph
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.graph.buffers import (
    Bindings as Bindings,
    BufferKind as BufferKind,
    BufferRange as BufferRange,
    GraphBuffer as GraphBuffer,
)
from vyre_foundation.ir.memo import Memo
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.graph.validate import GraphFacts


MAX_NESTING = 32
"""Loops within loops, and graphs within graphs, in the validator and in the decoder alike."""
MAX_NODES = 2**20
"""Of a graph, with those of the graphs that it calls."""


@dataclass(frozen=True, slots=True)
class DispatchNode:
    """One dispatch of a program over `ranges`, one for each of its inputs and outputs by name."""

    name: str
    program: Program
    ranges: Bindings
    config: DispatchConfig
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UploadNode:
    """Write `data`, which is part of the graph, to a range."""

    name: str
    data: bytes = field(repr=False)
    target: BufferRange
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DownloadNode:
    """Return the contents of a range at this point to the caller, as the output called `output`."""

    name: str
    output: str
    source: BufferRange
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CopyNode:
    """Copy the bits of a range to another of as many bytes that does not overlap it."""

    name: str
    source: BufferRange
    target: BufferRange
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FillNode:
    """Write one element, given as its bytes, to every element of a range."""

    name: str
    element: bytes
    target: BufferRange
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RepeatNode:
    """Execute `body` at least once and at most `limit` times.

    With `until_zero`, a range of one element, the loop ends after an iteration that leaves 0 there.
    """

    name: str
    limit: int
    until_zero: BufferRange | None
    body: tuple[Node, ...]
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CallNode:
    """Execute a graph over copies of `inputs`, and copy its outputs to `outputs`.

    Executors omit copies that cannot be observed. A resident buffer of the graph is a range that is used in place.
    """

    name: str
    graph: Graph
    inputs: Bindings
    outputs: Bindings
    origin: Origin | None = field(default=None, compare=False, repr=False)


Node: TypeAlias = DispatchNode | UploadNode | DownloadNode | CopyNode | FillNode | RepeatNode | CallNode


@dataclass(frozen=True, repr=False)
class Graph(Memo):
    """Nodes over buffers, in recorded order. Two graphs are equal when names, buffers and nodes are."""

    name: str
    buffers: tuple[GraphBuffer, ...]
    nodes: tuple[Node, ...]
    origin: Origin | None = field(default=None, compare=False)
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    """The shapes of inputs that do not have one axis. Like origins, shapes are not part of the meaning of a graph."""
    output_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    """The shapes of outputs that do not have one axis."""

    def buffer(self, name: str) -> GraphBuffer:
        """Return the buffer called `name`, or raise KeyError."""
        return self.memoised(_by_name)[name]

    def of(self, kind: BufferKind) -> tuple[GraphBuffer, ...]:
        """Return the buffers of one kind, in recorded order."""
        return tuple([buffer for buffer in self.buffers if buffer.kind is kind])

    @property
    def outputs(self) -> tuple[DownloadNode, ...]:
        """The nodes that return outputs, including those in loops, in recorded order."""
        return tuple([node for node in walk(self.nodes) if isinstance(node, DownloadNode)])

    def byte_len(self, part: BufferRange) -> int:
        """Return the size of a range in bytes."""
        return part.count * self.buffer(part.buffer).dtype.size

    def is_whole(self, part: BufferRange) -> bool:
        """Return whether a range is the whole of its buffer."""
        return part.start == 0 and part.count == self.buffer(part.buffer).count

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Graph {self.name!r}: {len(self.buffers)} buffers, {sum(1 for _ in walk(self.nodes))} nodes>"

    # What computes these lies above this module: the package imports it on first use.

    def validate(self) -> GraphFacts:
        """Return the facts of the graph, or raise `InvalidGraph` with all findings. Computed once."""
        return self.memoised(graph.validate.validate)

    def text(self) -> str:
        """Return the graph as text: buffers, nodes with their ranges, and the edges between them."""
        return graph.text.print_graph(self)

    def encode(self) -> bytes:
        """Return the wire form. Computed once."""
        return self.memoised(graph.wire.encode)

    def fingerprint(self) -> str:
        """Return the BLAKE3 digest of the meaning of the graph in hexadecimal, without names of nodes and programs."""
        return self.memoised(graph.wire.fingerprint)

    def _repr_html_(self) -> str:
        return graph.html.graph_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph, tuple([getattr(self, part.name) for part in fields(self)])


def _by_name(graph: Graph) -> dict[str, GraphBuffer]:
    return {buffer.name: buffer for buffer in graph.buffers}


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield every node in recorded order, a loop before its body. Nested graphs are not entered."""
    for node in nodes:
        yield node
        if isinstance(node, RepeatNode):
            yield from walk(node.body)


def leaves(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield every node except loops, in recorded order."""
    return (node for node in walk(nodes) if not isinstance(node, RepeatNode))
