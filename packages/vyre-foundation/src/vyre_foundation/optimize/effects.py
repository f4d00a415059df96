"""What statements change."""

from __future__ import annotations

from vyre_foundation.ir.stmt import Assign, Atomic, Barrier, Body, Stmt, Store
from vyre_foundation.ir.walk import bodies
from vyre_foundation.optimize.dependence import Changing
from vyre_foundation.record import record


@record(frozen=True, slots=True)
class Effects:
    """The locals and the memory that something changes, and whether a barrier is in it."""

    changes: frozenset[Changing] = frozenset()
    barrier: bool = False


NO_EFFECTS = Effects()


class EffectsOf:
    """The effects of bodies, each found once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Stmt, Effects]] = {}

    def __call__(self, body: Body) -> Effects:
        found = [self._statement(stmt) for stmt in body]
        changes = frozenset().union(*(f.changes for f in found)) if found else frozenset()
        return Effects(changes, any(f.barrier for f in found))

    def _statement(self, stmt: Stmt) -> Effects:
        match stmt:
            case Assign(name=changed) | Store(buffer=changed) | Atomic(buffer=changed):
                return Effects(frozenset((changed,)))
            case Barrier():
                return Effects(barrier=True)
        inside = bodies(stmt)
        if not inside:
            return NO_EFFECTS
        if id(stmt) not in self._known:
            parts = [self(body) for body in inside]
            changes = frozenset().union(*(p.changes for p in parts))
            self._known[id(stmt)] = stmt, Effects(changes, any(p.barrier for p in parts))
        return self._known[id(stmt)][1]
