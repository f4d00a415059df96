"""Indices that are computed in few bits, and start again from 0 while a loop runs.

LLVM takes ``i & 3`` for a counter of two bits. It makes vectors of adjacent elements on condition that the counter
does not wrap, and tests that before the loop. LLVM 22.1 leaves the test out where it also tests a counter of more bits,
and then reads and writes other elements (llvm-project issue 191382, corrected in a later release). Such an index is
hidden from LLVM, so each lane has an address of its own. Where LLVM makes the test, it fails, and no vector is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Id, Length, Literal, Load, Local
from vyre_foundation.ir.walk import solve

_RING = frozenset("add sub mul neg shl raw_shl".split())
_QUOTIENTS = frozenset("div raw_div shr raw_shr".split())
_MASKS = frozenset("and rem raw_rem".split())


class _Course(IntEnum):
    """How LLVM may see the values that an expression has while a loop runs."""

    OPAQUE = 0
    COUNTER = 1
    NARROW_COUNTER = 2


class NarrowIndices:
    """Answers for one kernel; `lets` are the values of its immutable locals."""

    def __init__(self, lets: Mapping[str, Expr]) -> None:
        self._lets = lets
        self._known: dict[Expr, _Course] = {}

    def may_wrap(self, index: Expr) -> bool:
        """Whether LLVM may take an index, or what it is computed from, for a counter that wraps."""
        return solve(index, self._known, self._sources, self._conclude) is _Course.NARROW_COUNTER

    def _sources(self, node: Expr) -> tuple[Expr, ...]:
        match node:
            case Local(name) if name in self._lets:
                return (self._lets[name],)
            case Load() | Call():
                return ()
            case _:
                return node.args

    def _conclude(self, node: Expr, answers: Sequence[_Course]) -> _Course:
        course = max(answers, default=_Course.OPAQUE)
        match node:
            case Literal() | Load() | Length() | Call():
                return _Course.OPAQUE
            case Id():
                return _Course.COUNTER
            case Local(name) if name not in self._lets:
                course = _Course.COUNTER
        return _Course.NARROW_COUNTER if course and self._is_narrow(node) else course

    def _is_narrow(self, node: Expr) -> bool:
        """Whether fewer bits than 32 hold it, or are left of its operand."""
        if node.dtype.bits < u32.bits:
            return node.dtype.is_integer
        match node:
            case Apply(op, args) if op.id in _MASKS:
                return any(isinstance(x, Literal) for x in args)
            case Apply(op, (x, Literal())) if op.id in _QUOTIENTS:
                while isinstance(x, Local) and x.name in self._lets:
                    x = self._lets[x.name]
                return isinstance(x, Apply) and x.op.id in _RING  # LLVM makes a mask of ``x << 3 >> 3``
            case Cast(_, value):
                return value.dtype.is_integer and value.dtype.bits < u32.bits
            case _:
                return False
