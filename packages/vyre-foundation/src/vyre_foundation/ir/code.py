"""The expressions of a program in one order, made once for all who need one.

It is the order of the wire form: code for a stack machine, which has each expression once and its operands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from vyre_foundation.ir.expr import Expr


@dataclass(frozen=True)
class Code:
    """What a stack machine does to evaluate `roots` one after the other."""

    roots: Sequence[Expr]
    pushes: Sequence[Expr]
    """What is pushed: an expression that comes for the first time is made, from its operands on top of the stack, which
    it replaces; one that comes again is pushed again."""
    ends: Sequence[int]
    """For each root, how many expressions are made when it is evaluated."""

    @cached_property
    def nodes(self) -> Sequence[Expr]:
        """All expressions under the roots, once, children before parents, in the order of first use."""
        return list(dict.fromkeys(self.pushes))


def code(roots: Iterable[Expr], swapped: Set[Expr] = frozenset()) -> Code:
    """The code of `roots`; expressions in `swapped` have their operands the other way round."""
    roots = list(roots)
    pushes: list[Expr] = []
    ends: list[int] = []
    begun: set[Expr] = set()
    waiting: list[Expr] = []  # begun ones, each below those of its operands whose turn comes later
    begin, push, wait = begun.add, pushes.append, waiting.append
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
            push(node)
            if not waiting:
                break
            node = waiting.pop()
        ends.append(len(begun))
    return Code(roots, pushes, ends)
