"""Calls of dialect ops become what they are composed of, unless the target has them or the dialect has words for it.

Calls of rare ops are left: they become branches (`rare.py`).
"""

from __future__ import annotations

from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.target import Target
from vyre_driver.legalization.text_forms import CallForm, require_distinct, text_for
from vyre_foundation import dialects
from vyre_foundation.dialects import is_rare_call
from vyre_foundation.dialects.lowering import TextModule
from vyre_foundation.ir.expr import Call, Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Stmt
from vyre_foundation.ir.walk import rewrite_body, with_expressions


def expand_calls(program: Program, target: Target) -> Program:
    """``x = call("geometry.hypot", a, b)``  →  ``x = sqrt(a * a + b * b)``"""
    return expanded_with_texts(program, target)[0]


def expanded_with_texts(program: Program, target: Target) -> tuple[Program, dict[CallForm, TextModule]]:
    """The same, and the texts of the calls that are left because their dialect has words for them."""
    memo: dict[Expr, Expr] = {}
    texts: dict[CallForm, TextModule] = {}
    if not any(isinstance(node, Call) for node in program.code.others):
        return program, texts

    def stays(node: Call) -> bool:
        if node.args and (node.callee, node.args[0].dtype) in target.calls:
            return True
        form = CallForm.of(node)
        text = text_for(form, target) if target.language else None
        if text is not None:
            texts[form] = text
        return text is not None or is_rare_call(node)

    def expanded(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: dialects.expand(e, memo, stays))

    result = declare(program, rewrite_body(program.body, expanded))
    require_distinct(texts.values(), target)
    return result, texts
