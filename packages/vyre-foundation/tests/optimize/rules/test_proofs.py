"""Every rule is true, and every rule makes an expression lighter. What is wrong is refused."""

from __future__ import annotations

import pytest

from vyre_foundation.dtype import f32, f64, i8, u8
from vyre_foundation.optimize.rules import DOMAINS, RULES
from vyre_foundation.optimize.rules.casts import FITTING
from vyre_foundation.optimize.rules.rule import (
    ANY,
    BITS,
    FLOAT,
    INTEGER,
    NUMBER,
    SIGNED_INTEGER,
    UNSIGNED_INTEGER,
    Fits,
    RewriteRule,
    Types,
    any_of,
    rule,
)
from vyre_foundation.optimize.rules.strength import POWER_OF_TWO
from vyre_foundation.optimize.rules.term import (
    FALSE,
    TRUE,
    Variable,
    bitcast,
    c,
    cast,
    d,
    eq,
    greatest,
    least,
    ne,
    op,
    p,
    select,
    variables,
    x,
    y,
    z,
)
from vyre_foundation.testing.rule_proof import MANY, counterexample
from vyre_foundation.testing.rule_weight import examples, not_lighter

FUSED = any_of("f32, f64", (f32, f64))
SAME_BITS = Types("same size", "A B", lambda a, b: a.bits == b.bits)
TWO = Types("numbers", "A B", lambda a, b: a.bits > 1 and b.bits > 1)
a = Variable("x", "A")

each_domain = pytest.mark.parametrize("domain", DOMAINS)


@each_domain
def test_rules_are_true(domain: str) -> None:
    for row in DOMAINS[domain]:
        assert counterexample(row) is None, str(row)


@pytest.mark.slow
@each_domain
def test_rules_are_true_of_many_values(domain: str) -> None:
    """With all values of one operand of 16 bits."""
    for row in DOMAINS[domain]:
        some = MANY // 2 if row.types.names == ("T",) and len(variables(row.left)) == 1 else 2048
        assert counterexample(row, some) is None, str(row)


@each_domain
def test_rules_make_expressions_lighter(domain: str) -> None:
    for row in DOMAINS[domain]:
        assert not_lighter(row, tries=8) is None, str(row)


@each_domain
def test_every_rule_is_met_by_something(domain: str) -> None:
    for row in DOMAINS[domain]:
        assert any(True for _ in examples(row, tries=60)), str(row)


def test_no_rule_is_there_twice() -> None:
    texts = [f"{row.types.text}: {row}" for row in RULES]
    assert len(set(texts)) == len(texts)


# fmt: off
WRONG = [
    # Roundings.
    rule(FUSED, x * y + z,                 op("fma", x, y, z)),
    rule(FLOAT, x / 3.0,                   x * (1.0 / 3.0)),
    rule(FLOAT, x / c,                     x * (1.0 / c)),
    rule(FLOAT, (x + y) + z,               x + (y + z)),
    rule(FLOAT, (x + c) + d,               x + (c + d)),
    rule(FLOAT, (x * y) / y,               x),
    # NaN, zeros and infinities.
    rule(FLOAT, eq(x, x),                  TRUE),
    rule(FLOAT, x <= x,                    TRUE),
    rule(FLOAT, ne(x, x),                  FALSE),
    rule(FLOAT, x - x,                     0),
    rule(FLOAT, x / x,                     1),
    rule(FLOAT, x * 0.0,                   0),
    rule(FLOAT, x + 0.0,                   x),
    rule(FLOAT, op("sub", 0.0, x),         -x),
    rule(FLOAT, -(x - y),                  y - x),
    rule(FLOAT, ~(x < y),                  y <= x),
    rule(FLOAT, select(x < y, x, y),       least(x, y)),
    rule(FLOAT, select(eq(x, y), x, y),    y),
    rule(FLOAT, least(x, greatest(x, y)),  x),
    rule(FLOAT, op("copysign", x, -y),     -op("copysign", x, y)),
    rule(FLOAT, op("sign", op("abs", x)),  1.0),
    # Widths, signs and wrapping.
    rule(INTEGER, x / x,                   1),
    rule(INTEGER, (x << c) << d,           x << least(c + d, "width - 1")),
    rule(INTEGER, (x << c) << d,           x << (c + d)),
    rule(INTEGER, (x * y) / y,             x),
    rule(INTEGER, (x * y) / y,             x,           y > 0),
    rule(INTEGER, (x * c + y) / c,         x + y / c,   c > 0, x >= 0, y >= 0),
    rule(INTEGER, (x / c) * c + x % c,     x),
    rule(INTEGER, x < x + 1,               TRUE),
    rule(INTEGER, op("abs", -x),           op("abs", x)),
    rule(INTEGER, op("abs", x),            x),
    rule(SIGNED_INTEGER, x / c,            x >> op("ctz", c), POWER_OF_TWO),
    rule(SIGNED_INTEGER, (x << c) >> c,    x & ("ones" >> c)),
    rule(UNSIGNED_INTEGER, x - c < d,      x < c + d),
    rule(UNSIGNED_INTEGER, op("add_sat", x, y), x + y),
    rule(UNSIGNED_INTEGER, op("add_sat", x, y), x + y,  Fits(x - y)),
    # Truth values taken for numbers.
    rule(INTEGER, x & 1,                   x),
    rule(NUMBER, cast("T", ne(x, 0)),      x),
    rule(ANY, select(p, x, y),             select(p, y, x)),
    rule(BITS, ~x & y,                     ~(x & y)),
    # Conversions.
    rule(SAME_BITS, bitcast("A", bitcast("B", a)), a),
    rule(TWO, cast("A", cast("B", a)),     a),
    rule(FITTING, cast("C", cast("B", a)), cast("C", a)),
]
# fmt: on


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_rules_are_refused(wrong: RewriteRule) -> None:
    assert counterexample(wrong, some=256) is not None


def test_a_counterexample_can_be_checked_by_hand() -> None:
    found = counterexample(rule(any_of("u8", (u8,)), x < x + 1, TRUE))
    assert found is not None
    assert (found.values, found.left, found.right) == ({"x": 15}, 0, 1)
    assert found.types["T"].bits == 4


def test_a_rule_about_the_middle_of_a_type_is_refused() -> None:
    found = counterexample(rule(any_of("i8", (i8,)), eq(x, 5), FALSE))
    assert found is not None
    assert found.values == {"x": 5}


@pytest.mark.parametrize(
    "wrong",
    [
        rule(INTEGER, x + y, y + x),
        rule(INTEGER, -x, 0 - x),
        rule(INTEGER, x << 1, x * 2),
        rule(INTEGER, x + c, x - (-c)),
    ],
    ids=str,
)
def test_rules_that_go_round_in_circles_are_refused(wrong: RewriteRule) -> None:
    assert counterexample(wrong) is None
    assert not_lighter(wrong) is not None
