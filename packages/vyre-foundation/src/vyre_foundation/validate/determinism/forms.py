"""Index expressions as polynomials over leaves: what a value is modulo the width of its type, and often exactly.

A leaf is whatever is not a sum, a product, a shift by a literal, a conversion, or an immutable local bound to one of
these. The linear numbers of an invocation and of a workgroup in the whole grid are sums of products with
`num_workgroups`; they are recognised and become the leaves `GLOBAL` and `GROUP`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from itertools import product

from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ir.walk import solve
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.intervals import corners
from vyre_foundation.validate.limits import MAX_AXIS_INVOCATIONS
from vyre_foundation.validate.outline import Place

Monomial = tuple[Expr, ...]
"""A product of leaves."""

MAX_TERMS = 12
MAX_DEGREE = 5
"""What has more terms or more factors in one becomes a leaf, so that no form grows with the program."""

GLOBAL = Local("the linear global id", u32)
GROUP = Local("the linear workgroup id", u32)


class LeafOrder(dict[Expr, int]):
    """The order of the leaves in a product: that in which products first have them, the same in every process."""

    def __missing__(self, leaf: Expr) -> int:
        self[leaf] = number = len(self)
        return number


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial ``const + Σ terms[m] · Π m`` with integer coefficients."""

    const: int
    terms: Mapping[Monomial, int]

    def plus(self, other: Polynomial, factor: int = 1) -> Polynomial:
        """Give the sum of this one and `factor` times the other."""
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor * coefficient
        return Polynomial(self.const + factor * other.const, {m: c for m, c in terms.items() if c})

    def times(self, other: Polynomial, order: LeafOrder) -> Polynomial:
        """Give the product; `order` sorts the factors of its monomials."""
        total = Polynomial(self.const * other.const, {})
        total = total.plus(Polynomial(0, self.terms), other.const).plus(Polynomial(0, other.terms), self.const)
        for (a, x), (b, y) in product(self.terms.items(), other.terms.items()):
            total = total.plus(Polynomial(0, {tuple(sorted((*a, *b), key=order.__getitem__)): x * y}))
        return total

    def modulo(self, bits: int) -> Polynomial:
        """With numbers as near to zero as they are modulo 2**bits."""
        half = 1 << (bits - 1)
        terms = {m: (c + half) % (2 * half) - half for m, c in self.terms.items()}
        return Polynomial((self.const + half) % (2 * half) - half, {m: c for m, c in terms.items() if c})

    def interval(self, bounds: Mapping[Expr, Interval], otherwise: Mapping[Expr, Interval]) -> Interval:
        """What the form comes to over the integers, for leaves within `bounds`, or `otherwise`."""
        low = high = self.const
        for monomial, coefficient in self.terms.items():
            term = Interval(coefficient, coefficient)
            for factor in monomial:
                term = Interval(*corners(int.__mul__, term, bounds.get(factor) or otherwise[factor]))
            low, high = low + term.low, high + term.high
        return Interval(low, high)

    @property
    def is_small(self) -> bool:
        """Whether it is worth following: few terms, of low degree."""
        return len(self.terms) <= MAX_TERMS and all(len(m) <= MAX_DEGREE for m in self.terms)

    @property
    def leaf(self) -> Expr | None:
        """The leaf, if the form is one leaf and nothing else."""
        if self.const == 0 and len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms.items()
            if coefficient == 1 and len(monomial) == 1:
                return monomial[0]
        return None


