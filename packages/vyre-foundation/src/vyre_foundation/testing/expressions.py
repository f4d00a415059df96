"""Random expressions: of a wanted type, a bounded height, and as uniform as the place demands."""

from __future__ import annotations

from functools import cache
from random import Random

from vyre_foundation.dialects import Composition
from vyre_foundation.dtype import DType, bool_, i8, i16, i32, i64, u32, u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, IdKind, Length, Load, Select, literal
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.testing.dialect import COMPOSITIONS
from vyre_foundation.testing.profile import Profile
from vyre_foundation.testing.scope import GID, GROUP, LID, SID, GeneratorScope, Hold, Shared, least
from vyre_foundation.testing.values import random_literal
from vyre_foundation.validate.facts import Uniformity

NONE, WORKGROUP, GRID, LAUNCH = Uniformity.NONE, Uniformity.WORKGROUP, Uniformity.GRID, Uniformity.LAUNCH

# From which uniformity on an id does not tell invocations apart.
_ID_LEVEL = {
    IdKind.GLOBAL_ID: NONE,
    IdKind.LOCAL_ID: NONE,
    IdKind.WORKGROUP_ID: WORKGROUP,
    IdKind.NUM_WORKGROUPS: LAUNCH,
    IdKind.SUBGROUP_LANE: NONE,
    IdKind.SUBGROUP_SIZE: LAUNCH,
}
_WHOLE = {"u8": 2**8, "i8": 2**7, "u16": 2**16, "i16": 2**15, "i32": 2**31}
"""An integer type holds the indices below this; the others hold all."""


@cache
def producers(result: DType, dtypes: tuple[DType, ...]) -> tuple[tuple[Op, DType], ...]:
    """The (op, operand type) pairs of the language that give `result`."""
    rows = (op for op in OPS.values() if op.tier is Tier.LANGUAGE)
    return tuple((op, t) for op in rows for t in dtypes if op.results.get(t) is result)


@cache
def _callees(result: DType) -> tuple[tuple[Composition, tuple[DType, ...]], ...]:
    return tuple((row, s) for row in COMPOSITIONS for s, t in row.signatures.items() if t is result)


