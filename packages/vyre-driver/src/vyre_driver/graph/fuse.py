"""Vertical fusion: a dispatch that reads what another has written, each element at its own index, becomes part of it.

The proof of alignment is syntactic. A dispatch is *elementwise* over n elements if

- its invocations are counted on x alone, there are at least n, and nothing but the global id tells them apart: no ids
  of workgroups, no barriers, atomics, subgroup operations, traps, or memory that a workgroup or the grid shares;
- it writes nothing but ranges of n elements, and stores to them at the global id alone.

Two elementwise dispatches over one n, a producer and a consumer, are fused if every range that one of the two writes
and the other uses is the same range for both, and both use it at the global id alone. Then no invocation uses an
element that another one writes, so one invocation may run both bodies, one after the other. Stores of invocations
behind the last element are dropped, so what these compute cannot be observed.

A range that the producer writes and the consumer reads is passed on in a variable. A temporary that no other node uses
is not stored at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.graph.flatten import FlatGraph
from vyre_driver.graph.nodes import BufferKind, BufferRange, DispatchNode, Graph, Node, RepeatNode, walk
from vyre_driver.graph.ranges import NodeAccesses, accesses, plan_dispatch
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, LengthOf, Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Length, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import renamed
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Barrier,
    Body,
    For,
    If,
    IndirectDispatch,
    Let,
    Return,
    Stmt,
    Store,
    Subgroup,
    Trap,
    Var,
)
from vyre_foundation.ir.walk import rewrite, rewrite_body, statements, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.validate import InvalidProgram

MAX_BUFFERS = 12
"""Bound buffers of a fused program: devices take a limited number of arguments."""
MAX_STATEMENTS = 256
"""Of a fused program: values of a long one do not fit in registers."""
MAX_DISTANCE = 64
"""Nodes between two that are fused."""

MAX_NAME = 200
"""Characters of the name of a fused program."""

GID = Id(IdKind.GLOBAL_ID, 0)
MEMORY = (Memory.STORAGE, Memory.UNIFORM, Memory.CONSTANT, Memory.PRIVATE)
ORDERED = (Atomic, Barrier, IndirectDispatch, Return, Subgroup, Trap)
"""Statements that an elementwise program does not have."""


def fuse(flat: FlatGraph) -> FlatGraph:
    """Fuse elementwise dispatches of a flat graph with the dispatches that they read from; itself if there are none."""
    graph = flat.graph
    uses = Counter(part.buffer for node in walk(graph.nodes) for part in _own_ranges(graph, node))
    uses.update(part.buffer for _, part in flat.downloads)
    nodes = _Fusion(graph, uses).body(graph.nodes)
    return flat if nodes == graph.nodes else replace(flat, graph=replace(graph, nodes=nodes))


def _own_ranges(graph: Graph, node: Node) -> Iterator[BufferRange]:
    if isinstance(node, RepeatNode):
        yield from () if node.until_zero is None else (node.until_zero,)
    elif isinstance(node, DispatchNode):
        yield from (part for _, part in node.ranges)
    else:
        found = accesses(graph, node)
        yield from (*found.reads, *found.writes)


@dataclass(frozen=True, slots=True)
class Elementwise:
    """What the proof knows about a program: the buffers that it uses at the global id alone, by name."""

    program: Program
    aligned: frozenset[str]
    surely_written: frozenset[str]
    """Buffers that every invocation stores to."""
    has_loops: bool


def elementwise(program: Program) -> Elementwise | None:
    """The proof for one program, with locals that are the global id replaced by it; None if it is not elementwise."""
    return program.memoised(_elementwise)


def _elementwise(program: Program) -> Elementwise | None:
    if program.subgroup_size is not None or program.workgroup_size[1:] != (1, 1):
        return None
    if any(b.memory not in MEMORY or b.output_range is not None for b in program.buffers):
        return None
    own = {stmt.name: stmt.value for stmt in program.of(Let) if stmt.value is GID}
    program = replace(program, body=renamed(program.body, {}, own)) if own else program
    if any(program.of(kind) for kind in ORDERED):
        return None
    if any(node is not GID for node in program.code.of(Id)):
        return None
    if any(s.index is not GID and s.buffer.memory is Memory.STORAGE for s in program.of(Store)):
        return None
    elsewhere = {load.buffer.name for load in program.code.of(Load) if load.index is not GID}
    return Elementwise(
        program,
        frozenset(buffer.name for buffer in program.buffers) - elsewhere,
        frozenset(stmt.buffer.name for stmt in program.body if isinstance(stmt, Store)),
        bool(program.of(For)),
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An elementwise dispatch over `count` elements."""

    node: DispatchNode
    proof: Elementwise
    count: int


