"""Horizontal fusion: independent small dispatches of one program become one launch over the concatenated grid.

A group is dispatches of one body with equal programs, grids and lengths that do not depend on each other. The program
is rewritten: the workgroups of member k are those from ``k * grid.x`` on, and it uses its part of each buffer. The
parts of all members are at equal distances in one buffer. Where they are buffers of their own they become parts of one,
which is uploaded and read back at once. An index outside of the part of a member stays out of bounds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent
from vyre_driver.graph.edges import edges, waves
from vyre_driver.graph.flatten import FlatGraph, relocated, relocated_range
from vyre_driver.graph.nodes import BufferKind, BufferRange, DispatchNode, Graph, GraphBuffer, Node, RepeatNode, leaves
from vyre_driver.graph.ranges import plan_dispatch
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Length, Load, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import renamed
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, Let, Scope, Stmt, Store, Trap
from vyre_foundation.ir.walk import rebuilt, rewrite_body, transform, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.validate import InvalidProgram

MOST_INVOCATIONS = 2**16
"""Of a member: larger launches keep a device busy by themselves."""
MOST_BYTES = 2**24
"""Of one buffer of a launch."""
MOST_TRIES = 16
"""Groups that may turn out to have no common memory."""
OUTSIDE = 2**32 - 1
"""An index that is out of bounds in every buffer."""

GID, WID = Id(IdKind.GLOBAL_ID, 0), Id(IdKind.WORKGROUP_ID, 0)


def batch(flat: FlatGraph) -> FlatGraph:
    """Launch independent dispatches of equal programs together; the graph itself where there are none.

    Args:
        flat: A flat graph, after vertical fusion.

    Returns:
        The graph with equal outputs. Buffers that have become parts of others are in its `parts`.
    """
    refused: set[str] = set()
    for _ in range(MOST_TRIES):
        groups = [group for group in _groups(flat.graph, flat.graph.nodes) if group.name not in refused]
        if not groups:
            break
        try:
            return _Batching(flat, groups).result()
        except _NoCommonMemory as found:
            refused.add(found.group)
    return flat


class _NoCommonMemory(Exception):
    """The members of a group have no parts at equal distances."""

    def __init__(self, group: str) -> None:
        super().__init__(group)
        self.group = group


@dataclass(eq=False)
class _Group:
    """Dispatches that are launched together. `strides` are in elements by buffer of the program."""

    members: list[DispatchNode]
    grid: Extent
    name: str
    strides: dict[str, int] = field(default_factory=dict)
    ranges: dict[str, BufferRange] = field(default_factory=dict)


def _groups(graph: Graph, nodes: Sequence[Node]) -> Iterator[_Group]:
    """The groups of a body, and of those within it."""
    for node in nodes:
        if isinstance(node, RepeatNode):
            yield from _groups(graph, node.body)
    alike: defaultdict[object, list[int]] = defaultdict(list)
    for number, node in enumerate(nodes):
        if isinstance(node, DispatchNode) and is_batchable(node.program):
            counts = tuple([part.count for _, part in node.ranges])
            alike[node.program, node.config.replace(label=None), counts].append(number)
    several = [numbers for numbers in alike.values() if len(numbers) > 1]
    if not several:
        return
    wave = waves(edges(graph, nodes))
    for numbers in several:
        batches: defaultdict[int, list[DispatchNode]] = defaultdict(list)
        for number in numbers:
            node = nodes[number]
            assert isinstance(node, DispatchNode)
            batches[wave[number]].append(node)
        for members in batches.values():
            grid = _small_grid(members[0]) if len(members) > 1 else None
            if grid is not None:
                yield _Group(members, grid, f"{members[0].name} … {members[-1].name} ({len(members)})")


def _small_grid(node: DispatchNode) -> Extent | None:
    """The grid of a dispatch that may be a member; None if it is large, or has options."""
    if node.config.replace(grid_override=None, label=None) != DEFAULT_CONFIG:
        return None
    grid = plan_dispatch(node.program, dict(node.ranges), node.config).grid
    return grid if 0 < prod(grid) * prod(node.program.workgroup_size) <= MOST_INVOCATIONS else None


def is_batchable(program: Program) -> bool:
    """Whether launches of a program can be one: nothing but indices tells its workgroups where they are."""
    return program.memoised(_is_batchable)


def _is_batchable(program: Program) -> bool:
    if find_indirect_dispatch(program) is not None or program.of(Trap):
        return False
    if any(stmt.scope is Scope.GRID for stmt in program.of(Barrier)):
        return False
    for buffer in program.buffers:
        if buffer.output_range is not None or not (buffer.memory.is_bound or isinstance(buffer.count, int)):
            return False
    accesses: list[Load | Store | Atomic] = [*program.code.of(Load), *program.of(Store), *program.of(Atomic)]
    return all(a.index.dtype is u32 or not a.buffer.memory.is_bound for a in accesses)


class _Batching:
    """Finds common memory for groups, and rewrites the graph."""

    def __init__(self, flat: FlatGraph, groups: Sequence[_Group]) -> None:
        self._flat, self._graph = flat, flat.graph
        self._buffers = {buffer.name: buffer for buffer in flat.graph.buffers}
        self._constants = dict(flat.constants)
        self._parts: dict[str, BufferRange] = {}
        self._packed_by: dict[str, str] = {}
        self._group_of = {node.name: group for group in groups for node in group.members}
        for group in groups:
            self._place(group)
        for node in leaves(self._graph.nodes):
            if isinstance(node, DispatchNode) and node.name not in self._group_of:
                for _, part in node.ranges:
                    if part.buffer in self._packed_by:
                        raise _NoCommonMemory(self._packed_by[part.buffer])

    def result(self) -> FlatGraph:
        """The rewritten graph."""
        nodes = self._body(self._graph.nodes)
        graph = replace(self._graph, buffers=tuple(self._buffers.values()), nodes=nodes)
        downloads = tuple([(name, relocated_range(part, self._parts)) for name, part in self._flat.downloads])
        return FlatGraph(graph, self._constants, downloads, self._parts)

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _place(self, group: _Group) -> None:
        """Find the memory of each buffer of a group's program, and the order of its members."""
        names = [name for name, _ in group.members[0].ranges]
        rows = {
            node.name: {name: relocated_range(part, self._parts) for name, part in node.ranges}
            for node in group.members
        }
        for name in names:
            found = {rows[node.name][name] for node in group.members}
            if len(found) > 1 and len({part.buffer for part in found}) == 1:
                group.members.sort(key=lambda node: rows[node.name][name].start)
                break
        for name in names:
            column = [relocated_range(rows[node.name][name], self._parts) for node in group.members]
            if len({part.buffer for part in column}) > 1:
                column = self._packed(group, column)
            stride, count = column[1].start - column[0].start, column[0].count
            steps = {b.start - a.start for a, b in pairwise(column)}
            access = group.members[0].program.buffer(name).access
            is_apart = stride == count if access is Access.WRITE else stride >= count or not access.writes
            if len(steps) > 1 or stride < 0 or not is_apart:
                raise _NoCommonMemory(group.name)
            whole = BufferRange(column[0].buffer, column[0].start, stride * (len(column) - 1) + count)
            if whole.count * self._buffers[whole.buffer].dtype.size > MOST_BYTES:
                raise _NoCommonMemory(group.name)
            group.strides[name], group.ranges[name] = stride, whole
        declared = group.members[0].program
        for name, part in group.ranges.items():
            others = [other for key, other in group.ranges.items() if key != name]
            if declared.buffer(name).access.writes and any(part.overlaps(other) for other in others):
                raise _NoCommonMemory(group.name)

    def _packed(self, group: _Group, column: Sequence[BufferRange]) -> list[BufferRange]:
        """The parts of one new buffer that take the place of whole buffers."""
        buffers = [self._buffers[part.buffer] for part in column]
        first = buffers[0]
        kinds = {(b.kind, b.dtype, b.count, b.name in self._constants) for b in buffers}
        is_free = all(part.start == 0 and part.count == first.count for part in column)
        if len(kinds) > 1 or not is_free or len({b.name for b in buffers}) < len(buffers):
            raise _NoCommonMemory(group.name)
        if first.kind is BufferKind.RESIDENT or any(self._packed_by.get(b.name) for b in buffers):
            raise _NoCommonMemory(group.name)
        name = f"{first.name} … {buffers[-1].name}"
        if name in self._buffers:
            raise _NoCommonMemory(group.name)
        made = GraphBuffer(name, first.kind, first.dtype, first.count * len(buffers), first.origin)
        parts = [BufferRange(name, number * first.count, first.count) for number in range(len(buffers))]
        self._buffers[name] = made
        self._packed_by[name] = group.name
        if first.name in self._constants:
            self._constants[name] = b"".join([self._constants.pop(buffer.name) for buffer in buffers])
        for buffer, part in zip(buffers, parts, strict=True):
            del self._buffers[buffer.name]
            self._parts[buffer.name], self._packed_by[buffer.name] = part, group.name
        return parts

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _body(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """A body with one dispatch in the place of each group, by waves."""
        if any(node.name in self._group_of for node in nodes):
            wave = waves(edges(self._graph, nodes))
            nodes = tuple([nodes[n] for n in sorted(range(len(nodes)), key=wave.__getitem__)])
        out: list[Node] = []
        done: set[_Group] = set()
        for node in nodes:
            group = self._group_of.get(node.name)
            if isinstance(node, RepeatNode):
                flag = node.until_zero
                flag = None if flag is None else relocated_range(flag, self._parts)
                out.append(replace(node, until_zero=flag, body=self._body(node.body)))
            elif group is None:
                out.append(relocated(node, self._parts, node.name))
            elif group not in done:
                done.add(group)
                out.append(self._launch(group))
        return tuple(out)

    def _launch(self, group: _Group) -> DispatchNode:
        first, (x, y, z) = group.members[0], group.grid
        counts = {name: part.count for name, part in first.ranges}
        totals = {name: part.count for name, part in group.ranges.items()}
        try:
            program = batched(first.program, group.grid, counts, totals, group.strides, len(group.members))
        except InvalidProgram:
            raise _NoCommonMemory(group.name) from None
        config = DispatchConfig(grid_override=(x * len(group.members), y, z))
        # Groups of a loop are placed before those around it, which may have made their buffers parts of others.
        ranges = tuple([(name, relocated_range(group.ranges[name], self._parts)) for name, _ in first.ranges])
        return DispatchNode(group.name, program, ranges, config, first.origin)


def batched(
    program: Program,
    grid: Extent,
    counts: Mapping[str, int],
    totals: Mapping[str, int],
    strides: Mapping[str, int],
    members: int,
) -> Program:
    """Rewrite a program so that one launch is several launches of it.

    Args:
        program: A program that `is_batchable`.
        grid: The grid of a member.
        counts: The elements of each bound buffer that a member has.
        totals: The elements of each bound buffer of the launch.
        strides: The elements from the part of a member to that of the next; 0 where all have the same part.
        members: How many launches it is.

    Returns:
        A valid program for a grid that is `members` times `grid` on x.
    """
    own = {stmt.name: stmt.value for stmt in program.of(Let) if stmt.value is GID}
    body = renamed(program.body, {}, own) if own else program.body
    width = grid[0] * program.workgroup_size[0]
    member = Local(Fresh.of(program)("member"), u32)
    changed = {buffer: _of_all(buffer, totals) for buffer in program.buffers}
    memo: dict[Expr, Expr] = {}
    start = _arithmetic("mul", member, width)

    def moved(buffer: Buffer, made: Expr) -> Expr:
        return Apply(OPS["add"], made, _arithmetic("mul", member, strides[buffer.name]))

    def index_in_part(buffer: Buffer, given: Expr, made: Expr) -> Expr | None:
        """The index in the buffer of all members, if that of a member is in bounds."""
        stride = strides.get(buffer.name, 0)
        if stride == 0:
            return made
        if given is GID and stride == counts[buffer.name] == width:
            return GID
        return moved(buffer, made) if given is GID and counts[buffer.name] >= width else None

    def loaded(buffer: Buffer, given: Expr, made: Expr) -> Expr:
        """The load of an element, from an index that is in bounds whatever was given, and 0 out of bounds."""
        index = index_in_part(buffer, given, made)
        if index is not None:
            return Load(changed[buffer], index)
        count = counts[buffer.name]
        last = Apply(OPS["min"], made, literal(u32, max(count, 1) - 1))
        return Select(within(count, made), Load(changed[buffer], moved(buffer, last)), literal(buffer.dtype, 0))

    def stored(buffer: Buffer, given: Expr, made: Expr) -> Expr:
        """The index of a store or an atomic; one that is out of bounds stays so."""
        index = index_in_part(buffer, given, made)
        if index is not None:
            return index
        return Select(within(counts[buffer.name], made), moved(buffer, made), literal(u32, OUTSIDE))

    def node(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        match expr:
            case Id(IdKind.GLOBAL_ID, 0):
                return Apply(OPS["sub"], GID, start)
            case Id(IdKind.WORKGROUP_ID, 0):
                return Apply(OPS["sub"], WID, _arithmetic("mul", member, grid[0]))
            case Id(IdKind.NUM_WORKGROUPS, axis):
                return literal(u32, grid[axis])
            case Load(buffer, index):
                return loaded(buffer, index, args[0])
            case Length(buffer) if buffer.name in counts:
                return literal(expr.dtype, counts[buffer.name])
            case Length(buffer):
                return Length(changed[buffer])
        return rebuilt(expr, args)

    def image(root: Expr) -> Expr:
        return transform(root, node, memo)

    def statement(stmt: Stmt) -> Stmt | Body:
        made = with_expressions(stmt, image)
        if isinstance(stmt, Store | Atomic):
            assert isinstance(made, Store | Atomic)
            index = stored(stmt.buffer, stmt.index, made.index)
            return replace(made, buffer=changed[stmt.buffer], index=index)
        return made

    number = Apply(OPS["div"], WID, literal(u32, grid[0]))
    first = Let(member.name, Apply(OPS["min"], number, literal(u32, members - 1)))
    result = replace(
        program,
        buffers=tuple([changed[buffer] for buffer in program.buffers]),
        body=(first, *rewrite_body(body, statement)),
    )
    result.validate()
    return result


def within(count: int, index: Expr) -> Expr:
    """Whether an index is in bounds of the `count` elements of a member."""
    return Apply(OPS["lt"], index, literal(u32, count))


def _of_all(buffer: Buffer, totals: Mapping[str, int]) -> Buffer:
    """A declaration for the launch: of a fixed length, and no uniform, since members have values of their own."""
    if buffer.name not in totals:
        return buffer
    memory = Memory.STORAGE if buffer.memory is Memory.UNIFORM else buffer.memory
    return buffer.replace(count=totals[buffer.name], memory=memory)


def _arithmetic(op: str, value: Expr, number: int) -> Expr:
    return Apply(OPS[op], value, literal(u32, number))
