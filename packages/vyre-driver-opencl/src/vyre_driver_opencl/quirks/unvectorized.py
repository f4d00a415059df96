"""Kernels of which a compiler with flaws must make no vectors.

Where invocations are work items: those with branches whose values it has to merge. Where they are loops: those that
divide beside a load that is checked, as neither can be done for all rounds at once.

Compiler: Intel's CPU runtime, seen in 2026.22. Programs: `tests/test_optimizers.py`, without the marking.
"""

from __future__ import annotations

from collections.abc import Iterator

from vyre_driver.legalization.lowered import RARE
from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Body, For, If, Let, Region
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.validate.declared import declared_locals

UNVECTORIZED = "unvectorized"

_SAME = frozenset((IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS))


def must_stay_scalar(program: Program) -> bool:
    """Whether vectors of a kernel may be wrong, or end the compiler."""
    return divides_beside_checks(program.body) if program.workgroup_volume == 1 else merges_branches(program)


def divides_beside_checks(body: Body) -> bool:
    """Whether a loop of which vectors would be made divides integers by what it computes, and has checked loads."""
    for loop in _loops(body):
        nodes = postorder(e for s in statements((loop,)) for e in expressions(s))
        if any(isinstance(n, Load) and n.checked for n in nodes) and any(map(_divides, nodes)):
            return True
    return False


def _loops(body: Body) -> Iterator[For]:
    for stmt in body:
        match stmt:
            case For():
                yield stmt
            case If(_, then, orelse):
                yield from _loops(then)
                yield from _loops(orelse)
            case Region(label, inner) if label != RARE:
                yield from _loops(inner)
            case _:
                pass


def _divides(node: Expr) -> bool:
    return isinstance(node, Apply) and node.op.id in ("raw_div", "raw_rem") and not isinstance(node.args[1], Literal)


def merges_branches(program: Program) -> bool:
    """Whether an `if` on which invocations may part holds another branch and assigns a local that outlives it.

    ``if a[i] > 0 { if i < n { b[i] = 1; } x = 2; } … x …``

    Compilers that make vectors of work items keep such a branch, for when no invocation takes it, and have to bring the
    values of both ways together behind it. One of them loses some.
    """
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
