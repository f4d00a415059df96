"""Places: where a statement stands in its program, by its path."""

from __future__ import annotations

from vyre_driver.observe.accesses import Path
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, If
from vyre_foundation.ir.walk import bodies


def origin_of(program: Program, path: Path) -> Origin | None:
    """The line of Python that wrote the statement, where that is known."""
    if program.origins is None:
        return None
    stmt = program.body[path[0]]
    for branch, position in zip(path[1::2], path[2::2], strict=True):
        stmt = bodies(stmt)[branch][position]
    number = next(n for n, other in enumerate(program.statements) if other is stmt)
    return program.origins.statement(number)


def located(program: Program, path: Path) -> str:
    """The path, and the line of Python behind it where that is known: ``body[2].then[0] (kernel.py:7)``."""
    place, origin = describe(program.body, path), origin_of(program, path)
    return place if origin is None else f"{place} ({origin})"


def describe(body: Body, path: Path) -> str:
    """The path as validation writes it: ``body[2].orelse[0]``."""
    text = f"body[{path[0]}]"
    stmt = body[path[0]]
    for branch, position in zip(path[1::2], path[2::2], strict=True):
        name = ("then", "orelse")[branch] if isinstance(stmt, If) else "body"
        text += f".{name}[{position}]"
        stmt = bodies(stmt)[branch][position]
    return text
