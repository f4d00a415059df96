"""Loop peeling: the iterations of a long loop in which all conditions have their usual outcome.

Conditions of selects that depend on the counter hold from one iteration to another. Those two iterations are computed
before the loop, which is peeled at both ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from vyre_driver.vectorization.versioning.bound import Less, conjunction, terms
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Local, Select, literal
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import OPS

Parts: TypeAlias = tuple[Expr, ...]
"""What is added up."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The iterations from `start` to before `stop`, u32 locals: all claims about them hold, or there are none."""

    start: Local
    stop: Local

    def lets(self, claims: Iterable[Less], end: Expr) -> tuple[Let, ...] | None:
        """What the two are in a loop that ends at the u32 `end`; None where claims are not so simple.

        ``first + start > 0, first + stop - 1 < 4095``  →  ``start = sat(1 - first), stop = sat(4096 - first)``
        """
        start, stop = Cast(u64, self.start), Cast(u64, self.stop)
        rest: list[Less] = []
        least: dict[tuple[Parts, Parts], int] = {}
        most: dict[tuple[Parts, Parts], int] = {}
        for claim in claims:
            left, right = terms(claim.left.plus, claim.right.minus), terms(claim.right.plus, claim.left.minus)
            gap = claim.left.offset - claim.right.offset + 1
            if stop in left:
                left.remove(stop)
                limits, key = most, (tuple(right), tuple(left))
            elif start in right:
                right.remove(start)
                limits, key = least, (tuple(left), tuple(right))
            else:
                rest.append(claim)
                continue
            if _names(self, (*left, *right)):
                return None
            limits[key] = max(gap, limits.get(key, gap))
        if any(_names(self, _operands(claim)) for claim in rest):
            return None
        holds = conjunction(rest)
        firsts = [_difference(x, y, gap) for (x, y), gap in least.items()]
        lasts = [_difference(x, y, -gap) for (x, y), gap in most.items()]
        first = Select(holds, _extreme("max", firsts or [literal(u64, 0)]), Cast(u64, end))
        last = Select(holds, _extreme("min", [Cast(u64, end), *lasts]), Cast(u64, end))
        return (
            Let(self.start.name, Cast(u32, _extreme("min", (first, Cast(u64, end))))),
            Let(self.stop.name, Cast(u32, _extreme("max", (last, start)))),
        )


def _difference(x: Parts, y: Parts, offset: int) -> Expr:
    """``x - y + offset``, 0 where that is less."""
    return Apply(OPS["sub_sat"], _sum(x, max(offset, 0)), _sum(y, max(-offset, 0)))


def _sum(parts: Parts, offset: int) -> Expr:
    summands = [*parts, literal(u64, offset)] if offset or not parts else parts
    return reduce(lambda a, b: Apply(OPS["add"], a, b), summands)


def _extreme(op: str, values: Iterable[Expr]) -> Expr:
    return reduce(lambda a, b: Apply(OPS[op], a, b), dict.fromkeys(values))


def _operands(claim: Less) -> Iterator[Expr]:
    bounds = (claim.left, claim.right)
    return (x for bound in bounds for x in (bound.plus, bound.minus) if x is not None)


def _names(inside: Inside, roots: Iterable[Expr]) -> bool:
    return any(node in (inside.start, inside.stop) for node in postorder(roots))
