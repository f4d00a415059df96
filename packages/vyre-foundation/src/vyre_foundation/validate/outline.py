"""The statements of a program as a list, each with its path and with how far its enclosing scope reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    MAX_NESTING,
    Assign,
    Atomic,
    Body,
    For,
    If,
    Let,
    Region,
    Stmt,
    Store,
    Subgroup,
    Trap,
    Var,
)
from vyre_foundation.ir.walk import expressions

_FIELDS: dict[type[Stmt], tuple[str, ...]] = {
    Let: ("value",),
    Var: ("value",),
    Assign: ("value",),
    Store: ("index", "value"),
    If: ("condition",),
    For: ("start", "stop"),
    Atomic: ("index", "value", "expected"),
    Subgroup: ("value", "lane"),
    Trap: ("code",),
}
"""The names of what `expressions` gives, in its order."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One statement: its number in program order, its path, the statement around it (None at the top) and its scope.

    `before` is the statement before it in the same body. `depth` counts the statements around it. A scope is the top of
    the program, a branch of an `If` or the body of a `For`; regions are transparent.
    """

    stmt: Stmt
    number: int
    path: str
    before: Stmt | None
    parent: Place | None
    depth: int
    scope: int

    def field(self, name: str) -> str:
        """The path of a part of this statement."""
        return f"{self.path}.{name}" if name else self.path

    def roots(self) -> list[tuple[str, Expr]]:
        """The expressions that the statement itself evaluates, with their names."""
        own = expressions(self.stmt)
        return list(zip(_FIELDS[type(self.stmt)], own, strict=False)) if own else []

    def around(self) -> Iterator[Place]:
        """The statements around it, innermost first."""
        parent = self.parent
        while parent is not None:
            yield parent
            parent = parent.parent


@dataclass(frozen=True, slots=True)
class Outline:
    """All statements in program order."""

    places: tuple[Place, ...]
    scope_ends: tuple[int, ...]
    """For each scope the number of the last statement inside."""
    ends: tuple[int, ...]
    """For each statement the number of the last statement inside of it (its own if there is none)."""
    inside: tuple[tuple[Place, ...], ...]
    """For each statement those directly inside of it."""

    @property
    def top(self) -> tuple[Place, ...]:
        """The statements of the program's body."""
        return tuple(place for place in self.places if place.parent is None)

    def bodies(self, place: Place) -> tuple[tuple[Place, ...], ...]:
        """The statements directly inside of `place`: of both branches of an `If`, or of the one body of others."""
        inside = self.inside[place.number]
        if isinstance(place.stmt, If):
            return inside[: len(place.stmt.then)], inside[len(place.stmt.then) :]
        return (inside,)

    def scope_end(self, place: Place) -> int:
        """The number of the last statement in the scope of `place`: as far as a local declared there is visible."""
        return self.scope_ends[place.scope]

    def end(self, place: Place) -> int:
        """The number of the last statement inside of `place`: as far as the counter of a loop is visible."""
        return self.ends[place.number]


_Entry = tuple[Stmt, str, Stmt | None, Place | None, int]


def outline(program: Program) -> Outline:
    """The statements of `program`, down to the first ones that are nested too deep."""
    places: list[Place] = []
    around: list[int] = [0]  # the scope around each scope
    scope_ends: list[int] = [-1]
    stack: list[_Entry] = _entries(program.body, "body", None, 0)
    while stack:
        stmt, path, before, parent, scope = stack.pop()
        place = Place(stmt, len(places), path, before, parent, 0 if parent is None else parent.depth + 1, scope)
        places.append(place)
        scope_ends[scope] = place.number
        for name, body in reversed(_bodies(stmt) if place.depth <= MAX_NESTING else ()):
            if not isinstance(stmt, Region):
                scope = len(around)
                around.append(place.scope)
                scope_ends.append(place.number)
            stack += _entries(body, f"{path}.{name}", place, scope)
    for scope in range(len(around) - 1, 0, -1):
        scope_ends[around[scope]] = max(scope_ends[around[scope]], scope_ends[scope])
    return Outline(tuple(places), tuple(scope_ends), tuple(_ends(places)), tuple(_inside(places)))


def _entries(body: Body, path: str, parent: Place | None, scope: int) -> list[_Entry]:
    """The statements of a body, last first, as they go on the stack."""
    return [(body[n], f"{path}[{n}]", body[n - 1] if n else None, parent, scope) for n in range(len(body) - 1, -1, -1)]


def _bodies(stmt: Stmt) -> Sequence[tuple[str, Body]]:
    match stmt:
        case If():
            return (("then", stmt.then), ("orelse", stmt.orelse))
        case For() | Region():
            return (("body", stmt.body),)
        case _:
            return ()


def _inside(places: Sequence[Place]) -> list[tuple[Place, ...]]:
    inside: list[list[Place]] = [[] for _ in places]
    for place in places:
        if place.parent is not None:
            inside[place.parent.number].append(place)
    return [tuple(found) for found in inside]


def _ends(places: Sequence[Place]) -> list[int]:
    ends = list(range(len(places)))
    for place in reversed(places):
        if place.parent is not None:
            ends[place.parent.number] = max(ends[place.parent.number], ends[place.number])
    return ends
