"""Random statements: every place knows which of them are legal there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vyre_foundation.dtype import DType, bool_, i32, i64, u32, u64
from vyre_foundation.ir import stmt as ir
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Load, Local, Select, literal
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    AtomicOp,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    Let,
    Region,
    Return,
    Stmt,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
    Var,
)
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import OPS
from vyre_foundation.testing import digest
from vyre_foundation.testing.expressions import LAUNCH, NONE, WORKGROUP, Expressions, level_of
from vyre_foundation.testing.scope import COMMUTATIVE, GID, Hold, Shared
from vyre_foundation.testing.values import random_literal
from vyre_foundation.validate.facts import Uniformity

ATOMIC_TYPES = (u32, i32, u64, i64)
_MAX_ROUNDS = 48
"""Rounds of all loops around a statement together."""


@dataclass(slots=True)
class Place:
    """What is legal here beside what the scope says. `holds` are those a `continue` or `break` must find, if any."""

    nesting: int = 0
    rounds: int = 1
    in_loop: bool = False
    breaks: Uniformity = NONE
    """How uniform the condition of a `break` or `continue` must be."""
    at_top: bool = True
    """Only loops with bounds of the launch are around: a grid barrier is legal."""
    conditional: bool = False
    """Directly inside of an `if`: a bare jump leaves something to run."""
    holds: dict[Buffer, Shared] | None = None


class Statements:
    """Emits statements at the end of the body under construction."""

    def __init__(self, exprs: Expressions, subgroup_size: int | None) -> None:
        self.exprs, self.subgroup_size = exprs, subgroup_size
        self.rng, self.profile, self.scope = exprs.rng, exprs.profile, exprs.scope
        self.budget = self.profile.max_statements
        self.out: list[Stmt] = []
        self.tail = False
        """The last part of a program: no barriers or collectives follow, so invocations may leave one by one."""
        self.grid_barriers = False
        self.sums: Buffer | None = None
        """The output for the digests."""

    def body(self, place: Place, count: int) -> Body:
        """A body of about `count` statements."""
        outer, self.out = self.out, []
        for _ in range(count):
            self.statement(place)
            if _jumps(self.out):
                break
        inner, self.out = tuple(self.out), outer
        return inner

    def statement(self, place: Place) -> None:
        """One random statement, or a simple one where the budget is spent."""
        self.budget -= 1
        choices = self._choices(place)
        kinds, weights = zip(*choices, strict=True)
        self.rng.choices(kinds, weights)[0](place)

    def _choices(self, place: Place) -> list[tuple[Callable[[Place], None], int]]:
        profile, together = self.profile, self.scope.flow.value >= WORKGROUP.value and not self.tail
        nests = self.budget > 0 and place.nesting < profile.max_nesting
        choices: list[tuple[Callable[[Place], None], int]] = [(self.let, 6), (self.var, 2), (self.store, 6)]
        # fmt: off
        optional: list[tuple[bool, Callable[[Place], None], int]] = [
            (bool(self.scope.assignable()),                                self.assign,       4),
            (bool(self.scope.assignable()) and place.rounds > 1,           self.accumulate,   6),
            (bool(self.scope.private),                                     self.store_private, 3),
            (profile.branches and nests,                                   self.branch,       4),
            (profile.loops and nests and place.rounds < _MAX_ROUNDS,       self.loop,         4),
            (profile.regions and nests,                                    self.region,       1),
            (profile.atomics,                                              self.atomic,       4),
            (profile.traps,                                                self.trap,         1),
            (profile.barriers and together,                                self.barrier,      4),
            (self.subgroup_size is not None and together,                  self.subgroup,     6),
            (self.grid_barriers and place.at_top and not self.tail,        self.grid_barrier, 3),
            (place.in_loop,                                                 self.leave_loop,   2),
            (profile.returns and self._may_return(together),               self.leave,        1),
        ]
        # fmt: on
        return choices + [(kind, weight) for legal, kind, weight in optional if legal]

    def _may_return(self, together: bool) -> bool:
        return self.tail or (together and not self.grid_barriers)

    def show(self, value: Expr, chance: float) -> None:
        """Mix a value into the digest, with some chance."""
        if self.profile.digest and self.rng.random() < chance:
            self.out.append(digest.show(value))

    def _seen(self, value: Expr) -> Expr:
        """The value, which is about to be used; some part of it may leave a trace first."""
        self.show(self._inner(value), 0.6)
        return value

    def _inner(self, value: Expr) -> Expr:
        """Some part of an expression, so that what the rest makes of it can not hide it."""
        parts = [node for node in postorder((value,)) if isinstance(node, (Apply, Cast, Bitcast, Select))]
        return self.rng.choice(parts) if parts else value

    # ── locals ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _value(self, dtype: DType) -> tuple[Expr, Uniformity]:
        """A value, and over whom it is the same: mostly nobody."""
        level = self.rng.choices((NONE, WORKGROUP, LAUNCH), (6, 2, 1))[0]
        return self.exprs.expr(dtype, level), level_of(self.scope, level)

    def let(self, place: Place) -> None:
        dtype = self.exprs.any_type()
        value, level = self._value(dtype)
        name = self.scope.fresh("t")
        self.out.append(Let(name, value))
        self.show(self.scope.declare(name, dtype, level), 0.5)
        self.show(self._inner(value), 0.6)

    def var(self, place: Place) -> None:
        """A mutable local; what is assigned to it later may differ, so it is uniform over a workgroup at most."""
        dtype = self.exprs.any_type()
        uniform = self.scope.flow.value >= WORKGROUP.value and not self.tail and self.rng.random() < 0.3
        name = self.scope.fresh("v")
        self.out.append(Var(name, self.exprs.expr(dtype, WORKGROUP if uniform else NONE)))
        self.scope.declare(name, dtype, WORKGROUP if uniform else NONE, mutable=True)

    def assign(self, place: Place) -> None:
        variable = self.rng.choice(self.scope.assignable())
        value = self._seen(self.exprs.expr(variable.local.dtype, variable.level))
        self.out.append(Assign(variable.local.name, value))
        self.show(variable.local, 0.4)

    def accumulate(self, place: Place) -> None:
        """Make a mutable local remember how often and with which values this place was reached."""
        variable = self.rng.choice(self.scope.assignable())
        local, dtype = variable.local, variable.local.dtype
        if dtype is bool_:
            self.out.append(Assign(local.name, Apply(OPS["xor"], local, self.exprs.expr(bool_, variable.level, 2))))
            return
        counters = self.scope.counters(variable.level)
        seen = self.rng.choice(counters) if counters else self.exprs.expr(u32, variable.level, 1)
        grown = Apply(OPS["mul"], local, literal(dtype, 3))
        self.out.append(Assign(local.name, Apply(OPS["add"], grown, Cast(dtype, seen))))

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def store(self, place: Place) -> None:
        """A store to an element that this invocation owns, or out of bounds."""
        writable = self.scope.writable()
        if not writable:
            return self.let(place)
        shared = self.rng.choice(writable)
        index = self.exprs.own_index(shared)
        count = shared.buffer.count
        if self.rng.random() < 0.08:
            index = self.exprs.outside(count) if isinstance(count, int) else literal(u32, 2**32 - 1)
        self.out.append(Store(shared.buffer, index, self._seen(self.exprs.expr(shared.buffer.dtype))))

    def store_private(self, place: Place) -> None:
        buffer = self.rng.choice(self.scope.private)
        self.out.append(Store(buffer, self.exprs.index(buffer, NONE), self.exprs.expr(buffer.dtype)))
        self.show(Load(buffer, self.exprs.index(buffer, NONE)), 0.3)

    def atomic(self, place: Place) -> None:
        """A commutative atomic anywhere in a buffer that is held for it, or any atomic on an own element."""
        free = [s for s in self.scope.shared.values() if s.hold is Hold.ATOMIC]
        own = [s for s in self.scope.writable() if s.buffer.dtype in ATOMIC_TYPES and s.buffer.access.reads]
        if not free and not own:
            return self.store(place)
        shared = self.rng.choice(free) if free and (not own or self.rng.random() < 0.7) else self.rng.choice(own)
        dtype = shared.buffer.dtype
        value = self._seen(self.exprs.expr(dtype))
        if shared.hold is Hold.ATOMIC:
            self.out.append(Atomic(shared.op, shared.buffer, self.exprs.index(shared.buffer, NONE), value))
            return
        op = self.rng.choice(tuple(AtomicOp))
        expected = self.exprs.expr(dtype) if op is AtomicOp.COMPARE_EXCHANGE else None
        result = self.scope.fresh("old") if self.profile.atomic_results and self.rng.random() < 0.6 else None
        self.out.append(Atomic(op, shared.buffer, self.exprs.own_index(shared), value, expected, result))
        if result is not None:
            self.show(self.scope.declare(result, dtype, NONE), 0.8)

    # ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _nested(self, inner: Place, level: Uniformity, count: int, counter: Local | None = None) -> Body:
        """A body that leaves the holds of all buffers as it found them; that of a loop shows its `counter`."""
        before = dict(self.scope.shared)
        with self.scope.block(level):
            shown = (digest.show(counter),) if counter is not None and self.profile.digest else ()
            body = (*shown, *self.body(inner, count))
        after, self.scope.shared = self.scope.shared, before
        if after == before or _jumps(body):
            return body
        needs_grid = any(_grid_only(shared, before[buffer]) for buffer, shared in after.items())
        return (*body, Barrier(ir.Scope.GRID if needs_grid else ir.Scope.WORKGROUP))

    def branch(self, place: Place) -> None:
        level = self._branch_level(0.35)
        condition = self._seen(self.exprs.expr(bool_, level))
        inner = replace(place, nesting=place.nesting + 1, at_top=False, conditional=True)
        then = self._nested(inner, level, self.rng.randint(1, 4))
        orelse = self._nested(inner, level, self.rng.randint(1, 3)) if self.rng.random() < 0.5 else ()
        self.out.append(If(condition, then, orelse))

    def _branch_level(self, chance: float) -> Uniformity:
        """Over whom a condition or bound is to be the same."""
        together = self.scope.flow.value >= WORKGROUP.value and not self.tail
        return WORKGROUP if together and self.rng.random() < chance else NONE

    def region(self, place: Place) -> None:
        """Transparent: what is declared inside stays in sight."""
        inside = self.body(replace(place, nesting=place.nesting + 1, conditional=False), self.rng.randint(1, 3))
        self.out.append(Region(self.rng.choice(("tile", "setup", "inlined add")), inside))

    def loop(self, place: Place) -> None:
        """A loop of a few rounds. In one with uniform bounds and breaks, barriers are legal; with bounds of the launch
        and no breaks, grid barriers too."""
        level = self._branch_level(0.55)
        if place.at_top and not self.tail and self.rng.random() < (0.8 if self.grid_barriers else 0.3):
            level = LAUNCH
        if not self.scope.assignable():
            self.var(place)
        dtype = self.rng.choice(self.exprs.integers)
        start, stop, step, rounds = self._bounds(dtype, level)
        name = self.scope.fresh("i")
        at_top = level is LAUNCH and place.at_top
        inner = Place(
            nesting=place.nesting + 1,
            rounds=place.rounds * rounds,
            in_loop=not (at_top and self.grid_barriers),
            breaks=level,
            at_top=at_top,
            holds=dict(self.scope.shared),
        )
        with self.scope.block(level):
            counter = self.scope.declare(name, dtype, level_of(self.scope, level), is_counter=True)
            body = self._nested(inner, level, self.rng.randint(1, 5), counter)
        self.out.append(For(name, start, stop, step, body))

    def _bounds(self, dtype: DType, level: Uniformity) -> tuple[Expr, Expr, int, int]:
        """Start, stop, step and the greatest number of rounds."""
        rng = self.rng
        low = max(dtype.lowest, -3)
        step = rng.choice((1, 1, 1, 2, 3, 7, 100))
        match rng.randrange(5):
            case 0:
                start = rng.randint(low, 3)
                return literal(dtype, start), literal(dtype, rng.randint(low, start + 5)), step, 5
            case 1:
                stop = Apply(OPS["rem"], self.exprs.expr(dtype, level, 1), literal(dtype, 5))
                return literal(dtype, rng.randint(max(dtype.lowest, -1), 2)), stop, step, 5
            case 2:
                first = Apply(OPS["rem"], self.exprs.expr(dtype, level, 1), literal(dtype, 4))
                return first, literal(dtype, 4), step, 8
            case 3:
                return literal(dtype, dtype.highest - rng.randint(0, 4)), literal(dtype, dtype.highest), step, 4
            case _:
                return literal(dtype, dtype.lowest), literal(dtype, dtype.lowest + rng.randint(0, 4)), step, 4

    def leave_loop(self, place: Place) -> None:
        """A `break` or `continue`; among barriers only where buffers are held as at the start of a round."""
        if place.breaks is not NONE and self.scope.shared != place.holds:
            return self.let(place)
        if place.breaks is not NONE and self.scope.flow.value < WORKGROUP.value:
            return self.let(place)
        jump = self.rng.choice((Break(), Continue()))
        if place.conditional and self.rng.random() < 0.5:
            self.out.append(jump)
            return
        self.out.append(If(self._jump_condition(WORKGROUP if place.breaks is not NONE else NONE), (jump,)))

    def _jump_condition(self, level: Uniformity) -> Expr:
        """True in some rounds: half of the time it looks at the counter."""
        counters = self.scope.counters(level)
        if not counters or self.rng.random() < 0.4:
            return self.exprs.expr(bool_, level)
        counter = counters[-1]
        bit = Apply(OPS["and"], counter, literal(counter.dtype, self.rng.choice((1, 1, 2))))
        return Apply(OPS["eq" if self.rng.random() < 0.7 else "ne"], bit, literal(counter.dtype, 0))

    def leave(self, place: Place) -> None:
        """A conditional `return`."""
        level = NONE if self.tail else WORKGROUP
        if level is WORKGROUP and self.scope.flow.value < WORKGROUP.value:
            return self.let(place)
        if place.conditional and self.rng.random() < 0.5:
            self.out += [*self.last_words(), Return()]
            return
        condition = self.exprs.expr(bool_, level, 2)
        inner = replace(place, nesting=place.nesting + 1, at_top=False, in_loop=False, conditional=False)
        body = self._nested(inner, level, self.rng.randint(0, 1))
        self.out.append(If(condition, (*body, *self.last_words(), Return())))

    def last_words(self) -> tuple[Stmt, ...]:
        """What an invocation does before it ends."""
        return () if self.sums is None else (Store(self.sums, GID, digest.DIGEST),)

    # ── meeting places ───────────────────────────────────────────────────────────────────────────────────────────────

    def barrier(self, place: Place) -> None:
        """A workgroup barrier, after which buffers may be held otherwise."""
        grouped = [s for s in self.scope.shared.values() if s.is_grouped and s.hold in (Hold.OWN, Hold.GROUP)]
        local = [s for s in self.scope.shared.values() if s.buffer.memory is Memory.WORKGROUP]
        self._write_before([*local, *grouped])
        self.out.append(Barrier())
        for shared in local:
            self._hold_anew(shared, (Hold.OWN, Hold.ALL, Hold.ALL, Hold.ATOMIC))
        for shared in grouped:
            self._hold_anew(shared, (Hold.OWN, Hold.GROUP))
        self._read_after([*local, *grouped])

    def _write_before(self, meeting: Sequence[Shared]) -> None:
        """Something for the others to read."""
        for shared in meeting:
            if shared.hold is Hold.OWN and self.rng.random() < 0.6:
                self.out.append(
                    Store(shared.buffer, self.exprs.own_index(shared), self.exprs.expr(shared.buffer.dtype))
                )

    def _read_after(self, meeting: Sequence[Shared]) -> None:
        """Show what others have written."""
        for shared in meeting:
            now = self.scope.shared[shared.buffer]
            if now.hold in (Hold.ALL, Hold.GROUP):
                index = self.exprs.others_index(now) if self.rng.random() < 0.7 else self.exprs.shared_index(now)
                self.show(Load(shared.buffer, index), 0.8)

    def grid_barrier(self, place: Place) -> None:
        """A grid barrier, after which every shared buffer may be held otherwise."""
        meeting = list(self.scope.shared.values())
        self._write_before(meeting)
        self.out.append(Barrier(ir.Scope.GRID))
        for shared in meeting:
            self._hold_anew(shared, (Hold.OWN, Hold.ALL, Hold.ALL, Hold.ATOMIC))
        self._read_after(meeting)

    def _hold_anew(self, shared: Shared, holds: tuple[Hold, ...]) -> None:
        atomic = self.profile.atomics and shared.buffer.dtype in ATOMIC_TYPES
        legal = [
            h for h in holds
            if h is Hold.OWN or (shared.buffer.access.reads and (h is not Hold.ATOMIC or atomic))
        ]  # fmt: skip
        self.scope.hold(shared, self.rng.choice(legal), self.rng.choice(COMMUTATIVE))

    def subgroup(self, place: Place) -> None:
        op = self.rng.choice(tuple(SubgroupOp))
        dtype = self._subgroup_type(op)
        lane = None
        if op.takes_lane:
            lane = self.exprs.expr(u32, WORKGROUP if op is SubgroupOp.BROADCAST else NONE, 1)
        result = self.scope.fresh("sub")
        self.out.append(Subgroup(op, self.exprs.expr(dtype, depth=2), lane, result))
        self.show(self.scope.declare(result, op.result_type(dtype), NONE), 0.8)

    def _subgroup_type(self, op: SubgroupOp) -> DType:
        if op in (SubgroupOp.ANY, SubgroupOp.ALL, SubgroupOp.BALLOT):
            return bool_
        dtypes = self.profile.dtypes
        if op.combine in ("and", "or", "xor"):
            dtypes = self.exprs.integers
        elif op.combine is not None:
            dtypes = tuple(t for t in dtypes if t is not bool_)
        return self.rng.choice(dtypes)

    def trap(self, place: Place) -> None:
        """A trap of few invocations."""
        code = self.rng.choice((random_literal(self.rng, u32), self.exprs.expr(u32, depth=1)))
        trap = Trap(code, self.rng.choice(("bounds", "shape", "odd value")))
        conditions = Apply(OPS["and"], self.exprs.expr(bool_), self.exprs.expr(bool_))
        self.out.append(If(conditions, (trap,)))


def _jumps(body: Sequence[Stmt]) -> bool:
    """Whether nothing after `body` runs."""
    return bool(body) and isinstance(body[-1], (Break, Continue, Return))


def _grid_only(now: Shared, before: Shared) -> bool:
    """Whether the way back from one hold to another needs a barrier of the whole grid."""
    if now.buffer.memory is Memory.WORKGROUP or (now.hold, now.op) == (before.hold, before.op):
        return False
    return not {now.hold, before.hold} <= {Hold.OWN, Hold.GROUP}
