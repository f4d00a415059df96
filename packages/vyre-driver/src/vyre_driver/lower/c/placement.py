"""Where shared expressions are computed: once, before the first statement that holds all their uses.

One pass from parents to children finds for every expression the innermost block around all its uses, so that the text
stays linear however often guarded blocks share values. Only what can not change and can not fail moves out of a block:
unchecked loads and divisions stay behind the guards that they rely on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Apply, Expr, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Body, Region
from vyre_foundation.ir.walk import bodies, expressions, statements


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
    """`uses` counts parents and statements, `lives` says how long a value lasts. `early` lists, for a statement by its
    number in program order, what is computed before it although only nested statements use it."""

    uses: dict[Expr, int]
    lives: dict[Expr, Life]
    early: dict[int, list[Expr]]


class Visit(NamedTuple):
    """A statement: the blocks that it is in, itself and the statements around it by number, outermost first."""

    blocks: tuple[int, ...]
    numbers: tuple[int, ...]
    roots: tuple[Expr, ...]


def place(program: Program) -> Placement:
    """The placement of every expression of a legalized program."""
    visits = list(_visits(program.body))
    first = _first_uses(visits)
    uses, homes = _uses(visits, first)
    lives = _lives(first, frozenset(s.name for s in statements(program.body) if isinstance(s, Assign)))
    early: dict[int, list[Expr]] = {}
    if any(visit.blocks for visit in visits):
        fixed = _fixed(first)
        for node, visit in first.items():
            level = len(homes[node])
            outside = level < len(visit.blocks) and uses[node] > 1 and bool(node.args)
            if outside and lives[node] is Life.SCOPE and node not in fixed:
                early.setdefault(visit.numbers[level], []).append(node)
    return Placement(uses, lives, early)


def _visits(body: Body) -> Iterator[Visit]:
    """Every statement in program order. A region is no block: its statements are in the block around it."""
    number, block = 0, 0

    def walk(body: Body, blocks: tuple[int, ...], around: tuple[int, ...]) -> Iterator[Visit]:
        nonlocal number, block
        for stmt in body:
            numbers = (*around, number)
            number += 1
            yield Visit(blocks, numbers, expressions(stmt))
            for nested in bodies(stmt):
                if isinstance(stmt, Region):
                    yield from walk(nested, blocks, around)
                else:
                    block += 1
                    yield from walk(nested, (*blocks, block), numbers)

    return walk(body, (), ())


def _first_uses(visits: list[Visit]) -> dict[Expr, Visit]:
    """Every expression with the statement that is the first to use it, children before parents."""
    first: dict[Expr, Visit] = {}
    for visit in visits:
        stack = [root for root in reversed(visit.roots) if root not in first]
        while stack:
            node = stack[-1]
            todo = [a for a in node.args if a not in first] if node not in first else ()
            if todo:
                stack.extend(reversed(todo))
            else:
                first.setdefault(node, visit)
                stack.pop()
    return first


def _uses(visits: list[Visit], first: dict[Expr, Visit]) -> tuple[dict[Expr, int], dict[Expr, tuple[int, ...]]]:
    """How often each expression is used, and the innermost block around all of its uses."""
    uses = dict.fromkeys(first, 0)
    homes: dict[Expr, tuple[int, ...]] = {}
    for visit in visits:
        for root in visit.roots:
            uses[root] += 1
            homes[root] = _around(homes.get(root, visit.blocks), visit.blocks)
    for node in reversed(first):
        home = homes[node]
        for arg in node.args:
            uses[arg] += 1
            homes[arg] = _around(homes.get(arg, home), home)
    return uses, homes


def _around(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The innermost block around two blocks, each given with all that it is in."""
    if a == b:
        return a
    level = 0
    while level < min(len(a), len(b)) and a[level] == b[level]:
        level += 1
    return a[:level]


def _lives(order: dict[Expr, Visit], mutable: frozenset[str]) -> dict[Expr, Life]:
    lives: dict[Expr, Life] = {}
    for node in order:
        life = max([lives[a] for a in node.args], default=Life.SCOPE)
        if isinstance(node, Local) and node.name in mutable:
            life = Life.UNTIL_ASSIGN
        elif isinstance(node, Load) and node.buffer.access is not Access.READ:
            life = Life.UNTIL_WRITE
        lives[node] = life
    return lives


def _fixed(order: dict[Expr, Visit]) -> set[Expr]:
    """What may fail without the guard around it, and what is made of it."""
    fixed: set[Expr] = set()
    for node in order:
        match node:
            case Load(checked=False):
                fixed.add(node)
            case Apply(op, (_, divisor)) if op.id in ("raw_div", "raw_rem") and not isinstance(divisor, Literal):
                fixed.add(node)
            case _ if any(a in fixed for a in node.args):
                fixed.add(node)
    return fixed
