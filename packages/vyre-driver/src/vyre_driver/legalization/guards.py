"""What conditions prove about indices at a place of the program.

Knowledge is a set of relations ``x + gap <= y`` (a gap of 1 is ``x < y``). Both sides are immutable: made of literals,
ids, lengths, immutable locals and loads from memory that no one writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vyre_driver.legalization.conditions import conjuncts
from vyre_driver.legalization.ranges import Ranges
from vyre_foundation.ir.buffer import Access, Buffer, LengthOf
from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Literal, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ir.walk import missing, statements
from vyre_foundation.ops.compare import MIRRORED, NEGATED
from vyre_foundation.validate.declared import mutable_locals
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.intervals import COMPARED, apply

Known = frozenset[tuple[Expr, Expr, int]]

NOTHING: Known = frozenset()

_MAX_NODES = 32
"""Indices of more operations are not looked into."""

# For each comparison that holds: which side is the lesser, and the gap; None: both are at most the other.
_RELATIONS = {"lt": (0, 1, 1), "le": (0, 1, 0), "gt": (1, 0, 1), "ge": (1, 0, 0)}


class Guards:
    """Reads conditions of one program; `wanted` are the expressions that somebody asks about, or parts of them."""

    def __init__(self, program: Program, ranges: Ranges, wanted: frozenset[Expr]) -> None:
        self._program, self._ranges, self._wanted = program, ranges, wanted
        self._mutable = mutable_locals(program.body)
        self._lets: Mapping[str, Expr] = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
        self._stable: dict[Expr, bool] = {}
        self._nodes: dict[Expr, tuple[Expr, ...] | None] = {}

    # ── reading conditions ───────────────────────────────────────────────────────────────────────────────────────────

    def holds(self, condition: Expr, truth: bool) -> Known:
        """What `condition` being `truth` proves."""
        known: set[tuple[Expr, Expr, int]] = set()
        for node, wanted in conjuncts(condition, truth):
            match node:
                case Apply(op, (x, y)) if x.dtype.is_integer and op.id in NEGATED:
                    relation = op.id if wanted else NEGATED[op.id]
                    known.update(self._relations(relation, x, y))
                    if excludes_zero(relation, self._ranges.of(y)):
                        known.update(self._within(x))
                    if excludes_zero(MIRRORED[relation], self._ranges.of(x)):
                        known.update(self._within(y))
                case _ if wanted:
                    known.update(self._within(node))
                case _:
                    pass
        return frozenset(known)

    def _within(self, value: Expr) -> Iterator[tuple[Expr, Expr, int]]:
        """What `value` proves if it is not zero, or true: a load out of bounds gives zero, so its index is within."""
        load = self._resolved(value)
        if isinstance(load, Load) and load.index in self._wanted and self.is_stable(load.index):
            yield load.index, Length(load.buffer), 1
            yield literal(load.index.dtype, 0), load.index, 0

    def counts(self, counter: Expr, stop: Expr) -> Known:
        """What the body of a loop knows about its counter."""
        return frozenset(self._relations("lt", counter, stop))

    def _relations(self, op: str, x: Expr, y: Expr) -> Iterator[tuple[Expr, Expr, int]]:
        if not ((x in self._wanted or y in self._wanted) and self.is_stable(x) and self.is_stable(y)):
            return
        if op == "eq":
            yield x, y, 0
            yield y, x, 0
        elif op in _RELATIONS:
            less, more, gap = _RELATIONS[op]
            yield (x, y)[less], (x, y)[more], gap

    def is_stable(self, root: Expr) -> bool:
        """Whether `root` has one value wherever it is evaluated by an invocation in the scope of its locals."""
        if root not in self._stable:
            for node in missing(root, self._stable):
                own = node.name not in self._mutable if isinstance(node, Local) else True
                own = own and not (isinstance(node, Load) and node.buffer.access is not Access.READ)
                self._stable[node] = own and all(self._stable[a] for a in node.args)
        return self._stable[root]

    # ── proofs ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def proves(self, known: Known, index: Expr, buffer: Buffer) -> bool:
        """Whether `known` has `index` within the bounds of `buffer`."""
        low, high = self.interval(known, index)
        if low < 0:
            return False
        if isinstance(buffer.count, int) and high < buffer.count:
            return True
        return any(x is index and gap == 1 and self._at_most(self._resolved(y), buffer) for x, y, gap in known)

    def interval(self, known: Known, index: Expr) -> Interval:
        """Bounds of `index` where `known` holds."""
        nodes = self._operations(index) if known else None
        if nodes is None:
            return self._ranges.of(index)
        bounds: dict[Expr, Interval] = {}
        for node in nodes:
            if node.dtype.is_integer:
                bounds[node] = self._bounds(node, bounds, known)
        return bounds[index]

    def _operations(self, index: Expr) -> tuple[Expr, ...] | None:
        """The nodes of `index`, children before parents; None where they are too many."""
        for node in missing(index, self._nodes):
            parts = [self._nodes[a] for a in node.args]
            nodes = None if None in parts else (*dict.fromkeys(n for part in parts if part for n in part), node)
            self._nodes[node] = nodes if nodes is not None and len(nodes) <= _MAX_NODES else None
        return self._nodes[index]

    def _bounds(self, node: Expr, bounds: Mapping[Expr, Interval], known: Known) -> Interval:
        low, high = self._ranges.of(node)
        match node:
            case Apply(op, (x, y)) if (
                op.id == "sub" and not node.dtype.is_signed and any(a is y and b is x for a, b, _ in known)
            ):
                low, high = max(low, 0), min(high, bounds[x].high - bounds[y].low)  # y <= x: no wrap
            case Apply(op, args) if args[0].dtype.is_integer:
                found = apply(op, args[0].dtype, *[bounds[a] for a in args])
                low, high = max(low, found.low), min(high, found.high)
            case Cast(dtype, value) if value in bounds and dtype.lowest <= bounds[value].low:
                if bounds[value].high <= dtype.highest:
                    low, high = max(low, bounds[value].low), min(high, bounds[value].high)
        for x, y, gap in known:
            if x is node:
                high = min(high, self._ranges.of(y).high - gap)
            if y is node:
                low = max(low, self._ranges.of(x).low + gap)
        return Interval(low, high)

    def _resolved(self, value: Expr) -> Expr:
        """The value of a local that is bound by `let`, or that is bound to such a local."""
        while isinstance(value, Local) and value.name in self._lets:
            value = self._lets[value.name]
        return value

    def _at_most(self, limit: Expr, buffer: Buffer) -> bool:
        """Whether `limit` <= length of `buffer` in every launch: by numbers, or by the rules that lengths follow."""
        if isinstance(limit, Length):
            if limit.buffer is buffer:
                return True
            count = limit.buffer.count
            if isinstance(count, LengthOf) and count.times <= count.over and count.plus <= 0:
                return self._at_most(Length(self._program.buffer(count.buffer)), buffer)
        most = limit.value if isinstance(limit, Literal) else limit.buffer.count if isinstance(limit, Length) else None
        match buffer.count:
            case int(count):
                return isinstance(most, int) and most <= count
            case LengthOf(buffer=other, times=times, over=over, plus=plus) if times >= over and plus >= 0:
                return self._at_most(limit, self._program.buffer(other))
            case _:
                return False


def excludes_zero(op: str, other: Interval) -> bool:
    """Whether ``0 op y`` is false for every ``y`` within these bounds."""
    return COMPARED[op](Interval(0, 0), other).high == 0
