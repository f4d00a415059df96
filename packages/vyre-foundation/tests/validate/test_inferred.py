"""Bounds of new expressions are those that validation would find; what is learned goes on to what follows from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Local, literal
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ops import OPS
from vyre_foundation.testing import EVERYTHING, generate
from vyre_foundation.text import parse
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.inferred import InferredRanges
from vyre_foundation.validate.later_ranges import LaterRanges

PROGRAM = """
program p workgroup(8, 1, 1) {
  read a: u32[] @0;

  let x = a[0] & 15;
  let y = x + 1;
}
"""
X, Y = Local("x", u32), Local("y", u32)


@pytest.fixture
def ranges() -> InferredRanges:
    program = parse(PROGRAM)
    program = replace(program, body=(*program.body, Let("z", Y)))
    return InferredRanges(program, program.validate().ranges)


def twice(node: Expr) -> Expr:
    return Apply(OPS["add"], node, node)


def test_a_new_expression(ranges: InferredRanges) -> None:
    assert ranges.of(twice(Y)) == (2, 32)
    assert ranges.of(twice(twice(Y))) == (4, 64)
    assert ranges.of(literal(u32, 7)) == (7, 7)


def test_a_deep_new_expression(ranges: InferredRanges) -> None:
    node: Expr = X
    for _ in range(100_000):
        node = Apply(OPS["and"], node, Y)
    assert ranges.of(node) == (0, 15)


def test_what_is_learned(ranges: InferredRanges) -> None:
    assert not ranges.tightened
    ranges.learn(X, Interval(0, 20))
    assert not ranges.tightened
    ranges.learn(X, Interval(3, 20))
    assert ranges.of(X) == (3, 15)
    assert ranges.tightened == {X}
    ranges.infer(Y)
    assert ranges.of(Y) == (1, 16), "it is bound to an expression of which nothing was learned"
    ranges.infer(Apply(OPS["add"], X, literal(u32, 1)))
    ranges.infer(Y)
    assert ranges.of(Y) == (4, 16)


def test_what_is_carried(ranges: InferredRanges) -> None:
    image = Apply(OPS["or"], X, Y)
    ranges.carry(X, image)
    assert ranges.of(image) == (1, 15)


@pytest.mark.parametrize("seed", range(12))
def test_the_same_as_validation_finds(seed: int) -> None:
    program = generate(seed, EVERYTHING).program
    known = LaterRanges(program)
    locals = {node: interval for node, interval in known.items() if isinstance(node, Local)}
    inferred = InferredRanges(program, locals)
    for node, interval in known.items():
        assert inferred.of(node) == interval
