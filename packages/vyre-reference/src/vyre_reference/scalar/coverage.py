"""Coverage: which kinds of nodes were executed, and which of their outcomes were seen."""

from __future__ import annotations

from collections import Counter

from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, ExprNode, Id, Length, Literal, Load, Local, Select
from vyre_foundation.ir.stmt import Atomic, Barrier, Stmt, Subgroup

Kind = tuple[str, ...]
"""What was executed, from the general to the special: ``("apply", "add", "u32")``, ``("if", "else")``."""


class Coverage:
    """Counts executions by kind. Statements and expressions count themselves, `saw` counts outcomes."""

    def __init__(self) -> None:
        self.counts: Counter[Kind] = Counter()

    def saw(self, *kind: str) -> None:
        self.counts[kind] += 1

    def statement(self, stmt: Stmt) -> None:
        self.counts[kind_of_statement(stmt)] += 1

    def expression(self, node: ExprNode) -> None:
        self.counts[kind_of_expression(node)] += 1


def kind_of_statement(stmt: Stmt) -> Kind:
    name = type(stmt).__name__.lower()
    match stmt:
        case Atomic(op, buffer):
            return (name, op.value, buffer.dtype.name, buffer.memory.value)
        case Subgroup(op, value):
            return (name, op.value, value.dtype.name)
        case Barrier(scope):
            return (name, scope.value)
        case _:
            return (name,)


def kind_of_expression(node: ExprNode) -> Kind:
    name = type(node).__name__.lower()
    match node:
        case Apply(op, args):
            return (name, op.id, args[0].dtype.name)
        case Cast(dtype, value) | Bitcast(dtype, value):
            return (name, value.dtype.name, dtype.name)
        case Load(buffer):
            return (name, buffer.dtype.name, buffer.memory.value)
        case Id(kind):
            return (name, kind.value)
        case Literal() | Local() | Length() | Select() | Call():
            return (name, node.dtype.name)