class _Fusion:
    def __init__(self, graph: Graph, uses: Counter[str]) -> None:
        self._graph, self._uses = graph, uses

    def body(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The nodes of one body, fused where it is proven."""
        work: list[Node] = [
            replace(node, body=self.body(node.body)) if isinstance(node, RepeatNode) else node for node in nodes
        ]
        found = [self._candidate(node) for node in work]
        uses = [accesses(self._graph, node) for node in work]
        number = 0
        while number < len(work):
            consumer = found[number]
            merged = None if consumer is None else self._with_producer(consumer, number, found, uses)
            if merged is None:
                number += 1
                continue
            producer, place, node = merged
            rest = number if place == producer else producer
            work[place], found[place], uses[place] = node, self._candidate(node), accesses(self._graph, node)
            del work[rest], found[rest], uses[rest]
            number = place if place < rest else place - 1
        return (
            nodes if len(work) == len(nodes) and all(a is b for a, b in zip(work, nodes, strict=True)) else tuple(work)
        )

    def _candidate(self, node: Node) -> _Candidate | None:
        if not isinstance(node, DispatchNode) or node.config.replace(grid_override=None, label=None) != DEFAULT_CONFIG:
            return None
        proof = elementwise(node.program)
        if proof is None:
            return None
        ranges = dict(node.ranges)
        counts = {ranges[buffer.name].count for buffer in node.program.outputs}
        grid = plan_dispatch(node.program, ranges, node.config).grid
        if len(counts) != 1 or grid[1:] != (1, 1):
            return None
        (count,) = counts
        if not 0 < count <= grid[0] * node.program.workgroup_size[0]:
            return None
        return _Candidate(node, proof, count)

    def _with_producer(
        self,
        consumer: _Candidate,
        number: int,
        found: Sequence[_Candidate | None],
        uses: Sequence[NodeAccesses],
    ) -> tuple[int, int, DispatchNode] | None:
        """The nearest producer that the consumer at `number` is fused with, where the fused node goes, and the node."""
        for earlier in range(number - 1, max(-1, number - 1 - MAX_DISTANCE), -1):
            producer = found[earlier]
            if producer is None or producer.count != consumer.count:
                continue
            if not any(w.overlaps(r) for w in uses[earlier].writes for r in uses[number].reads):
                continue
            between = range(earlier + 1, number)
            if not any(uses[earlier].conflicts(uses[n]) for n in between):
                place = number
            elif not any(uses[n].conflicts(uses[number]) for n in between):
                place = earlier
            else:
                continue
            node = self._fused(producer, consumer)
            if node is not None:
                return earlier, place, node
        return None

    def _fused(self, first: _Candidate, second: _Candidate) -> DispatchNode | None:
        shared = _shared(first, second)
        if shared is None:
            return None
        merge = _Merge(
            first, second, shared, {name for name in shared.values() if self._is_dropped(name, first, second)}
        )
        program = merge.program()
        if sum(b.memory.is_bound for b in program.buffers) > MAX_BUFFERS or len(program.statements) > MAX_STATEMENTS:
            return None
        try:
            program.validate()
        except InvalidProgram:  # such as blocks that are nested too deep
            return None
        groups = -(-first.count // program.workgroup_size[0])
        config = DispatchConfig(grid_override=(groups, 1, 1))
        name, ranges = f"{first.node.name}+{second.node.name}", merge.ranges()
        self._uses.subtract(part.buffer for candidate in (first, second) for _, part in candidate.node.ranges)
        self._uses.update(part.buffer for _, part in ranges)
        return DispatchNode(name, program, ranges, config, second.node.origin)

    def _is_dropped(self, name: str, first: _Candidate, second: _Candidate) -> bool:
        """Whether nothing sees what the producer writes to its buffer of this name but the consumer."""
        part = dict(first.node.ranges)[name]
        used_here = sum(other.buffer == part.buffer for c in (first, second) for _, other in c.node.ranges)
        return (
            self._graph.buffer(part.buffer).kind is BufferKind.TEMPORARY
            and self._uses[part.buffer] == used_here
            and first.node.program.buffer(name).access is Access.WRITE
            and all(
                second.node.program.buffer(key).access is Access.READ
                for key, other in second.node.ranges
                if other.buffer == part.buffer
            )
        )


def _shared(first: _Candidate, second: _Candidate) -> dict[str, str] | None:
    """The buffers of the second program that are one with a buffer of the first, name by name.

    None if a range that one of the two writes is used by the other in another place, or not at the global id alone.
    """
    shared: dict[str, str] = {}
    for name, part in second.node.ranges:
        buffer = second.proof.program.buffer(name)
        for other, range_of_other in first.node.ranges:
            known = first.proof.program.buffer(other)
            if not part.overlaps(range_of_other):
                continue
            if not (buffer.access.writes or known.access.writes):
                if part == range_of_other and buffer.memory is known.memory:
                    shared.setdefault(name, other)
                continue
            is_aligned = name in second.proof.aligned and other in first.proof.aligned
            if part != range_of_other or not is_aligned or name in shared:
                return None
            if Memory.UNIFORM in (buffer.memory, known.memory):
                return None
            if buffer.access is Access.WRITE and (known.access.writes or name not in second.proof.surely_written):
                return None
            shared[name] = other
    return shared


class _Merge:
    """One program out of two.

    `shared` are the buffers of the second that are one with a buffer of the first; those of the first that are
    `dropped` are not stored.
    """

    def __init__(self, first: _Candidate, second: _Candidate, shared: Mapping[str, str], dropped: set[str]) -> None:
        self._first, self._second, self._dropped = first, second, dropped
        fresh = Fresh.of(first.proof.program)
        self._names = {b.name: shared.get(b.name) or fresh(b.name) for b in second.proof.program.buffers}
        self._locals = {name: fresh(name) for name in _declared_locals(second.proof.program)}
        self._passed = {
            other: fresh(f"{other}_element")
            for name, other in shared.items()
            if first.proof.program.buffer(other).access is Access.WRITE
        }
        self._declared = self._declarations()

    def ranges(self) -> tuple[tuple[str, BufferRange], ...]:
        """The range of each bound buffer."""
        found = {name: part for name, part in self._first.node.ranges if name not in self._dropped}
        for name, part in self._second.node.ranges:
            if self._names[name] not in self._dropped:
                found.setdefault(self._names[name], part)
        return tuple(found.items())

    def program(self) -> Program:
        """The fused program."""
        first, second = self._first.proof.program, self._second.proof.program
        start = [Var(name, literal(first.buffer(other).dtype, 0)) for other, name in self._passed.items()]
        own_names = {buffer.name: buffer.name for buffer in first.buffers}
        body: Body = (
            *start,
            *self._body(first.body, own_names),
            *self._body(renamed(second.body, self._locals, {}), self._names),
        )
        if self._first.proof.has_loops or self._second.proof.has_loops:  # whose bounds may be anything behind the end
            body = (If(Apply(OPS["lt"], GID, literal(GID.dtype, self._first.count)), body),)
        name = f"{first.name}_{second.name}"
        return Program(name[:MAX_NAME], tuple(self._declared.values()), second.workgroup_size, body)

    def _body(self, body: Body, names: Mapping[str, str]) -> Body:
        """The statements of one of the two over the buffers of the fused program."""
        memo: dict[Expr, Expr] = {}

        def node(expr: Expr) -> Expr:
            match expr:
                case Load(buffer) if names[buffer.name] in self._passed:
                    return Local(self._passed[names[buffer.name]], buffer.dtype)
                case Load(buffer, index):
                    return Load(self._declared[names[buffer.name]], index)
                case Length(buffer) if names[buffer.name] in self._dropped:
                    return literal(expr.dtype, self._first.count)
                case Length(buffer):
                    return Length(self._declared[names[buffer.name]])
            return expr

        def statement(stmt: Stmt) -> Stmt | Body:
            stmt = with_expressions(stmt, lambda expr: rewrite(expr, node, memo))
            if not isinstance(stmt, Store):
                return stmt
            name = names[stmt.buffer.name]
            if name not in self._passed:
                return replace(stmt, buffer=self._declared[name])
            local = self._passed[name]
            assign = Assign(local, stmt.value)
            if name in self._dropped:
                return assign
            return (assign, Store(self._declared[name], GID, Local(local, stmt.buffer.dtype)))

        return rewrite_body(body, statement)

    def _declarations(self) -> dict[str, Buffer]:
        """The buffers of the fused program by name: bound ones first, numbered in order."""
        merged: dict[str, tuple[Buffer, Access, int | None]] = {}
        for candidate, names in ((self._first, None), (self._second, self._names)):
            ranges = dict(candidate.node.ranges)
            for buffer in candidate.proof.program.buffers:
                name = buffer.name if names is None else names[buffer.name]
                count = ranges[buffer.name].count if buffer.name in ranges else None
                known = merged.get(name)
                merged[name] = (
                    buffer if known is None else known[0],
                    _union(known, buffer, name in self._passed),
                    count,
                )
        for name in self._dropped:
            del merged[name]
        sources = [
            name
            for name, (buffer, access, count) in merged.items()
            if buffer.count is RUNTIME
            and buffer.memory is Memory.STORAGE
            and access.reads
            and count == self._first.count
        ]
        model = sources[0] if sources else None
        found: dict[str, Buffer] = {}
        bound = [name for name, (buffer, _, _) in merged.items() if buffer.memory.is_bound]
        for name in sorted(merged, key=lambda name: name not in bound):
            buffer, access, count = merged[name]
            binding = len(found) if buffer.memory.is_bound else None
            rule = buffer.count
            if count is not None and (isinstance(rule, LengthOf) or (rule is RUNTIME and not access.reads)):
                rule = count if model is None or count != self._first.count else LengthOf(model)
            found[name] = Buffer(name, buffer.dtype, access, buffer.memory, rule, binding, buffer.data)
        return found


def _union(known: tuple[Buffer, Access, int | None] | None, buffer: Buffer, is_passed: bool) -> Access:
    if known is None or known[1] is buffer.access:
        return buffer.access
    return Access.WRITE if is_passed else Access.READ_WRITE


def _declared_locals(program: Program) -> Iterator[str]:
    for stmt in statements(program.body):
        if isinstance(stmt, Let | Var | For):
            yield stmt.name
