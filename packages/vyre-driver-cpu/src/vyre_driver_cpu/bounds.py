"""How large an index of 64 bits can be, from what it is made of: where it cannot wrap, LLVM is told so.

::

    cast<u64>(row) * 512 + cast<u64>(column)    is at most 2**32 * 512 + 2**32, whatever the rows and columns are

Vectors of adjacent elements are made only of accesses whose addresses do not wrap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Local
from vyre_foundation.ir.walk import solve


class UpperBounds:
    """Answers for one kernel; `lets` are the values of its immutable locals."""

    def __init__(self, lets: Mapping[str, Expr]) -> None:
        self._lets = lets
        self._known: dict[Expr, int] = {}

    def of(self, root: Expr) -> int:
        """A number that the unsigned `root` never exceeds; more than its type can hold where it may wrap."""
        return solve(root, self._known, self._sources, self._conclude)

    def _sources(self, node: Expr) -> tuple[Expr, ...]:
        match node:
            case Local(name) if name in self._lets:
                return (self._lets[name],)
            case Cast(_, value) if value.dtype.is_integer and not value.dtype.is_signed:
                return (value,)
            case Apply(op, args) if op.id in ("add", "mul", "min", "and") and not node.dtype.is_signed:
                return args
            case Apply(op, (value, Literal())) if op.id == "raw_shl" and not node.dtype.is_signed:
                return (value,)
            case _:
                return ()

    def _conclude(self, node: Expr, answers: Sequence[int]) -> int:
        most = node.dtype.highest if node.dtype.is_integer else 0
        sources = [min(bound, x.dtype.highest) for bound, x in zip(answers, self._sources(node), strict=True)]
        match node:
            case Literal():
                return node.bits
            case Cast() | Local() if sources:
                return min(most, sources[0])
            case Apply(op, (_, Literal() as count)) if sources and op.id == "raw_shl":
                return sources[0] << count.bits
            case Apply(op) if sources and op.id in ("min", "and"):
                return min(sources)
            case Apply(op) if sources:
                return sources[0] + sources[1] if op.id == "add" else sources[0] * sources[1]
            case _:
                return most
