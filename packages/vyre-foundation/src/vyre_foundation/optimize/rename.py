"""Copies of statements with other locals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vyre_foundation.ir.expr import Expr, Local
from vyre_foundation.ir.stmt import Assign, Atomic, Body, For, Let, Stmt, Subgroup, Var
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions


def renamed(body: Body, names: Mapping[str, str], values: Mapping[str, Expr]) -> Body:
    """`body` with other names for its locals, and `values` in the place of locals that it does not declare."""
    memo: dict[Expr, Expr] = {}

    def node(expr: Expr) -> Expr:
        if not isinstance(expr, Local):
            return expr
        return values.get(expr.name) or (Local(names[expr.name], expr.dtype) if expr.name in names else expr)

    def statement(stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, lambda expr: rewrite(expr, node, memo))
        match stmt:
            case Let(name=name) | Var(name=name) | Assign(name=name) | For(name=name) if name in names:
                return replace(stmt, name=names[name])
            case Atomic(result=str(name)) | Subgroup(result=str(name)) if name in names:
                return replace(stmt, result=names[name])
            case _:
                return stmt

    return rewrite_body(body, statement)
