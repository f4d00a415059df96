"""The kinds of the fields of statements, as their classes declare them: Python itself checks none of them."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import NamedTuple, get_args, get_origin, get_type_hints

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.stmt import Body, Stmt
from vyre_foundation.ir.walk import bodies

_STATEMENTS = frozenset(get_args(Stmt))
_EXPECTED = {Expr: "an expression", Buffer: "a buffer", bool: "a bool", tuple: "a tuple of statements"}
_FIXES = {
    Expr: "write `literal(dtype, number)` for a number, and `.expr` behind a value of a builder",
    Buffer: "pass the buffer that the program declares",
    bool: "pass True or False",
    tuple: "write `(statement,)`",
}


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
            found.append(WrongKind(field, f"got {shown(given)}, expected {_expected(kinds[0])}", _fix(kinds[0], given)))
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


def shown(given: object) -> str:
    """What a message says of a value: numbers and short texts as they are, others by their class."""
    return reprlib.repr(given) if isinstance(given, (int, float, str, bytes, NoneType)) else type(given).__name__


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


def _expected(kind: type) -> str:
    return _EXPECTED.get(kind) or f"a member of {kind.__name__}"


def _fix(kind: type, given: object) -> str:
    if kind in _FIXES:
        return _FIXES[kind]
    if not issubclass(kind, Enum):
        return f"pass {kind.__name__}"
    meant = next((member for member in kind if member.value == given), None)
    return f"write `{meant}`" if meant is not None else f"write one of {', '.join(map(str, kind))}"
