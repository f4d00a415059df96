"""What conditions prove about indices: below which lengths they are at a place of the program.

Knowledge is a set of pairs (index, limit): there, index < limit. A limit is a length or a literal. Both are immutable
where they are evaluated: made of literals, ids, lengths, immutable locals and loads from memory that no one writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vyre_foundation.ir.buffer import Access, Buffer, LengthOf
from vyre_foundation.ir.expr import Apply, Expr, Length, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ir.walk import postorder, statements
from vyre_foundation.validate.declared import mutable_locals

Known = frozenset[tuple[Expr, Expr]]

NOTHING: Known = frozenset()
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


class Guards:
    """Reads conditions of one program; `wanted` are the indices that somebody asks about."""

    def __init__(self, program: Program, wanted: frozenset[Expr]) -> None:
        self._program, self._wanted = program, wanted
        self._mutable = mutable_locals(program.body)
        self._lets: Mapping[str, Expr] = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
        self._stable: dict[Expr, bool] = {}

    def holds(self, condition: Expr, truth: bool) -> Iterator[tuple[Expr, Expr]]:
        """What `condition` being `truth` proves."""
        stack = [(condition, truth)]
        while stack:
            node, truth = stack.pop()
            if not isinstance(node, Apply):
                continue
            op = node.op.id
            if op == "not":
                stack.append((node.args[0], not truth))
            elif op == ("and" if truth else "or"):
                stack.extend((x, truth) for x in node.args)
            elif op in _NEGATED:
                op = op if truth else _NEGATED[op]
                yield from self._below(op, *node.args)
                yield from self._below(_MIRRORED[op], *reversed(node.args))

    def counts(self, counter: Expr, stop: Expr) -> Iterator[tuple[Expr, Expr]]:
        """What the body of a loop knows about its counter."""
        return self._below("lt", counter, stop)

    def _below(self, op: str, index: Expr, limit: Expr) -> Iterator[tuple[Expr, Expr]]:
        if op == "lt" and index in self._wanted and self.is_stable(index):
            limit = self._resolved(limit)
            if isinstance(limit, (Length, Literal)):
                yield index, limit

    def _resolved(self, limit: Expr) -> Expr:
        """The value of a local that is bound to a length or to another local."""
        while isinstance(limit, Local) and limit.name in self._lets:
            limit = self._lets[limit.name]
        return limit

    def is_stable(self, root: Expr) -> bool:
        """Whether `root` has one value wherever it is evaluated by an invocation in the scope of its locals."""
        if root not in self._stable:
            for node in postorder((root,)):
                if node not in self._stable:
                    own = node.name not in self._mutable if isinstance(node, Local) else True
                    own = own and not (isinstance(node, Load) and node.buffer.access is not Access.READ)
                    self._stable[node] = own and all(self._stable[a] for a in node.args)
        return self._stable[root]

    def proves(self, known: Known, index: Expr, buffer: Buffer) -> bool:
        """Whether `known` has `index` below a limit that is at most the length of `buffer`."""
        return any(i is index and self._at_most(limit, buffer) for i, limit in known)

    def _at_most(self, limit: Expr, buffer: Buffer) -> bool:
        """Whether `limit` <= length of `buffer` in every launch: by numbers, or by the rules that lengths follow."""
        if isinstance(limit, Length):
            if limit.buffer is buffer:
                return True
            count = limit.buffer.count
            if isinstance(count, LengthOf) and count.times <= count.over and count.plus == 0:
                return self._at_most(Length(self._program.buffer(count.buffer)), buffer)
        most = limit.value if isinstance(limit, Literal) else limit.buffer.count if isinstance(limit, Length) else None
        match buffer.count:
            case int(count):
                return isinstance(most, int) and most <= count
            case LengthOf(buffer=other, times=times, over=over) if times >= over:
                return self._at_most(limit, self._program.buffer(other))
            case _:
                return False
