"""Statements without a body: locals, stores, atomics, traps."""

from __future__ import annotations

from vyre_foundation.dtype import DType, bool_, i32, i64, u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Load, literal
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    AtomicOp,
    If,
    Let,
    Store,
    Trap,
    Var,
)
from vyre_foundation.ops import OPS
from vyre_foundation.testing.emitter import Emitter, GeneratorContext
from vyre_foundation.testing.expressions import LAUNCH, NONE, WORKGROUP, level_of
from vyre_foundation.testing.scope import Hold
from vyre_foundation.testing.values import random_literal
from vyre_foundation.validate.facts import Uniformity

ATOMIC_TYPES = (u32, i32, u64, i64)


class Simple(Emitter):
    """Statements that one invocation runs by itself."""

    # ── locals ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _value(self, dtype: DType) -> tuple[Expr, Uniformity]:
        """A value, and over which invocations it is the same: mostly none."""
        level = self.rng.choices((NONE, WORKGROUP, LAUNCH), (6, 2, 1))[0]
        return self.exprs.expr(dtype, level), level_of(self.scope, level)

    def let(self, place: GeneratorContext) -> None:
        """Emit an immutable local with a random value."""
        dtype = self.exprs.any_type()
        value, level = self._value(dtype)
        name = self.scope.fresh("t")
        self.out.append(Let(name, value))
        self.show(self.scope.declare(name, dtype, level), 0.5)
        self.show(self.inner(value), 0.6)

    def var(self, place: GeneratorContext) -> None:
        """A mutable local; what is assigned to it later may differ, so it is uniform over a workgroup at most."""
        dtype = self.exprs.any_type()
        uniform = self.scope.flow.value >= WORKGROUP.value and not self.tail and self.rng.random() < 0.3
        name = self.scope.fresh("v")
        self.out.append(Var(name, self.exprs.expr(dtype, WORKGROUP if uniform else NONE)))
        self.scope.declare(name, dtype, WORKGROUP if uniform else NONE, mutable=True)

    def assign(self, place: GeneratorContext) -> None:
        """Emit an assignment to a mutable local of no more than its uniformity."""
        variable = self.rng.choice(self.scope.assignable())
        value = self.seen(self.exprs.expr(variable.local.dtype, variable.level))
        self.out.append(Assign(variable.local.name, value))
        self.show(variable.local, 0.4)

    def accumulate(self, place: GeneratorContext) -> None:
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

    def store(self, place: GeneratorContext) -> None:
        """A store to an element that this invocation owns, or out of bounds."""
        writable = self.scope.writable()
        if not writable:
            return self.let(place)
        shared = self.rng.choice(writable)
        index = self.exprs.own_index(shared)
        count = shared.buffer.count
        if self.rng.random() < 0.08:
            index = self.exprs.outside(count) if isinstance(count, int) else literal(u32, 2**32 - 1)
        itself = shared.readable and self.rng.random() < 0.06
        value = Load(shared.buffer, index) if itself else self.seen(self.exprs.expr(shared.buffer.dtype))
        self.out.append(Store(shared.buffer, index, value))

    def store_private(self, place: GeneratorContext) -> None:
        """Emit a store to private memory, which cannot race."""
        buffer = self.rng.choice(self.scope.private)
        self.out.append(Store(buffer, self.exprs.index(buffer, NONE), self.exprs.expr(buffer.dtype)))
        self.show(Load(buffer, self.exprs.index(buffer, NONE)), 0.3)

    def atomic(self, place: GeneratorContext) -> None:
        """A commutative atomic anywhere in a buffer that is held for it, or any atomic on an own element."""
        free = [s for s in self.scope.shared.values() if s.hold is Hold.ATOMIC]
        own = [s for s in self.scope.writable() if s.buffer.dtype in ATOMIC_TYPES and s.buffer.access.reads]
        if not free and not own:
            return self.store(place)
        shared = self.rng.choice(free) if free and (not own or self.rng.random() < 0.7) else self.rng.choice(own)
        dtype = shared.buffer.dtype
        value = self.seen(self.exprs.expr(dtype))
        if shared.hold is Hold.ATOMIC:
            self.out.append(Atomic(shared.op, shared.buffer, self.exprs.index(shared.buffer, NONE), value))
            return
        op = self.rng.choice(tuple(AtomicOp))
        expected = self.exprs.expr(dtype) if op is AtomicOp.COMPARE_EXCHANGE else None
        result = self.scope.fresh("old") if self.profile.atomic_results and self.rng.random() < 0.6 else None
        self.out.append(Atomic(op, shared.buffer, self.exprs.own_index(shared), value, expected, result))
        if result is not None:
            self.show(self.scope.declare(result, dtype, NONE), 0.8)

    def trap(self, place: GeneratorContext) -> None:
        """A trap of few invocations."""
        code = self.rng.choice((random_literal(self.rng, u32), self.exprs.expr(u32, depth=1)))
        trap = Trap(code, self.rng.choice(("bounds", "shape", "odd value")))
        conditions = Apply(OPS["and"], self.exprs.expr(bool_), self.exprs.expr(bool_))
        self.out.append(If(conditions, (trap,)))