class Expressions:
    """Draws expressions at the place that `scope` describes."""

    def __init__(self, rng: Random, profile: Profile, scope: GeneratorScope, subgroup_size: int | None) -> None:
        self.rng, self.profile, self.scope = rng, profile, scope
        self.integers = tuple(t for t in profile.dtypes if t.is_integer)
        self.ids = [k for k in IdKind if subgroup_size is not None or k.has_axis]

    def any_type(self) -> DType:
        """Draw one of the types of the profile."""
        return self.rng.choice(self.profile.dtypes)

    def expr(self, dtype: DType, level: Uniformity = NONE, depth: int | None = None) -> Expr:
        """An expression of type `dtype` whose value is the same over the invocations of `level`."""
        if depth is None:  # mostly flat: what is computed deep inside is easily lost on the way out
            depth = min(self.profile.max_depth, self.rng.choice((0, 1, 1, 2, 2, 2, 3, 4, 8)))
        if depth <= 0:
            return self.leaf(dtype, level)
        draw = self.rng.random()
        if draw < 0.12:
            return self.leaf(dtype, level)
        if draw < 0.24:
            return self.cast(dtype, level, depth - 1)
        if draw < 0.31:
            condition = self.expr(bool_, level, depth - 1)
            return Select(condition, self.expr(dtype, level, depth - 1), self.expr(dtype, level, depth - 1))
        if draw < 0.36 and self.profile.calls:
            return self.call(dtype, level, depth - 1)
        return self.apply(dtype, level, depth - 1)

    def apply(self, dtype: DType, level: Uniformity, depth: int) -> Expr:
        """Make an op that gives `dtype` over random operands."""
        op, operand = self.rng.choice(producers(dtype, self.profile.dtypes))
        return Apply(op, *[self.expr(operand, level, depth - (n > 0)) for n in range(op.arity)])

    def cast(self, dtype: DType, level: Uniformity, depth: int) -> Expr:
        """Make a conversion to `dtype`, or a reinterpretation of a type of its width."""
        same_size = [t for t in self.profile.dtypes if t.bits == dtype.bits and t is not bool_ and t is not dtype]
        if same_size and dtype is not bool_ and self.rng.random() < 0.35:
            return Bitcast(dtype, self.expr(self.rng.choice(same_size), level, depth))
        return Cast(dtype, self.expr(self.any_type(), level, depth))

    def call(self, dtype: DType, level: Uniformity, depth: int) -> Expr:
        """Make a call of a dialect's op that gives `dtype`; an op of the language where there is none."""
        callees = _callees(dtype)
        if not callees:
            return self.apply(dtype, level, depth)
        row, signature = self.rng.choice(callees)
        return Call(row.id, dtype, *[self.expr(t, level, depth) for t in signature])

    def leaf(self, dtype: DType, level: Uniformity) -> Expr:
        """A literal, a local, an id, a length or a load."""
        draw = self.rng.random()
        locals = self.scope.visible(dtype, level)
        if locals and draw < 0.4:
            return self.rng.choice(locals[-6:] if self.rng.random() < 0.7 else locals)
        if draw < 0.75:
            load = self.load(dtype, level)
            if load is not None:
                return load
        if dtype is u32 and draw < 0.85:
            return self.position(level)
        return random_literal(self.rng, dtype)

    def position(self, level: Uniformity) -> Expr:
        """An id or a length."""
        kinds = [k for k in self.ids if _ID_LEVEL[k].value >= level.value]
        buffers = [*self.scope.fixed, *self.scope.shared]
        if buffers and self.rng.random() < 0.25:
            return Length(self.rng.choice(buffers))
        kind = self.rng.choice(kinds)
        return Id(kind, self.rng.randrange(3) if kind.has_axis else 0)

    def guard(self) -> Expr:
        """A comparison of the number of an invocation with a length, or with a number near one."""
        buffers = [*self.scope.fixed, *self.scope.shared]
        buffer = self.rng.choice(buffers) if buffers else None
        number: Expr = self.rng.choice((GID, SID, LID))
        limit: Expr = literal(u32, self.rng.choice((1, 5, self.scope.volume, 2**32 - 1)))
        if buffer is not None and self.rng.random() < 0.8:
            limit = literal(u32, buffer.count) if isinstance(buffer.count, int) else Length(buffer)
        near = literal(u32, self.rng.choice((1, 1, 2, 2**32 - 1)))
        match self.rng.randrange(6):
            case 0:
                limit = Apply(OPS[self.rng.choice(("add", "sub"))], limit, near)
            case 1:
                number = Apply(OPS[self.rng.choice(("add", "sub"))], number, near)
        compared = (number, limit) if self.rng.random() < 0.7 else (limit, number)
        return Apply(OPS[self.rng.choice(("lt", "lt", "le", "gt", "ge", "eq"))], *compared)

    # ── loads ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self, dtype: DType, level: Uniformity) -> Expr | None:
        """A load of `dtype`, or None if no buffer of that type may be read here."""
        if level is LAUNCH:
            return None
        anywhere = [b for b in self.scope.fixed if b.dtype is dtype]
        shared: list[Shared] = []
        if level is NONE:
            anywhere += [b for b in self.scope.private if b.dtype is dtype]
            shared = [s for s in self.scope.shared.values() if s.buffer.dtype is dtype and s.readable]
        if not anywhere and not shared:
            return None
        places: list[Buffer | Shared] = [*anywhere, *shared]
        place = self.rng.choice(places)
        if isinstance(place, Buffer):
            return Load(place, self.index(place, level))
        return Load(place.buffer, self.shared_index(place))

    def shared_index(self, shared: Shared) -> Expr:
        """An index that the hold of the buffer lets this invocation read."""
        match shared.hold:
            case Hold.ALL:
                return self.index(shared.buffer, NONE)
            case Hold.GROUP:
                within = Apply(OPS["rem"], self.expr(u32, NONE, 1), literal(u32, self.scope.volume * shared.slots))
                first = Apply(OPS["mul"], GROUP, literal(u32, self.scope.volume * shared.slots))
                return Apply(OPS["add"], first, within)
            case _:
                return self.own_index(shared)

    def others_index(self, shared: Shared) -> Expr:
        """An element of another invocation: the neighbour's, or that of one at the other end."""
        span = shared.limit * shared.slots
        slot: Expr = literal(u32, self.rng.randrange(shared.slots))
        other = Apply(
            OPS["add"], shared.base, literal(u32, self.rng.choice((1, 1, 2, shared.limit // 2, shared.limit - 1)))
        )
        if shared.hold is Hold.GROUP:
            within = Apply(OPS["rem"], Apply(OPS["sub"], other, self._first()), literal(u32, self.scope.volume))
            other = Apply(OPS["add"], self._first(), within)
        index = Apply(OPS["add"], Apply(OPS["mul"], other, literal(u32, shared.slots)), slot)
        return index if shared.hold is Hold.GROUP else Apply(OPS["rem"], index, literal(u32, max(1, span)))

    def _first(self) -> Expr:
        """The number of the first invocation of the group."""
        return Apply(OPS["mul"], GROUP, literal(u32, self.scope.volume))

    def own_index(self, shared: Shared) -> Expr:
        """An index of an element that this invocation owns, in any type that holds it."""
        slot = self.rng.randrange(shared.slots)
        index = shared.own(slot)
        fitting = [t for t in self.integers if shared.limit * shared.slots <= _WHOLE.get(t.name, 2**32)]
        return Cast(self.rng.choice(fitting), index) if fitting and self.rng.random() < 0.2 else index

    def index(self, buffer: Buffer, level: Uniformity) -> Expr:
        """Any index: most are in bounds, some beyond either end."""
        draw = self.rng.random()
        count = buffer.count if isinstance(buffer.count, int) else None
        if draw < 0.07 and level is NONE:
            return Apply(OPS["xor"], self.rng.choice((SID, LID)), literal(u32, self.rng.choice((1, 4, 5, 16))))
        if draw < 0.3 and level is NONE:
            return self.rng.choice((SID, LID))
        if draw < 0.6:
            length: Expr = literal(u32, count) if count else Length(buffer)
            return Apply(OPS["rem"], self.expr(u32, level, 1), length)
        if draw < 0.75:
            return literal(u32, self.rng.randrange(count or 8))
        if draw < 0.9:
            return self.expr(self.rng.choice(self.integers), level, 1)
        return self.outside(count or 0)

    def outside(self, count: int) -> Expr:
        """A literal index below 0 or not below `count`."""
        signed = [t for t in (i8, i16, i32, i64) if t in self.profile.dtypes]
        if signed and self.rng.random() < 0.5:
            dtype = self.rng.choice(signed)
            return literal(dtype, self.rng.choice((-1, -2, dtype.lowest)))
        wide = [t for t in (u32, i64, u64) if t in self.profile.dtypes]
        dtype = self.rng.choice(wide)
        return literal(dtype, self.rng.choice((count, count + 1, 2**31, 2**32 - 1, dtype.highest)))


def level_of(scope: GeneratorScope, wanted: Uniformity) -> Uniformity:
    """What is true of a value that is drawn for `wanted` and computed here."""
    return least(scope.flow, wanted) if wanted is not NONE else NONE
