"""Loop versioning: a region with and without checks, and one comparison that chooses.

Nearly every workgroup is within all bounds, and compilers vectorize loops without checks. The region is a loop or,
where invocations are work items, the whole kernel; the comparison is then uniform in the workgroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.lowered import RARE
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.target import Target
from vyre_driver.vectorization.versioning.bound import at_most, conjunction, number
from vyre_driver.vectorization.versioning.checks import Checks, RegionFacts, changing_names, find_checks, find_usual
from vyre_driver.vectorization.versioning.extents import Extent, Extents
from vyre_driver.vectorization.versioning.peeling import Inside
from vyre_driver.vectorization.versioning.unchecked import Unchecked, rechecked
from vyre_driver.vectorization.workgroups.structure import has_barrier
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.buffer import Access, LengthOf
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, Break, For, If, Let, Region, Return, Stmt, trip_count
from vyre_foundation.ir.walk import (
    bodies,
    expressions,
    jumps_of,
    postorder,
    rewrite,
    rewrite_body,
    statements,
    with_bodies,
    with_expressions,
)
from vyre_foundation.ops import OPS

MAX_NODES = 8000
"""Regions of more operations stay as they are: twice that is more to compile than checks are worth."""
MAX_ARMS = 500
"""Loops of more operations are not peeled."""
MAX_WORK = 16
"""Regions together come to this many times the operations of a kernel at most, counted when they are looked at and when
they are copied: loops in loops in loops make it grow with the square of the depth otherwise."""
_FEW = 4
"""Loops of one invocation with at most this trip count are not versioned by themselves."""
_MANY = 64
"""Loops with at least this trip count are worth a comparison of their own."""


def version_regions(program: Program, ranges: Ranges, target: Target) -> Program:
    """Write regions twice, without the checks that one comparison before them decides.

    ``for l: a[i + l]``  →  ``if i + 255 < length(a): for l: a[i + l] (unchecked) else: for l: a[i + l]``

    Only for targets with `loop_versioning` and arithmetic on u64, in which no bound wraps.
    """
    if not target.loop_versioning or u64 not in target.arithmetic:
        return program
    versioner = _Versioner(program, ranges, target)
    if program.workgroup_volume == 1:
        return declare(program, versioner.loops(program.body))
    return declare(program, versioner.kernel(program))


class _Versioner:
    def __init__(self, program: Program, ranges: Ranges, target: Target) -> None:
        self._ranges, self._target, self._fresh = ranges, target, Fresh.of(program)
        self._left = MAX_WORK * _operations(program.body)
        self._same_length: dict[Expr, Expr] = {
            Length(b): Length(other)
            for b in program.buffers
            for other in program.buffers
            if b.count == LengthOf(other.name)
        }
        self._lets: dict[Expr, Expr] = {}
        """Values of locals that bounds of loops are made of."""

    # ── regions ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def kernel(self, program: Program) -> Body:
        """Work items: the region is all of the kernel."""
        body = program.body
        if not self._affords(body, MAX_NODES):
            return body
        extents = Extents(self._ranges, changing_names(body), _coordinates(program))
        checks = find_checks(body, extents)
        if not checks.loads:  # a guard alone costs no more than the comparison
            return self.loops(body)
        fast = self._unchecked(body, checks, extents)
        return (If(conjunction(checks.claims), self.loops(fast), self._slow(body)),)

    def loops(self, body: Body) -> Body:
        """The loops of `body`, outermost first, each in two versions where that is worth it."""
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, For):
                out += self._loop(stmt)
                continue
            if isinstance(stmt, Let):
                self._lets[Local(stmt.name, stmt.value.dtype)] = stmt.value
                out.append(stmt)
            else:
                out.append(with_bodies(stmt, self.loops))
        return _same(body, tuple(out))

    def _loop(self, loop: For) -> Body:
        """`loop` in two versions, or loops in it."""
        if has_barrier(loop) or _is_search(loop) or _is_short(loop) or not self._affords((loop,), MAX_NODES):
            return (with_bodies(loop, self.loops),)
        is_long = _is_long_loop(loop, self._ranges)
        ends, fixed = self._with_fixed_bounds(loop)
        sizes, fixed = self._with_fixed_loads(fixed)
        self._lets |= {Local(s.name, s.value.dtype): s.value for s in (*ends, *sizes) if isinstance(s, Let)}
        limits = self._limits(loop)
        extents = Extents(self._ranges, changing_names((fixed,)), {})
        checks = find_checks((fixed,), extents)
        if not checks.places:
            return (with_bodies(loop, self.loops),)
        if _only_in_long_loops(fixed, checks, self._ranges):
            if ends or not _is_nest(loop):
                return (with_bodies(loop, self.loops),)
            other = (with_bodies(fixed, self.loops),)
            return (*sizes, *self._with_one_arm(fixed, checks, other, RegionFacts(limits=limits), is_long=False))
        (fast,) = self._unchecked((fixed,), checks, extents)
        other = (with_bodies(fast, self.loops),)
        fastest = self._with_one_arm(fixed, checks, other, RegionFacts(checks.loads, limits), is_long=is_long)
        return (*ends, *sizes, If(conjunction(checks.claims), fastest, self._slow((fixed,))))

    def _with_one_arm(self, loop: For, checks: Checks, other: Body, known: RegionFacts, *, is_long: bool) -> Body:
        """Version a loop for one outcome of its conditions.

        ``for l: x = select(first + l > 0, a, b)``  →  ``if first > 0: for l: x = a else: for l: x = select(…)``

        Of a loop whose loads are proven, or of a nest with all that there is to decide: borders are in few places, and
        vectors of conditions are expensive. `other` is the loop as it is elsewhere. `is_long`: peeling is worth it.
        """
        if not self._affords((loop,), MAX_ARMS):
            return other
        extents = Extents(self._ranges, changing_names((loop,)), {})
        found = find_usual((loop,), extents, known)
        if found.decided.keys() == checks.decided.keys() and not (found.chosen or found.windows):
            return other
        loops = self._peeled(loop, checks, other, known) if is_long else None
        if loops is not None:
            return loops
        inside = self._unchecked((loop,), found, extents)
        return (If(conjunction(found.claims), inside, rechecked(other, self._ranges)),)

    def _peeled(self, loop: For, checks: Checks, other: Body, known: RegionFacts) -> Body | None:
        """Peel the iterations of a loop whose conditions differ from those of the middle.

        ``for l: x = select(first + l > 0, a, b)``  →  the loop as it is up to where ``first + l > 0``, from there on
        ``x = a``, and the loop as it is for the rest; None where it is not so easy to say where that is.

        All claims of `checks` hold for the whole loop, hence for its middle. Of the middle alone more could be claimed:
        then the loop is not peeled.
        """
        (slow,) = rechecked(other, self._ranges)
        inside = Inside(*(Local(self._fresh(name), u32) for name in ("inside", "outside")))
        for local in (inside.start, inside.stop):
            self._ranges.learn(local, 0, self._ranges.of(loop.stop).high)
        between = replace(loop, start=inside.start, stop=inside.stop)
        proven = find_checks((between,), Extents(self._ranges, changing_names((loop,)), {}))
        extents = Extents(self._ranges, changing_names((loop,)), {})
        found = find_usual((between,), extents, known)
        if not proven.is_within(checks) or not checks.loads <= found.loads or not isinstance(slow, For):
            return None
        lets = inside.lets([claim for claim in found.claims if claim not in proven.claims], loop.stop)
        if lets is None:
            return None
        side = Local(self._fresh("side"), u32)
        is_first = Apply(OPS["eq"], side, literal(u32, 0))
        start = Select(is_first, slow.start, inside.stop)
        stop = Select(is_first, inside.start, slow.stop)
        fast = self._unchecked((between,), found, extents)
        both = (replace(slow, start=start, stop=stop), If(is_first, fast))
        return (*lets, For(side.name, literal(u32, 0), literal(u32, 2), 1, both))

    def _limits(self, nest: For) -> frozenset[Expr]:
        """What the loops of a nest end at, under all of its names."""
        stops = postorder(s.stop for s in statements((nest,)) if isinstance(s, For))
        limits = set[Expr]()
        while new := [node for node in stops if node not in limits]:
            limits.update(new)
            values = [self._lets.get(node) or self._same_length.get(node) for node in new]
            stops = postorder(value for value in values if value is not None)
        limits = {node for node in limits if not isinstance(node, Literal)}
        return frozenset(limits | {local for local, value in self._lets.items() if value in limits})

    def _affords(self, region: Body, most: int) -> bool:
        """Whether a region is small enough to be written twice, within the work that is left."""
        if self._left <= 0:
            return False
        size = _operations(region)
        self._left -= 2 * size
        return size <= most and self._left >= 0

    def _slow(self, body: Body) -> Body:
        return (Region(RARE, rechecked(body, self._ranges)),)

    def _with_fixed_bounds(self, loop: For) -> tuple[Body, For]:
        """Bounds that are read from memory are read once."""
        setup: list[Stmt] = []
        ends = []
        for end in (loop.start, loop.stop):
            if any(isinstance(node, Load) for node in postorder((end,))):
                local = Local(self._fresh(f"{loop.name}_end"), end.dtype)
                setup.append(Let(local.name, end))
                end = self._ranges.carry(end, local)
            ends.append(end)
        return tuple(setup), replace(loop, start=ends[0], stop=ends[1]) if setup else loop

    def _with_fixed_loads(self, loop: For) -> tuple[Body, For]:
        """Load integers at constant indices of read-only buffers once, before the loop: bounds are made of sizes."""
        nodes = postorder(e for s in statements(loop.body) for e in expressions(s))
        values = {node: Local(self._fresh(node.buffer.name), node.dtype) for node in nodes if _is_fixed(node)}
        if not values:
            return (), loop
        same: dict[Expr, Expr] = {
            Local(s.name, s.value.dtype): values[s.value]
            for s in statements(loop.body)
            if isinstance(s, Let) and isinstance(s.value, Load) and s.value in values
        }
        memo: dict[Expr, Expr] = {node: self._ranges.carry(node, local) for node, local in values.items()} | same

        def once(stmt: Stmt) -> Stmt | Body:
            if isinstance(stmt, Let) and Local(stmt.name, stmt.value.dtype) in same:
                return ()
            return with_expressions(stmt, lambda expr: rewrite(expr, lambda node: node, memo))

        setup = tuple(Let(local.name, node) for node, local in values.items())
        return setup, replace(loop, body=rewrite_body(loop.body, once))

    def _unchecked(self, body: Body, checks: Checks, extents: Extents) -> Body:
        return Unchecked(body, checks, extents, self._ranges, self._fresh, self._target).body(body)


def _coordinates(program: Program) -> dict[Id, Extent]:
    """The ids of the invocations of a workgroup."""
    ids: dict[Id, Extent] = {}
    for axis, size in enumerate(program.workgroup_size):
        group = Cast(u64, Id(IdKind.WORKGROUP_ID, axis))
        first = at_most(Apply(OPS["mul"], group, literal(u64, size)), (1 << 32) - size)
        assert first is not None
        ids[Id(IdKind.LOCAL_ID, axis)] = Extent(number(0), number(size - 1))
        ids[Id(IdKind.GLOBAL_ID, axis)] = Extent(first, first.shifted(size - 1))
    return ids


def _is_fixed(node: Expr) -> TypeGuard[Load]:
    """Whether a node loads an integer at a constant index of a read-only buffer whose declared length contains it."""
    if not isinstance(node, Load) or node.buffer.access is not Access.READ or not node.dtype.is_integer:
        return False
    index, count = node.index, node.buffer.count
    return not node.checked and isinstance(index, Literal) and isinstance(count, int) and index.bits < count


def _operations(body: Body) -> int:
    return len(postorder(e for s in statements(body) for e in expressions(s)))


def _only_in_long_loops(loop: For, checks: Checks, ranges: Ranges) -> bool:
    """Whether all that there is to decide lies in inner loops that can as well ask for themselves."""
    long = [s for s in loop.body if isinstance(s, For) and work(s, ranges) >= _MANY]
    inner = {id(s) for s in statements(tuple(long))}
    return all(id(place) in inner for place in checks.places)


def _is_short(loop: For) -> bool:
    """Whether a loop of one invocation has few iterations: it is written out, and a branch around it costs more."""
    return not loop.is_parallel and loop.trip_count is not None and loop.trip_count <= _FEW


def _is_search(loop: For) -> bool:
    """Whether a loop of unknown length ends where it has found something.

    Compilers make no vectors of it, and it may end before a comparison was worth its cost.
    """
    is_known = isinstance(loop.start, Literal) and isinstance(loop.stop, Literal)
    return not is_known and any(isinstance(s, Break) for s in jumps_of(*loop.body))


def _is_long_loop(loop: For, ranges: Ranges) -> bool:
    """Whether a loop begins at 0, is long, and comes to its end."""
    begins = isinstance(loop.start, Literal) and not loop.start.bits and loop.step == 1 and loop.start.dtype is u32
    is_simple = not any(isinstance(s, (Break, Return)) for s in statements(loop.body))
    return begins and is_simple and _known_iterations(loop, ranges) >= _MANY


def _is_nest(loop: For) -> bool:
    """Whether a loop is there for the one in it."""
    *before, last = loop.body
    return isinstance(last, For) and all(isinstance(s, Let) for s in before)


def work(loop: For, ranges: Ranges) -> int:
    """How many iterations a loop and one in it usually have."""
    nested = [work(inner, ranges) for inner in _loops_in(loop.body)]
    return _known_iterations(loop, ranges) * max(nested, default=1)


def _loops_in(body: Body) -> Iterator[For]:
    """The outermost loops: each takes at least as long as those in it."""
    for stmt in body:
        if isinstance(stmt, For):
            yield stmt
        else:
            for inner in bodies(stmt):
                yield from _loops_in(inner)


def _known_iterations(loop: For, ranges: Ranges) -> int:
    """As far as is known, of a loop that does not end early. Batches of workgroups usually are as large as they may."""
    stop = loop.stop
    ends = stop.args if isinstance(stop, Apply) and stop.op.id == "min" else (stop,)
    last = max(high if isinstance(end, Local) and low > 1 else low for end in ends for low, high in (ranges.of(end),))
    return max(1, trip_count(int(loop.start.value), last, loop.step)) if isinstance(loop.start, Literal) else 1


def _same(old: Body, new: Body) -> Body:
    """`old` where nothing changed."""
    return old if len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True)) else new
