"""The kinds of the fields of statements, as their classes declare them: Python itself checks none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import UnionType
from typing import NamedTuple, get_args, get_origin, get_type_hints

from vyre_foundation.errors import DeclarationError, VyreError
from vyre_foundation.ir.argument import expected, remedy, shown
from vyre_foundation.ir.stmt import Body, Stmt
from vyre_foundation.ir.walk import bodies

_STATEMENTS = frozenset(get_args(Stmt))


class WrongKind(NamedTuple):
    """What is wrong with a field of a statement, or with the statement if `field` is empty, and the remedy."""

    field: str
    message: str
    fix: str


def wrong_kinds(stmt: object, *, names: bool = False) -> list[WrongKind]:
    """The fields of a statement whose values are of another kind than its class declares; with `names`, also those."""
    if stmt.__class__ not in _STATEMENTS:
        fix = "write statements of `vyre_foundation.ir`; `parse` reads the text of a program"
        return [WrongKind("", f"got {shown(stmt)}, expected a statement", fix)]
    return [
        WrongKind(field, f"got {shown(given)}, expected {expected(kinds[0])}", remedy(kinds[0], given))
        for field, kinds in _kinds(stmt.__class__).items()  # type: ignore[arg-type]
        if (names or str not in kinds) and not isinstance(given := getattr(stmt, field), kinds)
    ]


@contextmanager
def naming_wrong_kinds(name: object, body: Body, error: type[VyreError] = DeclarationError) -> Iterator[None]:
    """Name the field, where Python fails because one of the program is of another kind than its class declares."""
    try:
        yield
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as cause:
        for field, message, fix in _all_wrong_kinds(name, body):
            raise error(message, fix=fix, where=f"program {name!r}, {field or 'body'}") from cause
        raise


def _all_wrong_kinds(name: object, body: Body) -> Iterator[WrongKind]:
    """Those of every statement under `body`, and the names, labels and tags that are no strings."""
    if not isinstance(name, str):
        yield WrongKind("name", f"got {shown(name)}, expected {expected(str)}", remedy(str, name))
    stack: list[object] = [*body]
    while stack:
        stmt = stack.pop()
        if found := wrong_kinds(stmt, names=True):
            yield from found
        else:
            stack += [inner for nested in bodies(stmt) for inner in nested]  # type: ignore[arg-type]


@cache
def _kinds(cls: type) -> Mapping[str, tuple[type, ...]]:
    """For each field of a class of statements the classes that its value may have."""
    found = {}
    for field, hint in get_type_hints(cls).items():
        options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        found[field] = tuple(get_origin(option) or option for option in options)
    return found
