"""Every access to memory that invocations share and write, with what is known where it happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Load
from vyre_foundation.ir.stmt import Atomic, AtomicOp, For, If, Region, Store
from vyre_foundation.validate.control import leaves
from vyre_foundation.validate.determinism.guards import PathCondition, PathConditions
from vyre_foundation.validate.outline import Outline, Place

MAX_VISITS = 500_000
"""How many expressions may be looked at for loads, statement by statement."""


class AccessKind(Enum):
    """How an access takes part in the order of things."""

    LOAD = "load"
    STORE = "store"
    COMMUTES = "atomic"
    """An atomic whose result is not used: in any order the same, with others of its op. An exchange, too, of a value
    that is one for all invocations, with others of that value."""
    ORDERED = "ordered atomic"
    """An atomic that shows or depends on what came before."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryAccess:
    """One access. `op` is that of an atomic, `value` what an exchange leaves that commutes."""

    kind: AccessKind
    buffer: Buffer
    index: Expr
    place: Place
    guard: PathCondition
    op: AtomicOp | None = None
    value: Expr | None = None

    def commutes_with(self, other: MemoryAccess) -> bool:
        """Whether the order of the two does not show, whichever invocations make them."""
        if self.kind not in (AccessKind.LOAD, AccessKind.COMMUTES):
            return False
        return self.kind is other.kind and self.op is other.op and self.value is other.value


class TooMuch(Exception):
    """The program has too many expressions to look at all of them in every statement."""


class Collector:
    """Walks the statements with their guards.

    `used` are the locals that some expression reads. `is_constant` says whether an expression has one value for all
    invocations, at all times.
    """

    def __init__(
        self,
        outline: Outline,
        guards: PathConditions,
        loading: AbstractSet[Expr],
        written: AbstractSet[Buffer],
        used: AbstractSet[str],
        is_constant: Callable[[Expr], bool],
    ) -> None:
        self.accesses: list[MemoryAccess] = []
        self._outline = outline
        self._guards = guards
        self._loading = loading
        self._written = written
        self._used = used
        self._is_constant = is_constant
        self._visits = 0

    def collect(self, guard: PathCondition) -> list[MemoryAccess]:
        """Give the accesses of the program to memory that invocations share, in order; `guard` holds in all of it."""
        self._body(self._outline.top, guard)
        return self.accesses

    def _body(self, places: Sequence[Place], guard: PathCondition) -> PathCondition:
        """Collect in a body; what is known at its end."""
        for place in places:
            self._statement(place, guard)
            match place.stmt:
                case If(condition, then, orelse):
                    holds, fails = (self._guards.where(guard, condition, truth) for truth in (True, False))
                    for body, inside in zip(self._outline.bodies(place), (holds, fails), strict=True):
                        self._body(body, inside)
                    if then and leaves(then[-1]):
                        guard = fails
                    elif orelse and leaves(orelse[-1]):
                        guard = holds
                case For() as loop:
                    (body,) = self._outline.bodies(place)
                    self._body(body, self._guards.inside(guard, loop))
                case Region():
                    (body,) = self._outline.bodies(place)
                    guard = self._body(body, guard)
        return guard

    def _statement(self, place: Place, guard: PathCondition) -> None:
        for _, root in place.roots():
            self._loads(place, guard, root)
        match place.stmt:
            case Store(buffer, index) if buffer in self._written:
                self.accesses.append(MemoryAccess(AccessKind.STORE, buffer, index, place, guard))
            case Atomic(op, buffer, index) as atomic if buffer in self._written:
                kind = AccessKind.ORDERED if self._is_ordered(atomic) else AccessKind.COMMUTES
                value = atomic.value if op is AtomicOp.EXCHANGE and kind is AccessKind.COMMUTES else None
                self.accesses.append(MemoryAccess(kind, buffer, index, place, guard, op, value))

    def _is_ordered(self, stmt: Atomic) -> bool:
        if stmt.op is AtomicOp.EXCHANGE and not self._is_constant(stmt.value):
            return True
        return stmt.op is AtomicOp.COMPARE_EXCHANGE or stmt.result in self._used

    def _loads(self, place: Place, guard: PathCondition, root: Expr) -> None:
        """The loads under `root`; only what has such loads inside is looked at."""
        if root not in self._loading:
            return
        seen = {root}
        work = [root]
        while work:
            node = work.pop()
            self._visits += 1
            if isinstance(node, Load) and node.buffer in self._written:
                self.accesses.append(MemoryAccess(AccessKind.LOAD, node.buffer, node.index, place, guard))
            new = [a for a in node.args if a in self._loading and a not in seen]
            seen.update(new)
            work += new
        if self._visits > MAX_VISITS:
            raise TooMuch
