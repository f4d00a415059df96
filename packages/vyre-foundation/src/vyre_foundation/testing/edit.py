"""The edits that the shrinker is made of. Statements are numbered outer before inner, in program order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from vyre_foundation.ir.buffer import Buffer, LengthOf
from vyre_foundation.ir.expr import Expr, Length, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Body,
    Break,
    Continue,
    For,
    IndirectDispatch,
    Let,
    Region,
    Stmt,
    Store,
    Subgroup,
    Var,
)
from vyre_foundation.ir.walk import (
    bodies,
    program_expressions,
    rewrite,
    rewrite_body,
    statements,
    with_bodies,
    with_expressions,
)

Change = Callable[[int, Stmt], Stmt | Body]
"""From the number of a statement and the statement to what replaces it."""


def edit(program: Program, change: Change) -> Program:
    """The program with `change` applied to every statement, outer ones first, and repaired."""
    body, _ = _edit(program.body, 0, change)
    return replace(program, body=_repair(body, {}, False))


def _edit(body: Body, number: int, change: Change) -> tuple[Body, int]:
    out: list[Stmt] = []
    for stmt in body:
        new = change(number, stmt)
        number += 1
        if new is not stmt:  # the statements inside keep their numbers and go unchanged
            number += sum(1 for nested in bodies(stmt) for _ in statements(nested))
            out.extend(new if isinstance(new, tuple) else (new,))
            continue
        inner: list[Body] = []
        for nested in bodies(stmt):
            nested, number = _edit(nested, number, change)
            inner.append(nested)
        queue = iter(inner)
        out.append(with_bodies(stmt, lambda _, queue=queue: next(queue)))  # type: ignore[misc]
    return tuple(out), number


def _repair(body: Body, declared: dict[str, None], in_loop: bool) -> Body:
    """`body` where locals that are no longer declared read as zero, and jumps without a loop are gone."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, (Break, Continue)) and not in_loop:
            continue
        if isinstance(stmt, Assign) and stmt.name not in declared:
            continue
        memo: dict[Expr, Expr] = {}
        stmt = with_expressions(stmt, lambda e, memo=memo: rewrite(e, lambda n: _known(n, declared), memo))  # type: ignore[misc]
        match stmt:
            case Let(name) | Var(name) | Atomic(result=str(name)) | Subgroup(result=str(name)):
                declared[name] = None
        if isinstance(stmt, Region):
            out.append(replace(stmt, body=_repair(stmt.body, declared, in_loop)))
            continue
        inside = dict(declared) | ({stmt.name: None} if isinstance(stmt, For) else {})
        loops = in_loop or isinstance(stmt, For)
        out.append(with_bodies(stmt, lambda b, i=inside, l=loops: _repair(b, dict(i), l)))  # type: ignore[misc]
    return tuple(out)


def _known(node: Expr, declared: Mapping[str, None]) -> Expr:
    return Literal(node.dtype, 0) if isinstance(node, Local) and node.name not in declared else node


def inlined(program: Program, number: int, name: str, value: Expr) -> Program:
    """The program without one statement, and with `value` wherever it reads the local `name`."""
    memo: dict[Expr, Expr] = {}

    def in_expr(node: Expr) -> Expr:
        return value if isinstance(node, Local) and node.name == name else node

    def in_stmt(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: rewrite(e, in_expr, memo))

    without, _ = _edit(program.body, 0, lambda n, stmt: () if n == number else stmt)
    return replace(program, body=_repair(rewrite_body(without, in_stmt), {}, False))


def with_buffers(program: Program, changes: Mapping[Buffer, Buffer | None]) -> Program:
    """The program with buffers exchanged, or dropped where the image is None, and bindings numbered from 0 again."""
    remaining = [new for b in program.buffers if (new := changes.get(b, b)) is not None]
    bound = [b for b in remaining if b.binding is not None]
    numbered = [b if b.binding is None else b.replace(binding=bound.index(b)) for b in remaining]
    old = [b for b in program.buffers if changes.get(b, b) is not None]
    image = dict(zip(old, numbered, strict=True))

    def in_expr(node: Expr) -> Expr:
        match node:
            case Load(buffer, index):
                return Load(image[buffer], index, checked=node.checked)
            case Length(buffer):
                return Length(image[buffer])
        return node

    memo: dict[Expr, Expr] = {}

    def in_stmt(stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, lambda e: rewrite(e, in_expr, memo))
        stmt = with_bodies(stmt, lambda body: tuple(in_stmt(s) for s in body))
        return replace(stmt, buffer=image[stmt.buffer]) if isinstance(stmt, (Store, Atomic, IndirectDispatch)) else stmt

    return replace(program, buffers=tuple(numbered), body=tuple(in_stmt(s) for s in program.body))


def unused_buffers(program: Program) -> list[Buffer]:
    """Buffers that no statement, expression or length rule names."""
    used: set[str] = {e.buffer.name for e in program_expressions(program) if isinstance(e, (Load, Length))}
    used |= {s.buffer.name for s in statements(program.body) if isinstance(s, (Store, Atomic, IndirectDispatch))}
    used |= {b.count.buffer for b in program.buffers if isinstance(b.count, LengthOf)}
    return [b for b in program.buffers if b.name not in used]
