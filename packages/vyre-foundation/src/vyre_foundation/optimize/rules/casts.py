"""Conversions: what goes through a type that keeps it need not go there.

A conversion to an integer type is modulo 2ⁿ from an integer, and clamps from a float: these differ, so what is said of
the one is not said of the other. A bitcast to a float and back makes every NaN canonical: it stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from vyre_foundation.dtype import DTYPES, NUMBERS, DType, bool_
from vyre_foundation.optimize.rules.rule import INTEGER, NUMBER, Fits, RewriteRule, Survives, Types, rule
from vyre_foundation.optimize.rules.term import FALSE, Variable, bitcast, cast, eq, ne, op, p, values, x

a, b = values("x y", "A")
c_B = Variable("c", "B", is_literal=True)


def holds(b: DType, a: DType) -> bool:
    """Whether b has every value of a, so that the conversion keeps it."""
    if a is b or a is bool_:
        return True
    if b is bool_:
        return False
    if a.format and b.format:
        precision, emin, emax = a.format
        return precision <= b.format.precision and emin >= b.format.emin and emax <= b.format.emax
    if a.format:
        return False
    if b.format:
        return a.bits - a.is_signed <= b.format.precision and a.bits - 1 <= b.format.emax
    return b.lowest <= a.lowest and a.highest <= b.highest


def _goes_through(a: DType, b: DType, c: DType) -> bool:
    """Whether c(b(x)) is c(x) for every x of a."""
    if holds(b, a):  # but a float clamps what an integer wraps
        return not (b.is_float and c.is_integer and a.is_integer) or holds(c, a)
    return a.is_integer and b.is_integer and c.is_integer and c.bits <= b.bits


def _same_bits(*dtypes: DType) -> bool:
    return len({dtype.bits for dtype in dtypes}) == 1


def _integers(*dtypes: DType) -> bool:
    return all(dtype.is_integer for dtype in dtypes)


# fmt: off
SAME         = Types("all types", "A", DTYPES.__contains__)
THROUGH      = Types("B keeps what C gets of A", "A B C", _goes_through)
PATTERNS     = Types("B integer", "A B C", lambda a, b, c: _same_bits(a, b, c) and b.is_integer and c is not bool_)
FITTING      = Types("A, B integers", "A B C", lambda a, b, c: _integers(a, b))
FITTING_BITS = Types("A, B integers", "A B C", lambda a, b, c: _integers(a, b) and _same_bits(a, b))
LOW_BITS     = Types("C not wider", "A B C", lambda a, b, c: _integers(a, b, c) and a.bits == b.bits >= c.bits)
WRAPPED      = Types("B, C integers", "A B C", lambda a, b, c: not a.is_float and _integers(b, c) and _same_bits(b, c))
EXACT        = Types("B holds A", "A B", lambda a, b: {a, b}.issubset(NUMBERS) and a is not b and holds(b, a))
BOTH         = Types("integers", "A B", _integers)
WIDER        = Types("integers, B not narrower", "A B", lambda a, b: _integers(a, b) and b.bits >= a.bits)
INTO_FLOAT   = Types("from integers to floats", "A B", lambda a, b: not a.is_float and b.is_float)
FLOATS_BOTH  = Types("floats", "A B", lambda a, b: a.is_float and b.is_float)
# fmt: on


def _compared() -> Iterator[RewriteRule]:
    """Values are compared in the type in which they are, not in one that only holds them."""
    for id in ("eq", "ne", "lt", "le"):
        yield rule(EXACT, op(id, cast("B", a), cast("B", b)), op(id, a, b))
        yield rule(EXACT, op(id, cast("B", a), c_B), op(id, a, cast("A", c_B)), Survives(c_B, "A"))
        yield rule(BOTH, op(id, cast("B", a), cast("B", b)), op(id, a, b), Fits(a, "B"), Fits(b, "B"))
        if id in ("lt", "le"):
            yield rule(EXACT, op(id, c_B, cast("B", a)), op(id, cast("A", c_B), a), Survives(c_B, "A"))


def _narrow() -> Iterator[RewriteRule]:
    """The low bits of a result depend on the low bits of the operands only."""
    for id in ("add", "sub", "mul", "and", "or", "xor"):
        yield rule(WIDER, cast("A", op(id, cast("B", a), cast("B", b))), op(id, a, b))
        yield rule(WIDER, cast("A", op(id, cast("B", a), c_B)), op(id, a, cast("A", c_B)))
        if id == "sub":
            yield rule(WIDER, cast("A", op(id, c_B, cast("B", a))), op(id, cast("A", c_B), a))
    for id in ("not", "neg"):
        yield rule(WIDER, cast("A", op(id, cast("B", a))), op(id, a))


def _classes() -> Iterator[RewriteRule]:
    for id in ("floor", "ceil", "trunc", "round"):
        yield rule(INTO_FLOAT, op(id, cast("B", a)), cast("B", a))
    yield rule(INTO_FLOAT, op("is_nan", cast("B", a)), FALSE)
    yield rule(FLOATS_BOTH, op("is_nan", cast("B", a)), op("is_nan", a))


# fmt: off
RULES = (
    rule(SAME,       cast("A", a),                    a),
    rule(SAME,       bitcast("A", a),                 a),
    rule(THROUGH,    cast("C", cast("B", a)),         cast("C", a)),
    rule(FITTING,    cast("C", cast("B", a)),         cast("C", a),      Fits(a, "B")),
    rule(PATTERNS,   bitcast("C", bitcast("B", a)),   bitcast("C", a)),
    rule(LOW_BITS,   cast("C", bitcast("B", a)),      cast("C", a)),
    rule(FITTING_BITS, cast("C", bitcast("B", a)),    cast("C", a),      Fits(a, "B")),
    rule(WRAPPED,    bitcast("C", cast("B", a)),      cast("C", a)),
    # Truth values.
    rule(NUMBER,     cast(bool_, x),                  ne(x, 0)),
    rule(NUMBER,     ne(cast("T", p), 0),             p),
    rule(NUMBER,     eq(cast("T", p), 0),             ~p),
    rule(NUMBER,     eq(cast("T", p), 1),             p),
    rule(NUMBER,     ne(cast("T", p), 1),             ~p),
    rule(INTEGER,    op("lt", 0, cast("T", p)),       p),
    *_compared(),
    *_narrow(),
    *_classes(),
)
# fmt: on
