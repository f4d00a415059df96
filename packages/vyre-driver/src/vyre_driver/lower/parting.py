"""Branches on which the invocations of a workgroup part, in kernels whose invocations are work items."""

from __future__ import annotations

from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Expr, Id, IdKind, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Body, For, If, Let
from vyre_foundation.ir.walk import postorder, statements
from vyre_foundation.validate.declared import declared_locals

_SAME = frozenset((IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS))


def merges_branches(program: Program) -> bool:
    """Whether an `if` on which invocations may part holds another branch and assigns a local that outlives it.

    ``if a[i] > 0 { if i < n { b[i] = 1; } x = 2; } … x …``

    Compilers that make vectors of work items keep such a branch, for when no invocation takes it, and have to bring the
    values of both ways together behind it. One of them loses some.
    """
    if program.workgroup_volume == 1:
        return False
    same: set[Expr] = set()
    for stmt in statements(program.body):
        match stmt:
            case Let(name, value) if _is_same(value, same):
                same.add(Local(name, value.dtype))
            case If(condition, then, orelse) if not _is_same(condition, same) and _merges((*then, *orelse)):
                return True
            case _:
                pass
    return False


def _merges(arms: Body) -> bool:
    inside = list(statements(arms))
    own = declared_locals(arms)
    return any(isinstance(s, (If, For)) for s in inside) and any(
        isinstance(s, Assign) and s.name not in own for s in inside
    )


def _is_same(value: Expr, same: set[Expr]) -> bool:
    """Whether all invocations of a workgroup surely have this value."""
    for node in postorder((value,)):
        match node:
            case Id(kind) if kind not in _SAME:
                return False
            case Local() if node not in same:
                return False
            case Load(buffer) if buffer.access is not Access.READ:
                return False
            case _:
                pass
    return True
