"""What holds at a place of a program: conditions that are true or false there, and bounds of integers.

Only of what keeps its value: a variable or an element of memory may have changed since the test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from vyre_foundation.dtype import bool_
from vyre_foundation.ir.expr import Apply, Expr, Literal
from vyre_foundation.ops import OPS
from vyre_foundation.ops.compare import MIRRORED, NEGATED
from vyre_foundation.optimize.dependence import Dependences
from vyre_foundation.validate.facts import Interval

MAX_TERMS = 32
"""How many parts of one condition are looked at."""

MAX_KNOWN = 256
"""How many conditions are carried along; those beyond are ignored."""

_FOLLOWS = {"lt": ("le", "ne"), "gt": ("ge", "ne"), "eq": ("le", "ge"), "le": (), "ge": (), "ne": ()}
"""What a comparison that holds implies, also for floats: one with a NaN does not hold, but `ne`."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Conditions with what they are, and bounds tighter than those of the whole program."""

    truths: Mapping[Expr, bool] = field(default_factory=dict)
    bounds: Mapping[Expr, Interval] = field(default_factory=dict)


class Knowledge:
    """Learns and decides conditions of one program, whose `ranges` hold everywhere."""

    def __init__(self, dependences: Dependences, ranges: Mapping[Expr, Interval]) -> None:
        self._dependences, self._ranges = dependences, ranges

    # ── learning ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def where(self, known: Known, condition: Expr, holds: bool) -> Known:
        """`known`, and `condition` is true, or false if not `holds`."""
        if isinstance(condition, Literal) or len(known.truths) > MAX_KNOWN:
            return known
        truths, bounds = dict(known.truths), dict(known.bounds)
        work = [(condition, holds)]
        for _ in range(MAX_TERMS):
            if not work:
                break
            node, truth = work.pop()
            if self._dependences.is_stable(node):
                truths[node] = truth
            if not isinstance(node, Apply) or node.args[0].dtype is not bool_:
                if isinstance(node, Apply) and node in truths:
                    self._compare(node, truth, truths, bounds)
            elif node.op.id == "not":
                work.append((node.args[0], not truth))
            elif node.op.id == ("and" if truth else "or"):
                work += [(term, truth) for term in node.args]
        return Known(truths, bounds)

    def _compare(self, node: Apply, truth: bool, truths: dict[Expr, bool], bounds: dict[Expr, Interval]) -> None:
        """What else a comparison of two numbers decides."""
        op = node.op.id
        if op not in NEGATED:
            return
        x, y = node.args
        if not truth and (x.dtype.is_integer or op in ("eq", "ne")):
            op, truth = NEGATED[op], True
        for one in (op, *(_FOLLOWS[op] if truth else ())):
            for told, a, b in ((one, x, y), (MIRRORED[one], y, x)):
                truths[Apply(OPS[told], a, b)] = truth
                if truth:
                    truths[Apply(OPS[NEGATED[told]], a, b)] = False
        if truth and x.dtype.is_integer:
            self._bound(op, x, y, bounds)
            self._bound(MIRRORED[op], y, x, bounds)

    def _bound(self, op: str, x: Expr, y: Expr, bounds: dict[Expr, Interval]) -> None:
        """Tighter bounds of `x`, where `x op y` holds; contradictions, in unreachable places, teach nothing."""
        if isinstance(x, Literal):
            return
        (low, high), other = self.interval(x, bounds), self.interval(y, bounds)
        match op:
            case "lt":
                high = min(high, other.high - 1)
            case "le":
                high = min(high, other.high)
            case "gt":
                low = max(low, other.low + 1)
            case "ge":
                low = max(low, other.low)
            case "eq":
                low, high = max(low, other.low), min(high, other.high)
        if low <= high:
            bounds[x] = Interval(low, high)

    # ── deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def reduced(self, known: Known, condition: Expr) -> Expr:
        """`condition` without those of its parts that are known: a literal if all of it is."""
        terms = _terms(condition)
        images: dict[Expr, Expr] = {}
        for node in reversed(terms):
            images[node] = self._reduced(known, node, images)
        return images[condition]

    def _reduced(self, known: Known, node: Expr, images: Mapping[Expr, Expr]) -> Expr:
        truth = self._decide(known, node)
        if truth is not None:
            return Literal(bool_, truth)
        if not _is_connective(node):
            return node
        args = tuple([images.get(a, a) for a in node.args])
        if node.op.id == "not":
            return Literal(bool_, not args[0].bits) if isinstance(args[0], Literal) else node.rebuild(args)
        decisive = node.op.id == "or"  # the literal that decides it
        for one, other in (args, args[::-1]):
            if isinstance(one, Literal):
                return one if bool(one.bits) == decisive else other
        return node if args == node.args else node.rebuild(args)

    def _decide(self, known: Known, node: Expr) -> bool | None:
        if isinstance(node, Literal) or node in known.truths:
            return bool(node.bits) if isinstance(node, Literal) else known.truths[node]
        if not isinstance(node, Apply) or node.op.id not in NEGATED or not node.args[0].dtype.is_integer:
            return None
        x, y = (self.interval(a, known.bounds) for a in node.args)
        return compared(node.op.id, x, y)

    def is_stable(self, condition: Expr) -> bool:
        """Whether it stays what it is."""
        return self._dependences.is_stable(condition)

    def interval(self, node: Expr, bounds: Mapping[Expr, Interval]) -> Interval:
        """What an integer can be, where `bounds` hold."""
        if isinstance(node, Literal):
            return Interval(int(node.value), int(node.value))
        return bounds.get(node) or self._ranges.get(node) or Interval(node.dtype.lowest, node.dtype.highest)


def compared(op: str, x: Interval, y: Interval) -> bool | None:
    """What a comparison gives for all values within bounds; None: not the same for all."""
    match op:
        case "lt":
            return True if x.high < y.low else False if x.low >= y.high else None
        case "le":
            return True if x.high <= y.low else False if x.low > y.high else None
        case "gt" | "ge":
            return compared("lt" if op == "gt" else "le", y, x)
        case _:
            apart = x.high < y.low or y.high < x.low
            same = x.low == x.high == y.low == y.high
            return (apart if op == "ne" else same) if apart or same else None


def _terms(condition: Expr) -> list[Expr]:
    """The condition and what it is made of by `and`, `or` and `not`, parents before children."""
    found = [condition]
    for node in found:
        if len(found) > MAX_TERMS:
            break
        if _is_connective(node):
            found += node.args
    return found


def _is_connective(node: Expr) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op.id in ("and", "or", "not") and node.dtype is bool_
