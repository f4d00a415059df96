"""The only traversal code: orders, children, rewriting. Nothing here recurses over expressions."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.interrupt import COUNTED, visited
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Body,
    Break,
    Continue,
    For,
    If,
    Let,
    Region,
    Stmt,
    Store,
    Subgroup,
    Trap,
    Var,
)  # fmt: skip

if TYPE_CHECKING:
    from vyre_foundation.ir.program import Program

T = TypeVar("T")


def postorder(roots: Iterable[Expr], done: set[Expr] | None = None) -> list[Expr]:
    """Every expression under `roots` once, children before parents, in the order of first visit.

    Nodes that are in `done` are left out, and the others enter it: share one between calls to see each node once.
    """
    done = set() if done is None else done
    order: list[Expr] = []
    for root in roots:
        if root not in done:
            for node in missing(root, done):
                done.add(node)
                order.append(node)
    return order


def solve(
    root: Expr,
    known: MutableMapping[Expr, T],
    sources: Callable[[Expr], Sequence[Expr]],
    compute: Callable[[Expr, Sequence[T]], T],
) -> T:
    """Give `known[root]`, computed from the answers for its sources where it is missing; without recursion.

    Args:
        root: The expression to answer for.
        known: The answers by now. Those that the answer for `root` depends on are added.
        sources: The expressions on whose answers that of an expression depends. They form no cycle.
        compute: The answer for an expression, from those for its sources.
    """
    stack = [root]
    while stack:
        node = stack[-1]
        if node not in known:
            parts = sources(node)
            if todo := [part for part in parts if part not in known]:
                stack += todo
                continue
            known[node] = compute(node, [known[part] for part in parts])
        stack.pop()
    return known[root]


def missing(root: Expr, known: Container[Expr]) -> Iterator[Expr]:
    """Give the nodes under `root` that are not `known`, children before parents, in the order of first visit.

    The caller makes each of them known before it asks for the next one.
    """
    stack: list[Expr | None] = [root]
    seen = 0
    visited()
    while stack:
        node = stack.pop()
        if node is None:  # all below the next one is known
            node = stack.pop()
            assert node is not None
        elif node in known:
            continue
        elif node.args:
            stack += (node, None, *node.args[::-1])
            continue
        if node not in known:  # the caller may have met it in the meantime
            seen += 1
            if not seen % COUNTED:
                visited(COUNTED)
            yield node


def rewrite(root: Expr, rule: Callable[[Expr], Expr], memo: dict[Expr, Expr]) -> Expr:
    """`root` with `rule` applied to every node, children first; the same object where nothing changed.

    `memo` maps what was already rewritten to its image; share one between roots that the same rule is applied to.
    """
    for node in missing(root, memo):
        for operand in node.args:
            if memo[operand] is not operand:
                memo[node] = rule(node.rebuild(tuple([memo[a] for a in node.args])))
                break
        else:
            memo[node] = rule(node)
    return memo[root]


def transform(root: Expr, rule: Callable[[Expr, tuple[Expr, ...]], Expr], memo: dict[Expr, Expr]) -> Expr:
    """The image of `root`, where the image of a node is ``rule(node, images of its args)``; children come first.

    `memo` maps nodes to their images; share one between roots that the same rule is applied to.
    """
    for node in missing(root, memo):
        operands = node.args
        if len(operands) == 2:  # nearly always, and three times as fast
            memo[node] = rule(node, (memo[operands[0]], memo[operands[1]]))
        else:
            memo[node] = rule(node, tuple([memo[a] for a in operands]))
    return memo[root]


def rebuilt(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """`node` over other children, itself where they are its own."""
    return node if args == node.args else node.rebuild(args)


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that `stmt` itself evaluates, in order; those of nested bodies are not among them."""
    visited()
    own = _EXPRESSIONS.get(stmt.__class__)
    return () if own is None else own(stmt)


