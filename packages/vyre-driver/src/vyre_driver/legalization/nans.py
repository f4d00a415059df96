"""What is known about the bits of floats: a NaN is canonical, or there is none at all.

The host sees a NaN only in its memory, and a program only as bits; there it must have its canonical bits. A select that
makes it so is not needed where the value is proven clean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Local, Select
from vyre_foundation.ir.walk import solve

_KEEP_NUMBERS = frozenset("neg abs sign copysign floor ceil trunc round".split())


class Purity(IntEnum):
    """From what may hold any pattern of NaN to what is never NaN."""

    UNKNOWN = 0
    CANONICAL = 1
    NUMBER = 2


class Purities:
    """Answers for the floats of one program; `lets` are its immutable locals."""

    def __init__(self, lets: Mapping[str, Expr]) -> None:
        self._lets = lets
        self._known: dict[Expr, Purity] = {}

    def of(self, root: Expr) -> Purity:
        """What is known about the float `root`. Only what its answer depends on is looked at."""
        return solve(root, self._known, self._sources, self._conclude)

    def _sources(self, node: Expr) -> tuple[Expr, ...]:
        """The floats whose answers decide that of `node`."""
        match node:
            case Local(name) if name in self._lets:
                return (self._lets[name],)
            case Select(_, if_true, if_false):
                return (if_true, if_false)
            case Cast(_, value) if value.dtype.is_float:
                return (value,)
            case Apply(op, args) if op.id in ("min", "max"):
                return args
            case Apply(op, args) if op.id in _KEEP_NUMBERS:
                return args[:1]
            case _:
                return ()

    def _conclude(self, node: Expr, answers: Sequence[Purity]) -> Purity:
        match node:
            case Literal():
                return Purity.NUMBER if node.value == node.value else Purity.CANONICAL
            case Select():
                return min(answers)
            case Local():
                return answers[0] if answers else Purity.UNKNOWN
            case Cast():
                return Purity.NUMBER if not answers or answers[0] is Purity.NUMBER else Purity.UNKNOWN
            case Apply():
                return Purity.NUMBER if Purity.NUMBER in answers else Purity.UNKNOWN
            case _:
                return Purity.UNKNOWN
