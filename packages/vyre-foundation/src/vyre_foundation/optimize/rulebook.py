"""Rules by what they are about, so that a node meets only those that its root and its operands allow.

A node is looked up by its symbol, the type and the *heads* of its operands: the symbol of an inner node, the class of a
leaf, or the literal itself where some rule names it. Which rules these come to is found at the first node of the sort.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vyre_foundation.dtype import DTYPES, DType
from vyre_foundation.ir.expr import Apply, Expr, Literal
from vyre_foundation.optimize.rules.rule import Rule, operands_are
from vyre_foundation.optimize.rules.term import Node, Number, Term, Variable

Sort = tuple[Any, ...]
"""(symbol, type of the operands, whether the first two are one, heads of the operands …)"""


class Rulebook:
    """The rules in the order in which they are tried."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rows: dict[Any, list[tuple[Rule, Node]]] = {}
        self._sorts: dict[Sort, tuple[tuple[Rule, Node], ...]] = {}
        for rule in rules:
            for left in rule.lefts:
                self._rows.setdefault(left.symbol, []).append((rule, left))
        self.named = frozenset(literal for rows in self._rows.values() for _, left in rows for literal in _named(left))

    def about(self, node: Expr) -> tuple[tuple[Rule, Node], ...]:
        """The rules that may apply to `node`, each with its left side in an order of the operands."""
        args = node.args
        first = args[0]
        sort: Sort
        if len(args) == 2:
            second = args[1]
            sort = (symbol(node), first.dtype, first is second, self.head(first), self.head(second))
        else:
            sort = (symbol(node), first.dtype, False, *[self.head(arg) for arg in args])
        found = self._sorts.get(sort)
        if found is None:
            found = self._sorts[sort] = tuple(row for row in self._rows.get(sort[0], ()) if _allows(*row, sort))
        return found

    def head(self, operand: Any) -> Any:
        kind = operand.__class__
        if kind is Apply:
            return operand.op
        return operand if kind is Literal and operand in self.named else kind


def symbol(node: Any) -> Any:
    """The op of an application, the class of any other node."""
    return node.op if node.__class__ is Apply else node.__class__


def _named(node: Node) -> Iterable[Literal]:
    """The literals that a rule names among the operands of its root."""
    numbers = [arg for arg in node.args if isinstance(arg, Number)]
    return [literal for number in numbers for dtype in DTYPES if (literal := number.of(dtype)) is not None]


def _allows(rule: Rule, left: Node, sort: Sort) -> bool:
    """Whether nodes of the sort may have the shape of the rule."""
    _, dtype, same, *heads = sort
    first, second, *_ = *left.args, None
    if first is second and not same:
        return False
    return operands_are(rule, dtype) and all(
        _may_be(term, head, dtype) for term, head in zip(left.args, heads, strict=True)
    )


def _may_be(term: Term, head: Any, dtype: DType) -> bool:
    is_literal = head is Literal or isinstance(head, Literal)
    match term:
        case Variable():
            return is_literal or not term.is_literal
        case Number():
            return isinstance(head, Literal) and any(head is term.of(t) for t in DTYPES)
        case Node():
            return head is term.symbol
        case _:
            raise AssertionError(term)
