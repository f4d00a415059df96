"""Rare branches inside of a guard that a workgroup cannot take as one, moved out of it.

    if g { a; if is_rare { rare = f(x) } b }    →    var is_rare = false; var rare = 0; var operand = 0;
                                                     if g { a; operand = x } if is_rare { rare = f(operand) } if g { b }

Then a strip of invocations takes the branch if one of them does, as it takes a branch that no guard is around. The
usual guard is that of an access whose bounds are not proven: what is left of it is one comparison for each loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from vyre_driver.legalization.rare import is_rare_branch, may_change
from vyre_foundation.ir.expr import Call, Expr, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.stmt import Assign, Body, If, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import expressions, postorder, rewrite_body, statements


def outside_of_guards(body: Body, fresh: Fresh) -> Body:
    """``if limits { if g { …; rare branch; … } }``: the rare branch is a statement of the outer guard."""
    return tuple([_outside(stmt, fresh) for stmt in body])


def _outside(stmt: Stmt, fresh: Fresh) -> Stmt:
    match stmt:
        case If(limits, then, ()) if any(map(_can_be_split, then)):
            return If(limits, tuple(part for s in then for part in (_split(s, fresh) if _can_be_split(s) else (s,))))
    return stmt


def _can_be_split(stmt: Stmt) -> TypeGuard[If]:
    """Whether it is a guard around rare branches between plain statements, which do not change what the guard is."""
    if not isinstance(stmt, If) or stmt.orelse or may_change(stmt.condition):
        return False
    plain = [s for s in stmt.then if not is_rare_branch(s)]
    if len(plain) == len(stmt.then) or not all(isinstance(s, (Let, Var, Assign, Store)) for s in plain):
        return False
    changed = {s.name for s in statements(stmt.then) if isinstance(s, Assign)}
    return changed.isdisjoint(node.name for node in postorder((stmt.condition,)) if isinstance(node, Local))


def _split(guarded: If, fresh: Fresh) -> Iterator[Stmt]:
    parts: list[list[Stmt]] = [[]]
    branches: list[If] = []
    for stmt in guarded.then:
        if is_rare_branch(stmt):
            branch, operands = _with_operands(stmt, fresh)
            parts[-1] += operands
            branches.append(branch)
            parts.append([])
        else:
            parts[-1].append(stmt)
    later = _names_later(parts, branches)
    for part in parts:
        yield from (
            Var(s.name, literal(s.value.dtype, 0)) for s in part if isinstance(s, (Let, Var)) and s.name in later
        )
    for number, part in enumerate(parts):
        changed = [Assign(s.name, s.value) if isinstance(s, (Let, Var)) and s.name in later else s for s in part]
        if changed:
            yield If(guarded.condition, tuple(changed))
        if number < len(branches):
            yield branches[number]


def _with_operands(branch: If, fresh: Fresh) -> tuple[If, list[Let]]:
    """A rare branch that loads nothing, as all of a strip runs it, and what it loads, to be loaded under the guard."""
    before: list[Let] = []

    def bound(arg: Expr) -> Expr:
        if not any(isinstance(node, Load) for node in postorder((arg,))):
            return arg
        before.append(Let(fresh("operand"), arg))
        return Local(before[-1].name, arg.dtype)

    def changed(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(name, Call() as call):
                return Assign(name, call.rebuild(tuple(map(bound, call.args))))
        return stmt

    return replace(branch, then=rewrite_body(branch.then, changed)), before


def _names_later(parts: list[list[Stmt]], branches: list[If]) -> set[str]:
    """The locals that another part than their own, or a branch, reads or changes."""
    found: set[str] = set()
    for part in parts:
        own = {s.name for s in part if isinstance(s, (Let, Var))}
        others = [s for other in parts if other is not part for s in other]
        found |= own & _names((*others, *branches))
    return found


def _names(body: tuple[Stmt, ...]) -> set[str]:
    stmts = list(statements(body))
    read = {node.name for node in postorder(tuple(e for s in stmts for e in expressions(s))) if isinstance(node, Local)}
    return read | {s.name for s in stmts if isinstance(s, Assign)}
