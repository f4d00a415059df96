"""Between which bounds an integer lies while a region runs, in terms of what does not change there.

Sums, differences and products are looked through as a ring: their intermediate results may wrap, which does no harm
where the whole is proven to fit its type. Everything else asks that its operands fit theirs; an extent `needs` that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

from vyre_driver.legalization.ranges import Ranges
from vyre_driver.vectorization.versioning.bound import Bound, Less, added, at_least, at_most, natural, number, scaled
from vyre_foundation.dtype import DType, u32, u64
from vyre_foundation.ir.buffer import Access, Buffer
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select, literal
from vyre_foundation.ir.walk import postorder, rewrite
from vyre_foundation.ops import OPS

_FEW = 1 << 16
"""A value of at most this many possibilities counts as bounded by its type or facts."""
_ROOT = 1 << 29
"""Factors below keep their product within a bound, and sums of a few of them."""
_MOST_NEEDS = 16


class Extent(NamedTuple):
    """`low` and `high` are reached at most; both hold where `needs` does."""

    low: Bound
    high: Bound
    needs: tuple[Less, ...] = ()


class Extents:
    """The extents of integers in one region.

    `ids` are extents of coordinates that change inside; `changing` are the names of the region's own locals. What is
    known about them is told in program order, before they are asked about.
    """

    def __init__(self, ranges: Ranges, changing: frozenset[str], ids: dict[Id, Extent]) -> None:
        self._ranges, self._changing, self._ids = ranges, changing, ids
        self._names: dict[str, Extent] = {}
        self._known: dict[Expr, Extent | None] = {}
        self._fixed: dict[Expr, bool] = {}
        self._seen: set[Expr] = set()
        self._judged: set[Expr] = set()

    def tell(self, name: str, extent: Extent | None) -> None:
        """What the local `name` lies between."""
        if extent is not None:
            self._names[name] = extent

    def settle(self, node: Expr, extent: Extent) -> None:
        """State what an integer lies between where claims about it hold."""
        self.of(node)  # which is not asked again then
        self._known[node] = extent

    def of(self, root: Expr) -> Extent | None:
        """The extent of an integer, before it wraps; None where nothing useful is known."""
        if root not in self._known:
            for node in postorder((root,), self._seen):
                self._known[node] = self._of(node) if node.dtype.is_integer else None
        return self._known[root]

    def exact(self, node: Expr) -> Extent | None:
        """As `of`, for a value that does not wrap: it needs to fit its type."""
        extent = self.of(node)
        return None if extent is None else _fitting(node.dtype, extent)

    def least(self, node: Expr) -> int:
        """What an integer is at least, by its type and facts."""
        return self._ranges.of(node).low

    def is_fixed(self, root: Expr) -> bool:
        """Whether the region cannot change `root`, and it may be evaluated before the region."""
        if root not in self._fixed:
            for node in postorder((root,), self._judged):
                self._fixed[node] = self._is_leaf(node) and all(self._fixed[a] for a in node.args)
        return self._fixed[root]

    def _is_leaf(self, node: Expr) -> bool:
        match node:
            case Id():
                return not self._ids or node.kind in (IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS)
            case Local(name):
                return name not in self._changing
            case Load(buffer):
                return buffer.access is Access.READ
            case Cast():
                return node.checked
            case _:
                return True

    # ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _of(self, node: Expr) -> Extent | None:
        extent = self._computed(node)
        if extent is not None and len(extent.needs) <= _MOST_NEEDS:
            return extent
        return self.leaf(node) or self._few(node)

    def _computed(self, node: Expr) -> Extent | None:
        match node:
            case Literal():
                value = number(nearest_to_zero(node))
                return Extent(value, value)
            case Length(buffer) if isinstance(buffer.count, int):
                return Extent(number(buffer.count), number(buffer.count))
            case Id() if node in self._ids:
                return self._ids[node]
            case Local(name) if name in self._names:
                return self._names[name]
            case Apply(op, args) if op.id in _RULES and all(a.dtype.is_integer for a in args):
                return (self.leaf(node) if op.id in _COARSE else None) or _RULES[op.id](self, *args)
            case Cast(dtype, value) if value.dtype.is_integer:
                return self.of(value) if dtype.bits <= value.dtype.bits else self.exact(value)
            case Select(_, if_true, if_false):
                return self.leaf(node) or self._floored(node) or self._either(if_true, if_false)
            case _:
                return None

    def leaf(self, node: Expr) -> Extent | None:
        """A value that stays what it is, as the region finds it."""
        if not self.is_fixed(node) or self._ranges.of(node).low < 0:
            return None
        value = rewrite(node, _rechecked, {})
        bound = at_most(value if value.dtype is u64 else Cast(u64, value), self._ranges.of(node).high)
        return None if bound is None else Extent(bound, bound)

    def _few(self, node: Expr) -> Extent | None:
        low, high = self._ranges.of(node)
        return Extent(number(low), number(high)) if high - low < _FEW else None

    def _either(self, x: Expr, y: Expr) -> Extent | None:
        a, b = self.exact(x), self.exact(y)
        if a is None or b is None:
            return None
        return _extent(_extreme("min", a.low, b.low), _extreme("max", a.high, b.high), a, b)

    def _floored(self, node: Select) -> Extent | None:
        """A remainder that is never negative, of what is no multiple of the divisor."""
        division = remainder(node)
        divisor = None if division is None else self.exact(division[1])
        if divisor is None:
            return None
        return _extent(number(0), divisor.high.shifted(-1), divisor, more=[at_least(divisor.low, 1)])

    # ── rings ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _add(self, x: Expr, y: Expr) -> Extent | None:
        a, b = self.of(x), self.of(y)
        return None if a is None or b is None else _extent(added(a.low, b.low), added(a.high, b.high), a, b)

    def _sub(self, x: Expr, y: Expr) -> Extent | None:
        a, b = self.of(x), self.of(y)
        if a is None or b is None:
            return None
        return _extent(added(a.low, b.high.negated()), added(a.high, b.low.negated()), a, b)

    def _mul(self, x: Expr, y: Expr) -> Extent | None:
        x, y = (y, x) if isinstance(x, Literal) else (x, y)
        a = self.of(x)
        if a is None or not isinstance(y, Literal):
            return self._product(x, y)
        factor = nearest_to_zero(y)
        low, high = (a.low, a.high) if factor >= 0 else (a.high.negated(), a.low.negated())
        return _extent(scaled(low, abs(factor)), scaled(high, abs(factor)), a)

    def _product(self, x: Expr, y: Expr) -> Extent | None:
        """Of values that are not negative, and not so large that the product is."""
        a, b = self.of(x), self.of(y)
        if a is None or b is None:
            return None
        needs = [at_least(a.low, 0), at_least(b.low, 0)]
        most = max(a.high.high, b.high.high)
        if a.high.high * b.high.high >= _ROOT * _ROOT:
            needs += [Less(a.high, number(_ROOT)), Less(b.high, number(_ROOT))]
            most = _ROOT
        high = _times(a.high, b.high, most) or _times(b.high, a.high, most)
        x_low, y_low = natural(a.low), natural(b.low)
        low: Bound | None = number(0)
        if x_low is not None and y_low is not None:
            low = at_most(_both("mul", x_low, y_low), _ROOT * _ROOT)
        return _extent(low, high, a, b, more=needs)

    def _shl(self, x: Expr, y: Expr) -> Extent | None:
        """A left shift by a number is a product."""
        a = self.of(x)
        if a is None or not isinstance(y, Literal):
            return None
        factor = 1 << (int(y.value) % y.dtype.bits)
        return _extent(scaled(a.low, factor), scaled(a.high, factor), a)

    # ── what asks that operands fit ──────────────────────────────────────────────────────────────────────────────────

    def _min(self, x: Expr, y: Expr) -> Extent | None:
        return self._extremes("min", x, y)

    def _max(self, x: Expr, y: Expr) -> Extent | None:
        return self._extremes("max", x, y)

    def _extremes(self, op: str, x: Expr, y: Expr) -> Extent | None:
        a, b = self.exact(x), self.exact(y)
        if a is None or b is None:
            return None
        return _extent(_extreme(op, a.low, b.low), _extreme(op, a.high, b.high), a, b)

    def _sub_sat(self, x: Expr, y: Expr) -> Extent | None:
        """Never above the difference or 0, and never below the difference."""
        a, b = self.exact(x), self.exact(y)
        if a is None or b is None or x.dtype.is_signed:
            return None
        most = added(a.high, b.low.negated())
        high = a.high if most is None or most.high > 0 else number(0)
        return _extent(added(a.low, b.high.negated()), high, a, b)

    def _div(self, x: Expr, y: Expr) -> Extent | None:
        a, b = self.exact(x), self.exact(y)
        if a is None or b is None or b.low != b.high or not b.low.is_natural:
            return None
        low, high = (_applied(end, lambda x: Apply(OPS["div"], x, b.low.spelled()), 0) for end in a[:2])
        return _extent(low, high, a, b, more=[at_least(a.low, 0), at_least(b.low, 1)])

    def _rem(self, x: Expr, y: Expr) -> Extent | None:
        a, b = self.exact(x), self.exact(y)
        if a is None or b is None:
            return None
        return _extent(number(0), b.high.shifted(-1), a, b, more=[at_least(a.low, 0), at_least(b.low, 1)])

    def _shr(self, x: Expr, y: Expr) -> Extent | None:
        a = self.exact(x)
        if a is None or not isinstance(y, Literal):
            return None
        count = int(y.value) % y.dtype.bits
        low, high = (_applied(end, lambda x: Apply(OPS["shr"], x, literal(u64, count)), count) for end in a[:2])
        return _extent(low, high, a, more=[at_least(a.low, 0)])

    def _and(self, x: Expr, y: Expr) -> Extent | None:
        """At most either of them."""
        x, y = (y, x) if isinstance(x, Literal) else (x, y)
        if isinstance(y, Literal) and int(y.value) >= 0:
            return Extent(number(0), number(int(y.value)))
        a, b = self.exact(x), self.exact(y)
        if a is None or b is None:
            return None
        high = _extreme("min", a.high, b.high)
        return _extent(number(0), high, a, b, more=[at_least(a.low, 0), at_least(b.low, 0)])

    def _or(self, x: Expr, y: Expr) -> Extent | None:
        """At most as many ones as the longer of them has digits."""
        a, b = self.exact(x), self.exact(y)
        if a is None or b is None or not (a.high.is_natural and b.high.is_natural):
            return None
        digits = Apply(OPS["clz"], _both("or", a.high, b.high))
        ones = Apply(OPS["shr"], literal(u64, u64.highest), digits)
        empty = Apply(OPS["eq"], digits, literal(u64, 64))
        most = (1 << max(a.high.high, b.high.high).bit_length()) - 1
        high = at_most(Select(empty, literal(u64, 0), ones), most)
        return _extent(number(0), high, a, b, more=[at_least(a.low, 0), at_least(b.low, 0)])


_RULES: dict[str, Callable[..., Extent | None]] = {
    "add": Extents._add, "sub": Extents._sub, "mul": Extents._mul, "shl": Extents._shl,
    "min": Extents._min, "max": Extents._max, "sub_sat": Extents._sub_sat,
    "div": Extents._div, "rem": Extents._rem, "shr": Extents._shr,
    "and": Extents._and, "or": Extents._or, "xor": Extents._or,
}  # fmt: skip

RING = frozenset(("add", "sub", "mul", "shl"))
_COARSE = frozenset(("div", "rem", "shr", "and", "or", "xor"))
"""Operations whose rules give wide bounds. Where the region cannot change what they give, that is a bound itself."""


def _extent(low: Bound | None, high: Bound | None, *parts: Extent, more: Iterable[Less] = ()) -> Extent | None:
    if low is None or high is None:
        return None
    needs = dict.fromkeys(claim for claim in (*chain(*(p.needs for p in parts)), *more) if not claim.is_certain)
    return None if any(claim.is_hopeless for claim in needs) else Extent(low, high, tuple(needs))


def _fitting(dtype: DType, extent: Extent) -> Extent | None:
    claims = (at_least(extent.low, dtype.lowest), Less(extent.high, number(dtype.highest + 1)))
    return _extent(extent.low, extent.high, extent, more=claims)


def _applied(bound: Bound, compute: Callable[[Expr], Expr], count: int) -> Bound | None:
    """A function of a bound that is not negative; the result has at least `count` bits fewer."""
    value = natural(bound)
    return None if value is None else at_most(compute(value.spelled()), value.high >> count)


def _both(op: str, a: Bound, b: Bound) -> Expr:
    return Apply(OPS[op], a.spelled(), b.spelled())


def _times(a: Bound, b: Bound, most: int) -> Bound | None:
    """The product of two bounds, of which none is above `most`: ``(x - 1) * y`` is ``x * y - y``."""
    if not b.is_natural:
        return None
    if a.is_natural:
        return at_most(_both("mul", a, b), min(a.high, most) * min(b.high, most))
    if a.minus is not None or a.plus is None:
        return None
    highs = min(a.plus_high, most - a.offset), min(b.high, most)
    product = at_most(Apply(OPS["mul"], a.plus, b.spelled()), highs[0] * highs[1])
    beyond = at_most(Apply(OPS["mul"], b.spelled(), literal(u64, -a.offset)), highs[1] * -a.offset)
    return None if product is None or beyond is None else added(product, beyond.negated())


def _extreme(op: str, a: Bound, b: Bound) -> Bound | None:
    """The lesser or the greater of two bounds, as one expression if it has to be."""
    if (a.high <= b.low) or (b.high <= a.low):
        a_first = a.high <= b.low
        return a if a_first == (op == "min") else b
    if a.plus is b.plus and a.minus is b.minus:
        return a if (a.offset <= b.offset) == (op == "min") else b
    if not (a.is_natural and b.is_natural):
        return None
    return at_most(_both(op, a, b), min(a.high, b.high) if op == "min" else max(a.high, b.high))


def remainder(node: Expr) -> tuple[Expr, Expr] | None:
    """The dividend and the divisor of a remainder.

    Or of ``select((r != 0) & ((r ^ y) < 0), r + y, r)`` where ``r = rem(x, y)``: it has the sign of the divisor.
    """
    match node:
        case Apply(op, (x, y)) if op.id == "rem" and x.dtype.is_integer:
            return x, y
        case Select(condition, Apply(add, (augend, y)), Apply(rem, (x, divisor)) as r) if (
            (add.id, rem.id) == ("add", "rem") and augend is r and divisor is y and x.dtype.is_signed
        ):
            zero = literal(x.dtype, 0)
            differs = Apply(OPS["lt"], Apply(OPS["xor"], r, y), zero)
            return (x, y) if condition is Apply(OPS["and"], Apply(OPS["ne"], r, zero), differs) else None
        case _:
            return None


def nearest_to_zero(constant: Literal) -> int:
    """To a ring, the greatest number of its type is -1."""
    value, dtype = int(constant.value), constant.dtype
    return value - (1 << dtype.bits) if dtype is u32 and value >= 1 << 31 else value


def _rechecked(node: Expr) -> Expr:
    """A load is only proven where it stands, unless its index is a number."""
    if not isinstance(node, Load) or node.checked or _is_element(node.index, node.buffer):
        return node
    return Load(node.buffer, node.index)


def _is_element(index: Expr, buffer: Buffer) -> bool:
    return isinstance(index, Literal) and isinstance(buffer.count, int) and 0 <= int(index.value) < buffer.count
