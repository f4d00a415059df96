"""Where expressions are used: in which statements first, and the innermost block around all uses.

Numbers count the statements of a program in its order, outer before inner. A region is no block: its statements are in
the block around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.stmt import Atomic, Body, Region, Stmt, Store
from vyre_foundation.ir.walk import bodies, expressions, missing

Blocks = tuple[int, ...]
"""A block, as the numbers of all blocks that it is in, outermost first, and its own."""


class Visit(NamedTuple):
    """Expressions of a statement: the block where they are evaluated, and the statements around, itself the last."""

    blocks: Blocks
    numbers: tuple[int, ...]
    roots: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ExpressionScopes:
    """Where the expressions of a body are used.

    `first` has every expression with its first visit, children before parents; `uses` counts its parents and
    statements; `homes` are the innermost blocks around all uses.
    """

    first: dict[Expr, Visit]
    uses: dict[Expr, int]
    homes: dict[Expr, Blocks]

    def place(self, node: Expr) -> int:
        """The number of the statement at the level of the home of `node` that has its first use."""
        return self.first[node].numbers[len(self.homes[node])]


def find_scopes(body: Body, *, guarded_values: bool) -> ExpressionScopes:
    """Find where the expressions of `body` are used.

    With `guarded_values`, what a store or an atomic writes counts as a block of its own, with the complement of the
    statement's number, because a guard may come around it.
    """
    visits = _visits(body, guarded_values)
    first = _first_uses(visits)
    uses, homes = _uses(visits, first)
    return ExpressionScopes(first, uses, homes)


def _visits(body: Body, guarded_values: bool) -> list[Visit]:
    number, block = 0, 0
    visits: list[Visit] = []

    def walk(body: Body, blocks: Blocks, around: tuple[int, ...]) -> None:
        nonlocal number, block
        for stmt in body:
            own, numbers = number, (*around, number)
            number += 1
            roots, guarded = _split(stmt) if guarded_values else (expressions(stmt), ())
            visits.append(Visit(blocks, numbers, roots))
            if guarded:
                visits.append(Visit((*blocks, ~own), (*numbers, ~own), guarded))
            for nested in bodies(stmt):
                if isinstance(stmt, Region):
                    walk(nested, blocks, around)
                else:
                    block += 1
                    walk(nested, (*blocks, block), numbers)

    walk(body, (), ())
    return visits


def _split(stmt: Stmt) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The expressions of `stmt` that are evaluated in any case, and those behind a guard."""
    if isinstance(stmt, (Store, Atomic)):
        index, *values = expressions(stmt)
        return (index,), tuple(values)
    return expressions(stmt), ()


def _first_uses(visits: list[Visit]) -> dict[Expr, Visit]:
    first: dict[Expr, Visit] = {}
    for visit in visits:
        for root in visit.roots:
            for node in missing(root, first):
                first[node] = visit
    return first


def _uses(visits: list[Visit], first: dict[Expr, Visit]) -> tuple[dict[Expr, int], dict[Expr, Blocks]]:
    """Parents before children, so that the uses of a node are known when it comes to its operands."""
    uses = dict.fromkeys(first, 0)
    homes: dict[Expr, Blocks] = {}
    for visit in visits:
        for root in visit.roots:
            uses[root] += 1
            homes[root] = _around(homes.get(root, visit.blocks), visit.blocks)
    for node in reversed(first):
        home = homes[node]
        for arg in node.args:
            uses[arg] += 1
            other = homes.setdefault(arg, home)
            if other is not home:
                homes[arg] = _around(other, home)
    return uses, homes


def _around(a: Blocks, b: Blocks) -> Blocks:
    """The innermost block around two blocks."""
    if a == b:
        return a
    level = 0
    while level < min(len(a), len(b)) and a[level] == b[level]:
        level += 1
    return a[:level]
