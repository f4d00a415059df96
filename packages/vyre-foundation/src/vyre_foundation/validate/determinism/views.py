"""An access taken apart: digits of the invocation with their strides, and everything else that is in the index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from vyre_foundation.ir.expr import Expr, Local
from vyre_foundation.ir.stmt import For, Stmt
from vyre_foundation.validate.determinism.accesses import MemoryAccess
from vyre_foundation.validate.determinism.forms import Monomial, Polynomial, Polynomials
from vyre_foundation.validate.determinism.guards import PathCondition
from vyre_foundation.validate.determinism.identity import Between, Digit, Identity
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.outline import Place

Term = tuple[Monomial, int]


@dataclass(slots=True)
class View:
    """An index as ``const + Σ strides[d] · d + Σ fixed + Σ stride · rest``, modulo 2**bits.

    `bounds` are those of the digits, and `pins` has what is known of digits at the access. `fixed` terms are the same
    for all invocations that are compared, at all times. `rests` are the stride and the bounds of what may be anything.
    """

    bits: int
    const: int
    pins: Mapping[Digit, object]
    strides: dict[Digit, int] = field(default_factory=dict)
    bounds: dict[Digit, Interval] = field(default_factory=dict)
    fixed: dict[Hashable, int] = field(default_factory=dict)
    rests: list[tuple[int, Interval]] = field(default_factory=list)


class Views:
    """Makes views. `is_fixed` says whether a leaf has one value for the compared invocations, at all times."""

    def __init__(
        self,
        forms: Polynomials,
        identity: Identity,
        declared: Mapping[str, Place],
        is_fixed: Callable[[Expr, Between], bool],
    ) -> None:
        self._forms = forms
        self._identity = identity
        self._declared = declared
        self._is_fixed = is_fixed
        self._pins: dict[tuple[PathCondition, Between], Mapping[Digit, object]] = {}

    def of(self, access: MemoryAccess, between: Between, *, are_whole: bool = False) -> View:
        """The view of an access; global ids are digits of their own if `are_whole`, and two digits otherwise."""
        form = self._forms.of(access.index)
        view = View(access.index.dtype.bits, form.const, self._known(access.guard, between))
        work = list(form.terms.items())
        while work:
            work += self._add(view, work.pop(), access.guard, between, are_whole)
        view.strides = {digit: stride for digit, stride in view.strides.items() if stride}
        return view

    def _add(self, view: View, term: Term, guard: PathCondition, between: Between, are_whole: bool) -> list[Term]:
        """Add a term to a view; the terms that it is to be replaced with."""
        monomial, factor = term
        if len(monomial) == 1:
            leaf = monomial[0]
            if isinstance(leaf, Local) and isinstance(loop := self._stmt(leaf), For):
                return self._add_counter(view, leaf, factor, loop, guard)
            digits = self._identity.digits(leaf, are_whole=are_whole)
            if digits is not None:
                for size, digit in digits:
                    self._add_digit(view, digit, factor * size, self._identity.bounds(digit, leaf, guard), between)
                return []
        if all(self._is_fixed(leaf, between) for leaf in monomial):
            view.fixed[monomial] = view.fixed.get(monomial, 0) + factor
        else:
            view.rests.append((factor, Polynomial(0, {monomial: 1}).interval(guard.bounds, self._forms.bounds)))
        return []

    def _stmt(self, local: Local) -> Stmt | None:
        """The statement that declares a local; None for the linear ids."""
        place = self._declared.get(local.name)
        return None if place is None else place.stmt

    def _add_counter(self, view: View, leaf: Local, factor: int, loop: For, guard: PathCondition) -> list[Term]:
        """A loop counter is its start and a multiple of its step."""
        bounds = guard.bounds.get(leaf) or self._forms.bounds[leaf]
        start = self._forms.exact(loop.start, guard.bounds)
        if start is None:
            view.rests.append((factor, bounds))
            return []
        way = min(bounds.high - start[1].low, self._way(start[0], loop, guard))
        view.const += factor * start[0].const
        view.rests.append((factor * loop.step, Interval(0, max(0, way) // loop.step)))
        return [(monomial, factor * c) for monomial, c in start[0].terms.items()]

    def _way(self, start: Polynomial, loop: For, guard: PathCondition) -> int:
        """How far the counter of a loop gets from its start at most, as the difference of the bounds tells."""
        stop = self._forms.exact(loop.stop, guard.bounds)
        if stop is None or not self._forms.is_stable(start):
            return loop.start.dtype.highest - loop.start.dtype.lowest
        return stop[0].plus(start, -1).interval(guard.bounds, self._forms.bounds).high - 1

    def _add_digit(self, view: View, digit: Digit, factor: int, bounds: Interval, between: Between) -> None:
        value = self._identity.value(digit, view.pins)
        if isinstance(value, int):
            view.const += factor * value
        elif value is not None or (between is Between.LOCALS and digit.of in ("group", "linear group")):
            key = digit, value
            view.fixed[key] = view.fixed.get(key, 0) + factor
        elif between is Between.GROUPS and digit.of == "local":
            view.rests.append((factor, bounds))
        else:
            view.strides[digit] = view.strides.get(digit, 0) + factor
            view.bounds[digit] = bounds

    def _known(self, guard: PathCondition, between: Between) -> Mapping[Digit, object]:
        """What a guard tells of digits."""
        key = guard, between
        if key not in self._pins:
            pins: dict[Digit, object] = {}
            for leaf, (expr, less) in guard.equal.items():
                form = self._forms.of(expr)
                if all(self._is_fixed(other, between) for monomial in form.terms for other in monomial):
                    pins |= self._identity.equal(leaf, (expr.dtype, form.const, frozenset(form.terms.items()), less))
            for leaf, (low, high) in guard.bounds.items():
                if low == high:
                    pins |= self._identity.pinned(leaf, low)
            self._pins[key] = pins
        return self._pins[key]
