"""Statements at which invocations meet: barriers and collectives. Here alone the holds of buffers change."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation.dtype import DType, bool_, u32
from vyre_foundation.ir import stmt as ir
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.stmt import (
    Barrier,
    Store,
    Subgroup,
    SubgroupOp,
)
from vyre_foundation.testing.emitter import GeneratorContext
from vyre_foundation.testing.expressions import NONE, WORKGROUP
from vyre_foundation.testing.scope import COMMUTATIVE, Hold, Shared
from vyre_foundation.testing.simple import ATOMIC_TYPES, Simple


class Meetings(Simple):
    """What needs all invocations of a group, or of the grid."""

    def barrier(self, place: GeneratorContext) -> None:
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

    def grid_barrier(self, place: GeneratorContext) -> None:
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

    def subgroup(self, place: GeneratorContext) -> None:
        """Emit a random collective over a random operand."""
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


def needs_grid(now: Shared, before: Shared) -> bool:
    """Whether the way back from one hold to another needs a barrier of the whole grid."""
    if now.buffer.memory is Memory.WORKGROUP or (now.hold, now.op) == (before.hold, before.op):
        return False
    return not {now.hold, before.hold} <= {Hold.OWN, Hold.GROUP}
