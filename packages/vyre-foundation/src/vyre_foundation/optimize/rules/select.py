"""Selects. Both arms are pure values, so nothing is lost with an arm that goes."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_foundation.ops import OPS, Tier
from vyre_foundation.optimize.rules.rule import (
    ANY,
    BITS,
    BOOL,
    COMMUTATIVE,
    INTEGER,
    SIGNED_INTEGER,
    RewriteRule,
    Types,
    rule,
)
from vyre_foundation.optimize.rules.term import (
    FALSE,
    TRUE,
    Node,
    Variable,
    bitcast,
    c,
    cast,
    d,
    eq,
    greatest,
    least,
    literals,
    ne,
    op,
    p,
    q,
    select,
    x,
    y,
    z,
)

(e,) = literals("e")


def _of_literals() -> Iterator[RewriteRule]:
    """An op on a choice of literals is a choice of literals, where that makes the other operand a literal too."""
    for row in OPS.values():
        if row.tier is Tier.RAW or row.arity == 3 or row.id in ("gt", "ge"):
            continue
        types = Types("its types", "T", row.accepts.__contains__)
        if row.arity == 1:
            yield rule(types, Node(row, (select(p, c, d),)), select(p, Node(row, (c,)), Node(row, (d,))))
            continue
        yield rule(types, Node(row, (select(p, c, d), e)), select(p, Node(row, (c, e)), Node(row, (d, e))))
        if row not in COMMUTATIVE:
            yield rule(types, Node(row, (e, select(p, c, d))), select(p, Node(row, (e, c)), Node(row, (e, d))))


A_c, A_d = (Variable(name, "A", is_literal=True) for name in "cd")
SAME_SIZE = Types("same size", "A B", lambda a, b: a.bits == b.bits and a.bits > 1)
BOTH = Types("all types", "A B", lambda a, b: True)

# fmt: off
RULES = (
    rule(ANY,  select(TRUE, x, y),                  x),
    rule(ANY,  select(FALSE, x, y),                 y),
    rule(ANY,  select(p, x, x),                     x),
    rule(ANY,  select(~p, x, y),                    select(p, y, x)),
    # A condition that is known inside, or asked for twice.
    rule(ANY,  select(p, select(p, x, y), z),       select(p, x, z)),
    rule(ANY,  select(p, x, select(p, y, z)),       select(p, x, z)),
    rule(ANY,  select(p, select(q, x, y), y),       select(p & q, x, y)),
    rule(ANY,  select(p, x, select(q, x, y)),       select(p | q, x, y)),
    # Truth values, and numbers that are truth values.
    rule(BOOL, select(p, TRUE, x),                  p | x),
    rule(BOOL, select(p, x, FALSE),                 p & x),
    rule(BOOL, select(p, FALSE, x),                 ~p & x),
    rule(BOOL, select(p, x, TRUE),                  ~p | x),
    rule(INTEGER, select(p, 1, 0),                  cast("T", p)),
    rule(INTEGER, select(p, 0, 1),                  cast("T", ~p)),
    # What the condition says about the arms.
    rule(BITS, select(eq(x, y), x, y),              y),
    rule(BITS, select(ne(x, y), x, y),              x),
    rule(INTEGER, select(x < y, x, y),              least(x, y)),
    rule(INTEGER, select(x < y, y, x),              greatest(x, y)),
    rule(INTEGER, select(x <= y, x, y),             least(x, y)),
    rule(INTEGER, select(x <= y, y, x),             greatest(x, y)),
    rule(SIGNED_INTEGER, select(x < 0, -x, x),      op("abs", x)),
    rule(SIGNED_INTEGER, select(op("lt", 0, x), x, -x), op("abs", x)),
    # Choices of literals.
    *_of_literals(),
    rule(BOTH,      cast("B", select(p, A_c, A_d)),    select(p, cast("B", A_c), cast("B", A_d))),
    rule(SAME_SIZE, bitcast("B", select(p, A_c, A_d)), select(p, bitcast("B", A_c), bitcast("B", A_d))),
)
# fmt: on
