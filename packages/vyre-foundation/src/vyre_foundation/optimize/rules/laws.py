"""Rules that the laws of the op table say: nothing is written here that an op's row does not claim."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_foundation.dtype import DType
from vyre_foundation.ops import OPS, Laws, Op
from vyre_foundation.optimize.rules.rule import COMMUTATIVE, RewriteRule, Types, rule
from vyre_foundation.optimize.rules.term import Node, c, d, term, x, y


def _types(op: Op, is_float: bool) -> tuple[DType, ...]:
    return tuple(t for t in op.accepts if t.is_float is is_float)


def _of_laws(op: Op, laws: Laws, types: Types) -> Iterator[RewriteRule]:
    def f(*operands: object) -> Node:
        return Node(op, tuple(map(term, operands)))  # type: ignore[arg-type]

    if laws.identity is not None:
        yield rule(types, f(x, laws.identity), x)
    if laws.absorbing is not None:
        yield rule(types, f(x, laws.absorbing), laws.absorbing)
    if laws.self_inverse:
        yield rule(types, f(x, x), 0)
    if laws.involution:
        yield rule(types, f(f(x)), x)
    if laws.idempotent:
        yield rule(types, f(x, x), x)
    if laws.idempotent and laws.associative and laws.commutative:
        yield rule(types, f(f(x, y), y), f(x, y))
    if laws.associative:
        yield rule(types, f(f(x, c), d), f(x, f(c, d)))


def _rules() -> Iterator[RewriteRule]:
    for op in OPS.values():
        for is_float, laws in ((False, op.laws), (True, op.float_laws)):
            dtypes = _types(op, is_float)
            if dtypes:
                text = "floats" if is_float else "integers" if dtypes[0].is_integer else "bool, integers"
                yield from _of_laws(op, laws, Types(text, "T", dtypes.__contains__))


def _ordered() -> Iterator[RewriteRule]:
    """Of a commutative op, a literal is the right operand."""
    for op in COMMUTATIVE:
        yield rule(Types("its types", "T", op.accepts.__contains__), Node(op, (c, x)), Node(op, (x, c)))


RULES = (*_ordered(), *_rules())
