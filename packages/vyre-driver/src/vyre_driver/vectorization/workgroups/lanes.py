"""The loop over the invocations of a workgroup: its counters are the local ids.

A guard around the whole body becomes the end of the loop: compilers make vectors of a loop that ends early, but hardly
of one that does nothing at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass
from functools import partial, reduce

from vyre_driver.legalization.conditions import conjuncts
from vyre_driver.vectorization.workgroups.values import GroupValues
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Literal, Local, literal
from vyre_foundation.ir.stmt import Assign, Body, Break, Continue, For, If, Let, Region, Return, Var
from vyre_foundation.ops import OPS
from vyre_foundation.ops.compare import NEGATED

Limit = tuple[int, IdKind, Expr]
"""An axis, and what the local or the global id must be below."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A body, and what ends its loops early."""

    body: Body
    limits: tuple[Limit, ...] = ()


def split_guard(
    body: Body, group: GroupValues, lets: Mapping[str, Expr], crossing: AbstractSet[str], *, is_last: bool = False
) -> Guarded:
    """Turn the guards around a body into limits of the loop over invocations.

    ``let i = global_id; if i < n and c: …``  →  the limit n, and ``let i = global_id; if c: …``

    Only where lets and one `if` are all of the body, and nothing else needs the lets. `is_last`: nothing follows, so a
    return at the beginning is such a guard of the rest.
    """
    limits: list[Limit] = []
    if is_last:
        body = _with_rest_guarded(body)
    while (found := _outer_guard(body, group, lets, crossing)) is not None:
        body = found.body
        limits += found.limits
    return Guarded(body, tuple(limits))


def _with_rest_guarded(body: Body) -> Body:
    """Turn a return at the beginning into a guard: ``if c: return; …``  →  ``if not c: …``."""
    for position, stmt in enumerate(body):
        match stmt:
            case Let():
                continue
            case If(condition, (Return(),), ()) if body[position + 1 :]:
                inverse = reduce(partial(Apply, OPS["and"]), (_negated(*part) for part in conjuncts(condition, False)))
                return (*body[:position], If(inverse, body[position + 1 :]))
        break
    return body


def _negated(node: Expr, is_wanted: bool) -> Expr:
    """The condition that a node is true, or that it is false."""
    if is_wanted:
        return node
    if isinstance(node, Apply) and node.op.id in NEGATED and node.args[0].dtype.is_integer:
        return Apply(OPS[NEGATED[node.op.id]], *node.args)
    return Apply(OPS["not"], node)


def _outer_guard(
    body: Body, group: GroupValues, lets: Mapping[str, Expr], crossing: AbstractSet[str]
) -> Guarded | None:
    *before, last = body
    names = {s.name for s in before if isinstance(s, Let)}
    if not isinstance(last, If) or last.orelse or len(names) != len(before) or names & crossing:
        return None
    terms = [(term, _limit(term, group, lets)) for term in _conjunction(last.condition)]
    limits = tuple(limit for _, limit in terms if limit is not None)
    rest = [term for term, limit in terms if limit is None]
    inner = (If(reduce(lambda a, b: Apply(OPS["and"], a, b), rest), last.then),) if rest else last.then
    return Guarded((*before, *inner), limits) if limits else None


def limits_of_effects(body: Body, group: GroupValues, lets: Mapping[str, Expr]) -> tuple[Limit, ...]:
    """Below what the ids of invocations are that store, or trap: others may be left out where nothing follows.

    ``if id >= n: return; if c: (if id < m: a[id] = x)``  →  the limits n and m

    ``if id < 9: a[id] = x else: (if id < 10: a[id] = y)``  →  the limit 10
    """
    common: dict[Limit, None] | None = None
    stack: list[tuple[Body, dict[Limit, None]]] = [(body, {})]
    while stack:
        stmts, known = stack.pop()
        for stmt in stmts:
            match stmt:
                case If(condition, then, orelse):
                    stack += [(then, known | _implied(condition, True, group, lets))]
                    stack += [(orelse, known | _implied(condition, False, group, lets))]
                    if then and isinstance(then[-1], Return):
                        known = known | _implied(condition, False, group, lets)
                case For() | Region():
                    stack.append((stmt.body, known))
                case Let() | Var() | Assign() | Break() | Continue() | Return():
                    pass
                case _:
                    common = known if common is None else _common(common, known)
    return tuple(common or ())


def _common(some: Mapping[Limit, None], others: Mapping[Limit, None]) -> dict[Limit, None]:
    """The limits that hold in two places; of two numbers the greater one does."""
    found = {limit: None for limit in some if limit in others}
    greatest = _numbers(others)
    for place, number in _numbers(some).items():
        if place in greatest:
            found[*place, max(number, greatest[place], key=lambda limit: limit.bits)] = None
    return found


def _numbers(limits: Iterable[Limit]) -> dict[tuple[int, IdKind], Literal]:
    """The least number that is a limit, for each axis and kind that have one."""
    least: dict[tuple[int, IdKind], Literal] = {}
    for axis, kind, limit in limits:
        if isinstance(limit, Literal) and limit.bits <= least.get((axis, kind), limit).bits:
            least[axis, kind] = limit
    return least


def _implied(condition: Expr, truth: bool, group: GroupValues, lets: Mapping[str, Expr]) -> dict[Limit, None]:
    """The limits that hold where a condition is true, or false."""
    found: dict[Limit, None] = {}
    for node, wanted in conjuncts(condition, truth):
        limit = _limit(_negated(node, wanted), group, lets)
        found |= {} if limit is None else {limit: None}
    return found


def _conjunction(condition: Expr) -> list[Expr]:
    """The conditions that must all hold, in order."""
    terms: list[Expr] = []
    stack = [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, Apply) and node.op.id == "and":
            stack.extend(reversed(node.args))
        else:
            terms.append(node)
    return terms


def _limit(term: Expr, group: GroupValues, lets: Mapping[str, Expr]) -> Limit | None:
    """``id < limit`` (or the other way round) with a limit that is one for the workgroup; ``id == 0`` is ``id < 1``."""
    if not isinstance(term, Apply) or term.op.id not in ("lt", "gt", "eq"):
        return None
    id, limit = term.args if term.op.id == "lt" else tuple(reversed(term.args))
    id = resolved(id, lets)
    if term.op.id == "eq":
        id, limit = (limit, id) if isinstance(id, Literal) else (id, limit)
        if limit is not literal(u32, 0):
            return None
        limit = literal(u32, 1)
    if isinstance(id, Id) and id.kind in (IdKind.LOCAL_ID, IdKind.GLOBAL_ID) and group.holds(limit):
        return id.axis, id.kind, limit
    return None


def resolved(node: Expr, lets: Mapping[str, Expr]) -> Expr:
    """The value that a local is bound to, through any number of `lets`; other expressions as they are."""
    while isinstance(node, Local) and node.name in lets:
        node = lets[node.name]
    return node


def end_of_loop(limits: Iterable[Limit], axis: int, end: Expr, base: Expr, at_group: Callable[[Expr], Expr]) -> Expr:
    """Where the loop of an axis ends: at `end`, or the least limit. `base` is the global id of its first invocation."""
    for limited, kind, limit in limits:
        if limited == axis:
            limit = at_group(limit)
            if kind is IdKind.GLOBAL_ID:
                limit = Apply(OPS["sub_sat"], limit, base)
            is_less = isinstance(limit, Literal) and isinstance(end, Literal) and limit.bits < end.bits
            end = limit if is_less else Apply(OPS["min"], end, limit)
    return end
