"""Loops that carry a float from one iteration to the next, so that their iterations have an order.

::

    for k in 0..n {            // carries `total`
      total = total + x[k];
    }

A compiler that makes vectors of such a loop adds in another order, and gives other bits. An element of an array at an
index that the loop does not change counts as a variable: compilers keep it in a register.
"""

from __future__ import annotations

from vyre_foundation.ir.expr import Expr, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Body, For, Let, Stmt, Store
from vyre_foundation.ir.walk import bodies, postorder
from vyre_foundation.validate.declared import declaration

_NOWHERE = 1 << 30


def carrying_loops(program: Program) -> frozenset[int]:
    """The `id` of each loop that assigns a float which outlives its iterations."""
    search = _Search()
    search.body(program.body, 0)
    return frozenset(search.found)


class _Search:
    """Each statement is visited once: an inner loop hands what it assigns to the loop around it."""

    def __init__(self) -> None:
        self.found: set[int] = set()
        self._depths: dict[str, int] = {}
        self._known: dict[Expr, int] = {}
        self._seen: set[Expr] = set()

    def body(self, body: Body, depth: int) -> int:
        """How few loops are around the home of a float that `body`, in `depth` loops, assigns."""
        return min([self._statement(stmt, depth) for stmt in body], default=_NOWHERE)

    def _statement(self, stmt: Stmt, depth: int) -> int:
        if (declared := declaration(stmt)) is not None:
            self._depths[declared[0]] = depth + isinstance(stmt, For)
        match stmt:
            case Let(name, value):
                self._depths[name] = self._depth(value)
            case Assign(name, value) if value.dtype.is_float:
                return self._depths[name]
            case Store(buffer, index) if buffer.dtype.is_float:
                return self._depth(index)
            case For(body=body):
                least = self.body(body, depth + 1)
                if least <= depth:
                    self.found.add(id(stmt))
                return least
        return min([self.body(nested, depth) for nested in bodies(stmt)], default=_NOWHERE)

    def _depth(self, index: Expr) -> int:
        """How many loops there are around the innermost local that an integer is made of."""
        for node in postorder((index,), self._seen):
            own = self._depths.get(node.name, 0) if isinstance(node, Local) else 0  # a parameter is declared outside
            self._known[node] = max([self._known[a] for a in node.args], default=own)
        return self._known[index]
