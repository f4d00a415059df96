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
    """Replace calls of dialect ops by their compositions.

    ``x = call("geometry.hypot", a, b)``  →  ``x = sqrt(a * a + b * b)``

    Calls stay that the target has, or the dialect has a text for, and those of rare ops.
    """
    memo: dict[Expr, Expr] = {}
    if not any(isinstance(node, Call) for node in program.code.others):
        return program

    def stays(node: Call) -> bool:
        return _is_native(node, target) or _text(node, target) is not None or is_rare_call(node)

    def expanded(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: dialects.expand(e, memo, stays))

    return declare(program, rewrite_body(program.body, expanded))


def texts_of(program: Program, target: Target) -> dict[CallForm, TextModule]:
    """The texts of the calls that `expand_calls` leaves because their dialect has one."""
    calls = [node for node in program.code.others if isinstance(node, Call) and not _is_native(node, target)]
    texts = {CallForm.of(node): text for node in calls if (text := _text(node, target)) is not None}
    require_distinct(texts.values(), target)
    return texts


def _is_native(node: Call, target: Target) -> bool:
    return bool(node.args) and (node.callee, node.args[0].dtype) in target.calls


def _text(node: Call, target: Target) -> TextModule | None:
    return text_for(CallForm.of(node), target) if target.language else None
