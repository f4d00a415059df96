"""Which outputs a launch writes from end to end, whatever it computes: their memory needs no zeros before.

A buffer is covered when nothing reads it, and its stores write each of its elements whatever the data are. The index of
such a store is a sum of digits, each times a stride: numbers of the workgroup and of the invocation in it, and counters
of loops. A digit takes all values of an interval, independently of the others. Digits in the order of their strides
reach all numbers from 0 on as long as no stride is greater than the number that those before it reach::

    out[workgroup_id.x * 4096 + local_id.x * 64 + step + n]     for step in 0, 8, … 56 and stores with n = 0, 1, … 7

    n reaches 8, step 64, the local id 64 * 64 = 4096, and the workgroup id 4096 for each workgroup

Where nothing asks for numbers of the workgroup or in it, the number of an invocation in the grid is one digit. Lengths
of axes that the launch passes are numbers.

A quotient is a number that is no digit. The rest is what is divided less a multiple of the quotient, so that the two
give a digit again where they are put together, as they are in the place of an element of four axes::

    z / 3 * 3 + z % 3  =  q * 3 + (z - q * 3)  =  z          and          z / 3 < n  where  z < n * 3

Conditions on the way to a store make the intervals of digits shorter, or fail only where the index is beyond the end.
Stores under any other condition count if the other arm has the same ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.dtype import bool_, u64
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE
from vyre_foundation.ir.stmt import Body, Break, Continue, For, If, Let, Region, Return, Stmt, Store
from vyre_foundation.ir.walk import solve, statements
from vyre_foundation.validate.determinism.forms import Polynomial
from vyre_foundation.validate.facts import Interval

Digits = Mapping[Expr, Interval]
"""The values that numbers of the invocation and counters of loops take, at a place of the program."""


def written_everywhere(plan: LaunchPlan) -> frozenset[str]:
    """The names of the outputs that every dispatch of `plan` writes completely and never reads."""
    written = {b for b in plan.program.outputs if b.memory is Memory.STORAGE}
    untouched = {b for b in written if not (plan.facts.usage[b.name].loads or plan.facts.usage[b.name].atomics)}
    if not untouched or plan.num_workgroups == 0:
        return frozenset()
    walk = StoreWalk(plan, untouched)
    found = _joined(walk.stores(plan.program.body, walk.ids, ()), {})
    return frozenset(stores.buffer.name for stores in found if stores.reach >= plan.lengths[stores.buffer.name])


class _Stores(NamedTuple):
    """Stores to ``start + Σ stride · n`` for all n from 0 to below the count of each stride.

    `outer` are the strides of digits that a surrounding statement gives, `inner` those of all others, which are sorted.
    """

    buffer: Buffer
    start: int
    outer: frozenset[tuple[Expr, int, int]]
    inner: tuple[tuple[int, int], ...] = ()

    @property
    def reach(self) -> int:
        """All indices below this are stored to; without outer digits."""
        reach = 1 if self.start == 0 and not self.outer else 0
        for stride, count in self.inner:
            if stride > reach:
                break
            reach += stride * (count - 1)
        return reach


def _joined(stores: Iterable[_Stores], outer: Digits) -> set[_Stores]:
    """Stores in the one form that they have where `outer` are the digits of surrounding statements."""
    starts: defaultdict[_Stores, set[int]] = defaultdict(set)
    for each in stores:
        inside = [(stride, count) for digit, stride, count in each.outer if digit not in outer]
        around = frozenset(digit for digit in each.outer if digit[0] in outer)
        starts[each._replace(start=0, outer=around, inner=_merged((*each.inner, *inside)))].add(each.start)
    return {joined for form, found in starts.items() for joined in _unrolled(form, sorted(found))}


def _unrolled(form: _Stores, starts: Sequence[int]) -> Iterator[_Stores]:
    """Stores whose starts are a further digit, if they are evenly spaced."""
    steps = {after - before for before, after in pairwise(starts)}
    if len(steps) == 1:
        yield form._replace(start=starts[0], inner=_merged((*form.inner, (steps.pop(), len(starts)))))
    else:
        yield from (form._replace(start=start) for start in starts)


def _merged(digits: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Strides and counts in order, where one digit stands for two that count on."""
    merged: list[tuple[int, int]] = []
    for stride, count in sorted(digits):
        if merged and stride == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0], merged[-1][1] * count)
        elif count > 1:
            merged.append((stride, count))
    return tuple(merged)


_IDS = [Id(kind, axis) for kind in (IdKind.WORKGROUP_ID, IdKind.LOCAL_ID, IdKind.GLOBAL_ID) for axis in range(3)]


