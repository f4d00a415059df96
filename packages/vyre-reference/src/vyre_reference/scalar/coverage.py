"""Coverage: which kinds of nodes were executed, and which of their outcomes were seen."""

from __future__ import annotations

from collections import Counter

from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, ExprNode, Id, Length, Literal, Load, Local, Select
from vyre_foundation.ir.stmt import Atomic, Barrier, Stmt, Subgroup

Kind = tuple[str, ...]
"""What was executed, from the general to the special: ``("apply", "add", "u32")``, ``("if", "else")``."""


class Coverage:
    """Counts executions by kind.

    Statements and whole expressions are noted as they are executed, and sorted into kinds on demand; `saw` counts
    outcomes.
    """

    def __init__(self) -> None:
        self._outcomes: Counter[Kind] = Counter()
        self._statements: Counter[int] = Counter()
        self._evaluations: Counter[Expr] = Counter()
        self._executed: dict[int, Stmt] = {}
        self._nodes: dict[Expr, tuple[ExprNode, ...]] = {}

    @property
    def counts(self) -> Counter[Kind]:
        """How often each kind was executed."""
        total = self._outcomes.copy()
        for number, times in self._statements.items():
            total[kind_of_statement(self._executed[number])] += times
        for root, times in self._evaluations.items():
            for node in self._nodes[root]:
                total[kind_of_expression(node)] += times
        return total

    def saw(self, *kind: str) -> None:
        """Count one outcome, such as a trap or an access out of bounds."""
        self._outcomes[kind] += 1

    def statement(self, stmt: Stmt) -> None:
        """By identity: what is equal need not be cheap to compare. It is kept, so that no other has its number."""
        self._statements[id(stmt)] += 1
        self._executed[id(stmt)] = stmt

    def expression(self, root: Expr, nodes: tuple[ExprNode, ...]) -> None:
        """An evaluation of `root` executes all of its `nodes`."""
        self._evaluations[root] += 1
        self._nodes[root] = nodes


def kind_of_statement(stmt: Stmt) -> Kind:
    """Give what tells a statement from others for coverage: its op, types and memory."""
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
    """Give what tells a node from others for coverage: its op and types."""
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
