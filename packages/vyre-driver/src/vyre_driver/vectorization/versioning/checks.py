"""The checks of a region that one comparison before it can decide: bounds of accesses, and ends of loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from vyre_driver.legalization.conditions import conjuncts
from vyre_driver.vectorization.versioning.bound import Bound, Less, at_least, at_most, number
from vyre_driver.vectorization.versioning.extents import Extent, Extents
from vyre_foundation.dtype import u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Literal, Load, Select, literal
from vyre_foundation.ir.stmt import Assign, Atomic, Body, Continue, For, If, Let, Return, Stmt, Store
from vyre_foundation.ir.walk import bodies, expressions, postorder, statements
from vyre_foundation.ops import OPS
from vyre_foundation.ops.compare import MIRRORED, NEGATED, ORDERED
from vyre_foundation.validate.declared import declared_locals


@dataclass(slots=True)
class Checks:
    """What is decided where all `claims` hold.

    `loads` are within bounds, `decided` are comparisons and what they give, `chosen` are minima and maxima and which
    operand they are, `ends` are bounds of loops and what they are then. `exact` are values that do not wrap. `places`
    are the statements that have something to decide about memory.
    """

    claims: list[Less] = field(default_factory=list)
    loads: set[Expr] = field(default_factory=set)
    decided: dict[Expr, bool] = field(default_factory=dict)
    chosen: dict[Expr, Expr] = field(default_factory=dict)
    ends: dict[Expr, Expr] = field(default_factory=dict)
    exact: set[Expr] = field(default_factory=set)
    places: list[Stmt] = field(default_factory=list)

    def is_within(self, other: Checks) -> bool:
        """Whether `other` decides all that these do."""
        pairs = (self.loads, other.loads), (self.decided, other.decided), (self.chosen, other.chosen)
        return all(set(own) <= set(others) for own, others in (*pairs, (self.ends, other.ends)))


def changing_names(body: Body) -> frozenset[str]:
    """The locals that `body` declares or assigns."""
    return frozenset(declared_locals(body)) | {s.name for s in statements(body) if isinstance(s, Assign)}


def find_checks(body: Body, extents: Extents, *, arms: bool = False) -> Checks:
    """What of `body` can be decided before it. `arms`: selects, minima and maxima too, as they are in most places."""
    finder = _Finder(extents, arms=arms)
    finder.body(body, at_end=True)
    return finder.checks


class _Finder:
    def __init__(self, extents: Extents, *, arms: bool) -> None:
        self.checks = Checks()
        self._extents, self._arms = extents, arms
        self._seen: set[Expr] = set()
        self._nonempty_ends: set[Expr] = set()

    def body(self, body: Body, *, at_end: bool) -> None:
        """`at_end`: nothing follows `body` in its round of the region."""
        for position, stmt in enumerate(body):
            before = len(self.checks.loads) + len(self.checks.decided)
            self._values(stmt)
            is_last = at_end and position == len(body) - 1
            match stmt:
                case Let(name, value):
                    self._extents.tell(name, self._extents.of(value))
                case For():
                    self._extents.tell(stmt.name, self._counter(stmt))
                case If(condition, then, orelse):
                    if is_guard(stmt):
                        self._decide(condition, True, is_needed=True)
                    elif is_last and not orelse:
                        self._decide(condition, True, is_needed=False)
                    elif at_end and not orelse and _only_leaves(then):
                        self._decide(condition, False, is_needed=False)
                case _:
                    pass
            if len(self.checks.loads) + len(self.checks.decided) > before:
                self.checks.places.append(stmt)
            for inner in bodies(stmt):
                self.body(inner, at_end=is_last or isinstance(stmt, For))

    # ── loads ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _values(self, stmt: Stmt) -> None:
        for node in postorder(expressions(stmt), self._seen):
            if isinstance(node, Select) and self._arms and self._crosses(node.condition):
                self._decide(node.condition, True, is_needed=True, is_fixed_too=True)
            if self._arms and _is_extreme(node) and not self._extents.is_fixed(node):
                self._choose(node)
            if isinstance(node, Load) and node.checked and not self._extents.is_fixed(node.index):
                claims = self._within(node.index, node.buffer)
                if claims is not None:
                    self._accept(claims)
                    self.checks.loads.add(node)
                    self.checks.exact.add(node.index)

    def _within(self, index: Expr, buffer: Buffer) -> list[Less] | None:
        extent = self._extents.exact(index)
        if extent is None:
            return None
        return _possible([*extent.needs, at_least(extent.low, 0), Less(extent.high, _length(buffer))])

    def _accept(self, claims: list[Less]) -> None:
        self.checks.claims += claims

    # ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _crosses(self, condition: Expr) -> bool:
        """Whether one of the comparisons in `condition` changes in the region, in few of its places."""
        operands = [x for node, _ in _comparisons(condition, True) for x in node.args if x.dtype.is_integer]
        return any(extent is not None and _moves(extent) for extent in map(self._extents.exact, operands))

    def _decide(self, condition: Expr, truth: bool, *, is_needed: bool, is_fixed_too: bool = False) -> None:
        """Comparisons whose being so makes `condition` be `truth`."""
        for node, wanted in _comparisons(condition, truth):
            x, y = node.args
            is_fixed = self._extents.is_fixed(x) and self._extents.is_fixed(y)
            if not x.dtype.is_integer or (is_fixed and not is_fixed_too):
                continue
            a, b = self._extents.exact(x), self._extents.exact(y)
            if a is None or b is None or not (is_needed or _moves(a) or _moves(b)):
                continue
            op = node.op.id if wanted else NEGATED[node.op.id]
            if not (is_needed or self._arms) and _moves(a if op in ("gt", "ge") else b):
                continue  # a row that begins before the limit does so everywhere: its loads are proven all the same
            claims = _possible([*a.needs, *b.needs, _always(op, a, b)])
            if claims is not None:
                self._accept(claims)
                self.checks.decided[node] = wanted
                self.checks.exact |= {x, y}

    def _choose(self, node: Apply) -> None:
        """A minimum or maximum with a value that is one in the region is the other operand: it clamps at a border."""
        op = "le" if node.op.id == "min" else "ge"
        for x, y in (node.args, node.args[::-1]):
            a, b = self._extents.exact(x), self._extents.exact(y)
            if a is not None and b is not None and _moves(a) and not _moves(b):
                claims = _possible([*a.needs, *b.needs, _always(op, a, b)])
                if claims is not None:
                    self._accept(claims)
                    self._extents.settle(node, Extent(a.low, a.high))
                    self.checks.chosen[node] = x
                    return

    # ── loops ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _counter(self, loop: For) -> Extent | None:
        start, stop = self._start(loop.start), self._stop(loop.stop)
        if start is None or stop is None:
            return None
        is_nonempty = loop.stop in self._nonempty_ends
        least = 1 if is_nonempty else self._extents.least(self.checks.ends.get(loop.stop, loop.stop))
        last = self._before(stop.high, least)
        if isinstance(loop.start, Literal) and isinstance(loop.stop, Literal):
            iterations = range(int(loop.start.value), int(loop.stop.value), loop.step)
            last = number(iterations[-1]) if iterations else last
        return Extent(start.low, last, (*start.needs, *stop.needs))

    def _start(self, start: Expr) -> Extent | None:
        """A loop that could begin later is taken to begin at 0."""
        extent = self._extents.exact(start)
        if extent is not None and isinstance(start, Apply) and start.op.id == "sub_sat":
            claims = _possible([*extent.needs, Less(extent.high, number(1))])
            if claims is not None and self._extents.is_fixed(start):
                return self._settle(start, Literal(start.dtype, 0), Extent(number(0), number(0)), claims)
        return extent

    def _stop(self, stop: Expr) -> Extent | None:
        """A loop that could end earlier than at a number is taken to end there."""
        if isinstance(stop, Apply) and stop.op.id == "min" and self._extents.is_fixed(stop):
            for most, other in (stop.args, stop.args[::-1]):
                whole, extent = self._extents.exact(most), self._extents.exact(other)
                if isinstance(most, Literal) and whole is not None and extent is not None:
                    claims = _possible([*whole.needs, *extent.needs, Less(whole.high.shifted(-1), extent.low)])
                    if claims is not None:
                        return self._settle(stop, most, whole, claims)
            return self._nonempty(stop) or self._extents.exact(stop)
        return self._extents.exact(stop)

    def _nonempty(self, stop: Expr) -> Extent | None:
        """The end, fixed, of a loop that is taken to have an iteration."""
        extent = self._extents.leaf(stop)
        if extent is not None:
            self._accept([at_least(extent.low, 1)])
            self._nonempty_ends.add(stop)
        return extent

    def _before(self, stop: Bound, least: int) -> Bound:
        """The last round before `stop`: a number of its own where there surely is one."""
        if least < 1 or stop.offset or not stop.is_natural:
            return stop.shifted(-1)
        return at_most(Apply(OPS["sub"], stop.spelled(), literal(u64, 1)), stop.high - 1) or stop.shifted(-1)

    def _settle(self, bound: Expr, value: Expr, extent: Extent, claims: list[Less]) -> Extent:
        self._accept(claims)
        self.checks.ends[bound] = value
        return Extent(extent.low, extent.high)


def _is_extreme(node: Expr) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op.id in ("min", "max") and node.dtype.is_integer


def is_guard(stmt: If) -> bool:
    """Whether `stmt` is the guard of an access, as `guard_accesses` puts it."""
    match stmt:
        case If(Apply(op, (_, limit)), (Store() | Atomic() as access, *_), ()) if op.id == "lt":
            limit = limit.value if isinstance(limit, Cast) else limit
            return isinstance(limit, Length) and limit.buffer.name == access.buffer.name
        case _:
            return False


def _only_leaves(body: Body) -> bool:
    return len(body) == 1 and isinstance(body[0], (Return, Continue))


def _comparisons(condition: Expr, truth: bool) -> Iterator[tuple[Apply, bool]]:
    """The comparisons that all have to give what they are listed with."""
    for node, wanted in conjuncts(condition, truth):
        if isinstance(node, Apply) and node.op.id in ORDERED:
            yield node, wanted


def _always(op: str, a: Extent, b: Extent) -> Less:
    """``a op b`` for all values."""
    if op in ("gt", "ge"):
        op, a, b = MIRRORED[op], b, a
    return Less(a.high, b.low if op == "lt" else b.low.shifted(1))


def _moves(x: Extent) -> bool:
    """Whether a value is not one, and depends on where the region is: it crosses a limit in few places."""
    return x.low != x.high and x.low.plus is not None


def _possible(claims: list[Less]) -> list[Less] | None:
    return None if any(claim.is_hopeless for claim in claims) else claims


def _length(buffer: Buffer) -> Bound:
    if isinstance(buffer.count, int):
        return number(buffer.count)
    length = at_most(Cast(u64, Length(buffer)), (1 << 32) - 1)
    assert length is not None
    return length
