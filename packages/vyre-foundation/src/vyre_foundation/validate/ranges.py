"""Bounds of every integer expression: what it can be at any place where it is evaluated, at any time.

A local has one interval for the whole program, because its name is declared once. A mutable one starts with its whole
type; a pass over the program then bounds what it is given, which bounds more in the next pass. Every pass is sound, so
stopping early is too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ir.buffer import Buffer, LengthOf
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, For, Let, Stmt, Subgroup, SubgroupOp, Var
from vyre_foundation.ops import OPS
from vyre_foundation.validate.buffers import MAX_LENGTH, fixed_count
from vyre_foundation.validate.declared import declaration
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.intervals import apply, fitting, hull, whole
from vyre_foundation.validate.limits import MAX_AXIS_INVOCATIONS

PASSES = 4
"""How often the bounds of mutable locals are improved at most."""

MAX_GLANCE = 8
"""How far into an expression is looked for the bits that it leaves zero."""


_WITH_BITS = ("or", "xor")
"""The ops whose operands are looked into."""


class Inference:
    """Bounds of nodes from those of their sources, in one program.

    `of` has the bounds found so far; those of mutable locals are stored by name.
    """

    def __init__(self, program: Program) -> None:
        self.of: dict[Expr, Interval] = {}
        self._program = program
        self._buffers = {b.name: b for b in program.buffers}
        self._by_buffer: dict[tuple[type[Expr], Buffer], Interval] = {}
        self._declared: dict[str, Stmt] = {}
        self._given: dict[str, list[Expr]] = {}
        self._mutable: dict[str, Interval] = {}
        for stmt in program.statements:
            if (local := declaration(stmt)) is not None:
                self._declared[local[0]] = stmt
            if isinstance(stmt, (Var, Assign)) and stmt.value.dtype.is_integer:
                self._given.setdefault(stmt.name, []).append(stmt.value)

    def run(self, nodes: Sequence[Expr], before: Inference | None) -> None:
        """Bound the integers among `nodes`, which are those of the program, children first.

        An expression that an earlier program has too has the bounds that it had there, if it reads only locals that are
        given the same, and until the bounds of something that it reads change.
        """
        integers = [node for node in nodes if node.dtype.is_integer]
        dirty = set() if before is None else self._dirty(integers, before)
        known = {} if before is None else before.of
        anew: list[Expr] = []
        moved: set[Expr] = set()  # what has other bounds than before
        for node in integers:
            bounds = known.get(node)
            if bounds is None or node in dirty:
                anew.append(node)
                if bounds is None or _looks_beyond(node) or not moved.isdisjoint(node.args):
                    found = self.bounds(node)
                    if found != bounds:
                        moved.add(node)
                    bounds = found
            self.of[node] = bounds
        for _ in range(PASSES):
            changed = self.improve_mutable()
            if not changed:
                break
            self.propagate(anew, changed)

    def _dirty(self, nodes: Sequence[Expr], before: Inference) -> set[Expr]:
        """Give those of `nodes` that read a local whose value is not the one of an earlier program.

        For the others, the bounds of mutable locals are taken over.
        """
        names = {name for name in self._declared if self._given_to(name) != before._given_to(name)}
        while True:
            dirty: set[Expr] = set()
            for node in nodes:
                if type(node) is Local:
                    if node.name in names or not dirty.isdisjoint(self._sources(node)):
                        dirty.add(node)
                elif dirty and not dirty.isdisjoint(node.args):
                    dirty.add(node)
            more = {name for name, given in self._given.items() if name not in names and not dirty.isdisjoint(given)}
            if not more:
                break
            names |= more
        self._mutable = {name: bounds for name, bounds in before._mutable.items() if name not in names}
        return dirty

    def _given_to(self, name: str) -> tuple[object, ...] | None:
        """All that decides about the bounds of a local, beside the bounds of what it is given."""
        match self._declared.get(name):
            case None:
                return None
            case Let() as stmt:
                return (stmt.value,)
            case For() as stmt:
                return stmt.start, stmt.stop, stmt.step
            case Subgroup() as stmt:
                return stmt.op, stmt.value
            case _:
                return (None, *self._given.get(name, ()))

    def improve_mutable(self) -> set[str]:
        """Bound mutable locals by all that they are given; the names of those that are now bounded more tightly."""
        changed: set[str] = set()
        for name, values in self._given.items():
            bounds = [self.of[v] for v in values]
            interval = Interval(min(b.low for b in bounds), max(b.high for b in bounds))
            if interval != self._mutable.get(name, whole(values[0].dtype)):
                self._mutable[name] = interval
                changed.add(name)
        return changed

    def propagate(self, nodes: Sequence[Expr], changed: set[str]) -> None:
        """Bound again what depends on the locals in `changed`."""
        dirty: set[Expr] = set()
        for node in nodes:
            if (type(node) is Local and node.name in changed) or not dirty.isdisjoint(self._sources(node)):
                bounds = self.bounds(node)
                if bounds != self.of[node]:
                    self.of[node] = bounds
                    dirty.add(node)

    def bounds(self, node: Expr) -> Interval:
        """The bounds of a node, from those of its sources."""
        match node:
            case Literal():
                return Interval(int(node.value), int(node.value))
            case Apply():
                return self._of_op(node)
            case Local():
                return self._of_local(node)
            case Select():
                return hull(self.of[node.if_true], self.of[node.if_false])
            case Cast():
                return self._of_cast(node.value, node.dtype)
            case Bitcast():
                return self._of_bitcast(node.value, node.dtype)
            case Id():
                return self._of_id(node)
            case Length() | Load():
                return self._of_buffer(node)
            case _:
                return whole(node.dtype)

    def _of_op(self, node: Apply) -> Interval:
        operands = [self.of[a] for a in node.args]
        if node.op.id in _WITH_BITS:
            x, y = node.args
            if self._is_below_bits(x, y) or self._is_below_bits(y, x):  # then no bit of one is a bit of the other
                return apply(OPS["add"], x.dtype, *operands)
        return apply(node.op, node.args[0].dtype, *operands)

    def _is_below_bits(self, expr: Expr, other: Expr) -> bool:
        """Whether `expr` is below the lowest bit that `other` can have."""
        low, high = self.of[expr]
        return low >= 0 and high.bit_length() < expr.dtype.bits and high >> self._low_zeros(other) == 0

    def _low_zeros(self, expr: Expr) -> int:
        """How many of the lowest bits are zero, as far as shifts by and products with literals tell at a glance."""
        zeros = 0
        for _ in range(MAX_GLANCE):
            match expr:
                case Apply(op, (x, y)) if op.id in ("shl", "raw_shl", "mul") and self.of[y].low == self.of[y].high:
                    number = self.of[y].low
                    zeros += (number & -number).bit_length() - 1 if op.id == "mul" else number % expr.dtype.bits
                    expr = x
                case Cast(_, x) if x.dtype.is_integer:
                    expr = x
                case Local() if isinstance(stmt := self._declared.get(expr.name), Let):
                    expr = stmt.value
                case _:
                    break
        return max(0, zeros)

    def _sources(self, node: Expr) -> Sequence[Expr]:
        """What the bounds of `node` follow from."""
        if type(node) is not Local:
            return node.args
        match self._declared[node.name]:
            case Let() | Subgroup() as stmt:
                return (stmt.value,)
            case For() as stmt:
                return (stmt.start, stmt.stop)
            case _:
                return ()

    def _of_local(self, node: Local) -> Interval:
        match self._declared[node.name]:
            case Let() as stmt:
                return self.of[stmt.value]
            case Var():
                return self._mutable.get(node.name, whole(node.dtype))
            case For() as stmt:
                return counted(self.of[stmt.start], self.of[stmt.stop], stmt.step)
            case Subgroup() as stmt:
                return self._of_collective(stmt, node.dtype)
            case _:
                return whole(node.dtype)

    def _of_cast(self, value: Expr, target: DType) -> Interval:
        if value.dtype is bool_:
            return Interval(0, 1)
        return fitting(target, *self.of[value]) if value.dtype.is_integer else whole(target)

    def _of_bitcast(self, value: Expr, target: DType) -> Interval:
        if not value.dtype.is_integer:
            return whole(target)
        low, high = self.of[value]
        if high < target.lowest:
            return Interval(low + (1 << target.bits), high + (1 << target.bits))
        if low > target.highest:
            return Interval(low - (1 << target.bits), high - (1 << target.bits))
        return fitting(target, low, high)

    def _of_id(self, node: Id) -> Interval:
        groups = MAX_AXIS_INVOCATIONS // self._program.workgroup_size[node.axis]
        lanes = self._program.subgroup_size or 1
        match node.kind:
            case IdKind.LOCAL_ID:
                return Interval(0, self._program.workgroup_size[node.axis] - 1)
            case IdKind.WORKGROUP_ID:
                return Interval(0, groups - 1)
            case IdKind.NUM_WORKGROUPS:
                return Interval(0, min(groups, node.dtype.highest))
            case IdKind.SUBGROUP_LANE:
                return Interval(0, lanes - 1)
            case IdKind.SUBGROUP_SIZE:
                return Interval(lanes, lanes)
            case IdKind.GLOBAL_ID:
                return whole(node.dtype)

    def _of_collective(self, stmt: Subgroup, dtype: DType) -> Interval:
        lanes = self._program.subgroup_size or 1
        if stmt.op is SubgroupOp.BALLOT:
            return Interval(0, (1 << lanes) - 1)
        if not dtype.is_integer:
            return whole(dtype)
        low, high = self.of[stmt.value]
        match stmt.op.family, stmt.op.combine:
            case ("broadcast" | "shuffle" | "shuffle_xor", _) | ("reduce" | "inclusive_scan", "min" | "max"):
                return Interval(low, high)
            case _, "add":  # of 0 … all lanes
                return fitting(dtype, min(0, low * lanes), max(0, high * lanes))
            case _:
                return whole(dtype)

    def _of_buffer(self, node: Length | Load) -> Interval:
        """Computed once for each buffer."""
        key = type(node), node.buffer
        if key not in self._by_buffer:
            self._by_buffer[key] = self._length(node.buffer) if isinstance(node, Length) else _elements(node.buffer)
        return self._by_buffer[key]

    def _length(self, buffer: Buffer) -> Interval:
        count = fixed_count(buffer, self._buffers)
        if count is not None:
            return Interval(count, count)
        low, high = 0, MAX_LENGTH
        if isinstance(buffer.count, LengthOf):
            low = max(0, buffer.count.plus)
        for other in self._program.buffers:  # their lengths are u32 too
            if isinstance(other.count, LengthOf) and other.count.buffer == buffer.name:
                high = min(high, (MAX_LENGTH - other.count.plus) * other.count.over // other.count.times)
        return Interval(min(low, high), high)


def _looks_beyond(node: Expr) -> bool:
    """Whether the bounds of `node` follow from more than those of its operands."""
    return type(node) is Local or (isinstance(node, Apply) and node.op.id in _WITH_BITS)


def counted(start: Interval, stop: Interval, step: int) -> Interval:
    """The bounds of a counter, from those of what it counts from and to."""
    last = stop.high - 1
    if start.low == start.high:  # whole steps from there
        last -= (last - start.low) % step
    return Interval(start.low, max(start.low, last))


def _elements(buffer: Buffer) -> Interval:
    """What a load can give: an element, or 0 out of bounds."""
    if not buffer.data:
        return whole(buffer.dtype)
    table = np.frombuffer(buffer.data, buffer.dtype.numpy)
    return Interval(min(0, int(table.min())), max(0, int(table.max())))