def _ids(plan: LaunchPlan) -> dict[Expr, Interval]:
    grid, size = plan.grid, plan.program.workgroup_size
    invocations = [groups * each for groups, each in zip(grid, size, strict=True)]
    return {id: Interval(0, count - 1) for id, count in zip(_IDS, (*grid, *size, *invocations), strict=True)}


class StoreWalk:
    """Finds the stores to `buffers` that are made whatever the data are."""

    def __init__(self, plan: LaunchPlan, buffers: set[Buffer]) -> None:
        self._plan = plan
        self._buffers = buffers
        self._lets: dict[str, Expr] = {}
        self._returns = plan.program.memoised(_returns)
        self.ids: Digits = _ids(plan)
        self._widest = dict(self.ids)
        self._sums: dict[Expr, Polynomial | None] = {}
        self._quotients: dict[Expr, tuple[Polynomial, int]] = {}
        """What stands for a quotient in sums: what is divided, and by what."""
        ids = plan.program.code.of(Id)
        self._divided = {i.axis for i in ids if i.kind in (IdKind.WORKGROUP_ID, IdKind.LOCAL_ID)}
        """The axes on which the program asks for numbers of the workgroup, or in it."""

    def stores(self, body: Body, digits: Digits, limits: tuple[Polynomial, ...]) -> Iterator[_Stores]:
        """Those of a body that runs for all `digits` whose `limits` are negative."""
        for stmt in body:
            match stmt:
                case Let(name, value):
                    self._lets[name] = value
                case Region(_, inner):
                    yield from self.stores(inner, digits, limits)
                case Store(buffer, index) if buffer in self._buffers:
                    yield from self._store(buffer, index, digits, limits)
                case If(condition, then, ()) if (more := self.limits(condition, True)) is not None:
                    yield from self._within(then, digits, limits, more)
                case If(_, then, orelse):
                    arms = (_joined(self.stores(arm, digits, limits), digits) for arm in (then, orelse))
                    yield from set.intersection(*arms)
                case For():
                    yield from self._loop(stmt, digits, limits)
            if self._returns and contains(stmt, Return):
                after = self.limits(stmt.condition, False) if isinstance(stmt, If) and _only_returns(stmt) else None
                if after is None:
                    return
                digits, limits = _narrowed(digits, after), (*limits, *after)

    def _within(
        self, body: Body, digits: Digits, limits: tuple[Polynomial, ...], more: tuple[Polynomial, ...]
    ) -> Iterator[_Stores]:
        yield from self.stores(body, _narrowed(digits, more), (*limits, *more))

    def _store(self, buffer: Buffer, index: Expr, digits: Digits, limits: tuple[Polynomial, ...]) -> Iterator[_Stores]:
        """A store, if all that keeps it from being made is that its index is beyond the end."""
        form = self._sum(index)
        if form is None or not self._is_of_digits(form):
            return
        beyond = Polynomial(form.const - self._plan.lengths[buffer.name], form.terms)
        digits = _narrowed(digits, [beyond])
        if any(low > high for low, high in digits.values()):
            return
        if any(_bounds(limit, digits).high >= 0 > _bounds(beyond.plus(limit, -1), digits).low for limit in limits):
            return
        strides = [(digit, stride, digits[digit]) for (digit,), stride in form.terms.items()]
        start = _bounds(form, digits).low
        yield _Stores(
            buffer, start, frozenset((d, abs(s), b.high - b.low + 1) for d, s, b in strides if b.high > b.low)
        )

    def _loop(self, loop: For, digits: Digits, limits: tuple[Polynomial, ...]) -> Iterator[_Stores]:
        """Those of a loop that nothing leaves early; its counter is its start, and a digit times its step."""
        start, stops = self._sum(loop.start), [self._sum(stop) for stop in self._least_of(loop.stop)]
        if start is None or None in stops or contains(loop, Return, Break, Continue):
            return
        counter = Local(loop.name, loop.start.dtype)
        lengths = [stop.plus(start, -1) for stop in stops if stop is not None]
        if not all(map(self._is_of_digits, (start, *lengths))):
            return
        count = min(-(-_bounds(length, digits).high // loop.step) for length in lengths)
        digit = Polynomial(0, {(counter,): loop.step})
        self._widest[counter] = Interval(0, count - 1)
        self._sums[counter] = start.plus(digit)
        yield from self._within(loop.body, {**digits, counter: self._widest[counter]}, limits,
                                tuple(digit.plus(length, -1) for length in lengths))  # fmt: skip

    def _least_of(self, stop: Expr) -> tuple[Expr, ...]:
        """The expressions of which `stop` is the least."""
        while isinstance(stop, Local) and stop.name in self._lets:
            stop = self._lets[stop.name]
        return stop.args if isinstance(stop, Apply) and stop.op.id == "min" else (stop,)

    def limits(self, condition: Expr, holds: bool) -> tuple[Polynomial, ...] | None:
        """The sums that are negative exactly where `condition` holds, or does not; None if it says anything else."""
        match condition:
            case Local(name) if name in self._lets:
                return self.limits(self._lets[name], holds)
            case Apply(op, (x, y)) if x.dtype is bool_:
                first, second = self.limits(x, holds), self.limits(y, holds)
                is_both = op.id == ("and" if holds else "or")
                return None if first is None or second is None or not is_both else (*first, *second)
            case Apply(op, (x, y)) if (found := _COMPARISONS.get((op.id, holds))) is not None:
                return self._compared(x, y, *found)
        return None

    def _compared(self, x: Expr, y: Expr, *less: tuple[int, int]) -> tuple[Polynomial, ...] | None:
        first, second = self._sum(x), self._sum(y)
        if first is None or second is None:
            return None
        difference = first.plus(second, -1)
        found = [self._without_quotients(Polynomial(const, {}).plus(difference, factor)) for factor, const in less]
        return None if None in found else tuple(limit for limits in found if limits is not None for limit in limits)

    def _without_quotients(self, limit: Polynomial) -> tuple[Polynomial, ...] | None:
        """Sums of digits that are negative exactly where `limit` is; () if it always is; None if none is known."""
        latest = self._latest(limit)
        if latest is None:
            return (limit,)
        if self._interval(limit).high < 0:
            return ()
        (x, divisor), factor = self._quotients[latest], limit.terms[latest,]
        rest = limit.plus(Polynomial(0, {(latest,): 1}), -factor)
        if rest.terms:
            return None
        if factor > 0:  # the quotient is below a number
            return self._without_quotients(x.plus(Polynomial(rest.const // factor * divisor, {})))
        least = rest.const // -factor + 1
        return self._without_quotients(Polynomial(least * divisor - 1, {}).plus(x, -1))

    # ── sums of digits ───────────────────────────────────────────────────────────────────────────────────────────────

    def _sum(self, root: Expr) -> Polynomial | None:
        """What `root` is, over the integers, as a sum of digits; None if it is another value, or may wrap."""
        return solve(root, self._sums, self._sources, self._conclude)

    def _sources(self, node: Expr) -> Sequence[Expr]:
        match node:
            case Local(name) if name in self._lets:
                return (self._lets[name],)
            case Cast(dtype, value) if dtype.is_integer and value.dtype.is_integer:
                return (value,)
            case Apply(op, args) if op.id in (*_SUMS, *_DIVISIONS) and node.dtype.is_integer:
                return args
        return ()

    def _conclude(self, node: Expr, parts: Sequence[Polynomial | None]) -> Polynomial | None:
        axes = self._plan.axes
        match node, parts:
            case Literal(), _ if node.dtype.is_integer:
                return Polynomial(int(node.value), {})
            case Length(buffer), _:
                return Polynomial(self._plan.lengths[buffer.name], {})
            case Id(IdKind.NUM_WORKGROUPS, axis), _:
                return Polynomial(self._plan.grid[axis], {})
            case Load(buffer, Literal() as index), _ if buffer.name == LAUNCH_SHAPE and int(index.value) < len(axes):
                return Polynomial(axes[int(index.value)], {})
            case Id(IdKind.GLOBAL_ID, axis), _ if axis in self._divided:
                group, local = Id(IdKind.WORKGROUP_ID, axis), Id(IdKind.LOCAL_ID, axis)
                return Polynomial(0, {(group,): self._plan.program.workgroup_size[axis], (local,): 1})
            case Id(IdKind.WORKGROUP_ID | IdKind.LOCAL_ID | IdKind.GLOBAL_ID), _:
                return Polynomial(0, {(node,): 1})
            case Local() | Cast(), [Polynomial() as value]:
                return self._exact(node, value)
            case Apply(op), [Polynomial() as x, Polynomial() as y] if op.id in _DIVISIONS:
                is_known = not y.terms and (op.id != "shr" or y.const < node.dtype.bits)
                return self._divided_by(x, _DIVISIONS[op.id](y.const), op.id in _RESTS) if is_known else None
            case Apply(op), [Polynomial() as x, Polynomial() as y]:
                return self._exact(node, _SUMS[op.id](x, y))
        return None

    def _divided_by(self, x: Polynomial, divisor: int, is_rest: bool) -> Polynomial | None:
        """The quotient or the rest of a division of what is not negative."""
        bounds = self._interval(x)
        if divisor < 1 or bounds.low < 0:
            return None
        known = (quotient for quotient, division in self._quotients.items() if division == (x, divisor))
        quotient = next(known, None) or Local(f"quotient {len(self._quotients)}", u64)
        self._quotients[quotient] = x, divisor
        self._widest[quotient] = Interval(0, bounds.high // divisor)
        whole = Polynomial(0, {(quotient,): 1})
        return x.plus(whole, -divisor) if is_rest else whole

    def _interval(self, form: Polynomial) -> Interval:
        """Bounds of a sum, with those of the rests of divisions in it, which are below their divisors."""
        found, latest = _bounds(form, self._widest), self._latest(form)
        if latest is None:
            return found
        (x, divisor), factor = self._quotients[latest], form.terms[latest,]
        if factor % divisor:
            return found
        times = -factor // divisor
        low, high = self._interval(form.plus(Polynomial(0, {(latest,): 1}), -factor).plus(x, -times))
        least, most = sorted((0, times * (divisor - 1)))
        return Interval(max(found.low, low + least), min(found.high, high + most))

    def _latest(self, form: Polynomial) -> Expr | None:
        """The quotient in a sum that was found last: no other quotient of the sum is made of it."""
        return next((quotient for quotient in reversed(self._quotients) if (quotient,) in form.terms), None)

    def _is_of_digits(self, form: Polynomial) -> bool:
        return self._latest(form) is None

    def _exact(self, node: Expr, form: Polynomial | None) -> Polynomial | None:
        if form is None:
            return None
        bounds = self._interval(form)
        return form if node.dtype.lowest <= bounds.low and bounds.high <= node.dtype.highest else None


def _product(x: Polynomial, y: Polynomial) -> Polynomial | None:
    if x.terms and y.terms:
        return None
    factor, form = (x.const, y) if y.terms else (y.const, x)
    return Polynomial(0, {}).plus(form, factor)


_SUMS: dict[str, Callable[[Polynomial, Polynomial], Polynomial | None]] = {
    "add": lambda x, y: x.plus(y),
    "sub": lambda x, y: x.plus(y, -1),
    "mul": _product,
    "shl": lambda x, y: None if y.terms or not 0 <= y.const < 64 else _product(x, Polynomial(1 << y.const, {})),
}
_DIVISIONS: dict[str, Callable[[int], int]] = {
    "div": lambda y: y,
    "rem": lambda y: y,
    "shr": lambda y: 1 << y if y >= 0 else 0,
    "and": lambda y: y + 1 if y >= 0 and not y & (y + 1) else 0,
}
"""Divisions, and by what they are for a second operand; by 0 where it is none."""
_RESTS = ("rem", "and")
_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL = (1, 0), (1, -1), (-1, 0), (-1, -1)
"""A factor and a constant: what makes a difference negative where it is less than 0, at most 0, greater, at least 0."""
_COMPARISONS = {
    ("lt", True): (_LESS,), ("ge", False): (_LESS,), ("le", True): (_LESS_EQUAL,), ("gt", False): (_LESS_EQUAL,),
    ("gt", True): (_GREATER,), ("le", False): (_GREATER,), ("ge", True): (_GREATER_EQUAL,),
    ("lt", False): (_GREATER_EQUAL,), ("eq", True): (_LESS_EQUAL, _GREATER_EQUAL),
    ("ne", False): (_LESS_EQUAL, _GREATER_EQUAL),
}  # fmt: skip


def _bounds(form: Polynomial, digits: Digits) -> Interval:
    return form.interval(digits, digits)


def _narrowed(digits: Digits, limits: Iterable[Polynomial]) -> Digits:
    """The digits without values with which a limit is not negative, whatever the other digits are."""
    narrowed = dict(digits)
    for limit in limits:
        for (digit,), stride in sorted(limit.terms.items(), key=lambda term: -abs(term[1])):
            low, high = narrowed[digit]
            least = _bounds(limit.plus(Polynomial(0, {(digit,): stride}), -1), narrowed).low
            if stride > 0:
                high = min(high, -(least // stride) - 1)
            else:
                low = max(low, least // -stride + 1)
            narrowed[digit] = Interval(low, high)
    return narrowed


def contains(stmt: Stmt, *kinds: type[Stmt]) -> bool:
    """Whether a statement of these kinds is in `stmt`."""
    return any(isinstance(inner, kinds) for inner in statements((stmt,)))


def _returns(program: Program) -> bool:
    return any(isinstance(stmt, Return) for stmt in program.statements)


def _only_returns(stmt: If) -> bool:
    return stmt.then == (Return(),) and not stmt.orelse
