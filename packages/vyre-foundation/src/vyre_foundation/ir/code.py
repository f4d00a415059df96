"""The expressions of a program in one order, made once for all who need one.

It is the order of the wire form: code for a stack machine, which has each expression once and its operands before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from vyre_foundation.cached import cached_property
from vyre_foundation.ir.expr import Apply, Expr
from vyre_foundation.ir.memo import Memo

if TYPE_CHECKING:
    import numpy.typing as npt


NO_OP = 0
"""Less than the tag of any op."""


E = TypeVar("E", bound=Expr)


class Reuses(NamedTuple):
    """Pushes of what is made already: their places among all pushes, and how many expressions ago it was made."""

    at: npt.NDArray[np.int64]
    back: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Code(Memo):
    """What a stack machine does to evaluate expressions, the roots, one after the other."""

    nodes: Sequence[Any]
    """All expressions under the roots, once, children before parents, in the order of first use."""
    pushes: npt.NDArray[np.int64]
    """The numbers, among `nodes`, of what is pushed. One that comes for the first time is made, from its operands on
    top of the stack, which it replaces; one that comes again is pushed again."""
    ends: Sequence[int]
    """For each root, how many expressions are made when it is evaluated."""

    @cached_property
    def tags(self) -> bytes:
        """For each of the nodes the tag of its op, `NO_OP` for what applies none."""
        return bytes([node.op.tag if node.__class__ is Apply else NO_OP for node in self.nodes])

    def numbers_of(self, tags: Iterable[int]) -> npt.NDArray[np.intp]:
        """The numbers of the nodes that have one of `tags`."""
        wanted = np.zeros(256, np.bool_)
        wanted[list(tags)] = True
        return np.flatnonzero(wanted[np.frombuffer(self.tags, np.uint8)])

    @cached_property
    def others(self) -> Sequence[Expr]:
        """The nodes that are no applications of ops. They are few."""
        return [self.nodes[number] for number in self._numbers_of_others]

    def of(self, kind: type[E]) -> list[E]:
        """The nodes of one kind, which is not `Apply`."""
        return [self.nodes[number] for number in self.numbers_by_kind.get(kind, ())]

    @cached_property
    def numbers_by_kind(self) -> Mapping[type[Expr], Sequence[int]]:
        """The numbers of the nodes of each kind that is not `Apply`."""
        found: defaultdict[type[Expr], list[int]] = defaultdict(list)
        for number in self._numbers_of_others:
            found[self.nodes[number].__class__].append(number)
        return found

    @cached_property
    def _numbers_of_others(self) -> list[int]:
        return self.numbers_of((NO_OP,)).tolist()  # type: ignore[no-any-return]

    @cached_property
    def reuses(self) -> Reuses:
        """Which of the pushes make nothing."""
        latest = np.maximum.accumulate(self.pushes)
        at = np.flatnonzero(np.diff(latest, prepend=-1) == 0)
        return Reuses(at, latest[at] - self.pushes[at] + 1)


def code(roots: Iterable[Expr], swapped: Set[Expr] = frozenset()) -> Code:
    """The code of `roots`; expressions in `swapped` have their operands exchanged.

    It visits them in the order of `ir.walk.missing`.
    """
    numbers: dict[Expr, int] = {}
    pushes: list[int] = []
    ends: list[int] = []
    for root in roots:
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            if node is None:  # the operands of the next one are made
                node = stack.pop()
            elif node in numbers:
                pushes.append(numbers[node])
                continue
            elif node.args:
                stack += (node, None, *(node.args if node in swapped else node.args[::-1]))
                continue
            pushes.append(len(numbers))
            numbers[node] = len(numbers)
        ends.append(len(numbers))
    return Code(list(numbers), np.fromiter(pushes, np.int64, len(pushes)), ends)
