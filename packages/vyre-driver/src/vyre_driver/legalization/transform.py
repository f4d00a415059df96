"""Rewriting where the rule needs both: the node of the source, which facts speak of, and the new children."""

from __future__ import annotations

from collections.abc import Callable

from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.walk import missing

Rule = Callable[[Expr, tuple[Expr, ...]], Expr]


def transform(root: Expr, rule: Rule, memo: dict[Expr, Expr]) -> Expr:
    """The image of `root`, where the image of a node is ``rule(node, images of its args)``; children come first.

    `memo` maps nodes to their images; share one between roots that the same rule is applied to.
    """
    for node in missing(root, memo):
        operands = node.args
        if len(operands) == 2:  # nearly always, and said so in a third of the time
            memo[node] = rule(node, (memo[operands[0]], memo[operands[1]]))
        else:
            memo[node] = rule(node, tuple([memo[a] for a in operands]))
    return memo[root]


def rebuilt(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """`node` over other children, itself where they are its own."""
    return node if args == node.args else node.rebuild(args)
