"""Whether a rule applies to an expression, and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Literal, Select
from vyre_foundation.ops import Op
from vyre_foundation.optimize.fold import folded
from vyre_foundation.optimize.rules.rule import Condition, Fits, Holds, RewriteRule, Survives, Test
from vyre_foundation.optimize.rules.term import Node, Number, Term, TypeName, Variable
from vyre_foundation.validate.facts import Interval

Bound = dict[str, Any]
"""Variables and type names, by name, with what they stand for."""

RangeOf = Callable[[Expr], Interval]
"""The bounds of an integer expression."""


def applied(rule: RewriteRule, left: Node, node: Expr, range_of: RangeOf) -> Expr | None:
    """What `node` becomes by `rule`, whose left side in one order is `left`; None if the rule is not about it."""
    bound: Bound = {"T": node.dtype} if left.symbol is Select else {}
    if not _matches(left, node, bound):
        return None
    types = tuple([bound[name] for name in rule.types.names])
    if types not in rule.types.accepted:
        return None
    for condition in rule.where:
        if not _is_met(condition, bound, range_of):
            return None
    return built(rule.right, bound, node.dtype)


def _matches(term: Term, expr: Any, bound: Bound) -> bool:
    """Whether `expr` has the shape of `term`; then `bound` has its variables."""
    if term.__class__ is Node:
        symbol = term.symbol
        if (expr.op if expr.__class__ is Apply else expr.__class__) is not symbol:
            return False
        if term.to is not None and not (_is_type(term.to, expr.dtype, bound) and (symbol is Bitcast or expr.checked)):
            return False
        return all(map(_matches, term.args, expr.args, repeat(bound)))
    if term.__class__ is Variable:
        known = bound.get(term.name)
        if known is not None:
            return known is expr
        if (term.is_literal and expr.__class__ is not Literal) or not _is_type(term.type, expr.dtype, bound):
            return False
        bound[term.name] = expr
        return True
    assert isinstance(term, Number)
    return expr is term.of(expr.dtype)


def _is_type(type: TypeName, dtype: DType, bound: Bound) -> bool:
    if type.__class__ is str:
        return bound.setdefault(type, dtype) is dtype
    return type is dtype


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_met(condition: Condition, bound: Bound, range_of: RangeOf) -> bool:
    """Whether the condition holds for every value that the variables can have."""
    match condition:
        case Test(_, variable, accept):
            value = bound[variable.name]
            return accept(value.dtype, value.value)
        case Survives(variable, type):
            value = bound[variable.name]
            return condition.accept(value.dtype, bound[type], value.value)
        case Fits(term, type):
            low, high = _interval(term, bound, range_of)
            dtype = bound[type]
            return bool(dtype.lowest <= low and high <= dtype.highest)
        case Holds(comparison):
            assert isinstance(comparison.symbol, Op)
            left, right = (_interval(arg, bound, range_of) for arg in comparison.args)
            return _COMPARED[comparison.symbol.id](left, right)


_COMPARED: dict[str, Callable[[Interval, Interval], bool]] = {
    "lt": lambda a, b: a.high < b.low,
    "le": lambda a, b: a.high <= b.low,
    "gt": lambda a, b: a.low > b.high,
    "ge": lambda a, b: a.low >= b.high,
    "eq": lambda a, b: a.low == a.high == b.low == b.high,
    "ne": lambda a, b: a.high < b.low or b.high < a.low,
}


def _interval(term: Term, bound: Bound, range_of: RangeOf) -> Interval:
    """The bounds of a term over unbounded integers."""
    match term:
        case Variable(name):
            return range_of(bound[name])
        case Number(value):
            literal = term.of(bound["T"])
            exact = int(value if literal is None else literal.value)
            return Interval(exact, exact)
        case Node(Op(id=id), args):
            return _SUMS[id](*[_interval(arg, bound, range_of) for arg in args])
        case _:
            raise AssertionError(term)


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return Interval(min(corners), max(corners))


_SUMS: dict[str, Callable[..., Interval]] = {
    "add": lambda a, b: Interval(a.low + b.low, a.high + b.high),
    "sub": lambda a, b: Interval(a.low - b.high, a.high - b.low),
    "mul": _product,
    "neg": lambda a: Interval(-a.high, -a.low),
}


# ── the other side ───────────────────────────────────────────────────────────────────────────────────────────────────


def built(term: Term, bound: Bound, dtype: DType) -> Expr:
    """The expression of type `dtype` that `term` stands for; what is made of literals alone is folded."""
    match term:
        case Variable(name):
            expr: Expr = bound[name]
            return expr
        case Number():
            literal = term.of(dtype)
            assert literal is not None
            return literal
        case Node(symbol, args, to):
            node = _over(symbol, args, to, bound, dtype)
            return folded(node) or node
        case _:
            raise AssertionError(term)


def _over(symbol: Any, args: tuple[Term, ...], to: TypeName | None, bound: Bound, dtype: DType) -> Expr:
    if symbol is Select:
        condition, *arms = args
        return Select(built(condition, bound, dtype), *[built(arm, bound, dtype) for arm in arms])
    if symbol is Cast or symbol is Bitcast:
        target = bound[to] if isinstance(to, str) else to
        (value,) = args
        convert: Any = symbol
        return convert(target, built(value, bound, dtype))  # type: ignore[no-any-return]
    made = {arg: built(arg, bound, dtype) for arg in args if not isinstance(arg, Number)}
    operand = next(iter(made.values())).dtype
    return Apply(symbol, *[made[arg] if arg in made else built(arg, bound, operand) for arg in args])