_EXPRESSIONS: dict[type[Stmt], Callable[[Any], tuple[Expr, ...]]] = {
    Let: lambda stmt: (stmt.value,),
    Var: lambda stmt: (stmt.value,),
    Assign: lambda stmt: (stmt.value,),
    Store: lambda stmt: (stmt.index, stmt.value),
    If: lambda stmt: (stmt.condition,),
    For: lambda stmt: (stmt.start, stmt.stop),
    Atomic: lambda stmt: (stmt.index, stmt.value) if stmt.expected is None else (stmt.index, stmt.value, stmt.expected),
    Subgroup: lambda stmt: (stmt.value,) if stmt.lane is None else (stmt.value, stmt.lane),
    Trap: lambda stmt: (stmt.code,),
}


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The bodies nested directly in `stmt`."""
    visited()
    match stmt:
        case If():
            return (stmt.then, stmt.orelse)
        case For() | Region():
            return (stmt.body,)
        case _:
            return ()


def statements(body: Body) -> Iterator[Stmt]:
    """Every statement under `body`, outer before inner, in program order."""
    stack = list(reversed(body))
    seen = 0
    visited()
    while stack:
        stmt = stack.pop()
        seen += 1
        if not seen % COUNTED:
            visited(COUNTED)
        yield stmt
        if stmt.__class__ in _BLOCKS:
            for nested in reversed(bodies(stmt)):
                stack.extend(reversed(nested))


_BLOCKS = (If, For, Region)


def nesting(body: Body) -> int:
    """How many statements the innermost ones under `body` are inside of; 0 for none."""
    depth, blocks = 0, [stmt for stmt in body if stmt.__class__ in _BLOCKS]
    while blocks:
        inside = [stmt for outer in blocks for nested in bodies(outer) for stmt in nested]
        depth += bool(inside)
        blocks = [stmt for stmt in inside if stmt.__class__ in _BLOCKS]
    return depth


def jumps_of(*stmts: Stmt) -> Iterator[Break | Continue]:
    """Every `break` and `continue` in statements that belongs to a loop around them, in program order."""
    for stmt in stmts:
        if isinstance(stmt, (Break, Continue)):
            yield stmt
        elif not isinstance(stmt, For):
            for nested in bodies(stmt):
                yield from jumps_of(*nested)


def program_expressions(program: Program) -> list[Expr]:
    """Every expression of the program once, children before parents."""
    return list(program.code.nodes)


def with_expressions(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """`stmt` with `change` applied to its own expressions; the same object where nothing changed."""
    old = expressions(stmt)
    new = tuple([change(e) for e in old])
    if new == old:
        return stmt
    match stmt:
        case Let() | Var() | Assign():
            return replace(stmt, value=new[0])
        case Store():
            return replace(stmt, index=new[0], value=new[1])
        case If():
            return replace(stmt, condition=new[0])
        case For():
            return replace(stmt, start=new[0], stop=new[1])
        case Atomic():
            return replace(stmt, index=new[0], value=new[1], expected=new[2] if len(new) == 3 else None)
        case Subgroup():
            return replace(stmt, value=new[0], lane=new[1] if len(new) == 2 else None)
        case Trap():
            return replace(stmt, code=new[0])
        case _:
            return stmt


def with_bodies(stmt: Stmt, change: Callable[[Body], Body]) -> Stmt:
    """`stmt` with `change` applied to the bodies nested directly in it; the same object where nothing changed."""
    visited()
    match stmt:
        case If():
            then, orelse = change(stmt.then), change(stmt.orelse)
            return stmt if then is stmt.then and orelse is stmt.orelse else replace(stmt, then=then, orelse=orelse)
        case For() | Region():
            body = change(stmt.body)
            return stmt if body is stmt.body else replace(stmt, body=body)
        case _:
            return stmt


def rewrite_body(body: Body, rule: Callable[[Stmt], Stmt | Body]) -> Body:
    """`body` with every statement replaced, inner ones first, by what `rule` gives: a statement or several."""
    out: list[Stmt] = []
    changed = False
    for stmt in body:
        new = rule(with_bodies(stmt, lambda nested: rewrite_body(nested, rule)))
        changed |= new is not stmt
        if isinstance(new, tuple):
            out.extend(new)
        else:
            out.append(new)
    return tuple(out) if changed else body


def same_body(body: Body, stmts: Sequence[Stmt]) -> Body:
    """`body` itself if its statements are `stmts`, else a body of these."""
    return body if len(stmts) == len(body) and all(map(is_, stmts, body)) else tuple(stmts)
