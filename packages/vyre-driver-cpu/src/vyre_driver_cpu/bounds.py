"""How large an index can be, from what it is made of: where one of 64 bits cannot wrap, LLVM is told so.

::

    cast<u64>(row) * 512 + cast<u64>(column)    is at most 2**32 * 512 + 2**32, whatever the rows and columns are

Vectors of adjacent elements are made only of accesses whose addresses do not wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Local
from vyre_foundation.ir.stmt import For
from vyre_foundation.ir.walk import solve

_BY_LITERALS = frozenset(("raw_shl", "raw_shr"))
_COMBINED = frozenset("add mul min max and or".split())


class UpperBounds:
    """Answers for one kernel; `lets` are the values of its immutable locals, `loops` bound their counters."""

    def __init__(self, lets: Mapping[str, Expr], loops: Iterable[For] = ()) -> None:
        self._lets = lets
        self._ends = {loop.name: loop.stop for loop in loops if not loop.start.dtype.is_signed}
        self._known: dict[Expr, int] = {}

    def of(self, root: Expr) -> int:
        """A number that the unsigned `root` never exceeds; more than its type can hold where it may wrap."""
        return solve(root, self._known, self._sources, self._conclude)

    def _sources(self, node: Expr) -> tuple[Expr, ...]:
        match node:
            case Local(name) if name in self._lets:
                return (self._lets[name],)
            case Local(name) if name in self._ends:
                return (self._ends[name],)
            case Cast(_, value) if value.dtype.is_integer and not value.dtype.is_signed:
                return (value,)
            case Apply(op, args) if op.id in _COMBINED and not node.dtype.is_signed:
                return args
            case Apply(op, (value, Literal())) if op.id in _BY_LITERALS and not node.dtype.is_signed:
                return (value,)
            case _:
                return ()

    def _conclude(self, node: Expr, answers: Sequence[int]) -> int:
        most = node.dtype.highest if node.dtype.is_integer else 0
        sources = [min(bound, x.dtype.highest) for bound, x in zip(answers, self._sources(node), strict=True)]
        match node:
            case Literal():
                return node.bits
            case Local(name) if name in self._ends:
                return max(0, sources[0] - 1)
            case Cast() | Local() if sources:
                return min(most, sources[0])
            case Apply(op) if sources:
                return self._of_result(op.id, sources, node.args[1])
            case _:
                return most

    def _of_result(self, operation: str, bounds: Sequence[int], second: Expr) -> int:
        match operation, second:
            case "raw_shl", Literal(bits=count):
                return bounds[0] << count
            case "raw_shr", Literal(bits=count):
                return bounds[0] >> count
            case (("min" | "and"), _):
                return min(bounds)
            case "max", _:
                return max(bounds)
            case "or", _:
                return (1 << max(bounds).bit_length()) - 1
            case "add", _:
                return bounds[0] + bounds[1]
            case _:
                return bounds[0] * bounds[1]
