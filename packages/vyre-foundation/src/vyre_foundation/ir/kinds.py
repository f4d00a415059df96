"""The kinds of the fields of statements, as their classes declare them: Python itself checks none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import UnionType
from typing import NamedTuple, get_args, get_origin, get_type_hints

from vyre_foundation.ir.argument import expected, remedy, shown
from vyre_foundation.ir.stmt import Body, Stmt
from vyre_foundation.ir.walk import bodies

_STATEMENTS = frozenset(get_args(Stmt))


class WrongKind(NamedTuple):
    """What is wrong with a field of a statement, or with the statement if `field` is empty, and the remedy."""

    field: str
    message: str
    fix: str


def wrong_kinds(stmt: object) -> list[WrongKind]:
    """The fields of a statement whose values are of another kind than its class declares. Names are not judged."""
    if stmt.__class__ not in _STATEMENTS:
        fix = "write statements of `vyre_foundation.ir`; `parse` reads the text of a program"
        return [WrongKind("", f"got {shown(stmt)}, expected a statement", fix)]
    found = []
    for field, kinds in _kinds(stmt.__class__).items():  # type: ignore[arg-type]
        given = getattr(stmt, field)
        if not isinstance(given, kinds):
            found.append(
                WrongKind(field, f"got {shown(given)}, expected {expected(kinds[0])}", remedy(kinds[0], given))
            )
    return found


def all_wrong_kinds(body: Body) -> Iterator[WrongKind]:
    """Those of every statement under `body`."""
    stack: list[object] = [*body]
    while stack:
        stmt = stack.pop()
        if found := wrong_kinds(stmt):
            yield from found
        else:
            stack += [inner for nested in bodies(stmt) for inner in nested]  # type: ignore[arg-type]


@cache
def _kinds(cls: type) -> Mapping[str, tuple[type, ...]]:
    """For each field of a class of statements the classes that its value may have. Names have rules of their own."""
    found = {}
    for field, hint in get_type_hints(cls).items():
        options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        kinds = tuple(get_origin(option) or option for option in options)
        if str not in kinds:
            found[field] = kinds
    return found
