"""The wire form of graphs, version 1, and the identity that follows from it.

    file     = magic "VYRG" · version (u16, little-endian) · BLAKE3-256 of the payload · payload
    payload  = programs · graphs · name · buffers · nodes, and nothing after
    programs = count · the wire form of each program, as bytes
    graphs   = count · the wire form of each graph that is called, as bytes
    buffers  = count · rows of kind tag · name · dtype tag · number of elements
    nodes    = count · nodes of tag · name · fields

A *number* is an unsigned LEB128 varint below 2**64 in its shortest form. A *text* is UTF-8 behind its size, *bytes*
stand behind their number. A *range* is the position of its buffer, its start and its count. Programs and graphs are in
the order of their first use, each once. Options of a dispatch are a mask of those that differ from the defaults, and
these.

A graph has one wire form: `decode_graph` encodes what it has read, and refuses bytes that differ. Memory and time are
bounded by the number of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import TypeVar

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Preference
from vyre_driver.errors import BackendError
from vyre_driver.graph.nodes import (
    MAX_NESTING,
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
)
from vyre_foundation.dtype import DType, dtype_of_tag
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import (
    BadMagic,
    DigestMismatch,
    Malformed,
    NestingTooDeep,
    NotCanonical,
    TrailingBytes,
    Truncated,
    Unencodable,
    UnknownTag,
    UnsupportedVersion,
    decode as decode_program,
)
from vyre_foundation.wire.digest import digest
from vyre_foundation.wire.reader import Reader, bytes_of, refuse
from vyre_foundation.wire.varint import write_column

MAGIC, VERSION = b"VYRG", 1
HEADER_SIZE = len(MAGIC) + 2 + 32

KINDS = (BufferKind.INPUT, BufferKind.TEMPORARY, BufferKind.RESIDENT)


class NodeTag(IntEnum):
    """The first byte of a node."""

    DISPATCH, UPLOAD, DOWNLOAD, COPY, FILL, REPEAT, CALL = range(1, 8)


PREFERENCES = (Preference.AUTO, Preference.FORCE, Preference.DISABLE)
LABEL, ULP, WORKGROUP, GRID, ITERATIONS, SPECULATION, PERSISTENT, COOPERATIVE = (1 << bit for bit in range(8))

T = TypeVar("T")


def encode(graph: Graph) -> bytes:
    """Encode a graph. `Unencodable` is raised for a graph that cannot be valid."""
    return _sealed(_Writer(graph, Program.encode, Graph.encode, names=True).payload())


def fingerprint(graph: Graph) -> str:
    """Hash what a graph means, and its interface.

    The digest does not include the names of the graph, its nodes, temporaries and programs, labels, and the order in
    which a node names its ranges.
    """
    payload = _Writer(
        graph,
        lambda program: bytes.fromhex(program.fingerprint()),
        lambda called: bytes.fromhex(called.fingerprint()),
        names=False,
    ).payload()
    return digest(b"fingerprint" + payload).hex()


def decode_graph(data: bytes | bytearray | memoryview) -> Graph:
    """Decode a graph from its wire form, without validating it."""
    return _decode(bytes_of(data, "decode_graph", "pass the bytes of `encode` of a graph"), 0)


def _decode(data: bytes, depth: int) -> Graph:
    reader = Reader(data, _check_header(data))
    graph = _GraphReader(reader, depth).graph()
    if reader.at < len(data):
        message = f"{len(data) - reader.at} bytes follow the end of the graph"
        fix = "give exactly the bytes of one graph"
        raise TrailingBytes(message, fix=fix, where=f"offset {reader.at}", offset=reader.at)
    if encode(graph) != data:
        refuse(NotCanonical, HEADER_SIZE, "the bytes are not the one spelling of the graph that they describe")
    return graph


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Writer:
    def __init__(
        self, graph: Graph, program: Callable[[Program], bytes], called: Callable[[Graph], bytes], *, names: bool
    ) -> None:
        self._graph, self._names = graph, names
        self._of_program, self._of_graph = program, called
        self._programs: dict[bytes, int] = {}
        self._graphs: dict[bytes, int] = {}
        self._numbers = {buffer.name: number for number, buffer in enumerate(graph.buffers)}

    def payload(self) -> bytes:
        try:
            if len(self._numbers) != len(self._graph.buffers):
                raise ValueError("two buffers have one name")
            body = self._nodes(self._graph.nodes)
            head = [_text(self._graph.name) if self._names else b"", *map(self._buffer, self._graph.buffers)]
            head.insert(1, _numbers(len(self._graph.buffers)))
            return b"".join((_blobs(self._programs), _blobs(self._graphs), *head, body))
        except (OverflowError, ValueError, KeyError) as error:
            message = f"graph {self._graph.name!r} has a field that the wire form has no bytes for ({error})"
            raise Unencodable(message, fix="validate the graph: no valid one has such a field") from error

    def _buffer(self, buffer: GraphBuffer) -> bytes:
        is_seen = self._names or buffer.kind is not BufferKind.TEMPORARY
        name = _text(buffer.name) if is_seen else b""
        return _numbers(KINDS.index(buffer.kind)) + name + _numbers(buffer.dtype.tag, buffer.count)

    def _nodes(self, nodes: Sequence[Node]) -> bytes:
        return _numbers(len(nodes)) + b"".join(map(self._node, nodes))

    def _node(self, node: Node) -> bytes:
        name = _text(node.name) if self._names else b""
        match node:
            case DispatchNode(program=program, ranges=ranges, config=config):
                number = _number_of(self._of_program(program), self._programs)
                fields = _numbers(number) + self._bindings(ranges) + _config(config, names=self._names)
                return _numbers(NodeTag.DISPATCH) + name + fields
            case UploadNode(data=data, target=target):
                return _numbers(NodeTag.UPLOAD) + name + _blob(data) + self._range(target)
            case DownloadNode(output=output, source=source):
                return _numbers(NodeTag.DOWNLOAD) + name + _text(output) + self._range(source)
            case CopyNode(source=source, target=target):
                return _numbers(NodeTag.COPY) + name + self._range(source) + self._range(target)
            case FillNode(element=element, target=target):
                return _numbers(NodeTag.FILL) + name + _blob(element) + self._range(target)
            case RepeatNode(limit=limit, until_zero=flag, body=body):
                has_flag = _numbers(0) if flag is None else _numbers(1) + self._range(flag)
                return _numbers(NodeTag.REPEAT) + name + _numbers(limit) + has_flag + self._nodes(body)
            case CallNode(graph=called, inputs=inputs, outputs=outputs):
                number = _number_of(self._of_graph(called), self._graphs)
                return (
                    _numbers(NodeTag.CALL) + name + _numbers(number) + self._bindings(inputs) + self._bindings(outputs)
                )

    def _bindings(self, ranges: Bindings) -> bytes:
        ordered = ranges if self._names else sorted(ranges)
        return _numbers(len(ranges)) + b"".join(_text(name) + self._range(part) for name, part in ordered)

    def _range(self, part: BufferRange) -> bytes:
        return _numbers(self._numbers[part.buffer], part.start, part.count)


def _sealed(payload: bytes) -> bytes:
    return MAGIC + VERSION.to_bytes(2, "little") + digest(payload) + payload


def _numbers(*numbers: int) -> bytes:
    return b"".join(write_column((number,)) for number in numbers)


def _blob(data: bytes) -> bytes:
    return _numbers(len(data)) + data


def _text(text: str) -> bytes:
    return _blob(text.encode())


def _blobs(table: Mapping[bytes, int]) -> bytes:
    return _numbers(len(table)) + b"".join(map(_blob, table))


def _number_of(blob: bytes, table: dict[bytes, int]) -> int:
    return table.setdefault(blob, len(table))


def _config(config: DispatchConfig, *, names: bool) -> bytes:
    if (config.timeout, config.max_output_bytes, config.profile) != (None, None, None):
        raise ValueError("a timeout, max_output_bytes or profile of a node")
    fields = {
        LABEL: None if config.label is None or not names else _text(config.label),
        ULP: _numbers(config.ulp_budget) if config.ulp_budget else None,
        WORKGROUP: None if config.workgroup_override is None else _numbers(*config.workgroup_override),
        GRID: None if config.grid_override is None else _numbers(*config.grid_override),
        ITERATIONS: _numbers(config.fixpoint_iterations) if config.fixpoint_iterations != 1 else None,
        SPECULATION: _preference(config.speculation),
        PERSISTENT: _preference(config.persistent_thread),
        COOPERATIVE: b"" if config.cooperative else None,
    }
    written = {bit: data for bit, data in fields.items() if data is not None}
    return _numbers(sum(written)) + b"".join(written.values())


def _preference(preference: Preference) -> bytes | None:
    return None if preference is Preference.AUTO else _numbers(PREFERENCES.index(preference))


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_header(data: bytes) -> int:
    if data[:4] != MAGIC[: len(data)]:
        message, fix = f"got {data[:4]!r}, expected {MAGIC!r}", "give the bytes of `encode` of a graph"
        raise BadMagic(message, fix=fix, where="offset 0", offset=0)
    if len(data) < HEADER_SIZE:
        message = f"got {len(data)} bytes, a header has {HEADER_SIZE}"
        raise Truncated(message, fix="give the whole graph", where=f"offset {len(data)}", offset=len(data))
    version = int.from_bytes(data[4:6], "little")
    if version != VERSION:
        fix = "decode it with the version of the library that wrote it, and encode it again"
        raise UnsupportedVersion(f"got version {version}, expected {VERSION}", fix=fix, where="offset 4", offset=4)
    if data[6:HEADER_SIZE] != digest(data[HEADER_SIZE:]):
        message, fix = "the bytes do not have the digest that the header gives", "get them again from where they came"
        raise DigestMismatch(message, fix=fix, where="offset 6", offset=6)
    return HEADER_SIZE


class _GraphReader:
    def __init__(self, reader: Reader, depth: int) -> None:
        self._reader, self._depth = reader, depth

    def graph(self) -> Graph:
        programs = [decode_program(self._blob()) for _ in range(self._reader.number())]
        self._programs = programs
        self._graphs = [self._called() for _ in range(self._reader.number())]
        name = self._text()
        self._buffers = [self._buffer() for _ in range(self._reader.number())]
        return Graph(name, tuple(self._buffers), self._nodes(0))

    def _called(self) -> Graph:
        if self._depth == MAX_NESTING:
            refuse(NestingTooDeep, self._reader.at, f"graphs are nested deeper than {MAX_NESTING}")
        return _decode(self._blob(), self._depth + 1)

    def _buffer(self) -> GraphBuffer:
        kind, name = self._one_of(KINDS, "kind of buffer"), self._text()
        return GraphBuffer(name, kind, self._dtype(), self._reader.number())

    def _nodes(self, depth: int) -> tuple[Node, ...]:
        if depth > MAX_NESTING:
            refuse(NestingTooDeep, self._reader.at, f"loops are nested deeper than {MAX_NESTING}")
        return tuple([self._node(depth) for _ in range(self._reader.number())])

    def _node(self, depth: int) -> Node:
        at, tag, name = self._reader.at, self._reader.number(), self._text()
        match tag:
            case NodeTag.DISPATCH:
                program = self._one_of(self._programs, "program")
                return DispatchNode(name, program, self._bindings(), self._config())
            case NodeTag.UPLOAD:
                return UploadNode(name, self._blob(), self._range())
            case NodeTag.DOWNLOAD:
                return DownloadNode(name, self._text(), self._range())
            case NodeTag.COPY:
                return CopyNode(name, self._range(), self._range())
            case NodeTag.FILL:
                return FillNode(name, self._blob(), self._range())
            case NodeTag.REPEAT:
                limit = self._reader.number()
                flag = self._range() if self._one_of((False, True), "flag of a loop") else None
                return RepeatNode(name, limit, flag, self._nodes(depth + 1))
            case NodeTag.CALL:
                called = self._one_of(self._graphs, "graph")
                return CallNode(name, called, self._bindings(), self._bindings())
            case _:
                refuse(UnknownTag, at, f"no node has the tag {tag}")

    def _bindings(self) -> Bindings:
        return tuple([(self._text(), self._range()) for _ in range(self._reader.number())])

    def _range(self) -> BufferRange:
        buffer = self._one_of(self._buffers, "buffer")
        return BufferRange(buffer.name, self._reader.number(), self._reader.number())

    def _config(self) -> DispatchConfig:
        at, mask, number = self._reader.at, self._reader.number(), self._reader.number
        with _malformed(at):
            return DispatchConfig(
                label=self._text() if mask & LABEL else None,
                ulp_budget=number() if mask & ULP else 0,
                workgroup_override=(number(), number(), number()) if mask & WORKGROUP else None,
                grid_override=(number(), number(), number()) if mask & GRID else None,
                fixpoint_iterations=number() if mask & ITERATIONS else 1,
                speculation=self._one_of(PREFERENCES, "preference")
                if mask & SPECULATION
                else DEFAULT_CONFIG.speculation,
                persistent_thread=self._one_of(PREFERENCES, "preference") if mask & PERSISTENT else Preference.AUTO,
                cooperative=bool(mask & COOPERATIVE),
            )

    def _dtype(self) -> DType:
        at, tag = self._reader.at, self._reader.number()
        try:
            return dtype_of_tag(tag)
        except KeyError:
            refuse(UnknownTag, at, f"no type has the tag {tag}")

    def _one_of(self, table: Sequence[T], what: str) -> T:
        at, number = self._reader.at, self._reader.number()
        if number >= len(table):
            refuse(Malformed, at, f"got {what} {number} of {len(table)}")
        return table[number]

    def _text(self) -> str:
        at = self._reader.at
        with _malformed(at):
            return self._blob().decode()

    def _blob(self) -> bytes:
        return self._reader.take(self._reader.number())


@contextmanager
def _malformed(at: int) -> Iterator[None]:
    """What a constructor refuses is malformed."""
    try:
        yield
    except (BackendError, UnicodeDecodeError) as error:
        refuse(Malformed, at, str(error), error)
