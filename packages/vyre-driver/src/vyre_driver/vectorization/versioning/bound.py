"""Bounds of integers as expressions that a workgroup, or a loop at its entry, can compare: exact, without wrap-around.

Languages of devices have no numbers that are wide enough for everything, so what could leave 64 bits is not stated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate

from vyre_foundation.dtype import bool_, u64
from vyre_foundation.ir.expr import Apply, Expr, Literal, literal
from vyre_foundation.ops import OPS
from vyre_foundation.optimize.fold import folded

MOST_TERMS = 64
"""The most terms of a sum that are compared: ``c = b + b`` with ``b = a + a`` and so on has exponentially many."""
_LIMIT = 1 << 61
"""Parts of a bound are below: the four parts and the offset of a comparison never leave 64 bits."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The integer ``plus - minus + offset``.

    `plus` and `minus` are u64 expressions, None for 0; `plus_high` and `minus_high` are numbers that they never exceed.
    """

    plus: Expr | None = None
    minus: Expr | None = None
    offset: int = 0
    plus_high: int = 0
    minus_high: int = 0

    @property
    def low(self) -> int:
        """A number that the integer is never below."""
        return self.offset - self.minus_high

    @property
    def high(self) -> int:
        """A number that the integer is never above."""
        return self.offset + self.plus_high

    def shifted(self, by: int) -> Bound:
        """The sum of the integer and `by`."""
        return replace(self, offset=self.offset + by)

    def negated(self) -> Bound:
        """The integer with the other sign."""
        return Bound(self.minus, self.plus, -self.offset, self.minus_high, self.plus_high)

    @property
    def is_natural(self) -> bool:
        """Whether nothing is subtracted, so that one u64 expression spells all of it."""
        return self.minus is None and self.offset >= 0

    def spelled(self) -> Expr:
        """A natural bound as a u64 expression."""
        assert self.is_natural
        return _sum((self.plus,), self.offset)


def number(value: int) -> Bound:
    """The bound of a known integer."""
    return Bound(offset=value)


def at_most(value: Expr, high: int) -> Bound | None:
    """The u64 expression `value`, which is at most `high`. Made of numbers alone, it is a number."""
    known = folded(value) or value
    if isinstance(known, Literal):
        return number(known.bits) if known.bits < _LIMIT else None
    return Bound(plus=value, plus_high=high) if high < _LIMIT else None


def natural(x: Bound) -> Bound | None:
    """An integer, or 0 if it is negative, as one u64 expression; None where that takes more than a subtraction."""
    if x.is_natural:
        return x
    if x.minus is not None or x.plus is None:
        return None
    return at_most(Apply(OPS["sub_sat"], x.plus, literal(u64, -x.offset)), max(x.high, 0))


def added(x: Bound, y: Bound) -> Bound | None:
    """The sum of two bounds; None where the comparison could wrap in 64 bits."""
    plus, minus = _without_common(_pair(x.plus, y.plus), _pair(x.minus, y.minus))
    plus_high = 0 if plus is None else x.plus_high + y.plus_high
    minus_high = 0 if minus is None else x.minus_high + y.minus_high
    total = Bound(plus, minus, x.offset + y.offset, plus_high, minus_high)
    return total if max(total.plus_high, total.minus_high, abs(total.offset)) < _LIMIT else None


def _without_common(plus: Expr | None, minus: Expr | None) -> tuple[Expr | None, Expr | None]:
    """What is added and what is subtracted, without what is both."""
    added, subtracted = terms(plus), terms(minus)
    if len(added) > MOST_TERMS or len(subtracted) > MOST_TERMS:
        return plus, minus
    common = [term for term in subtracted if term in added]
    if not common:
        return plus, minus
    for term in common:
        if term in added:
            added.remove(term)
            subtracted.remove(term)
    return _total(added), _total(subtracted)


def scaled(x: Bound, factor: int) -> Bound | None:
    """`x` times a number that is not negative."""
    if factor in (0, 1) or max(x.plus_high, x.minus_high, abs(x.offset)) * factor >= _LIMIT:
        return x if factor == 1 else number(0) if factor == 0 else None
    plus, minus = _times(x.plus, factor), _times(x.minus, factor)
    return Bound(plus, minus, x.offset * factor, x.plus_high * factor, x.minus_high * factor)


def without(x: Bound, part: Bound) -> Bound | None:
    """``x - part``, where `part` is one of the terms of `x` or a number that is most of its offset; else None."""
    if part.minus is not None or (part.plus is not None and part.offset):
        return None
    if part.plus is None:
        return x.shifted(-part.offset) if x.plus is not None and 2 * x.offset >= part.offset > 0 else None
    parts = terms(x.plus)
    if len(parts) > MOST_TERMS or part.plus not in parts:
        return None
    parts.remove(part.plus)
    return replace(x, plus=_total(parts))


def _total(parts: Iterable[Expr]) -> Expr | None:
    """The sum of expressions; None for none."""
    return reduce(_pair, parts, None)


def terms(*sums: Expr | None) -> list[Expr]:
    """The terms of sums. The search ends after `MOST_TERMS`: a longer list is incomplete."""
    found: list[Expr] = []
    stack = [x for x in sums if x is not None]
    while stack and len(found) <= MOST_TERMS:
        node = stack.pop()
        if isinstance(node, Apply) and node.op.id == "add":
            stack += node.args
        else:
            found.append(node)
    return found


@dataclass(frozen=True, slots=True)
class Less:
    """The claim ``left < right``."""

    left: Bound
    right: Bound

    @property
    def is_certain(self) -> bool:
        """Whether the claim holds whatever the values are."""
        same = self.left.plus is self.right.plus and self.left.minus is self.right.minus
        return self.left.offset < self.right.offset if same else self.left.high < self.right.low

    @property
    def is_hopeless(self) -> bool:
        """Whether the claim holds for no values."""
        same = self.left.plus is self.right.plus and self.left.minus is self.right.minus
        return self.left.offset >= self.right.offset if same else self.left.low >= self.right.high


def at_least(value: Bound, least: int) -> Less:
    """The claim ``value >= least``."""
    return Less(number(least - 1), value)


def conjunction(claims: Iterable[Less]) -> Expr:
    """A condition that holds where all claims do; of claims that differ in their offsets the strictest."""
    strictest: dict[tuple[Expr | None, Expr | None, Expr | None, Expr | None], int] = {}
    undecided = [claim for claim in claims if not claim.is_certain]
    limits = _variable_limits(undecided)
    for claim in undecided:
        if not _is_implied(claim, limits):
            key = (claim.left.plus, claim.right.minus, claim.right.plus, claim.left.minus)
            gap = claim.left.offset - claim.right.offset
            strictest[key] = max(gap, strictest.get(key, gap))
    terms = [_less(key, gap) for key, gap in strictest.items()]
    return reduce(lambda a, b: Apply(OPS["and"], a, b), terms) if terms else literal(bool_, 1)


_Limits = dict[tuple[Expr | None, Expr | None], list[tuple[int, int]]]
"""By the expressions on the left: offsets, descending, and the least limit of what has at least that offset."""


def _variable_limits(claims: Iterable[Less]) -> _Limits:
    """The claims whose limit is a variable, as the largest number that it may be."""
    found: defaultdict[tuple[Expr | None, Expr | None], set[tuple[int, int]]] = defaultdict(set)
    for claim in claims:
        if claim.right.plus is not None:
            found[claim.left.plus, claim.left.minus].add((claim.left.offset, claim.right.high))
    return {left: list(accumulate(sorted(pairs, reverse=True), _stricter)) for left, pairs in found.items()}


def _stricter(before: tuple[int, int], pair: tuple[int, int]) -> tuple[int, int]:
    return pair[0], min(before[1], pair[1])


def _is_implied(claim: Less, limits: _Limits) -> bool:
    """Whether a claim about a variable limit leaves nothing to ask about one that is a number."""
    if claim.right.plus is not None or claim.right.minus is not None:
        return False
    stricter = limits.get((claim.left.plus, claim.left.minus), [])
    count = bisect_right(stricter, -claim.left.offset, key=lambda pair: -pair[0])
    return count > 0 and stricter[count - 1][1] <= claim.right.offset


def _less(parts: tuple[Expr | None, ...], gap: int) -> Expr:
    """The comparison ``a + b + gap < c + d``."""
    a, b, c, d = parts
    return Apply(OPS["lt"], _sum((a, b), max(gap, 0)), _sum((c, d), max(-gap, 0)))


def _sum(parts: Iterable[Expr | None], offset: int) -> Expr:
    terms = [part for part in parts if part is not None]
    if offset or not terms:
        terms.append(literal(u64, offset))
    return reduce(lambda a, b: Apply(OPS["add"], a, b), terms)


def _pair(x: Expr | None, y: Expr | None) -> Expr | None:
    return x if y is None else y if x is None else Apply(OPS["add"], x, y)


def _times(x: Expr | None, factor: int) -> Expr | None:
    if x is None or isinstance(x, Literal):
        return None if x is None else literal(u64, int(x.value) * factor)
    return Apply(OPS["mul"], x, literal(u64, factor))
