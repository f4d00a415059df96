"""Locals that are cheaper to compute again than to keep: of ids, lengths, literals and loop counters, and small."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vyre_foundation.ir.expr import Expr, Id, Length, Literal, Load, Local
from vyre_foundation.ir.stmt import Let, Stmt
from vyre_foundation.ir.walk import postorder

_MAX_NODES = 24


def recomputable(stmts: Iterable[Stmt], counters: Iterable[str]) -> dict[str, Expr]:
    """The values, by name, of the immutable locals that any kernel can compute.

    They load nothing, so that no barrier comes between them and their operands, and cost few operations together with
    the locals that they use.
    """
    costs = dict.fromkeys(counters, 1)
    values: dict[str, Expr] = {}
    for stmt in stmts:
        if isinstance(stmt, Let):
            cost = _cost(stmt.value, costs)
            if cost <= _MAX_NODES:
                costs[stmt.name] = cost
                values[stmt.name] = stmt.value
    return values


def _cost(value: Expr, costs: Mapping[str, int]) -> int:
    """Operations to compute `value` from nothing; more than allowed where it cannot be."""
    total = 0
    for node in postorder((value,)):
        match node:
            case Local(name):
                total += costs.get(name, _MAX_NODES + 1)
            case Load():
                return _MAX_NODES + 1
            case Literal() | Id() | Length():
                pass
            case _:
                total += 1
    return total


def needed(names: Iterable[str], values: Mapping[str, Expr]) -> dict[str, Expr]:
    """The recomputable locals among `names` and those that they use, in the order in which they can be computed."""
    wanted = set()
    stack = [name for name in names if name in values]
    while stack:
        name = stack.pop()
        if name not in wanted:
            wanted.add(name)
            stack += [n.name for n in postorder((values[name],)) if isinstance(n, Local) and n.name in values]
    return {name: value for name, value in values.items() if name in wanted}
