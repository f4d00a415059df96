"""Calls of dialect ops become what they are composed of, unless the target has them."""

from __future__ import annotations

from vyre_driver.lower.declare import declare
from vyre_driver.lower.target import Target
from vyre_foundation import dialect
from vyre_foundation.ir.expr import Call, Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Stmt
from vyre_foundation.ir.walk import rewrite_body, with_expressions


def expand_calls(program: Program, target: Target) -> Program:
    """``x = call("geometry.hypot", a, b)``  →  ``x = sqrt(a * a + b * b)``"""
    memo: dict[Expr, Expr] = {}

    def stays(node: Call) -> bool:
        return bool(node.args) and (node.callee, node.args[0].dtype) in target.calls

    def expanded(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: dialect.expand(e, memo, stays))

    return declare(program, rewrite_body(program.body, expanded))
