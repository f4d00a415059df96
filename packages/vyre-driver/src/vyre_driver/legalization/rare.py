"""Calls of rare ops: branches in place of selections.

    out[i] = select(c, math.pow_wide(x, y), z)    →    let is_rare = c; var rare = z;
                                                       if is_rare { rare = math.pow_wide(x, y); } out[i] = rare

An expression computes both arms. A branch computes the rare one only where an invocation takes it, so its cost does not
count. The body of the branch is a region with the label `RARELY`, by which later passes know it.
"""

from __future__ import annotations

from typing import TypeGuard

from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.lowered import RARELY, LoweredFunction
from vyre_driver.legalization.text_forms import CallForm
from vyre_foundation import dialects
from vyre_foundation.dialects import is_rare_call
from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Call, Expr, Load, Local, Select
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Body, If, Let, Region, Stmt, Var
from vyre_foundation.ir.walk import postorder, rewrite, rewrite_body, with_expressions


def is_rare_branch(stmt: Stmt) -> TypeGuard[If]:
    """Whether `stmt` is a branch that `branch_at_rare_calls` made."""
    return isinstance(stmt, If) and any(isinstance(s, Region) and s.label == RARELY for s in stmt.then)


def branch_at_rare_calls(program: Program) -> Program:
    """`program` with a branch before each statement for every selection of a rare call that the statement evaluates.

    Expressions have no effects, and a statement evaluates its expressions before it does anything.
    """
    fresh = Fresh.of(program)
    return declare(program, rewrite_body(program.body, lambda stmt: _branches(stmt, fresh)))


def as_selections(branch: If) -> Body:
    """What `branch` does, without a branch."""
    (region,) = branch.then
    assert isinstance(region, Region)
    taken = [s for s in region.body if isinstance(s, Assign)]
    body = tuple(Assign(s.name, Select(branch.condition, s.value, Local(s.name, s.value.dtype))) for s in taken)
    return _expanded(body)


def expand_rare_calls(program: Program) -> Program:
    """`program` with the compositions of rare ops in the place of their calls."""
    return declare(program, _expanded(program.body))


def _expanded(body: Body) -> Body:
    memo: dict[Expr, Expr] = {}

    def expanded(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: dialects.expand(e, memo, lambda node: not is_rare_call(node)))

    return rewrite_body(body, expanded)


def function_of(form: CallForm) -> LoweredFunction:
    """The op of these calls as a function, in the words of the language."""
    parameters = tuple(Local(f"x{n}", dtype) for n, dtype in enumerate(form.values))
    value = dialects.expand(Call(form.op, form.result, *parameters, *form.attrs), {})
    return LoweredFunction(parameters, Program(form.symbol, (), (1, 1, 1), (Let("result", value),)))


def _branches(stmt: Stmt, fresh: Fresh) -> Stmt | Body:
    before: list[Stmt] = []

    def bound(stem: str, value: Expr) -> Local:
        local = Local(fresh(stem), value.dtype)
        before.append(Let(local.name, value))
        return local

    def rule(node: Expr) -> Expr:
        if not (isinstance(node, Select) and is_rare_call(node.args[1])):
            return node
        condition, call, usual = node.args
        is_rare = bound("is_rare", condition)
        operands = [bound("operand", arg) if may_change(arg) else arg for arg in call.args]
        result = Local(fresh("rare"), node.dtype)
        before.append(Var(result.name, usual))
        taken = Region(RARELY, (Assign(result.name, call.rebuild(tuple(operands))),))
        before.append(If(is_rare, (taken,)))
        return result

    memo: dict[Expr, Expr] = {}
    changed = with_expressions(stmt, lambda e: rewrite(e, rule, memo))
    return (*before, changed) if before else stmt


def may_change(value: Expr) -> bool:
    """Whether memory that the program writes is read, which may change before the branch."""
    return any(isinstance(n, Load) and n.buffer.access is not Access.READ for n in postorder((value,)))
