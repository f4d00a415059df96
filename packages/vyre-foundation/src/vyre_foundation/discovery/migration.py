"""Bringing programs up to date: calls of ops that were renamed or replaced, followed to what they are now.

A dialect lists what became of its ops. Its list is checked when it is found, so that following it always ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from vyre_foundation.dialects import Composition, Dialect, Migration, call, installed_dialects
from vyre_foundation.dialects.attributes import AttrValue
from vyre_foundation.dialects.mutation import MutationClass
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.expr import Call, Expr, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Stmt
from vyre_foundation.ir.walk import program_expressions, rewrite, rewrite_body, with_expressions
from vyre_foundation.validate.codes import Rule

# fmt: off
WARNINGS: Mapping[str, Rule] = MappingProxyType({
    "W001": Rule("An op that was renamed is written by its new name.",
                 "a call of `geometry.hyp`, which is `geometry.hypot` now", "save what `vyre show` prints"),
    "W002": Rule("An op whose replacement computes something else is replaced by hand.",
                 "a call of an op whose rounding was corrected", "look at the results, then call the new op"),
    "W003": Rule("A deprecated op is not used any more.",
                 "a call of an op that its dialect will drop", "use what the note names"),
})
# fmt: on
"""Advice about ops that have changed, by the code of the warning. A program with warnings runs as it did."""


class BadMigration(VyreError, ValueError):
    """A dialect's list of migrations is cyclic, names an op twice, or does not fit the operands of a call."""

    code = "E109"


@dataclass(frozen=True, slots=True)
class Migrated:
    """A program that is up to date; itself if it was. `steps` are the migrations that it took.

    `held_back` would change results, and `deprecated` need a person: both are as they were.
    """

    program: Program
    steps: tuple[Migration, ...] = ()
    held_back: tuple[Migration, ...] = ()
    deprecated: tuple[Migration, ...] = ()


def check_migrations(dialect: Dialect) -> None:
    """Raise `BadMigration` for a list that names an op twice, has a cycle, or calls a step what it is not."""
    rows = {row.id: row for row in dialect.ops}
    steps: dict[str, Migration] = {}
    for migration in dialect.migrations:
        if migration.op in steps:
            raise BadMigration(f"{migration.op!r} migrates twice", fix="keep one of the two", where=dialect.id)
        steps[migration.op] = migration
        _require_class(migration, rows.get(migration.op), rows.get(migration.to), dialect.id)
    for start in steps:
        seen = [start]
        while (step := steps.get(seen[-1])) is not None and step.to:
            if step.to in seen:
                circle = " to ".join([*seen, step.to])
                raise BadMigration(f"migrations go in a circle: {circle}", fix="end it at an op", where=dialect.id)
            seen.append(step.to)


def _require_class(migration: Migration, old: Composition | None, new: Composition | None, where: str) -> None:
    """A cosmetic step between two ops that are there is one of names alone."""
    if migration.mutation is MutationClass.LOWERING:
        message = f"the migration of {migration.op!r} says that it lowers"
        raise BadMigration(message, fix="call it cosmetic, structural or semantic", where=where)
    if migration.mutation is not MutationClass.COSMETIC or old is None or new is None:
        return
    for signature in old.signatures:
        formal = tuple(Local(f"__operand{n}", dtype) for n, dtype in enumerate(signature))
        order = range(len(formal)) if migration.operands is None else migration.operands
        if old.attrs or new.attrs or old.expand(*formal) is not new.expand(*[formal[n] for n in order]):
            message = f"{migration.op!r} is not {migration.to!r} by another name"
            raise BadMigration(message, fix="call the migration structural", where=where)


def migrate(program: Program, dialects: Sequence[Dialect] | None = None, *, changes_results: bool = False) -> Migrated:
    """`program` with every call of an old op followed to the new one; `changes_results` follows all steps.

    `dialects` are the installed ones by default. A program without such calls is returned as it is.
    """
    called = {node.callee for node in program_expressions(program) if isinstance(node, Call)}
    if not called:
        return Migrated(program)
    known = {m.op: m for d in (installed_dialects() if dialects is None else dialects) for m in d.migrations}
    if not called & known.keys():
        return Migrated(program)
    follow = {op: m for op, m in known.items() if m.to and (changes_results or not m.mutation.changes_results)}
    taken: dict[str, Migration] = {}
    memo: dict[Expr, Expr] = {}

    def updated(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: rewrite(e, lambda node: _follow(node, follow, taken), memo))

    body = rewrite_body(program.body, updated)
    result = program if body is program.body else replace(program, body=body)
    left = {node.callee for node in program_expressions(result) if isinstance(node, Call)}
    rest = [known[op] for op in sorted(left & known.keys())]
    return Migrated(
        result,
        steps=tuple(taken.values()),
        held_back=tuple(m for m in rest if m.to),
        deprecated=tuple(m for m in rest if not m.to),
    )


def _follow(node: Expr, known: Mapping[str, Migration], taken: dict[str, Migration]) -> Expr:
    """`node`, or the call of what its op is now. The ops between need not exist any more."""
    if not isinstance(node, Call) or node.callee not in known:
        return node
    callee, operands = node.callee, node.args
    attrs: dict[str, AttrValue] = {}
    while (step := known.get(callee)) is not None:
        taken[callee] = step
        order = range(len(operands)) if step.operands is None else step.operands
        if any(not 0 <= n < len(operands) for n in order):
            message = f"{callee!r} got {len(operands)} operands, its migration takes {list(order)}"
            raise BadMigration(message, fix="correct the dialect's list", where=callee)
        callee, operands = step.to, tuple(operands[n] for n in order)
        attrs |= step.attrs
    new = call(callee, *operands, **attrs)
    if new.dtype is not node.dtype:
        message = f"{callee!r} gives {new.dtype}, {node.callee!r} gave {node.dtype}"
        raise BadMigration(message, fix="correct the dialect's list", where=node.callee)
    return new
