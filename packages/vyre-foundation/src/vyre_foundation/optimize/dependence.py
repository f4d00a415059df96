"""What the value of an expression depends on that may change while an invocation runs."""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Store
from vyre_foundation.ir.walk import postorder

Changing = str | Buffer
"""A mutable local by its name, or memory that the program writes."""

MAX_CHANGING = 16
"""What depends on more is taken to depend on everything, so that no set grows with the program."""

NOTHING: frozenset[Changing] = frozenset()


def written_buffers(program: Program) -> frozenset[Buffer]:
    """The buffers that some statement writes. Others keep their contents while the program runs."""
    return frozenset([s.buffer for s in program.statements if isinstance(s, (Store, Atomic))])


class Dependences:
    """For each expression of a program the mutable locals and the written memory that it reads; None: too many."""

    def __init__(self, program: Program, mutable: AbstractSet[str]) -> None:
        self.written = written_buffers(program)
        self._mutable = mutable
        self._known: dict[Expr, frozenset[Changing] | None] = {}
        self._loading: set[Expr] = set()
        self._seen: set[Expr] = set()

    def of(self, root: Expr) -> frozenset[Changing] | None:
        """Give the mutable locals and the memory that `root` reads; None where there are too many to follow."""
        known = self._known
        if root not in known:
            for node in postorder((root,), self._seen):
                known[node] = self._of(node)
                if type(node) is Load or not self._loading.isdisjoint(node.args):
                    self._loading.add(node)
        return known[root]

    def loads(self, root: Expr) -> bool:
        """Whether it reads memory."""
        self.of(root)
        return root in self._loading

    def is_stable(self, root: Expr) -> bool:
        """Whether it has one value wherever an invocation evaluates it while its locals are those."""
        return self.of(root) == NOTHING

    def are_disjoint(self, root: Expr, changing: AbstractSet[Changing]) -> bool:
        """Whether `root` keeps its value when `changing` change."""
        found = self.of(root)
        return not changing if found is None else found.isdisjoint(changing)

    def _of(self, node: Expr) -> frozenset[Changing] | None:
        found = _union([self._known[a] for a in node.args])
        if type(node) is Local:
            return frozenset((node.name,)) if node.name in self._mutable else NOTHING
        if type(node) is Load and node.buffer in self.written and found is not None:
            found |= {node.buffer}
        return None if found is None or len(found) > MAX_CHANGING else found


def _union(sets: Iterable[frozenset[Changing] | None]) -> frozenset[Changing] | None:
    result = NOTHING
    for found in sets:
        if found is None:
            return None
        if found is not result and found:
            result = result | found if result else found
    return result
