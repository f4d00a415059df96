"""Locals that live from one phase of a workgroup to another, or that the workgroup itself looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vyre_driver.vectorization.workgroups.structure import (
    Choice,
    Limited,
    LockstepLoop,
    Node,
    Once,
    Phase,
    RareBranch,
    UniformLoop,
)
from vyre_driver.vectorization.workgroups.values import GroupValues
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, Length, Literal, Load, Local
from vyre_foundation.ir.stmt import Assign, Body, Let, Return
from vyre_foundation.ir.walk import expressions, postorder, rewrite, statements
from vyre_foundation.validate.declared import declared_locals

_CHEAP = 12
"""Operations that are less than a way through memory, beside those that are done once for the workgroup."""


def crossing_locals(nodes: tuple[Node, ...], of_group: set[str]) -> dict[str, None]:
    """In order of declaration: what is named outside of the phase that declares it, and not one for the workgroup."""
    places = list(_places(nodes))
    if len(places) == 1:
        return {}
    declared: dict[str, int] = {}
    named: dict[str, set[int]] = {}
    for place, node in enumerate(places):
        if isinstance(node, Phase):
            declared.update((name, place) for name in declared_locals(node.body))
            names = named_locals(node.body)
        else:
            names = _locals(node)
        for name in names:
            named.setdefault(name, set()).add(place)
    return {n: None for n, place in declared.items() if n not in of_group and named.get(n, set()) - {place}}


def recomputed(crossing: Iterable[str], lets: Mapping[str, Expr], group: GroupValues) -> dict[str, Expr]:
    """Locals that cross phases and are cheaper to recompute in each phase than to spill, with their values.

    They are sums of ids, which also show the strides of accesses. The values contain no other such local.
    """
    images: dict[str, Expr] = {}
    for name in crossing:
        if name in lets:
            value = rewrite(lets[name], lambda e: images.get(e.name, e) if isinstance(e, Local) else e, {})
            if _is_cheap(value, group):
                images[name] = value
    return images


def _is_cheap(value: Expr, group: GroupValues) -> bool:
    nodes = postorder((value,))
    own = [node for node in nodes if not group.holds(node)]
    return len(own) <= _CHEAP and all(_is_steady(node, group) for node in nodes)


def _is_steady(node: Expr, group: GroupValues) -> bool:
    """Whether `node` is an id or of the workgroup, or a step on the way from those to integers."""
    if isinstance(node, (Apply, Cast)):
        return node.dtype.is_integer and all(a.dtype.is_integer for a in node.args)
    if isinstance(node, Load):
        return group.holds(node) and _is_proven_anywhere(node)
    return isinstance(node, (Id, Literal, Length)) or (isinstance(node, Local) and group.holds(node))


def _is_proven_anywhere(load: Load) -> bool:
    """Whether a load needs no guard that is around it now."""
    return load.checked or (isinstance(load.index, Literal) and isinstance(load.buffer.count, int))


def named_locals(body: Body) -> set[str]:
    """The locals that `body` reads or assigns."""
    names = _locals(e for s in statements(body) for e in expressions(s))
    return names | {s.name for s in statements(body) if isinstance(s, Assign)}


def has_early_return(nodes: tuple[Node, ...]) -> bool:
    """Whether an invocation may end in a phase that is not the last."""
    return any(
        isinstance(s, Return) for phase in phases(nodes) if phase is not nodes[-1] for s in statements(phase.body)
    )


def phases(nodes: tuple[Node, ...]) -> Iterator[Phase]:
    """All of them, in program order."""
    return (place for place in _places(nodes) if isinstance(place, Phase))


def _locals(roots: Iterable[Expr]) -> set[str]:
    return {node.name for node in postorder(roots) if isinstance(node, Local)}


def _places(nodes: tuple[Node, ...]) -> Iterator[Phase | tuple[Expr, ...]]:
    """Phases, and the expressions of the workgroup itself, in program order."""
    for node in nodes:
        match node:
            case Phase():
                yield node
            case Once(Let(_, value)):
                yield (value,)
            case Choice(condition, then, orelse):
                yield (condition,)
                yield from _places(then)
                yield from _places(orelse)
            case UniformLoop(stmt, inner):
                yield (stmt.start, stmt.stop)
                yield from _places(inner)
            case LockstepLoop(stmt, phase):
                yield (stmt.start,)
                yield phase
            case RareBranch(_, phase):
                yield phase
            case Limited(_, inner):
                yield from _places(inner)
            case Once():
                pass
