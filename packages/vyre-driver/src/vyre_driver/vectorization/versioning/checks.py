"""The checks of a region that one comparison before it can decide: bounds of accesses, and ends of loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import TypeGuard

from vyre_driver.legalization.conditions import conjuncts
from vyre_driver.vectorization.versioning.bound import (
    MOST_TERMS,
    Bound,
    Less,
    at_least,
    at_most,
    number,
    terms,
    without,
)
from vyre_driver.vectorization.versioning.extents import Extent, Extents, remainder
from vyre_foundation.dtype import u64
from vyre_foundation.ir.buffer import Access, Buffer
from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Literal, Load, Local, Select, literal
from vyre_foundation.ir.stmt import Assign, Atomic, Body, Continue, For, If, Let, Return, Stmt, Store
from vyre_foundation.ir.walk import bodies, expressions, postorder, statements
from vyre_foundation.ops import OPS
from vyre_foundation.ops.compare import MIRRORED, NEGATED, ORDERED
from vyre_foundation.validate.declared import declared_locals

_NEAR = 16
"""Numbers so near to 0 are limits of the first rows and columns, and not of the last ones."""
_MOST_NEIGHBOURS = 64
"""Loops of more iterations are not counted: nothing unrolls them."""


@dataclass(slots=True)
class Checks:
    """What is decided where all `claims` hold.

    `loads` are within bounds, `decided` are comparisons and what they give, `chosen` are minima, maxima, remainders and
    selections and the simpler values that they are, `ends` are bounds of loops and what they are then. `exact` are
    values that do not wrap. `windows` are loops and how many iterations they have. `places` are the statements that
    have something to decide about memory.
    """

    claims: list[Less] = field(default_factory=list)
    loads: set[Expr] = field(default_factory=set)
    decided: dict[Expr, bool] = field(default_factory=dict)
    chosen: dict[Expr, Expr] = field(default_factory=dict)
    ends: dict[Expr, Expr] = field(default_factory=dict)
    exact: set[Expr] = field(default_factory=set)
    windows: dict[str, int] = field(default_factory=dict)
    places: list[Stmt] = field(default_factory=list)

    def is_within(self, other: Checks) -> bool:
        """Whether `other` decides all that these do."""
        pairs = (self.loads, other.loads), (self.decided, other.decided), (self.chosen, other.chosen)
        return all(set(own) <= set(others) for own, others in (*pairs, (self.ends, other.ends)))


def changing_names(body: Body) -> frozenset[str]:
    """The locals that `body` declares or assigns."""
    return frozenset(declared_locals(body)) | {s.name for s in statements(body) if isinstance(s, Assign)}


def find_checks(body: Body, extents: Extents) -> Checks:
    """What of `body` can be decided before it."""
    finder = _Finder(body, extents, None)
    finder.body(body, at_end=True)
    return finder.checks


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """What is known of a region: `proven` are loads that are within bounds, `limits` are what its loops end at."""

    proven: Set[Expr] = frozenset()
    limits: Set[Expr] = frozenset()


def find_usual(body: Body, extents: Extents, known: RegionFacts) -> Checks:
    """As `find_checks`, and what conditions, minima, maxima and remainders are in most places."""
    finder = _Finder(body, extents, known)
    finder.body(body, at_end=True)
    return finder.checks


class _Finder:
    """Finds what can be decided; with facts that are `known`, also what is so in most places."""

    def __init__(self, region: Body, extents: Extents, known: RegionFacts | None) -> None:
        self.checks = Checks()
        self._extents, self._known, self._arms = extents, known or RegionFacts(), known is not None
        self._seen: set[Expr] = set()
        self._assigned = {s.name for s in statements(region) if isinstance(s, Assign)} if self._arms else set()
        self._lets: dict[Expr, Expr] = {}
        self._least_ends: set[Expr] = set()

    def body(self, body: Body, *, at_end: bool) -> None:
        """`at_end`: nothing follows `body` in its round of the region."""
        for position, stmt in enumerate(body):
            before = len(self.checks.loads) + len(self.checks.decided)
            self._values(stmt)
            is_last = at_end and position == len(body) - 1
            match stmt:
                case Let(name, value):
                    self._extents.tell(name, self._extents.of(value))
                    if self._arms and self._is_steady(value):
                        self._lets[Local(name, value.dtype)] = value
                case For():
                    self._extents.tell(stmt.name, self._counter(stmt))
                    if self._arms and stmt.step == 1 and stmt.trip_count is None:
                        self._window(stmt)
                case If(condition, then, orelse):
                    if is_guard(stmt):
                        self._decide(condition, True, is_needed=True)
                    elif is_last and not orelse:
                        self._decide(condition, True, is_needed=False)
                    elif at_end and not orelse and _only_leaves(then):
                        self._decide(condition, False, is_needed=False)
                    if self._arms:
                        self._assume(condition)
                case _:
                    pass
            if len(self.checks.loads) + len(self.checks.decided) > before:
                self.checks.places.append(stmt)
            for inner in bodies(stmt):
                self.body(inner, at_end=is_last or isinstance(stmt, For))

    # ── loads ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _values(self, stmt: Stmt) -> None:
        for node in postorder(expressions(stmt), self._seen):
            if isinstance(node, Select) and self._arms:
                self._assume(node.condition)
                self._select(node)
            if self._arms and not self._extents.is_fixed(node):
                if _is_extreme(node):
                    self._clamp(node)
                elif (division := remainder(node)) is not None:
                    self._wrap(node, *division)
            if isinstance(node, Load) and node.checked and not self._extents.is_fixed(node.index):
                claims = [] if node in self._known.proven else self._within(node.index, node.buffer)
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

    def _decide(self, condition: Expr, truth: bool, *, is_needed: bool) -> None:
        """Comparisons whose being so makes `condition` be `truth`."""
        for node, wanted in conjuncts(condition, truth):
            if not _is_comparison(node) or node.op.id not in ORDERED or all(map(self._extents.is_fixed, node.args)):
                continue
            a, b = map(self._extents.exact, node.args)
            if a is None or b is None or not (is_needed or _moves(a) or _moves(b)):
                continue
            op = node.op.id if wanted else NEGATED[node.op.id]
            if not (is_needed or self._arms) and _moves(a if op in ("gt", "ge") else b):
                continue  # a row that begins before the limit does so everywhere: its loads are proven all the same
            self._settle(node, op, a, b, is_true=wanted)

    def _assume(self, condition: Expr) -> bool:
        """Decide a condition as it is in most places; whether it is another in few.

        What changes in the region is above small numbers and below the ends of loops, and differs from both. All else
        is what makes the whole of the condition be so.
        """
        is_crossed = False
        usual = tuple(conjuncts(condition, not _is_disjunction(condition)))
        for node, wanted in usual:
            if isinstance(node, Apply) and node.op.id in ("and", "or"):
                is_crossed |= self._assume(node)
            elif _is_comparison(node):
                is_crossed |= self._cross(node, wanted)
        for node, wanted in usual if is_crossed else ():
            if _is_comparison(node) and node.op.id in ORDERED and node not in self.checks.decided:
                a, b = map(self._extents.exact, node.args)
                if a is not None and b is not None and not (_moves(a) or _moves(b)):
                    self._settle(node, node.op.id if wanted else NEGATED[node.op.id], a, b, is_true=wanted)
        return is_crossed

    def _cross(self, node: Apply, wanted: bool) -> bool:
        """Decide a comparison of what changes in the region; whether it is one."""
        if node in self.checks.decided:
            return True
        if node.op.id in ("eq", "ne") and (distance := self._distance(*node.args, lets=self._lets)) is not None:
            self.checks.decided[node] = (distance == 0) == (node.op.id == "eq")
            return True
        a, b, op = *map(self._extents.exact, node.args), node.op.id
        if a is None or b is None or not (_moves(a) or _moves(b)):
            return False
        if not _moves(a):
            a, b, op = b, a, MIRRORED[op]
        is_near = b.high.plus is None and abs(b.high.offset) <= _NEAR
        if op in ORDERED and not (is_near or self._ends_loops(b)):
            usual_first = [op, NEGATED[op]] if wanted else [NEGATED[op], op]
        else:
            usual_first = [_ABOVE[op], _BELOW[op]] if is_near else [_BELOW[op], _ABOVE[op]]
        for claimed in usual_first:
            if self._settle(node, claimed, a, b, is_true=op in (claimed, "ne")):
                break
        return True

    def _ends_loops(self, limit: Extent) -> bool:
        """Whether a limit is something at which loops end."""
        parts = terms(limit.high.plus)
        return 0 < len(parts) <= MOST_TERMS and all(_without_casts(part) in self._known.limits for part in parts)

    def _settle(self, node: Apply, op: str, a: Extent, b: Extent, *, is_true: bool) -> bool:
        """Claim that ``a op b``, so that `node` is what it is said to be; whether that is possible."""
        claims = _possible([*a.needs, *b.needs, _always(op, a, b)])
        if claims is None:
            return False
        self._accept(claims)
        self.checks.decided[node] = is_true
        self.checks.exact |= set(node.args)
        return True

    def _select(self, node: Select) -> None:
        """A selection whose condition is known is one of its values."""
        truth = self._truth(node.condition)
        if truth is not None and node.dtype.is_integer:
            self._choose(node, node.if_true if truth else node.if_false)

    def _truth(self, condition: Expr) -> bool | None:
        """What a condition is, as far as it is decided."""
        match condition:
            case Apply(op, (x,)) if op.id == "not":
                truth = self._truth(x)
                return None if truth is None else not truth
            case Apply(op, (x, y)) if op.id in ("and", "or"):
                truths = {self._truth(x), self._truth(y)}
                known = op.id == "or"
                return known if known in truths else None if None in truths else not known
            case _:
                return self.checks.decided.get(condition)

    def _choose(self, node: Expr, value: Expr) -> None:
        """State that an integer is one of simpler form."""
        extent = self._extents.of(value)
        if extent is not None:
            self._extents.settle(node, extent)
            self.checks.chosen[node] = value

    def _wrap(self, node: Expr, x: Expr, divisor: Expr) -> None:
        """A remainder that wraps at a border is what is divided, or the difference if the divisor has been added."""
        a, b = self._extents.exact(x), self._extents.exact(divisor)
        if a is None or b is None or not _moves(a) or b.low != b.high:
            return
        low, high, value = without(a.low, b.low), without(a.high, b.low), x
        if low is not None and high is not None:
            value = Apply(OPS["sub"], x, divisor)
        elif _without_casts(divisor) in self._known.limits:
            low, high = a.low, a.high
        else:
            return
        claims = _possible([*a.needs, *b.needs, at_least(low, 0), Less(high, b.low)])
        if claims is not None:
            self._accept(claims)
            self._extents.settle(node, Extent(low, high))
            self.checks.chosen[node] = value

    def _clamp(self, node: Apply) -> None:
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
        start, stop = self._start(loop.start), self._stop(loop)
        if start is None or stop is None:
            return None
        last = self._before(loop.stop, stop.high)
        if isinstance(loop.start, Literal) and isinstance(loop.stop, Literal):
            iterations = range(int(loop.start.value), int(loop.stop.value), loop.step)
            last = number(iterations[-1]) if iterations else last
        return Extent(start.low, last, (*start.needs, *stop.needs))

    def _window(self, loop: For) -> None:
        """A loop over the neighbours of a value has as many iterations everywhere: ``for k in i - 2..i + 3``."""
        start, stop = self._extents.exact(loop.start), self._extents.exact(loop.stop)
        count = self._distance(loop.start, loop.stop, lets={})
        if start is None or stop is None or count is None or not 0 < count <= _MOST_NEIGHBOURS:
            return
        claims = _possible([*start.needs, *stop.needs, Less(start.high, number(loop.start.dtype.highest + 1 - count))])
        if claims is not None:
            self._accept(claims)
            self.checks.windows[loop.name] = count

    def _distance(self, x: Expr, y: Expr, *, lets: Mapping[Expr, Expr]) -> int | None:
        """``y - x`` where both have the same terms but for a number; None otherwise, and for sums of many terms.

        The result is in 0 … 2**n - 1 for a type of n bits, whose arithmetic wraps. Locals in `lets` stand for their
        values.
        """
        parts, total, visited = Counter[Expr](), 0, 0
        stack = [(x, -1), (y, 1)]
        while stack:
            visited += 1
            if visited > 4 * MOST_TERMS:  # the nodes of two sums of MOST_TERMS terms
                return None
            node, sign = stack.pop()
            node = lets.get(node, node)
            match self.checks.chosen.get(node, node):
                case Literal() as constant:
                    total += sign * int(constant.value)
                case Apply(op, (a, b)) if op.id in ("add", "sub"):
                    stack += [(a, sign), (b, sign if op.id == "add" else -sign)]
                case other:
                    parts[other] += sign
        return None if any(parts.values()) else total % (1 << x.dtype.bits)

    def _is_steady(self, value: Expr) -> bool:
        """Whether what a let was given is that as long as the let is seen."""
        return not any(
            (isinstance(node, Local) and node.name in self._assigned)
            or (isinstance(node, Load) and node.buffer.access is not Access.READ)
            for node in postorder((value,))
        )

    def _start(self, start: Expr) -> Extent | None:
        """A loop that could begin later is taken to begin at 0."""
        extent = self._extents.exact(start)
        if extent is not None and isinstance(start, Apply) and start.op.id == "sub_sat":
            claims = _possible([*extent.needs, Less(extent.high, number(1))])
            if claims is not None and self._extents.is_fixed(start):
                return self._end(start, Literal(start.dtype, 0), Extent(number(0), number(0)), claims)
        return extent

    def _stop(self, loop: For) -> Extent | None:
        """A loop over a block that could end earlier than at a number is taken to end there.

        Blocks are invocations, and what is left from an element on: few of them are not whole. ``min(n, 32)`` is none.
        """
        stop = loop.stop
        if isinstance(stop, Apply) and stop.op.id == "min" and self._extents.is_fixed(stop):
            for most, other in (stop.args, stop.args[::-1]):
                whole, extent = self._extents.exact(most), self._extents.exact(other)
                is_block = isinstance(most, Literal) and (loop.is_parallel or _is_rest(other))
                if is_block and whole is not None and extent is not None:
                    claims = _possible([*whole.needs, *extent.needs, Less(whole.high.shifted(-1), extent.low)])
                    if claims is not None:
                        return self._end(stop, most, whole, claims)
            leaf = self._extents.leaf(stop)
            if leaf is not None:
                self._least_ends.add(stop)
                return leaf
        return self._extents.exact(stop)

    def _before(self, end: Expr, stop: Bound) -> Bound:
        """The counter of the last iteration before the `end` of a loop, which is `stop`.

        The least of several values may be 0. The loop has no iteration then, and a claim about iteration 0 asks for
        more than is needed.
        """
        is_some = self._extents.least(self.checks.ends.get(end, end)) >= 1
        if stop.offset or not stop.is_natural or not (is_some or end in self._least_ends):
            return stop.shifted(-1)
        op = "sub" if is_some else "sub_sat"
        return at_most(Apply(OPS[op], stop.spelled(), literal(u64, 1)), max(stop.high - 1, 0)) or stop.shifted(-1)

    def _end(self, bound: Expr, value: Expr, extent: Extent, claims: list[Less]) -> Extent:
        self._accept(claims)
        self.checks.ends[bound] = value
        return Extent(extent.low, extent.high)


def _is_rest(node: Expr) -> bool:
    return isinstance(node, Apply) and node.op.id in ("sub", "sub_sat")


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


def _without_casts(node: Expr) -> Expr:
    while isinstance(node, Cast):
        node = node.value
    return node


def _is_comparison(node: Expr) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op.id in MIRRORED and node.args[0].dtype.is_integer


def _is_disjunction(node: Expr) -> bool:
    return isinstance(node, Apply) and node.op.id == "or"


_ABOVE = {"gt": "gt", "le": "gt", "eq": "gt", "ne": "gt", "ge": "ge", "lt": "ge"}
_BELOW = {MIRRORED[op]: MIRRORED[claimed] for op, claimed in _ABOVE.items()}
"""What is claimed, of what is above a limit or below it, to decide a comparison with it."""


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
