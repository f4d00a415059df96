"""Rewriting where the rule needs both: the node of the source, which facts speak of, and the new children."""

from __future__ import annotations

from collections.abc import Callable

from vyre_foundation.ir.expr import Expr

Rule = Callable[[Expr, tuple[Expr, ...]], Expr]


def transform(root: Expr, rule: Rule, memo: dict[Expr, Expr]) -> Expr:
    """The image of `root`, where the image of a node is ``rule(node, images of its args)``; children come first.

    `memo` maps nodes to their images; share one between roots that the same rule is applied to.
    """
    if root in memo:
        return memo[root]
    stack = [root]
    while stack:
        node = stack[-1]
        if node in memo:
            stack.pop()
            continue
        todo = [a for a in node.args if a not in memo]
        if todo:
            stack.extend(reversed(todo))
            continue
        memo[node] = rule(node, tuple([memo[a] for a in node.args]))
        stack.pop()
    return memo[root]


def rebuilt(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """`node` over other children, itself where they are its own."""
    return node if args == node.args else node.rebuild(args)
