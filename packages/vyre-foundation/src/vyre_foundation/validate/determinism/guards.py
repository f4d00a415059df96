"""What holds where a statement is: tighter bounds of leaves, from the conditions around it and the exits before it.

Only leaves that keep their value are bounded: a mutable local or an element of memory may have changed since the test.
"""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, field

from vyre_foundation.ir.expr import Apply, Expr, Local
from vyre_foundation.ir.stmt import For, Let
from vyre_foundation.ops.compare import MIRRORED, NEGATED
from vyre_foundation.validate.determinism.forms import Polynomials
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.ranges import counted

MAX_FACTS = 64
"""How many bounds are carried along; conditions beyond that are ignored."""


@dataclass(frozen=True, slots=True, eq=False)
class PathCondition:
    """What is known at a place: `bounds` of leaves, and leaves that equal an expression less a number."""

    bounds: Mapping[Expr, Interval] = field(default_factory=dict)
    equal: Mapping[Expr, tuple[Expr, int]] = field(default_factory=dict)


EVERYWHERE = PathCondition()


class PathConditions:
    """Derives guards from conditions and loops."""

    def __init__(self, forms: Polynomials, declared: Mapping[str, Place], unstable: AbstractSet[Expr]) -> None:
        self._forms = forms
        self._declared = declared
        self._unstable = unstable

    def where(self, guard: PathCondition, condition: Expr, holds: bool) -> PathCondition:
        """`guard`, and `condition` is true, or false if not `holds`."""
        work = [(condition, holds)]
        for _ in range(MAX_FACTS):
            if not work:
                break
            expr, truth = work.pop()
            match expr:
                case Local() if isinstance(stmt := self._declared[expr.name].stmt, Let):
                    work.append((stmt.value, truth))
                case Apply() if expr.op.id == "not":
                    work.append((expr.args[0], not truth))
                case Apply() if expr.op.id == ("and" if truth else "or"):
                    work += [(a, truth) for a in expr.args]
                case Apply() if expr.op.id in NEGATED and expr.args[0].dtype.is_integer:
                    relation = expr.op.id if truth else NEGATED[expr.op.id]
                    guard = self._related(guard, relation, *expr.args)
                    guard = self._related(guard, MIRRORED[relation], *reversed(expr.args))
        return guard

    def inside(self, guard: PathCondition, loop: For) -> PathCondition:
        """`guard` in the body of a loop."""
        start, stop = self._interval(guard, loop.start), self._interval(guard, loop.stop)
        counter = Local(loop.name, loop.start.dtype)
        if counter not in self._forms.bounds:  # it is not read
            return guard
        return self._bounded(guard, counter, counted(start, stop, loop.step))

    def _related(self, guard: PathCondition, relation: str, left: Expr, right: Expr) -> PathCondition:
        """`guard`, and `left` is in `relation` to `right`: bounds of the leaf that `left` is a multiple of."""
        found = self._forms.exact(left, guard.bounds)
        if found is None or len(found[0].terms) != 1:
            return guard
        form, bounds = found
        ((monomial, factor),) = form.terms.items()
        if len(monomial) != 1 or monomial[0] in self._unstable:
            return guard
        low, high = _narrowed(relation, bounds, self._interval(guard, right))
        low, high = (low - form.const, high - form.const) if factor > 0 else (form.const - high, form.const - low)
        size = abs(factor)
        guard = self._bounded(guard, monomial[0], Interval(-(-low // size), high // size))
        if relation == "eq" and factor == 1 and len(guard.equal) < MAX_FACTS:
            return PathCondition(guard.bounds, {**guard.equal, monomial[0]: (right, form.const)})
        return guard

    def _interval(self, guard: PathCondition, expr: Expr) -> Interval:
        known = self._forms.bounds[expr]
        found = self._forms.exact(expr, guard.bounds)
        if found is None:
            return known
        return Interval(max(known.low, found[1].low), min(known.high, found[1].high))

    def _bounded(self, guard: PathCondition, leaf: Expr, bounds: Interval) -> PathCondition:
        known = guard.bounds.get(leaf) or self._forms.bounds[leaf]
        tighter = Interval(max(known.low, bounds.low), min(known.high, bounds.high))
        if tighter == known or tighter.low > tighter.high or len(guard.bounds) >= MAX_FACTS:
            return guard
        return PathCondition({**guard.bounds, leaf: tighter}, guard.equal)


def _narrowed(relation: str, x: Interval, y: Interval) -> Interval:
    """Bounds of a value within `x` that is in `relation` to one within `y`."""
    match relation:
        case "lt":
            return Interval(x.low, min(x.high, y.high - 1))
        case "le":
            return Interval(x.low, min(x.high, y.high))
        case "gt":
            return Interval(max(x.low, y.low + 1), x.high)
        case "ge":
            return Interval(max(x.low, y.low), x.high)
        case "eq":
            return Interval(max(x.low, y.low), min(x.high, y.high))
        case _:  # ne
            point = y.low if y.low == y.high else None
            return Interval(x.low + (x.low == point), x.high - (x.high == point))
