"""The elements that an index takes: sums of ids and counters times numbers, and sets of numbers as the bits of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Load, Local
from vyre_foundation.ir.walk import postorder

Digits = Mapping[Expr, range]
"""Ids and counters, with all the values that they take, none below 0."""

_MAX_NODES = 64


@dataclass(frozen=True, slots=True)
class Sum:
    """``constant + x * weights[x] + …``, at most `most`, which its type can hold: no value of it wraps."""

    constant: int
    weights: Mapping[Expr, int]
    most: int


class Images:
    """Reads indices over `digits`, which grow by the counters of loops."""

    def __init__(self, digits: dict[Expr, range], values: Mapping[Expr, Expr]) -> None:
        """`values` are what constant locals stand for."""
        self.digits = digits
        self._values = values
        self._counters: set[Expr] = set()
        self._sums: dict[Expr, Sum | None] = {}

    def enter(self, counter: Local, values: range) -> None:
        """From here on `counter` may be in indices; `values` is empty where they are not known."""
        self._counters.add(counter)
        if values:
            self.digits[counter] = values

    def sum(self, index: Expr) -> Sum | None:
        """`index` as a sum of digits, if it is one."""
        if index not in self._sums:
            nodes = postorder((index,))
            self._sums[index] = self._of(nodes) if len(nodes) <= _MAX_NODES else None
        return self._sums[index]

    def is_constant(self, index: Expr) -> bool:
        """Whether `index` is the same wherever it stands in one round of the loops around it."""
        return not any(
            isinstance(node, Load)
            or (isinstance(node, Local) and node not in self._values and node not in self._counters)
            for node in postorder((index,))
        )

    def _of(self, nodes: list[Expr]) -> Sum | None:
        sums: dict[Expr, Sum | None] = {}
        for node in nodes:
            if values := self.digits.get(node):
                only = values[0] == values[-1]
                sums[node] = Sum(values[0] if only else 0, {} if only else {node: 1}, values[-1])
            elif isinstance(node, Local):
                sums[node] = self.sum(self._values[node]) if node in self._values else None
            else:
                sums[node] = _combined(node, [sums[a] for a in node.args])
        return sums[nodes[-1]]


def _combined(node: Expr, args: list[Sum | None]) -> Sum | None:
    match node, args:
        case Literal(dtype), _ if dtype.is_integer:
            return _fitting(node, Sum(int(node.value), {}, int(node.value)))
        case Cast(dtype, value), [Sum() as inner] if dtype.is_integer and value.dtype.is_integer:
            return _fitting(node, inner)
        case Apply(op), [Sum() as a, Sum() as b] if op.id == "add":
            weights = {digit: a.weights.get(digit, 0) + b.weights.get(digit, 0) for digit in {**a.weights, **b.weights}}
            return _fitting(node, Sum(a.constant + b.constant, weights, a.most + b.most))
        case Apply(op), [Sum() as a, Sum() as b] if op.id == "mul" and not (a.weights and b.weights):
            x, factor = (a, b.constant) if a.weights else (b, a.constant)
            weights = {digit: weight * factor for digit, weight in x.weights.items() if factor}
            return _fitting(node, Sum(x.constant * factor, weights, x.most * factor))
        case _:
            return None


def _fitting(node: Expr, found: Sum) -> Sum | None:
    return found if 0 <= found.most <= node.dtype.highest else None


def spread(numbers: int, weight: int, values: range, limit: int) -> int:
    """The numbers below `limit` that are one of `numbers` plus `weight` times one of the values."""
    below = (1 << limit) - 1
    numbers = numbers << weight * values.start & below if weight * values.start < limit else 0
    distance = weight * values.step
    left, have = len(values[: -(-limit // distance)]), 1  # a range may have more than `len` can say
    while have < left:  # twice as many each time
        more = min(have, left - have)
        numbers |= numbers << more * distance & below
        have += more
    return numbers
