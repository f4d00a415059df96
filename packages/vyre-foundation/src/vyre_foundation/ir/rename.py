"""Copies of statements with other names for their locals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vyre_foundation.ir.expr import Expr, Local
from vyre_foundation.ir.stmt import Assign, Atomic, Body, For, Let, Stmt, Subgroup, Var
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions


def with_names(stmt: Stmt, names: Mapping[str, str]) -> Stmt:
    """`stmt` with another name for the local that it declares or assigns, where `names` has one."""
    match stmt:
        case Let(name) | Var(name) | Assign(name) | For(name) if name in names:
            return replace(stmt, name=names[name])
        case Atomic(result=str(name)) | Subgroup(result=str(name)) if name in names:
            return replace(stmt, result=names[name])
        case _:
            return stmt


def renamed(body: Body, names: Mapping[str, str], values: Mapping[str, Expr]) -> Body:
    """`body` with other names for its locals, and `values` in the place of locals that it does not declare."""
    memo: dict[Expr, Expr] = {}

    def node(expr: Expr) -> Expr:
        if not isinstance(expr, Local):
            return expr
        return values.get(expr.name) or (Local(names[expr.name], expr.dtype) if expr.name in names else expr)

    def statement(stmt: Stmt) -> Stmt:
        return with_names(with_expressions(stmt, lambda expr: rewrite(expr, node, memo)), names)

    return rewrite_body(body, statement)
