"""Accesses to memory, statement by statement, and programs with statements added around them.

A path alternates positions and branches: ``(2, 1, 0)`` is the first statement in the second body (the `orelse`) of the
third statement. Paths compare in program order, outer statements before inner ones.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Load
from vyre_foundation.ir.stmt import Atomic, Body, For, If, Region, Stmt, Store
from vyre_foundation.ir.walk import bodies, expressions, postorder

Path = tuple[int, ...]


class Touch(Enum):
    """What an access does."""

    READ = "reads"
    WRITE = "writes"
    ATOMIC = "updates atomically"

    def conflicts(self, other: Touch) -> bool:
        """Whether two unordered accesses to one element race: plain writes with all, reads with other kinds."""
        return self is not other or self is Touch.WRITE


class AccessSite(NamedTuple):
    """A place in a program that accesses an element of a buffer."""

    path: Path
    touch: Touch
    buffer: Buffer
    index: Expr


def accesses(stmt: Stmt, path: Path) -> list[AccessSite]:
    """The accesses that `stmt` itself makes, its loads first; those of nested bodies are not among them."""
    loads = [node for node in postorder(expressions(stmt)) if isinstance(node, Load)]
    found = [AccessSite(path, Touch.READ, node.buffer, node.index) for node in loads]
    match stmt:
        case Store(buffer, index):
            found.append(AccessSite(path, Touch.WRITE, buffer, index))
        case Atomic(_, buffer, index):
            found.append(AccessSite(path, Touch.ATOMIC, buffer, index))
        case _:
            pass
    return found


def surrounded(body: Body, around: Callable[[Stmt, Path], tuple[Body, Body]], path: Path = ()) -> Body:
    """`body` with the statements that `around` gives before and after each of its statements, in nested bodies too."""
    out: list[Stmt] = []
    for position, stmt in enumerate(body):
        here = (*path, position)
        before, after = around(stmt, here)
        inner = [surrounded(nested, around, (*here, branch)) for branch, nested in enumerate(bodies(stmt))]
        out += (*before, _with(stmt, inner), *after)
    return tuple(out)


def _with(stmt: Stmt, inner: list[Body]) -> Stmt:
    match stmt:
        case If(condition):
            return If(condition, *inner)
        case For(name, start, stop, step):
            return For(name, start, stop, step, *inner)
        case Region(label):
            return Region(label, *inner)
        case _:
            return stmt
