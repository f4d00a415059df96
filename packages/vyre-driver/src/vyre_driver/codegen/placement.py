"""Where shared expressions are computed: once, before the first statement at the level of all their uses.

So the text stays linear however often guarded blocks share values. An unchecked load may move with the rest: it is
proven at the level of all its uses, which is where it moves at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vyre_driver.legalization.scopes import find_scopes
from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Expr, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign
from vyre_foundation.ir.walk import statements


class Life(IntEnum):
    """How long a value that was computed once stays what it is."""

    SCOPE = 0
    """It depends on nothing that changes."""
    UNTIL_ASSIGN = 1
    """It depends on mutable locals."""
    UNTIL_WRITE = 2
    """It depends on memory that the kernel writes."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where shared expressions are computed.

    `uses` counts parents and statements, `lives` says how long a value lasts. `early` lists, for a statement by its
    number in program order, what is computed before it although only nested statements use it.
    """

    uses: dict[Expr, int]
    lives: dict[Expr, Life]
    early: dict[int, list[Expr]]


def place(program: Program) -> Placement:
    """The placement of every expression of a legalized program."""
    scopes = find_scopes(program.body, guarded_values=False)
    mutable = frozenset(s.name for s in statements(program.body) if isinstance(s, Assign))
    lives: dict[Expr, Life] = {}
    early: dict[int, list[Expr]] = {}
    for node, visit in scopes.first.items():
        lives[node] = _life(node, lives, mutable)
        is_nested = len(scopes.homes[node]) < len(visit.blocks)
        if is_nested and scopes.uses[node] > 1 and lives[node] is Life.SCOPE and node.args:
            early.setdefault(scopes.place(node), []).append(node)
    return Placement(scopes.uses, lives, early)


def _life(node: Expr, lives: dict[Expr, Life], mutable: frozenset[str]) -> Life:
    if isinstance(node, Local) and node.name in mutable:
        return Life.UNTIL_ASSIGN
    if isinstance(node, Load) and node.buffer.access is not Access.READ:
        return Life.UNTIL_WRITE
    return max([lives[a] for a in node.args], default=Life.SCOPE)
