"""What statements change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vyre_foundation.ir.stmt import Assign, Atomic, Barrier, Body, Break, Continue, For, Return, Stmt, Store
from vyre_foundation.ir.walk import bodies
from vyre_foundation.optimize.dependence import Changing


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of statements.

    Attributes:
        changes: The locals and the memory that they change.
        barrier: Whether a barrier is among them.
        returns: Whether an invocation may end in them.
        leaves: Whether an iteration of the loop around them may end in them.
    """

    changes: frozenset[Changing] = frozenset()
    barrier: bool = False
    returns: bool = False
    leaves: bool = False


NO_EFFECTS = Effects()


class EffectsOf:
    """The effects of bodies, each found once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Stmt, Effects]] = {}

    def __call__(self, body: Body) -> Effects:
        """Give the effects of a body: those of all its statements."""
        return _union([self.of(stmt) for stmt in body])

    def of(self, stmt: Stmt) -> Effects:
        """Give the effects of one statement with its bodies."""
        match stmt:
            case Assign(name=changed) | Store(buffer=changed) | Atomic(buffer=changed):
                return Effects(frozenset((changed,)))
            case Barrier():
                return Effects(barrier=True)
            case Return():
                return Effects(returns=True, leaves=True)
            case Break() | Continue():
                return Effects(leaves=True)
        inside = bodies(stmt)
        if not inside:
            return NO_EFFECTS
        if id(stmt) not in self._known:
            found = _union([self(body) for body in inside])
            if isinstance(stmt, For):
                found = replace(found, leaves=found.returns)
            self._known[id(stmt)] = stmt, found
        return self._known[id(stmt)][1]


def _union(effects: Sequence[Effects]) -> Effects:
    changes = frozenset().union(*(effect.changes for effect in effects)) if effects else frozenset()
    barrier, returns, leaves = (
        any(getattr(effect, field) for effect in effects) for field in ("barrier", "returns", "leaves")
    )
    return Effects(changes, barrier, returns, leaves)
