"""Why rewriting ends: every rule makes an expression lighter, and nothing is lighter than all that comes after it.

The weight of an expression is that of all its nodes, then how many literals stand on the left of commutative ops, then
the bits of its literals as numbers. What is lighter in itself is lighter wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Literal, Local, Select
from vyre_foundation.ops import Op
from vyre_foundation.optimize.matching import applied
from vyre_foundation.optimize.rules.rule import COMMUTATIVE, Fits, Holds, RewriteRule, Survives, Test
from vyre_foundation.optimize.rules.term import Node, Number, Term, Variable, operand_type, variables
from vyre_foundation.testing.values import random_literal
from vyre_foundation.validate.facts import Interval

_USUAL = 4
# fmt: off
_WEIGHTS: dict[object, int] = {
    "neg": 3, "not": 3, "gt": 5, "ge": 5, "min": 5, "max": 5, "abs_diff": 5, "mul": 6,
    "add_sat": 8, "sub_sat": 8, "copysign": 8, "mul_sat": 10, "mul_high": 10, "fma": 12, "div": 20, "rem": 20,
    Bitcast: 2, Cast: 5, Select: 9, Literal: 0, Local: 1,
}
# fmt: on

Weight = tuple[int, int, int]


def weight(expr: Expr) -> Weight:
    """The weight of a small expression, counted as a tree."""
    kind = expr.op.id if isinstance(expr, Apply) else type(expr)
    left = isinstance(expr, Apply) and expr.op in COMMUTATIVE and isinstance(expr.args[0], Literal)
    bits = expr.bits if isinstance(expr, Literal) else 0
    own = (_WEIGHTS.get(kind, _USUAL), int(left), bits)
    return tuple(map(sum, zip(own, *map(weight, expr.args), strict=True)))  # type: ignore[return-value]


def not_lighter(rule: RewriteRule, tries: int = 40) -> tuple[Expr, Expr] | None:
    """An expression that `rule` rewrites, and what becomes of it, if that is not lighter."""
    for left, right in examples(rule, tries):
        if weight(right) >= weight(left):
            return left, right
    return None


def examples(rule: RewriteRule, tries: int) -> Iterator[tuple[Expr, Expr]]:
    """Expressions that the rule rewrites, with what becomes of them: values are locals, literals are drawn."""
    rng = Random(str(rule))
    for types in rule.types.assignments():
        for _ in range(tries):
            bound = {v.name: _drawn(rng, v, types) for v in variables(rule.left)}
            left = _made(rule.left, bound, types, types.get("T", bool_))
            relaxed = RewriteRule(
                rule.types, rule.left, rule.right, tuple(w for w in rule.where if _is_about_literals(w))
            )
            right = None if left is None else applied(relaxed, rule.left, left, _interval)
            if left is not None and right is not None:
                yield left, right


def _drawn(rng: Random, variable: Variable, types: dict[str, DType]) -> Expr:
    dtype = types[variable.type] if isinstance(variable.type, str) else variable.type
    return random_literal(rng, dtype) if variable.is_literal else Local(variable.name, dtype)


def _made(term: Term, bound: dict[str, Expr], types: dict[str, DType], dtype: DType) -> Expr | None:
    """The expression of a left side, with nothing folded; None if a type does not hold its numbers."""
    match term:
        case Variable(name):
            return bound[name]
        case Number():
            return term.of(dtype)
        case Node(symbol, args, to):
            operand = operand_type(term, 1 if symbol is Select else 0)
            inner = types[operand] if isinstance(operand, str) else operand or dtype
            places = (bool_, inner, inner) if symbol is Select else (inner,) * len(args)
            made = [_made(arg, bound, types, place) for arg, place in zip(args, places, strict=True)]
            operands = [expr for expr in made if expr is not None]
            if len(operands) < len(made):
                return None
            if isinstance(symbol, Op):
                return Apply(symbol, *operands)
            if symbol is Select:
                return Select(*operands)
            assert to is not None
            target = types[to] if isinstance(to, str) else to
            return Cast(target, *operands) if symbol is Cast else Bitcast(target, *operands)
        case _:
            raise AssertionError(term)


def _is_about_literals(condition: Holds | Fits | Test | Survives) -> bool:
    match condition:
        case Holds(comparison):
            return all(v.is_literal for v in variables(comparison))
        case Fits(sum):
            return all(v.is_literal for v in variables(sum))
        case _:
            return True


def _interval(expr: Expr) -> Interval:
    assert isinstance(expr, Literal)
    return Interval(int(expr.value), int(expr.value))
