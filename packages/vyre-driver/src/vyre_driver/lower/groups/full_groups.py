"""Workgroups all of whose invocations are within all bounds: nearly all of them, and worth a loop without checks.

Where memory is walked by the global id, one comparison for the workgroup decides what every invocation would check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vyre_driver.lower.groups.lanes import Guarded, resolved
from vyre_driver.lower.groups.values import GroupValues
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Literal, Load, literal
from vyre_foundation.ir.stmt import Body
from vyre_foundation.ir.walk import expressions, postorder, statements

_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@dataclass(frozen=True, slots=True)
class FullGroup:
    """What holds where the global id of the last invocation, plus an offset, is below some limits.

    `limits` has the greatest offset for each limit. `loads` are then within bounds, `decided` are comparisons and what
    they give. `guarded` is the body, without the limits on its loop that follow.
    """

    guarded: Guarded
    limits: Mapping[Expr, int]
    loads: frozenset[Expr]
    decided: Mapping[Expr, bool]


def full_group(guarded: Guarded, group: GroupValues, lets: Mapping[str, Expr]) -> FullGroup | None:
    """What a full workgroup need not check; None where that is not worth a second loop."""
    limits: dict[Expr, int] = {limit: 0 for _, kind, limit in guarded.limits if kind is IdKind.GLOBAL_ID}
    loads: set[Expr] = set()
    decided: dict[Expr, bool] = {}
    for node in _nodes(guarded.body):
        if isinstance(node, Load) and node.checked and (offset := _offset(node.index, lets)) is not None:
            limit = _length(node)
            loads.add(node)
            limits[limit] = max(offset, limits.get(limit, 0))
        elif isinstance(node, Apply) and (found := _comparison(node, group, lets)) is not None:
            limit, decided[node] = found
            limits.setdefault(limit, 0)
    if not loads and len(decided) < 2:
        return None
    local = tuple(x for x in guarded.limits if x[1] is not IdKind.GLOBAL_ID)
    return FullGroup(replace(guarded, limits=local), limits, frozenset(loads), decided)


def _nodes(body: Body) -> list[Expr]:
    return postorder(e for s in statements(body) for e in expressions(s))


def _length(load: Load) -> Expr:
    count = load.buffer.count
    return literal(u32, count) if isinstance(count, int) else Length(load.buffer)


def _offset(index: Expr, lets: Mapping[str, Expr]) -> int | None:
    """k for an index ``global_id + k``; None for others."""
    offset = 0
    while True:
        match resolved(index, lets):
            case Id(IdKind.GLOBAL_ID, 0):
                return offset
            case Cast(dtype, value) if dtype.bits >= value.dtype.bits and not value.dtype.is_signed:
                index = value
            case Apply(op, (x, Literal() as k)) if op.id == "add" and not x.dtype.is_signed:
                index, offset = x, offset + int(k.value)
            case _:
                return None


def _comparison(node: Apply, group: GroupValues, lets: Mapping[str, Expr]) -> tuple[Expr, bool] | None:
    """The limit that a comparison asks whether the global id is below, and what it gives if so."""
    op = node.op.id
    if op not in _MIRRORED:
        return None
    id, limit = node.args
    if not _is_id(id, lets):
        op, id, limit = _MIRRORED[op], limit, id
    if op not in ("lt", "ge") or not _is_id(id, lets) or not group.holds(limit):
        return None
    return limit, op == "lt"


def _is_id(node: Expr, lets: Mapping[str, Expr]) -> bool:
    return resolved(node, lets) is Id(IdKind.GLOBAL_ID, 0)
