"""The expressions of a program in one order, made once for all who need one.

It is the order of the wire form: code for a stack machine, which has each expression once and its operands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vyre_foundation.ir.expr import Expr

if TYPE_CHECKING:
    import numpy.typing as npt


class Reuses(NamedTuple):
    """Pushes of what is made already: their places among all pushes, and how many expressions ago it was made."""

    at: npt.NDArray[np.int64]
    back: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Code:
    """What a stack machine does to evaluate `roots` one after the other."""

    roots: Sequence[Expr]
    nodes: Sequence[Expr]
    """All expressions under the roots, once, children before parents, in the order of first use."""
    pushes: Sequence[int]
    """The numbers, among `nodes`, of what is pushed. One that comes for the first time is made, from its operands on
    top of the stack, which it replaces; one that comes again is pushed again."""
    ends: Sequence[int]
    """For each root, how many expressions are made when it is evaluated."""

    @cached_property
    def reuses(self) -> Reuses:
        """Which of the pushes make nothing."""
        pushed = np.array(self.pushes, np.int64)
        latest = np.maximum.accumulate(pushed)  # what was made last, at each push
        at = np.flatnonzero(np.diff(latest, prepend=-1) == 0)
        return Reuses(at, latest[at] - pushed[at] + 1)


def code(roots: Iterable[Expr], swapped: Set[Expr] = frozenset()) -> Code:
    """The code of `roots`; expressions in `swapped` have their operands the other way round."""
    roots = list(roots)
    numbers: dict[Expr, int] = {}
    pushes: list[int] = []
    ends: list[int] = []
    begun: set[Expr] = set()
    waiting: list[Expr] = []  # begun ones, each below those of its operands whose turn comes later
    begin, push, number, wait = begun.add, pushes.append, numbers.setdefault, waiting.append
    for node in roots:
        while True:
            while node not in begun:
                begin(node)
                operands = node.args
                if not operands:
                    break
                if swapped and node in swapped:
                    operands = operands[::-1]
                wait(node)
                if len(operands) == 2:
                    wait(operands[1])
                elif len(operands) > 2:
                    waiting.extend(operands[:0:-1])
                node = operands[0]
            push(number(node, len(numbers)))
            if not waiting:
                break
            node = waiting.pop()
        ends.append(len(numbers))
    return Code(roots, list(numbers), pushes, ends)
