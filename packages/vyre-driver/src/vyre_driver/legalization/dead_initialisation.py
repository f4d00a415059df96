"""Arrays of which a kernel reads no element before it has written it: they need not be zero at first.

Elements are found by `images`: ``y * 17 + x`` for all y and x below 16 is each element of 16 rows of 17 but the last
of each row, and if only such elements are read, the array is overwritten.

What counts as written differs: invocations write their own private memory, one statement after the other; what they
write to the memory of the workgroup is written by all of them where all come along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from vyre_driver.legalization.images import Digits, Images, spread
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Expr, Id, IdKind, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, Break, Continue, For, If, Let, Region, Return, Stmt, Store
from vyre_foundation.ir.walk import bodies, expressions, postorder, statements

_MAX_ELEMENTS = 1 << 18

Part = frozenset[tuple[Expr, int]]
"""Ids and counters of which one value is meant, each with what it is multiplied by."""
_EVERYWHERE: Part = frozenset()

Written = Mapping[Part, int]
"""Elements that are written by now, as the bits of a number: those of the empty part, and for every other part, in the
round and by the invocation that its counters and ids are of, the sum of these plus each bit."""


@dataclass(frozen=True, slots=True)
class AccessSummary:
    """What a statement does to arrays, whatever the array.

    `reads` are the elements that it reads itself; the flags say whether a barrier or a return is in it, and whether
    control may continue elsewhere than behind it.
    """

    reads: Sequence[tuple[Buffer, Expr]]
    has_barrier: bool
    returns: bool
    may_leave: bool


@dataclass(frozen=True, slots=True)
class Uses:
    """Of a body: its statements with each array in them, numbered, and the first one behind which not all go on."""

    of: Mapping[Buffer, Sequence[tuple[int, Stmt]]]
    leaving: float


def dead_initialisations(program: Program) -> frozenset[Buffer]:
    """The private and workgroup arrays whose first contents are never read."""
    arrays = [b for b in program.buffers if b.memory in (Memory.PRIVATE, Memory.WORKGROUP)]
    if not arrays:
        return frozenset()
    ids: dict[Expr, range] = {Id(IdKind.LOCAL_ID, n): range(size) for n, size in enumerate(program.workgroup_size)}
    lets = [s for s in statements(program.body) if isinstance(s, Let)]
    images = Images(ids, {Local(s.name, s.value.dtype): s.value for s in lets})
    known = _Knowledge(frozenset(arrays))
    known.enter(program.body)
    return frozenset(
        b for b in arrays if _element_count(b) <= _MAX_ELEMENTS and _Array(b, images, known).is_unseen(program.body)
    )


class _Knowledge:
    """What is known of all statements and bodies of a program, each looked at once."""

    def __init__(self, arrays: frozenset[Buffer]) -> None:
        self._arrays = arrays
        self._statements: dict[int, AccessSummary] = {}
        self._bodies: dict[int, Uses] = {}

    def of(self, stmt: Stmt) -> AccessSummary:
        return self._statements[id(stmt)]

    def uses(self, body: Body) -> Uses:
        return self._bodies[id(body)]

    def enter(self, body: Body) -> frozenset[Buffer]:
        """The arrays in `body`."""
        uses: dict[Buffer, list[tuple[int, Stmt]]] = {}
        leaving = inf
        for number, stmt in enumerate(body):
            for array in self._statement(stmt):
                uses.setdefault(array, []).append((number, stmt))
            if self.of(stmt).may_leave:
                leaving = min(leaving, number)
        self._bodies[id(body)] = Uses(uses, leaving)
        return frozenset(uses)

    def _statement(self, stmt: Stmt) -> frozenset[Buffer]:
        reads, inside = _reads(stmt), [self.enter(body) for body in bodies(stmt)]
        within = [self.of(s) for body in bodies(stmt) for s in body]
        has_barrier = isinstance(stmt, Barrier) or any(k.has_barrier for k in within)
        returns = isinstance(stmt, Return) or any(k.returns for k in within)
        leaves = isinstance(stmt, (Return, Break, Continue)) or any(k.may_leave for k in within)
        may_leave = returns if isinstance(stmt, For) else leaves
        self._statements[id(stmt)] = AccessSummary(reads, has_barrier, returns, may_leave)
        own = {buffer for buffer, _ in reads} | ({stmt.buffer} if isinstance(stmt, Store) else set())
        return frozenset(own & self._arrays).union(*inside)


def _element_count(buffer: Buffer) -> int:
    assert isinstance(buffer.count, int)
    return buffer.count


def _reads(stmt: Stmt) -> Sequence[tuple[Buffer, Expr]]:
    """The elements that `stmt` itself looks at."""
    found = [(n.buffer, n.index) for n in postorder(expressions(stmt)) if isinstance(n, Load)]
    return [*found, (stmt.buffer, stmt.index)] if isinstance(stmt, Atomic) else found


class _Seen(Exception):
    """Somebody may see the first contents."""


class _Array:
    """One array. `uniform` is said where all invocations of the workgroup come along."""

    def __init__(self, buffer: Buffer, images: Images, known: _Knowledge) -> None:
        self._buffer, self._images, self._known = buffer, images, known
        self._element_count = _element_count(buffer)
        self._ids: Digits = {id: images.digits[id] for id in images.digits if isinstance(id, Id)}
        self._is_shared = buffer.memory is Memory.WORKGROUP

    def is_unseen(self, body: Body) -> bool:
        try:
            self._body(body, {}, uniform=True)
        except _Seen:
            return False
        return True

    def _body(self, body: Body, written: Written, *, uniform: bool) -> Written:
        """What is written behind `body`; raises where it reads something else."""
        uses = self._known.uses(body)
        for number, stmt in uses.of.get(self._buffer, ()):
            written = self._stmt(stmt, written, uniform=uniform and number <= uses.leaving)
        return written

    def _stmt(self, stmt: Stmt, written: Written, *, uniform: bool) -> Written:
        for buffer, index in self._known.of(stmt).reads:
            if buffer is self._buffer:
                self._require(index, written)
        match stmt:
            case Store(buffer, index) if buffer is self._buffer:
                return self._with(index, written, uniform=uniform)
            case If(_, then, orelse):
                return self._branches(stmt, then, orelse, written, uniform=uniform)
            case For():
                return self._loop(stmt, written, uniform=uniform)
            case Region(_, body):
                return self._body(body, written, uniform=uniform)
            case _:
                return written

    # ── elements ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _elements(self, index: Expr, all_of: Digits) -> tuple[Part, int] | None:
        """What `index` depends on, and its elements for all values of `all_of`; None where it is not constant."""
        found = self._images.sum(index)
        if found is None:
            return (frozenset(((index, 1),)), 1) if self._images.is_constant(index) else None
        elements = 1 << found.constant if found.constant < self._element_count else 0
        for digit, weight in found.weights.items():
            if digit in all_of:
                elements = spread(elements, weight, all_of[digit], self._element_count)
        return frozenset((digit, weight) for digit, weight in found.weights.items() if digit not in all_of), elements

    def _with(self, index: Expr, written: Written, *, uniform: bool) -> Written:
        found = self._elements(index, self._ids if self._is_shared and uniform else {})
        return written if found is None else {**written, found[0]: written.get(found[0], 0) | found[1]}

    def _require(self, index: Expr, written: Written) -> None:
        """Raise if an element at `index` may not be written yet."""
        for all_of in ({}, self._ids, self._images.digits):
            found = self._elements(index, all_of)
            if found is not None and not found[1] & ~written.get(found[0], 0):
                return
        if written.get(_EVERYWHERE, 0) != (1 << self._element_count) - 1:
            raise _Seen

    # ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _branches(self, stmt: If, then: Body, orelse: Body, written: Written, *, uniform: bool) -> Written:
        uniform = uniform and self._known.of(stmt).has_barrier
        one, other = (self._body(body, written, uniform=uniform) for body in (then, orelse))
        if self._is_shared and not uniform:
            return written
        return {part: one[part] & other[part] for part in one.keys() & other.keys()}

    def _loop(self, loop: For, written: Written, *, uniform: bool) -> Written:
        """A round sees what the rounds before it have written only as far as that is the same in all of them."""
        counter, values = Local(loop.name, loop.start.dtype), _values(loop)
        self._images.enter(counter, values)
        may_wait = bool(values) or self._known.of(loop).has_barrier
        inner = self._body(loop.body, written, uniform=uniform and may_wait)
        if not values or any(self._known.of(s).may_leave for s in loop.body):
            return written
        behind = dict(written)
        for part, elements in inner.items():
            weight = dict(part).get(counter)
            rest = part if weight is None else part - {(counter, weight)}
            gained = elements if weight is None else spread(elements, weight, values, self._element_count)
            behind[rest] = behind.get(rest, 0) | gained
        return behind


def _values(loop: For) -> range:
    """The values of the counter; none where they are not known, or less than 0."""
    if isinstance(loop.start, Literal) and isinstance(loop.stop, Literal) and int(loop.start.value) >= 0:
        return range(int(loop.start.value), int(loop.stop.value), loop.step)
    return range(0)
