"""What a graph must be, checked before anything runs: all findings at once, each with the line that recorded it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from vyre_driver.errors import BackendError, InvalidGraph
from vyre_driver.graph.nodes import (
    MAX_NESTING,
    MAX_NODES,
    BufferKind,
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
    walk,
)
from vyre_driver.graph.ranges import ElementSet, accesses, plan_dispatch
from vyre_foundation.dtype import DType
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Finding, listed

RULES = MappingProxyType(
    {
        "G001": "Names of buffers, and names of outputs, are unique.",
        "G002": "A range lies within a buffer of the graph.",
        "G003": "A dispatch or a call binds every input and output by a name that exists.",
        "G004": "A range has the type of what it is bound to.",
        "G005": "A range has the length that it is bound with, and the launch has a plan.",
        "G006": "Of two ranges of one node that overlap, none is written.",
        "G007": "A temporary is written before it is read.",
        "G008": "A loop has at least one iteration, and its flag is one integer or bool.",
        "G009": "A dispatch in a graph uses what resident memory supports.",
        "G010": f"Loops, and calls, nest {MAX_NESTING} deep at most, and a graph has {MAX_NODES} nodes at most.",
    }
)
"""The rules of graphs by the code of their findings."""


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """What is known about a valid graph: its nodes by kind, and the bytes of its buffers by kind.

    `nodes` counts those of the graphs that it calls too, and `depth` is how deep calls nest; 0 without any.
    """

    nodes: int
    depth: int
    dispatches: int
    copies: int
    loops: int
    bytes: Mapping[BufferKind, int]

    def __repr__(self) -> str:
        held = ", ".join(f"{kind.value} {size} bytes" for kind, size in self.bytes.items() if size)
        return (
            f"<GraphFacts: {self.nodes} nodes, {self.dispatches} dispatches, {self.loops} loops; {held or 'no bytes'}>"
        )


def validate(graph: Graph) -> GraphFacts:
    """Check a graph.

    Args:
        graph: The graph.

    Returns:
        What is known about it.

    Raises:
        InvalidGraph: With all findings, in recorded order.
    """
    findings = _Validation(graph).findings()
    if findings:
        raise InvalidGraph(graph.name, findings)
    nodes = list(walk(graph.nodes))
    called = [node.graph.validate() for node in nodes if isinstance(node, CallNode)]
    return GraphFacts(
        nodes=len(nodes) + sum(facts.nodes for facts in called),
        depth=max((1 + facts.depth for facts in called), default=0),
        dispatches=sum(isinstance(node, DispatchNode) for node in nodes),
        copies=sum(isinstance(node, CopyNode | FillNode | UploadNode) for node in nodes),
        loops=sum(isinstance(node, RepeatNode) for node in nodes),
        bytes={kind: sum(buffer.byte_len for buffer in graph.of(kind)) for kind in BufferKind},
    )


class _Validation:
    """Findings about one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._buffers = {buffer.name: buffer for buffer in graph.buffers}
        self._written: dict[str, ElementSet] = {b.name: ElementSet() for b in graph.of(BufferKind.TEMPORARY)}
        self._reported: set[str] = set()

    def findings(self) -> tuple[Finding, ...]:
        if _is_deeper(self._graph.nodes, MAX_NESTING):
            return (Finding("G010", "nodes", f"loops nest deeper than {MAX_NESTING}", "nest less", self._graph.origin),)
        found = (*self._of_names(), *self._of_nodes(self._graph.nodes, ""))
        return found or tuple(self._of_size())

    def _of_size(self) -> Iterator[Finding]:
        """Of a graph without other findings, whose calls have been validated."""
        nodes = list(walk(self._graph.nodes))
        called = [node.graph.validate() for node in nodes if isinstance(node, CallNode)]
        total = len(nodes) + sum(facts.nodes for facts in called)
        if total > MAX_NODES:
            message = f"the graph has {total} nodes with those of its calls, at most {MAX_NODES} are allowed"
            yield Finding("G010", "nodes", message, "use loops, or several graphs", self._graph.origin)
        if any(facts.depth >= MAX_NESTING for facts in called):
            yield Finding("G010", "nodes", f"calls nest deeper than {MAX_NESTING}", "nest less", self._graph.origin)

    def _of_names(self) -> Iterator[Finding]:
        seen: set[str] = set()
        for buffer in self._graph.buffers:
            if buffer.name in seen:
                yield Finding(
                    "G001", f"buffer {buffer.name!r}", "another buffer has this name", "choose another", buffer.origin
                )
            seen.add(buffer.name)
        outputs = Counter(node.output for node in self._graph.outputs)
        for node in self._graph.outputs:
            if outputs[node.output] > 1:
                outputs[node.output] = 0
                yield Finding(
                    "G001", node.name, f"several outputs are called {node.output!r}", "name each once", node.origin
                )

    def _of_nodes(self, nodes: Iterable[Node], path: str) -> Iterator[Finding]:
        for node in nodes:
            where = f"{path}{node.name}"
            found = list(self._of_ranges(node, where))
            if not found:
                found = list(self._of_node(node, where))
            yield from found
            if isinstance(node, RepeatNode):
                yield from self._of_nodes(node.body, f"{where}.")
                yield from self._of_flag_at_end(node, where)
            elif found:  # which may be why a temporary is not written
                self._reported |= {part.buffer for _, part in _named_ranges(node)}
            else:
                yield from self._of_reads(node, where)
                for part in accesses(self._graph, node).writes:
                    self._write(part)

    # ── ranges ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _of_ranges(self, node: Node, where: str) -> Iterator[Finding]:
        for name, part in _named_ranges(node):
            place = f"{where}, {name}" if name else where
            buffer = self._buffers.get(part.buffer)
            if buffer is None:
                yield Finding(
                    "G002", place, f"there is no buffer {part.buffer!r}", "declare it in this graph", node.origin
                )
            elif not 0 <= part.start <= part.stop <= buffer.count:
                message = f"got {part}, expected a range within the {buffer.count} elements of {part.buffer!r}"
                yield Finding("G002", place, message, "slice within the buffer, or declare a longer one", node.origin)

    def _of_node(self, node: Node, where: str) -> Iterator[Finding]:
        match node:
            case DispatchNode():
                yield from self._of_dispatch(node, where)
            case CallNode():
                yield from self._of_call(node, where)
            case CopyNode(source=source, target=target):
                yield from self._of_pair(source, target, where, node.origin)
            case UploadNode(data=data, target=target):
                if len(data) != self._graph.byte_len(target):
                    message = f"got {len(data)} bytes for {target}, expected {self._graph.byte_len(target)}"
                    yield Finding("G005", where, message, "pass as many elements as the range has", node.origin)
            case FillNode(element=element, target=target):
                dtype = self._buffers[target.buffer].dtype
                if len(element) != dtype.size:
                    message = f"got an element of {len(element)} bytes, expected {dtype.size} ({dtype})"
                    yield Finding("G004", where, message, "pass a number of the type of the range", node.origin)
            case RepeatNode():
                yield from self._of_loop(node, where)
            case DownloadNode():
                pass
        yield from self._of_overlaps(node, where)

    def _of_pair(
        self, source: BufferRange, target: BufferRange, where: str, origin: Origin | None
    ) -> Iterator[Finding]:
        first, second = self._buffers[source.buffer].dtype, self._buffers[target.buffer].dtype
        if source.count * first.size != target.count * second.size:
            message = f"got {source.count} elements of {first} for {target.count} of {second}"
            yield Finding("G005", where, message, "copy between ranges of as many bytes", origin)

    def _of_loop(self, node: RepeatNode, where: str) -> Iterator[Finding]:
        if node.limit < 1:
            fix = "pass a limit of at least 1, or leave the loop out"
            yield Finding("G008", where, f"got a limit of {node.limit} iterations", fix, node.origin)
        if node.until_zero is None:
            return
        dtype, fix = self._buffers[node.until_zero.buffer].dtype, "pass a range of one u32"
        if node.until_zero.count != 1 or dtype.is_float:
            message = f"got {node.until_zero.count} elements of {dtype} as the flag, expected one integer or bool"
            yield Finding("G008", where, message, fix, node.origin)

    def _of_flag_at_end(self, node: RepeatNode, where: str) -> Iterator[Finding]:
        if node.until_zero is not None and node.until_zero.buffer in self._buffers:
            yield from self._of_read(node.until_zero, f"{where}, until_zero", node.origin)

    # ── dispatches and calls ─────────────────────────────────────────────────────────────────────────────────────────

    def _of_dispatch(self, node: DispatchNode, where: str) -> Iterator[Finding]:
        found = list(_unsupported(node, where))
        declared = {buffer.name: buffer.dtype for buffer in (*node.program.inputs, *node.program.outputs)}
        ranges = dict(node.ranges)
        found += self._of_bindings(declared, ranges, where, node.origin, f"program {node.program.name!r}")
        if found:
            yield from found
            return
        try:
            plan = plan_dispatch(node.program, ranges, node.config)
        except BackendError as error:
            yield Finding("G005", where, _message(error), error.fix, node.origin)
            return
        for layout in plan.outputs:
            got, needed = ranges[layout.buffer].count, plan.lengths[layout.buffer]
            if got != needed:
                message = f"{layout.buffer!r} got {got} elements, expected {needed} by the program's rules"
                yield Finding("G005", where, message, "pass a range of that length", node.origin)

    def _of_call(self, node: CallNode, where: str) -> Iterator[Finding]:
        called = node.graph
        try:
            called.validate()
        except InvalidGraph as error:
            yield Finding(
                "G005", where, f"the graph {called.name!r} is not valid: {error.findings[0]}", "repair it", node.origin
            )
            return
        given = (*called.of(BufferKind.INPUT), *called.of(BufferKind.RESIDENT))
        lengths = {buffer.name: buffer.count for buffer in given}
        yield from self._of_bindings(
            {b.name: b.dtype for b in given}, dict(node.inputs), where, node.origin, f"graph {called.name!r}", lengths
        )
        outputs = {n.output: n.source for n in called.outputs}
        dtypes = {name: called.buffer(source.buffer).dtype for name, source in outputs.items()}
        counts = {name: source.count for name, source in outputs.items()}
        yield from self._of_bindings(dtypes, dict(node.outputs), where, node.origin, f"graph {called.name!r}", counts)

    def _of_bindings(
        self,
        declared: Mapping[str, DType],
        ranges: Mapping[str, BufferRange],
        where: str,
        origin: Origin | None,
        what: str,
        lengths: Mapping[str, int] | None = None,
    ) -> Iterator[Finding]:
        names = ", ".join(declared) or "none"
        for name in ranges:
            if name not in declared:
                yield Finding(
                    "G003", where, f"{what} has no {name!r}, it has {names}", "pass ranges by those names", origin
                )
        for name, dtype in declared.items():
            if name not in ranges:
                yield Finding("G003", where, f"{what} got no range for {name!r}", f"pass {name}=…", origin)
                continue
            got = self._buffers[ranges[name].buffer].dtype
            if got is not dtype:
                fix = f"declare the buffer with {dtype}, or convert it in a program"
                yield Finding("G004", where, f"{name!r} got a range of {got}, expected {dtype}", fix, origin)
            elif lengths is not None and ranges[name].count != lengths[name]:
                message = f"{name!r} got {ranges[name].count} elements, expected {lengths[name]}"
                yield Finding("G005", where, message, "pass a range of that length", origin)

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _of_overlaps(self, node: Node, where: str) -> Iterator[Finding]:
        """Two ranges of one node of which one is written, other than one range that is both."""
        if isinstance(node, RepeatNode):
            return
        written = {name for name, part in _named_ranges(node) if part in _written(self._graph, node, name)}
        named = _named_ranges(node)
        for number, (name, part) in enumerate(named):
            for other, second in named[:number]:
                if part.overlaps(second) and (name in written or other in written):
                    message = f"{other!r} is {second} and {name!r} is {part}: they overlap, and one is written"
                    fix = "use ranges apart, or copy one of them to a temporary first"
                    yield Finding("G006", where, message, fix, node.origin)

    def _of_reads(self, node: Node, where: str) -> Iterator[Finding]:
        for part in accesses(self._graph, node).reads:
            yield from self._of_read(part, where, node.origin)

    def _of_read(self, part: BufferRange, where: str, origin: Origin | None) -> Iterator[Finding]:
        written = self._written.get(part.buffer)
        if written is None or part.buffer in self._reported:
            return
        missing = written.missing(part.start, part.stop)
        if missing is not None:
            self._reported.add(part.buffer)
            message = f"{part} is read, and nothing has written element {missing} of the temporary {part.buffer!r}"
            yield Finding("G007", where, message, "fill it first, or let a node before this one write to it", origin)

    def _write(self, part: BufferRange) -> None:
        if part.buffer in self._written:
            self._written[part.buffer].add(part.start, part.stop)


