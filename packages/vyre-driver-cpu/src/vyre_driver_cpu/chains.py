"""Loops that compute one long chain from many constants: a polynomial, say.

::

    x * c31 + c30   →   (… * x + c29)   →   (… * x + c28)   →   …

Each operation waits for the one before, so several vectors should be on their way at once. LLVM interleaves no vectors
where the constants of a loop take more registers than there are: it keeps as many constants in registers as it can, and
computes one vector after the other. Constants that are loaded from memory where they are used leave the registers to
the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from vyre_driver_cpu.lanes import VectorLanes
from vyre_foundation.ir.expr import Expr, Literal, Load
from vyre_foundation.ir.stmt import Let, Stmt, Store
from vyre_foundation.ir.walk import expressions, postorder

MOST = 4
"""Vectors at once: with as many, and what the CPU begins by itself, additions and products do not wait any more."""
_LONG = 16
"""Operations that wait for each other. Of shorter chains, CPUs begin several by themselves."""


def vectors_at_once(stmts: Sequence[Stmt], lanes: VectorLanes, registers: int) -> int:
    """How many vectors a loop without branches computes at once, from constants in memory; 1 for other loops."""
    if not all(isinstance(s, (Let, Store)) for s in stmts):
        return 1
    nodes = postorder(e for s in stmts for e in expressions(s))
    constants = {n for n in nodes if is_constant(n)}
    if len(constants) <= registers // 2 or not _walks_in_rows(stmts, nodes, lanes):
        return 1
    values = [n for n in nodes if lanes.varies(n) and n.dtype.is_float]
    depth = _depth(values)
    if depth < _LONG or len(values) >= MOST * depth:
        return 1
    count = 1  # and one constant in a register
    while 2 * count <= MOST and 2 * count * _most_alive(values) + 1 < registers:
        count *= 2
    return count


def is_constant(node: Expr) -> bool:
    """Whether a node is a constant that comes from memory: instructions have no room for floats other than 0."""
    return isinstance(node, Literal) and node.dtype.is_float and node.bits != 0


def _walks_in_rows(stmts: Sequence[Stmt], nodes: Sequence[Expr], lanes: VectorLanes) -> bool:
    """Whether all lanes surely access one element or neighbours."""
    indices = [s.index for s in stmts if isinstance(s, Store)]
    for node in nodes:
        if isinstance(node, Load):
            indices.append(node.index)
            if node.checked:
                return False
    return all(lanes.is_in_row(index) and not lanes.may_wrap(index) for index in indices)


def _depth(values: Sequence[Expr]) -> int:
    """The operations of the longest chain."""
    depths: dict[Expr, int] = {}
    for node in values:
        depths[node] = 1 + max((depths.get(a, 0) for a in node.args), default=0)
    return max(depths.values(), default=0)


def _most_alive(values: Sequence[Expr]) -> int:
    """How many values wait for a use at once, where they are computed in this order."""
    last = {a: position for position, node in enumerate(values) for a in node.args}
    alive: set[Expr] = set()
    most = 0
    for position, node in enumerate(values):
        alive = {x for x in (*alive, node) if last.get(x, -1) > position}
        most = max(most, len(alive))
    return most
