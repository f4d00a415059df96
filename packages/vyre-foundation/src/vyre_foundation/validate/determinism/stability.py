"""Which expressions keep their value, and which read memory that is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Load, Local
from vyre_foundation.ir.stmt import For, Let, Var
from vyre_foundation.validate.outline import Place


@dataclass(frozen=True, slots=True)
class Stability:
    """Sets of expressions.

    `loading`: there is a load from a written buffer inside. `unstable`: may change while the locals inside do not.
    `varying`: an invocation may see different values in the course of a dispatch.
    """

    loading: AbstractSet[Expr]
    unstable: AbstractSet[Expr]
    varying: AbstractSet[Expr]


def find_stability(nodes: Sequence[Expr], declared: Mapping[str, Place], written: AbstractSet[Buffer]) -> Stability:
    """The sets for the expressions of a program, which come children before parents."""
    loading: set[Expr] = set()
    unstable: set[Expr] = set()
    varying: set[Expr] = set()
    for node in nodes:
        if isinstance(node, Local):
            place = declared[node.name]
            if isinstance(place.stmt, Var):
                unstable.add(node)
            if _varies(place, unstable, varying):
                varying.add(node)
            continue
        for child in node.args:
            if child in varying:
                varying.add(node)
                if child in unstable:
                    unstable.add(node)
                if child in loading:
                    loading.add(node)
        if isinstance(node, Load) and node.buffer.access.writes:
            unstable.add(node)
            varying.add(node)
            if node.buffer in written:
                loading.add(node)
    return Stability(loading, unstable, varying)


def _varies(place: Place, unstable: AbstractSet[Expr], varying: AbstractSet[Expr]) -> bool:
    """Whether the local that `place` declares may have several values in the course of a dispatch."""
    match place.stmt:
        case Var() | For():
            return True
        case _ if not any(isinstance(around.stmt, For) for around in place.around()):
            return False
        case Let(value=value):
            return value in varying or value in unstable
        case _:
            return True
