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

_ALL = -1
"""The set of all loops: bit n stands for the loop that n others are around."""


def carrying_loops(program: Program) -> frozenset[int]:
    """The `id` of each loop that assigns a float which outlives its iterations."""
    search = _Search()
    search.body(program.body, 0)
    return frozenset(search.found)


class _Search:
    """Each statement is visited once: an inner loop hands what it assigns to the loops around it.

    A local belongs to the loops that it is declared in, and is carried by the others. An element is carried by the
    loops whose counters its index is not made of: the same one may be met again in their next iteration.
    """

    def __init__(self) -> None:
        self.found: set[int] = set()
        self._homes: dict[str, int] = {}
        self._varies: dict[str, int] = {}
        """The loops that change a counter, or a local that is made of counters."""
        self._known: dict[Expr, int] = {}
        self._seen: set[Expr] = set()

    def body(self, body: Body, depth: int) -> int:
        """The loops that carry a float which `body`, in `depth` loops, assigns."""
        carried = 0
        for stmt in body:
            carried |= self._statement(stmt, depth)
        return carried

    def _statement(self, stmt: Stmt, depth: int) -> int:
        if (declared := declaration(stmt)) is not None:
            self._homes[declared[0]] = depth
        match stmt:
            case Let(name, value):
                self._varies[name] = self._loops_of(value)
            case Assign(name, value) if value.dtype.is_float:
                return _ALL << self._homes[name]
            case Store(buffer, index) if buffer.dtype.is_float:
                return ~self._loops_of(index)
            case For(name, body=body):
                self._varies[name] = 1 << depth
                carried = self.body(body, depth + 1)
                if carried >> depth & 1:
                    self.found.add(id(stmt))
                return carried
        carried = 0
        for nested in bodies(stmt):
            carried |= self.body(nested, depth)
        return carried

    def _loops_of(self, index: Expr) -> int:
        """The loops whose counters an integer is made of."""
        for node in postorder((index,), self._seen):
            loops = self._varies.get(node.name, 0) if isinstance(node, Local) else 0
            for operand in node.args:
                loops |= self._known[operand]
            self._known[node] = loops
        return self._known[index]
