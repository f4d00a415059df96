"""Which loops are written out before vectors are made.

LLVM makes vectors of innermost loops alone. A loop over invocations that has a loop in it becomes one only if that is
written out. A loop that LLVM can make a vector of itself stays as it is: one that sums integers up.
"""

from __future__ import annotations

from vyre_foundation.ir.expr import Apply, Local
from vyre_foundation.ir.stmt import Assign, For, Stmt
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.validate.declared import declared_locals

_ALWAYS = 4
"""A loop of so few iterations is no vector."""
_MOST = 2000
"""Operations of all iterations together."""
_REDUCTIONS = frozenset("add mul and or xor min max".split())


def is_better_unrolled(loop: For) -> bool:
    """Whether all iterations of a loop should stand one behind the other."""
    trips = loop.trip_count
    if loop.is_parallel or trips is None:
        return False
    stmts = tuple(statements(loop.body))
    if trips * len(postorder(e for s in stmts for e in expressions(s))) > _MOST:
        return False
    return trips <= _ALWAYS or not _is_reduction(loop, stmts)


def _is_reduction(loop: For, stmts: tuple[Stmt, ...]) -> bool:
    """``total = total + x``, for integers, is all that one iteration leaves to the next."""
    inner = declared_locals(loop.body).keys()
    carried = [s for s in stmts if isinstance(s, Assign) and s.name not in inner]
    names = {s.name for s in carried}
    if len(names) != len(carried) or any(isinstance(s, For) for s in stmts):
        return False
    combined = []
    for stmt in carried:
        match stmt.value:
            case Apply(op, (Local(name), x)) if op.id in _REDUCTIONS and name == stmt.name and x.dtype.is_integer:
                combined.append(x)
            case _:
                return False
    others = (e for s in stmts if s not in carried for e in expressions(s))
    return not any(isinstance(node, Local) and node.name in names for node in postorder((*combined, *others)))
