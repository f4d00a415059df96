"""`match` statements, which are written as branches before a kernel is read."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)


class MatchRewriter(ast.NodeTransformer):
    """Writes each `match` whose patterns are compared with ``==`` as `if` and `elif`. Others stay as they are.

    The subject is evaluated once: what is no name gets one, which no source can have.
    """

    def visit(self, node: ast.AST) -> Any:
        """Visit statements: expressions have none, and may be nested deeper than Python recurses."""
        return node if isinstance(node, ast.expr) else super().visit(node)

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        """Give the statements in the place of a `match`."""
        self.generic_visit(node)
        if other_pattern(node) is not None:
            return [node]
        subject, named = node.subject, list[ast.stmt]()
        if not isinstance(subject, ast.Name):
            name = f"subject of line {node.lineno}"
            named.append(_at(node, ast.Assign([_at(subject, ast.Name(name, ast.Store()))], subject)))
            subject = _at(subject, ast.Name(name, ast.Load()))
        branches: list[ast.stmt] = []
        for case in reversed(node.cases):
            condition = _condition(subject, case.pattern)
            if case.guard is not None:
                condition = _at(case.guard, ast.BoolOp(ast.And(), [condition, case.guard]))
            branches = [_at(case.pattern, ast.If(condition, case.body, branches))]
        return [*named, *branches]


def other_pattern(node: ast.Match) -> ast.pattern | None:
    """The first pattern that is not compared with ``==``: one that takes the subject apart, or names it."""
    patterns = [case.pattern for case in reversed(node.cases)]
    while patterns:
        pattern = patterns.pop()
        if isinstance(pattern, ast.MatchOr):
            patterns += reversed(pattern.patterns)
        elif not isinstance(pattern, (ast.MatchValue, ast.MatchSingleton)) and not _is_wildcard(pattern):
            return pattern
    return None


def _is_wildcard(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.name is None


def _condition(subject: ast.expr, pattern: ast.pattern) -> ast.expr:
    """Whether a pattern matches; ``True`` for a wildcard."""
    match pattern:
        case ast.MatchOr(patterns):
            return _at(pattern, ast.BoolOp(ast.Or(), [_condition(subject, each) for each in patterns]))
        case ast.MatchValue(value):
            return _at(pattern, ast.Compare(subject, [ast.Eq()], [value]))
        case ast.MatchSingleton(value):
            return _at(pattern, ast.Compare(subject, [ast.Eq()], [_at(pattern, ast.Constant(value))]))
    return _at(pattern, ast.Constant(True))


def _at(place: ast.AST, node: _Node) -> _Node:
    """`node`, with the place of another one."""
    return ast.copy_location(node, place)
