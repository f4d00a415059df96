"""A node meets the rules that may be about it; what ranges prove, narrower ranges prove too."""

from __future__ import annotations

from random import Random

from vyre_foundation.dtype import f32, u32
from vyre_foundation.ir.expr import Apply, Expr, Literal, Local, literal
from vyre_foundation.ops import OPS
from vyre_foundation.optimize.matching import applied
from vyre_foundation.optimize.rulebook import Rulebook
from vyre_foundation.optimize.rules import RULES
from vyre_foundation.optimize.rules.rule import FLOAT, INTEGER, rule
from vyre_foundation.optimize.rules.term import c, d, variables, x, y
from vyre_foundation.testing.rule_weight import examples
from vyre_foundation.validate.facts import Interval

X, Y = Local("x", u32), Local("y", u32)
SUM = rule(INTEGER, (x + c) + d, x + (c + d))
SAME = rule(INTEGER, x - x, 0)
ZERO = rule(INTEGER, x + 0, x)
FLOATS = rule(FLOAT, x + y, y + x)
BOOK = Rulebook([SUM, SAME, ZERO, FLOATS])


def node(op: str, *args: Expr | int) -> Apply:
    return Apply(OPS[op], *[literal(u32, arg) if isinstance(arg, int) else arg for arg in args])


def met(node: Apply) -> list[object]:
    return [row.rule for row in BOOK.about(node)]


def test_by_what_the_operands_are() -> None:
    assert met(node("add", X, Y)) == []
    assert met(node("add", node("add", X, Y), 3)) == [SUM]
    assert met(node("add", node("add", X, Y), 0)) == [SUM, ZERO]
    assert met(node("add", X, 0)) == [ZERO]
    assert met(node("add", X, 1)) == []
    assert met(node("sub", X, Y)) == []
    assert met(node("sub", X, X)) == [SAME]
    assert met(node("mul", X, X)) == []


def test_by_the_kind_of_the_operands() -> None:
    z = Local("z", f32)
    assert met(Apply(OPS["add"], z, z)) == [FLOATS, FLOATS]


def test_the_orders_of_a_left_side() -> None:
    assert len(rule(INTEGER, (x + y) * (x + c), x).lefts) == 4
    assert len(rule(INTEGER, (x - y) * c, x).lefts) == 1
    assert len(rule(INTEGER, x + x, x).lefts) == 1


def test_the_right_side_has_no_variable_of_its_own() -> None:
    for row in RULES:
        assert set(variables(row.right)) <= set(variables(row.left)), str(row)


def test_narrower_ranges_prove_no_less() -> None:
    """So trying single values, the narrowest ranges, tries the condition where it holds most easily."""
    rng = Random(0)
    for row in RULES:
        if not row.where or row.types.names != ("T",):
            continue
        for left, _ in list(examples(row, 3))[:12]:
            dtype = left.args[0].dtype
            ends = [rng.choice((dtype.lowest, dtype.highest, 0, 1, 5, 16, dtype.highest // 3)) for _ in range(4)]
            wide, narrow = {}, {}
            for name in "xyz":
                wide[name] = Interval(*sorted(rng.sample(ends, 2)))
                low = rng.randint(*wide[name])
                narrow[name] = Interval(low, rng.randint(low, wide[name].high))
            if is_applied(row, left, wide):
                assert is_applied(row, left, narrow), f"{row} {left} {wide} {narrow}"


def is_applied(row, left: Expr, ranges: dict[str, Interval]) -> bool:
    def range_of(expr: Expr) -> Interval:
        if isinstance(expr, Literal):
            return Interval(int(expr.value), int(expr.value))
        assert isinstance(expr, Local)
        return ranges[expr.name]

    return applied(row, row.left, left, range_of) is not None
