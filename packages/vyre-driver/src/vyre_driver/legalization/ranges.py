"""What validation knows about integers, carried along when passes rewrite expressions."""

from __future__ import annotations

from collections.abc import Mapping

from vyre_foundation.cached import cached_property
from vyre_foundation.ir.expr import Expr, Literal
from vyre_foundation.validate.facts import Facts, Interval


class Ranges:
    """Bounds of the integer expressions of a program on its way through the passes."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._carried: dict[Expr, Interval] = {}
        self._whole: set[Expr] = set()

    def get(self, node: Expr) -> Interval | None:
        """Every value that `node` can take lies here; None where nothing is known beyond its type."""
        if isinstance(node, Literal) and node.dtype.is_integer:
            return Interval(int(node.value), int(node.value))
        return self._found.get(node) or self._carried.get(node)

    @cached_property
    def _found(self) -> Mapping[Expr, Interval]:
        """What validation has found."""
        return dict(self._facts.ranges)

    def of(self, node: Expr) -> Interval:
        """As `get`; the whole type where nothing is known."""
        return self.get(node) or Interval(node.dtype.lowest, node.dtype.highest)

    def carry(self, source: Expr, image: Expr) -> Expr:
        """`image`, which has the value of `source` wherever it is evaluated."""
        if image is not source and (known := self.get(source)) is not None:
            self._carried.setdefault(image, known)
        if source in self._whole:
            self._whole.add(image)
        return image

    def never_wraps(self, node: Expr) -> bool:
        """Whether a pass knows that of a sum or product that it has made."""
        return node in self._whole

    def learn_whole(self, node: Expr) -> None:
        """A pass knows that a sum or product is what it is without bounds, wherever it is evaluated."""
        self._whole.add(node)

    def learn(self, node: Expr, low: int, high: int) -> None:
        """A pass knows the bounds of an expression that it has made."""
        self._carried[node] = Interval(low, high)
