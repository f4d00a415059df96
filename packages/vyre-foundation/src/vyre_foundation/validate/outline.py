"""The statements of a program as a list, each with its path and with how far its enclosing scope reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vyre_foundation.cached import cached_property
from vyre_foundation.dtype import DType
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
from vyre_foundation.validate.declared import declaration

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


@dataclass(slots=True, eq=False)
class Place:
    """One statement: its number in program order, the statement around it (None at the top) and its scope.

    It is number `index` in the body that is the field `body` of the statement around it, or of the program. `before` is
    the statement before it there. `depth` counts the statements around it. A scope is the top of the program, a branch
    of an `If` or the body of a `For`; regions are transparent.
    """

    stmt: Stmt
    number: int
    body: str
    index: int
    before: Stmt | None
    parent: Place | None
    depth: int
    scope: int

    @property
    def path(self) -> str:
        """Where it is, as in ``body[2].then[0]``."""
        own = f"{self.body}[{self.index}]"
        return own if self.parent is None else f"{self.parent.path}.{own}"

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


@dataclass(frozen=True)
class Outline:
    """All statements in program order."""

    places: list[Place]
    scope_ends: list[int]
    """For each scope the number of the last statement inside."""
    ends: list[int]
    """For each statement the number of the last statement inside of it (its own if there is none)."""

    @cached_property
    def declared(self) -> Sequence[tuple[Place, str, DType]]:
        """The statements that declare a local, each with its name and type."""
        return [(place, *local) for place in self.places if (local := declaration(place.stmt)) is not None]

    def of(self, *kinds: type[Stmt]) -> list[Place]:
        """The statements of these kinds."""
        return [place for place in self.places if place.stmt.__class__ in kinds]

    @cached_property
    def inside(self) -> Sequence[Sequence[Place]]:
        """For each statement those directly inside of it."""
        inside: list[list[Place]] = [[] for _ in self.places]
        for place in self.places:
            if place.parent is not None:
                inside[place.parent.number].append(place)
        return inside

    @property
    def top(self) -> tuple[Place, ...]:
        """The statements of the program's body."""
        return tuple(place for place in self.places if place.parent is None)

    def bodies(self, place: Place) -> tuple[Sequence[Place], ...]:
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


def outline(program: Program) -> Outline:
    """The statements of `program`, down to the first ones that are nested too deep."""
    made = Outline([], [-1], [])
    _enter(made, "body", program.body, None, 0, 0)
    return made


def _enter(made: Outline, name: str, body: Body, parent: Place | None, depth: int, scope: int) -> None:
    """Add the statements of a body and all that is inside of them."""
    places, ends, scope_ends = made.places, made.ends, made.scope_ends
    before = None
    for index, stmt in enumerate(body):
        number = len(places)
        place = Place(stmt, number, name, index, before, parent, depth, scope)
        places.append(place)
        ends.append(number)
        if stmt.__class__ in _BLOCKS and depth <= MAX_NESTING:
            for field, nested in _bodies(stmt):
                if nested.__class__ is not tuple:  # which V016 refuses
                    continue
                inner = scope
                if not isinstance(stmt, Region):
                    inner = len(scope_ends)
                    scope_ends.append(number)
                _enter(made, field, nested, place, depth + 1, inner)
            ends[number] = len(places) - 1
        before = stmt
    scope_ends[scope] = max(scope_ends[scope], len(places) - 1)


_BLOCKS = (If, For, Region)


def _bodies(stmt: Stmt) -> Sequence[tuple[str, Body]]:
    match stmt:
        case If():
            return (("then", stmt.then), ("orelse", stmt.orelse))
        case For() | Region():
            return (("body", stmt.body),)
        case _:
            return ()
