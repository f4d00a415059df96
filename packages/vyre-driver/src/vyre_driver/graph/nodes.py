"""The data of a graph: buffers, ranges of them, and nodes in recorded order.

The meaning of a graph is the execution of its nodes one after another, in recorded order. Every executor gives the
bytes of that execution. Edges are not declared: they follow from the ranges that the nodes read and write (`edges`).

A `Graph` is frozen. `origin` of a buffer or a node is the line of Python that recorded it; it is no part of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.dtype import DType
from vyre_foundation.ir.memo import Memo
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.graph.validate import GraphFacts


MAX_NESTING = 32
"""Loops within loops, and graphs within graphs, in the validator and in the decoder alike."""
MAX_NODES = 2**20
"""Of a graph, with those of the graphs that it calls."""


class BufferKind(Enum):
    """Where the contents of a buffer of a graph come from, and how long they live."""

    INPUT = "input"
    """An array that each launch passes. The graph may change its own copy."""
    TEMPORARY = "temporary"
    """Memory of one launch, with unspecified contents until a node writes to it."""
    RESIDENT = "resident"
    """Device memory of the caller, whose handle each launch passes. It is used in place."""


@dataclass(frozen=True, slots=True)
class GraphBuffer:
    """One buffer: `count` elements of `dtype`."""

    name: str
    kind: BufferKind
    dtype: DType
    count: int
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def byte_len(self) -> int:
        """Its size in bytes."""
        return self.count * self.dtype.size


@dataclass(frozen=True, slots=True, order=True)
class BufferRange:
    """The elements ``start … start + count`` of the buffer called `buffer`."""

    buffer: str
    start: int
    count: int

    @property
    def stop(self) -> int:
        """The element behind the last one."""
        return self.start + self.count

    def overlaps(self, other: BufferRange) -> bool:
        """Whether the two share an element."""
        return self.buffer == other.buffer and max(self.start, other.start) < min(self.stop, other.stop)

    def __str__(self) -> str:
        return f"{self.buffer}[{self.start}:{self.stop}]"


Bindings: TypeAlias = "tuple[tuple[str, BufferRange], ...]"
"""Ranges by the name of a program's buffer, or of a nested graph's input or output."""


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
    """Give the contents that a range has now to the caller, as the output called `output`."""

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

    Executors leave out copies that cannot be observed. A resident buffer of the graph is a range too, used in place.
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
    """The shapes of inputs with other than one axis. Like origins, shapes are no part of what a graph means."""
    output_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    """The shapes of outputs with other than one axis."""

    def buffer(self, name: str) -> GraphBuffer:
        """The buffer called `name`; KeyError if there is none."""
        return self.memoised(_by_name)[name]

    def of(self, kind: BufferKind) -> tuple[GraphBuffer, ...]:
        """The buffers of one kind, in recorded order."""
        return tuple([buffer for buffer in self.buffers if buffer.kind is kind])

    @property
    def outputs(self) -> tuple[DownloadNode, ...]:
        """The nodes that give outputs, also those within loops, in recorded order."""
        return tuple([node for node in walk(self.nodes) if isinstance(node, DownloadNode)])

    def byte_len(self, part: BufferRange) -> int:
        """The size of a range in bytes."""
        return part.count * self.buffer(part.buffer).dtype.size

    def is_whole(self, part: BufferRange) -> bool:
        """Whether a range is all of its buffer."""
        return part.start == 0 and part.count == self.buffer(part.buffer).count

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Graph {self.name!r}: {len(self.buffers)} buffers, {sum(1 for _ in walk(self.nodes))} nodes>"

    # Methods that `vyre_driver.graph.methods` adds, because what computes them lies above this module.

    validate: ClassVar[Callable[[Graph], GraphFacts]]
    """What is known about a valid graph, or `InvalidGraph` with all findings. Computed once."""

    text: ClassVar[Callable[[Graph], str]]
    """The graph for people: buffers, nodes with their ranges, and the edges between them."""

    encode: ClassVar[Callable[[Graph], bytes]]
    """The wire form. Computed once."""

    fingerprint: ClassVar[Callable[[Graph], str]]
    """BLAKE3 of what the graph means, in hexadecimal; names of nodes and programs have no part in it. Computed once."""


def _by_name(graph: Graph) -> dict[str, GraphBuffer]:
    return {buffer.name: buffer for buffer in graph.buffers}


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node, a loop before its body, in recorded order. Nested graphs are not entered."""
    for node in nodes:
        yield node
        if isinstance(node, RepeatNode):
            yield from walk(node.body)


def leaves(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node but the loops themselves, in recorded order."""
    return (node for node in walk(nodes) if not isinstance(node, RepeatNode))
