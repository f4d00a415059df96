"""Indices in the width of an address: a compiler that knows that an index does not wrap can walk memory in vectors."""

from __future__ import annotations

from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.target import Target
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Literal, Load, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Stmt, Store
from vyre_foundation.ir.walk import postorder, rebuilt, rewrite_body, transform, with_expressions


def widen_indices(program: Program, ranges: Ranges, target: Target) -> Program:
    """Compute indices in the width of an address, where they provably do not wrap.

    ``a[local_id + 16]``  →  ``a[u64(local_id) + 16]``

    Only for targets with `wide_indices` and arithmetic on u64.
    """
    if not target.wide_indices or u64 not in target.arithmetic:
        return program
    widener = IndexWidener(ranges)
    return declare(program, rewrite_body(program.body, widener.stmt))


class IndexWidener:
    """Rewrites the statements of one program; `ranges` are its facts."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._memo: dict[Expr, Expr] = {}
        self._wide: dict[Expr, Expr] = {}
        self._seen: set[Expr] = set()

    def stmt(self, stmt: Stmt) -> Stmt:
        """Give `stmt` with indices of u64 where they are exact."""
        with_loads = with_expressions(stmt, lambda e: transform(e, self._node, self._memo))
        if not isinstance(with_loads, (Store, Atomic)):
            return with_loads
        index = with_loads.index
        return with_expressions(with_loads, lambda e: self._widened(e) if e is index else e)

    def _node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        if isinstance(node, Load):
            args = (self._widened(args[0]),)
        return self._ranges.carry(node, rebuilt(node, args))

    def _widened(self, index: Expr) -> Expr:
        """`index` as u64, if that is more than a conversion of the result."""
        if index.dtype is not u32 or not self.is_exact(index):
            return index
        for node in postorder((index,), self._seen):
            self._wide[node] = self._image(node)
        return self._wide[index]

    def _image(self, node: Expr) -> Expr:
        if isinstance(node, Literal) and node.dtype is u32:
            return literal(u64, node.value)
        if isinstance(node, Apply) and self.is_exact(node):
            return Apply(node.op, *[self._wide[a] for a in node.args])
        return Cast(u64, node) if node.dtype is u32 else node

    def is_exact(self, node: Expr) -> bool:
        """Whether `node` is a global id, or a sum or product of numbers that does not wrap."""
        if not isinstance(node, Apply):
            return isinstance(node, Id) and node.kind is IdKind.GLOBAL_ID
        if node.dtype is not u32 or node.op.id not in ("add", "mul"):
            return False
        if self._ranges.never_wraps(node):
            return True
        x, y = (self._ranges.of(a) for a in node.args)
        return (x.high + y.high if node.op.id == "add" else x.high * y.high) <= u32.highest
