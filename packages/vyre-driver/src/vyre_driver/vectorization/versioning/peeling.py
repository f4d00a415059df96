"""Loop peeling: the iterations of a long loop in which all conditions have their usual outcome.

Conditions of selects that depend on the counter hold from one iteration to another. Those two iterations are computed
before the loop, which is peeled at both ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

from vyre_driver.vectorization.versioning.bound import Less, conjunction
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Local, Select, literal
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import OPS


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
        least: list[Expr] = []
        most: list[Expr] = [Cast(u64, end)]
        for claim in claims:
            left, right = _terms(claim.left.plus, claim.right.minus), _terms(claim.right.plus, claim.left.minus)
            gap = claim.left.offset - claim.right.offset + 1
            if stop in left:
                left.remove(stop)
                most.append(_difference(right, left, -gap))
            elif start in right:
                right.remove(start)
                least.append(_difference(left, right, gap))
            else:
                rest.append(claim)
                continue
            if _names(self, (*left, *right)):
                return None
        if any(_names(self, _operands(claim)) for claim in rest):
            return None
        holds = conjunction(rest)
        first = Select(holds, _extreme("max", least or [literal(u64, 0)]), Cast(u64, end))
        last = Select(holds, _extreme("min", most), Cast(u64, end))
        return (
            Let(self.start.name, Cast(u32, _extreme("min", (first, Cast(u64, end))))),
            Let(self.stop.name, Cast(u32, _extreme("max", (last, start)))),
        )


def _terms(*sums: Expr | None) -> list[Expr]:
    """What is added up."""
    terms, stack = [], [x for x in sums if x is not None]
    while stack:
        node = stack.pop()
        if isinstance(node, Apply) and node.op.id == "add":
            stack += node.args
        else:
            terms.append(node)
    return terms


def _difference(x: list[Expr], y: list[Expr], offset: int) -> Expr:
    """``x - y + offset``, 0 where that is less."""
    return Apply(OPS["sub_sat"], _sum(x, max(offset, 0)), _sum(y, max(-offset, 0)))


def _sum(terms: list[Expr], offset: int) -> Expr:
    parts = [*terms, literal(u64, offset)] if offset or not terms else terms
    return reduce(lambda a, b: Apply(OPS["add"], a, b), parts)


def _extreme(op: str, values: Iterable[Expr]) -> Expr:
    return reduce(lambda a, b: Apply(OPS[op], a, b), dict.fromkeys(values))


def _operands(claim: Less) -> Iterator[Expr]:
    bounds = (claim.left, claim.right)
    return (x for bound in bounds for x in (bound.plus, bound.minus) if x is not None)


def _names(inside: Inside, roots: Iterable[Expr]) -> bool:
    return any(node in (inside.start, inside.stop) for node in postorder(roots))
