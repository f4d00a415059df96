"""Statements with bodies, and the jumps out of them."""

from __future__ import annotations

from dataclasses import replace

from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ir import stmt as ir
from vyre_foundation.ir.expr import Apply, Expr, Local, literal
from vyre_foundation.ir.stmt import (
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    Region,
    Return,
    Stmt,
    Store,
)
from vyre_foundation.ops import OPS
from vyre_foundation.testing import digest
from vyre_foundation.testing.emitter import GeneratorContext, jumps
from vyre_foundation.testing.expressions import LAUNCH, NONE, WORKGROUP, level_of
from vyre_foundation.testing.meetings import Meetings, needs_grid
from vyre_foundation.testing.scope import GID
from vyre_foundation.validate.facts import Uniformity


class Blocks(Meetings):
    """Branches, loops and regions of a few statements."""

    def _nested(self, inner: GeneratorContext, level: Uniformity, count: int, counter: Local | None = None) -> Body:
        """A body that leaves the holds of all buffers as it found them; that of a loop shows its `counter`."""
        before = dict(self.scope.shared)
        with self.scope.block(level):
            shown = (digest.show(counter),) if counter is not None and self.profile.digest else ()
            body = (*shown, *self.body(inner, count))
        after, self.scope.shared = self.scope.shared, before
        if after == before or jumps(body):
            return body
        whole_grid = any(needs_grid(shared, before[buffer]) for buffer, shared in after.items())
        return (*body, Barrier(ir.Scope.GRID if whole_grid else ir.Scope.WORKGROUP))

    def branch(self, place: GeneratorContext) -> None:
        """Emit an `if`, sometimes with an `else`, whose condition is of a random uniformity."""
        level = self._branch_level(0.35)
        is_guard = level is NONE and self.rng.random() < 0.25
        condition = self.exprs.guard() if is_guard else self.seen(self.exprs.expr(bool_, level))
        inner = replace(place, nesting=place.nesting + 1, at_top=False, conditional=True)
        then = self._nested(inner, level, self.rng.randint(1, 4))
        orelse = self._nested(inner, level, self.rng.randint(1, 3)) if self.rng.random() < 0.5 else ()
        self.out.append(If(condition, then, orelse))

    def _branch_level(self, chance: float) -> Uniformity:
        """Over whom a condition or bound is to be the same."""
        is_uniform = self.scope.flow.value >= WORKGROUP.value and not self.tail
        return WORKGROUP if is_uniform and self.rng.random() < chance else NONE

    def region(self, place: GeneratorContext) -> None:
        """Transparent: what is declared inside stays in sight."""
        inside = self.body(replace(place, nesting=place.nesting + 1, conditional=False), self.rng.randint(1, 3))
        self.out.append(Region(self.rng.choice(("tile", "setup", "inlined add")), inside))

    def loop(self, place: GeneratorContext) -> None:
        """Emit a loop of a few iterations.

        In one with uniform bounds and breaks, barriers are legal; with bounds of the launch and no breaks, grid
        barriers too.
        """
        level = self._branch_level(0.55)
        if place.at_top and not self.tail and self.rng.random() < (0.8 if self.grid_barriers else 0.3):
            level = LAUNCH
        if not self.scope.assignable():
            self.var(place)
        dtype = self.rng.choice(self.exprs.integers)
        start, stop, step, iterations = self._bounds(dtype, level)
        name = self.scope.fresh("i")
        at_top = level is LAUNCH and place.at_top
        inner = GeneratorContext(
            nesting=place.nesting + 1,
            iterations=place.iterations * iterations,
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
        """Start, stop, step and the greatest trip count."""
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

    def leave_loop(self, place: GeneratorContext) -> None:
        """A `break` or `continue`; among barriers only where buffers are held as at the start of an iteration."""
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
        """True in some iterations: half of the time it looks at the counter."""
        counters = self.scope.counters(level)
        if not counters or self.rng.random() < 0.4:
            return self.exprs.expr(bool_, level)
        counter = counters[-1]
        bit = Apply(OPS["and"], counter, literal(counter.dtype, self.rng.choice((1, 1, 2))))
        return Apply(OPS["eq" if self.rng.random() < 0.7 else "ne"], bit, literal(counter.dtype, 0))

    def leave(self, place: GeneratorContext) -> None:
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
