"""What a condition says, part by part."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_foundation.ir.expr import Apply, Expr


def conjuncts(condition: Expr, truth: bool) -> Iterator[tuple[Expr, bool]]:
    """Where `condition` is `truth`, each of these is what it is listed with: without `not`, `and` and `or` around."""
    stack = [(condition, truth)]
    while stack:
        node, truth = stack.pop()
        match node:
            case Apply(op, (x,)) if op.id == "not":
                stack.append((x, not truth))
            case Apply(op, args) if op.id == ("and" if truth else "or"):
                stack.extend((x, truth) for x in args)
            case _:
                yield node, truth
