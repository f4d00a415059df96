"""Programs that do the same as another, bit for bit, by the rules of the optimizer in either direction.

They are a list, one change each: the program as the optimizer leaves it without one of its passes, and with one rule
applied backwards wherever its right side stands. A variant is known by its name, and made again from the program in a
later process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from vyre_foundation.ir.expr import Call, Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.optimize import PASSES, optimize
from vyre_foundation.optimize.matching import applied
from vyre_foundation.optimize.rules import RULES
from vyre_foundation.optimize.rules.rule import RewriteRule
from vyre_foundation.optimize.rules.term import Node, Term, Variable
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Facts, Interval
from vyre_foundation.validate.intervals import whole

PASSES_LEFT_OUT = ("unroll", "hoist", "promote")
"""Passes that can cost more than they save: they make code longer, or keep values in registers for longer."""
CACHED = 64


def _is_invertible(rule: RewriteRule) -> bool:
    """Whether the left side is known where the right side is met: it has the same variables, and no conditions."""
    left, right = rule.left, rule.right
    return (
        isinstance(right, Node)
        and not rule.where
        and rule.types.names == ("T",)
        and right.symbol is not left.symbol
        and right.to is None
        and _variables(left) == _variables(right)
        and not any(isinstance(node, Node) and node.to is not None for node in _terms(left))
        and not any(isinstance(node, Variable) and node.is_literal for node in _terms(left))
    )


def _terms(term: Term) -> Iterator[Term]:
    yield term
    if isinstance(term, Node):
        for arg in term.args:
            yield from _terms(arg)


def _variables(term: Term) -> frozenset[str]:
    return frozenset(found.name for found in _terms(term) if isinstance(found, Variable))


def _backwards(rule: RewriteRule) -> RewriteRule:
    assert isinstance(rule.right, Node)
    return RewriteRule(rule.types, rule.right, rule.left)


BACKWARDS = {
    f"{rule.right} as {rule.left}, {rule.types.text}": _backwards(rule) for rule in RULES if _is_invertible(rule)
}
"""The rules that hold in the other direction too, by name."""


@lru_cache(CACHED)
def variants_of(program: Program) -> dict[str, Program]:
    """The variants of a valid program, by name, without those that are the program, or what the optimizer leaves.

    A program that calls operations of dialects has none: what they are made of is not in it.
    """
    if program.code.of(Call):
        return {}
    facts = program.validate()
    best = optimize(facts)
    found: dict[str, Program] = {}
    for name in PASSES_LEFT_OUT:
        rest = tuple(stage for stage in PASSES if stage.name != name)
        found[f"without the pass {name}"] = optimize(facts, passes=rest).program
    for name, rule in BACKWARDS.items():
        found[name] = _rewritten(best.program, rule)
    return {name: variant for name, variant in found.items() if variant not in (best.program, program)}


def _rewritten(program: Program, rule: RewriteRule) -> Program:
    """`program` with a rule applied once to every expression that it is about."""
    memo: dict[Expr, Expr] = {}

    def apply_rule(node: Expr) -> Expr:
        for left in rule.lefts:
            if node.args and (made := applied(rule, left, node, _anything)) is not None:
                return made
        return node

    body = rewrite_body(program.body, lambda s: with_expressions(s, lambda root: rewrite(root, apply_rule, memo)))
    return program if not any(a is not b for a, b in memo.items()) else replace(program, body=body)


def _anything(node: Expr) -> Interval:
    return whole(node.dtype)


def _same(program: Program, facts: Facts) -> Program:
    return program


AS_IT_STANDS = tuple(Pass(name, "nothing: the program is a variant that was measured", _same)
                     for name in dict.fromkeys(stage.name for stage in PASSES))  # fmt: skip
"""In place of the optimizer's passes, which would make of a variant what they make of the program."""