class Polynomials:
    """The forms of a program's integer expressions, each found once.

    `unstable` are expressions that may change while the locals in them do not: they read memory that is written,
    or mutable locals. A local bound to one of them is a leaf. `bounds` are those of leaves, in the whole program.
    """

    def __init__(
        self,
        program: Program,
        declared: Mapping[str, Place],
        ranges: Mapping[Expr, Interval],
        unstable: AbstractSet[Expr],
        axes: AbstractSet[int],
    ) -> None:
        groups = MAX_AXIS_INVOCATIONS // program.workgroup_volume
        self.bounds = {**ranges, GLOBAL: Interval(0, MAX_AXIS_INVOCATIONS - 1), GROUP: Interval(0, groups - 1)}
        self._declared = declared
        self._unstable = unstable
        self._known: dict[Expr, Polynomial] = {}
        self._order = LeafOrder()
        self._linear = _linear_ids(program, axes, self._order)

    def of(self, root: Expr) -> Polynomial:
        """The form of an integer expression: equal to it modulo 2**bits of its type."""
        return solve(root, self._known, self._sources, self._combined)

    def exact(self, root: Expr, bounds: Mapping[Expr, Interval]) -> tuple[Polynomial, Interval] | None:
        """The form that equals `root` over the integers, and its bounds, for leaves within `bounds`; None: may wrap."""
        form = self.of(root)
        low, high = form.interval(bounds, self.bounds)
        shift = (root.dtype.lowest - low + (1 << root.dtype.bits) - 1) >> root.dtype.bits << root.dtype.bits
        if high + shift > root.dtype.highest:
            return None
        return Polynomial(form.const + shift, form.terms), Interval(low + shift, high + shift)

    def is_stable(self, form: Polynomial) -> bool:
        """Whether all leaves of `form` keep their value."""
        return not any(leaf in self._unstable for monomial in form.terms for leaf in monomial)

    def _sources(self, node: Expr) -> Sequence[Expr]:
        """The expressions that the form of `node` is made from; none for a leaf or a known number."""
        bounds = self.bounds[node]
        if bounds.low == bounds.high:
            return ()
        match node:
            case Apply() if node.op.id in _COMBINED:
                return node.args
            case Cast() | Bitcast() if node.value.dtype.is_integer:
                return node.args
            case Local() if node.name in self._declared:
                stmt = self._declared[node.name].stmt
                if isinstance(stmt, Let) and stmt.value not in self._unstable:
                    return (stmt.value,)
        return ()

    def _combined(self, node: Expr, operands: Sequence[Polynomial]) -> Polynomial:
        bounds = self.bounds[node]
        if bounds.low == bounds.high:
            return Polynomial(bounds.low, {})
        form = self._sum(node, operands) if operands else None
        if form is None or not form.is_small:
            return Polynomial(0, {(node,): 1})
        return self._recognised(form.modulo(node.dtype.bits))

    def _sum(self, node: Expr, operands: Sequence[Polynomial]) -> Polynomial | None:
        """The form of `node` from those of its sources; None makes it a leaf."""
        x = operands[0]
        match node:
            case Local() | Bitcast():
                return x
            case Cast():
                # What is extended must not have wrapped before.
                narrow = node.value.dtype.bits >= node.dtype.bits
                return x if narrow else self._as_exact(node.value)
            case Apply():
                return self._applied(node, operands)
            case _:
                return None

    def _applied(self, node: Apply, operands: Sequence[Polynomial]) -> Polynomial | None:
        x, y = operands[0], operands[-1]
        match node.op.id:
            case "add":
                return x.plus(y)
            case "sub":
                return x.plus(y, -1)
            case "neg":
                return Polynomial(0, {}).plus(x, -1)
            case "mul":
                return x.times(y, self._order)
            case "shl" | "raw_shl":
                return None if y.terms else x.times(Polynomial(1 << y.const % node.dtype.bits, {}), self._order)
            case _:
                return x.plus(y) if self._share_no_bits(node, x, y) else None

    def _as_exact(self, expr: Expr) -> Polynomial | None:
        found = self.exact(expr, {})
        return None if found is None else found[0]

    def _share_no_bits(self, node: Apply, x: Polynomial, y: Polynomial) -> bool:
        """Whether one operand of an `or` or `xor` is below the lowest bit that the other can have: then it adds."""
        return _is_below(self.bounds[node.args[1]], x) or _is_below(self.bounds[node.args[0]], y)

    def _recognised(self, form: Polynomial) -> Polynomial:
        for name, pattern, first in self._linear:
            factor = form.terms.get(first, 0)
            if factor and all(form.terms.get(m) == factor * c for m, c in pattern.terms.items()):
                form = form.plus(pattern, -factor).plus(Polynomial(0, {(name,): factor}))
        return form


_COMBINED = frozenset(("add", "sub", "neg", "mul", "shl", "raw_shl", "or", "xor"))


def _is_below(bounds: Interval, form: Polynomial) -> bool:
    """Whether values within `bounds` are below every power of two that does not divide all of `form`."""
    numbers = [form.const, *form.terms.values()]
    step = min(n & -n for n in numbers if n) if any(numbers) else 0
    return bounds.low >= 0 and bounds.high < step


def _linear_ids(program: Program, axes: AbstractSet[int], order: LeafOrder) -> list[tuple[Local, Polynomial, Monomial]]:
    """The linear ids with what they are sums of, and the term that tells them from other sums; none if x is all."""
    found: list[tuple[Local, Polynomial, Monomial]] = []
    for name, kind in ((GLOBAL, IdKind.GLOBAL_ID), (GROUP, IdKind.WORKGROUP_ID)):
        stride = Polynomial(1, {})
        total = Polynomial(0, {})
        for axis in range(3):
            size = program.workgroup_size[axis] if name is GLOBAL else 1
            if axis in axes or size > 1:
                total = total.plus(Polynomial(0, {(Id(kind, axis),): 1}).times(stride, order))
            extent = Polynomial(0, {(Id(IdKind.NUM_WORKGROUPS, axis),): size}) if axis in axes else Polynomial(size, {})
            stride = stride.times(extent, order)
        if len(total.terms) > 1:
            found.append((name, total, (Id(kind, 0),)))
    return found
