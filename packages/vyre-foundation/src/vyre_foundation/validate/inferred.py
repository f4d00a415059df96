"""Bounds of expressions that a pass makes: computed on demand, from what validation knows about their parts."""

from __future__ import annotations

from collections.abc import Mapping

from vyre_foundation.cached import cached_property
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.ranges import Inference


class InferredRanges:
    """Bounds of a valid program's integer expressions, which `ranges` has, and of others over its locals and buffers.

    An expression may be made of anything that the program declares; what it declares itself does not change.
    """

    def __init__(self, program: Program, ranges: Mapping[Expr, Interval]) -> None:
        self.known = dict(ranges.items())
        """What has been found so far."""
        self.tightened: set[Expr] = set()
        """Of what more has been learned than `ranges` say."""
        self._program = program

    @cached_property
    def _inference(self) -> Inference:
        """For programs that bring nothing new there is none."""
        inference = Inference(self._program)
        inference.of = self.known
        return inference

    def of(self, node: Expr) -> Interval:
        """Every value that `node`, which is an integer, can take lies here."""
        known = self.known.get(node)
        return self._found(node) if known is None else known

    def carry(self, source: Expr, image: Expr) -> None:
        """`image` has the value of `source` wherever it is evaluated: what is known of one holds for the other."""
        known = self.known.get(source)
        if known is not None:
            self.learn(image, known)

    def learn(self, node: Expr, interval: Interval) -> None:
        """`node` is within `interval`, beside what is known of it."""
        known = self.of(node)
        if interval.low > known.low or interval.high < known.high:
            self.tightened.add(node)
            self.known[node] = Interval(max(known.low, interval.low), min(known.high, interval.high))

    def infer(self, node: Expr) -> None:
        """Bound `node`, which is known, by what is known of its sources by now."""
        self.learn(node, self._inference.bounds(node))

    def _found(self, root: Expr) -> Interval:
        """Sources before what follows from them. Beyond a local nothing is new."""
        known, stack = self.known, [root]
        while stack:
            node = stack[-1]
            todo = [source for source in node.args if source.dtype.is_integer and source not in known]
            if todo and node not in known:
                stack += todo
                continue
            stack.pop()
            if node not in known:
                known[node] = self._inference.bounds(node)
        return known[root]