def _is_deeper(nodes: tuple[Node, ...], levels: int) -> bool:
    """Whether loops nest deeper than `levels`."""
    bodies: list[tuple[Node, ...]] = [nodes]
    for _ in range(levels + 1):
        bodies = [node.body for body in bodies for node in body if isinstance(node, RepeatNode)]
    return bool(bodies)


def _named_ranges(node: Node) -> list[tuple[str, BufferRange]]:
    """The ranges of a node with the names that messages give them."""
    match node:
        case DispatchNode(ranges=ranges):
            return list(ranges)
        case CallNode(inputs=inputs, outputs=outputs):
            return [*inputs, *outputs]
        case CopyNode(source=source, target=target):
            return [("source", source), ("target", target)]
        case UploadNode(target=target) | FillNode(target=target):
            return [("target", target)]
        case DownloadNode(source=source):
            return [("source", source)]
        case RepeatNode(until_zero=flag):
            return [] if flag is None else [("until_zero", flag)]


def _written(graph: Graph, node: Node, name: str) -> tuple[BufferRange, ...]:
    """The ranges that a node writes, of those that it binds by this name."""
    match node:
        case DispatchNode(program=program):
            outputs = {buffer.name for buffer in program.outputs}
            return tuple([part for key, part in node.ranges if key == name and key in outputs])
        case CallNode():
            changed = accesses(graph, node).writes
            return tuple([part for key, part in (*node.inputs, *node.outputs) if key == name and part in changed])
        case _:
            return accesses(graph, node).writes if name == "target" else ()


def _unsupported(node: DispatchNode, where: str) -> Iterator[Finding]:
    program: Program = node.program
    for buffer in program.buffers:
        if buffer.memory is Memory.PERSISTENT:
            message, fix = (
                f"{buffer.name!r} is persistent memory",
                "declare it as read_write, and bind a resident buffer",
            )
            yield Finding("G009", where, message, fix, node.origin)
        if buffer.output_range is not None:
            message, fix = (
                f"{buffer.name!r} has an output range",
                "declare it without, and output a slice of the buffer",
            )
            yield Finding("G009", where, message, fix, node.origin)
    for field in ("timeout", "max_output_bytes", "profile"):
        if getattr(node.config, field) is not None:
            message, fix = f"the configuration has a {field}, which is not a node's", "leave it out of the node"
            yield Finding("G009", where, message, fix, node.origin)


def _message(error: BackendError) -> str:
    """What an error says, without its remedy."""
    findings = getattr(error, "findings", ())
    text = "; ".join(listed(findings)) if findings else error.message
    return f"{error.where}: {text}" if error.where else text
