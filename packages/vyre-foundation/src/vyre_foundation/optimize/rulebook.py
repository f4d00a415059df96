"""Rules by what they are about, so that a node meets only those that its root and its operands allow.

A node is looked up by its symbol, the kind and the *heads* of its operands. A head is the symbol of an inner node, the
literal itself, or that it is one, as far as some rule about the symbol asks for it; all other operands are alike. Which
rules these come to is found at the first node of a sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vyre_foundation.dtype import DTYPES, Kind
from vyre_foundation.ir.expr import Apply, Literal
from vyre_foundation.optimize.rules.rule import RewriteRule, operands_are
from vyre_foundation.optimize.rules.term import Node, Number, Term, Variable

Sort = tuple[Any, ...]
"""(symbol, kind of the operands, whether two operands are one, their heads …)"""


class Rulebook:
    """The rules in the order in which they are tried."""

    def __init__(self, rules: Iterable[RewriteRule]) -> None:
        self._rules: dict[Any, list[RewriteRule]] = {}
        self._entries: dict[Any, list[_Entry]] = {}
        self._heads: dict[Any, frozenset[Any]] = {}
        self._sorts: dict[Sort, tuple[_Entry, ...]] = {}
        for rule in rules:
            self._rules.setdefault(rule.left.symbol, []).append(rule)

    def about(self, node: Any) -> tuple[_Entry, ...]:
        """The rules that may apply to `node`, each with its left side in an order of the operands."""
        symbol = node.op if node.__class__ is Apply else node.__class__
        named = self._heads.get(symbol)
        if named is None:
            named = self._open(symbol)
        if not named:
            return ()
        args = node.args
        first = args[0]
        heads = []
        for operand in args:
            head = operand.__class__
            if head is Apply:
                head = operand.op
            elif head is Literal and operand in named:
                head = operand
            heads.append(head if head in named else None)
        same = len(args) == 2 and first is args[1]
        sort = (symbol, first.dtype.kind, same, *heads)
        found = self._sorts.get(sort)
        if found is None:
            entries = self._entries[symbol]
            found = self._sorts[sort] = tuple(entry for entry in entries if entry.allows(first.dtype.kind, same, heads))
        return found

    def _open(self, symbol: Any) -> frozenset[Any]:
        """Read the rules about a symbol, at the first node that has it; the heads for which they ask."""
        entries = [_Entry(rule, left) for rule in self._rules.get(symbol, ()) for left in rule.lefts]
        wanted = [heads for entry in entries for heads in entry.heads if heads is not None]
        self._entries[symbol] = entries
        self._heads[symbol] = frozenset((Literal,)).union(*wanted) if entries else frozenset()
        return self._heads[symbol]


class _Entry:
    """One order of the left side of a rule, and the sorts of nodes that may have its shape."""

    __slots__ = ("_kinds", "_same", "heads", "left", "rule")

    def __init__(self, rule: RewriteRule, left: Node) -> None:
        self.rule, self.left = rule, left
        self.heads = tuple(map(_wanted, left.args))
        self._kinds = {dtype.kind for dtype in DTYPES if operands_are(rule, dtype)}
        self._same = len(left.args) == 2 and left.args[0] is left.args[1]

    def allows(self, kind: Kind, same: bool, heads: Sequence[Any]) -> bool:
        if kind not in self._kinds or self._same > same:
            return False
        for wanted, head in zip(self.heads, heads, strict=True):
            if wanted is not None and head not in wanted and not (Literal in wanted and head.__class__ is Literal):
                return False
        return True


def _wanted(arg: Term) -> frozenset[Any] | None:
    """The heads that an operand may have; None: any."""
    match arg:
        case Node(symbol):
            return frozenset((symbol,))
        case Number():
            return frozenset(literal for dtype in DTYPES if (literal := arg.of(dtype)) is not None)
        case Variable():
            return frozenset((Literal,)) if arg.is_literal else None
        case _:
            raise AssertionError(arg)
