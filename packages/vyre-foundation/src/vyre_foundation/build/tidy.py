"""What is recorded, made shorter: names that nothing reads, and temporaries that are used at once."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from vyre_foundation.ir.expr import Expr, Local
from vyre_foundation.ir.stmt import Atomic, Body, Let, Stmt, Subgroup
from vyre_foundation.ir.walk import bodies, expressions, postorder, rewrite, rewrite_body, statements, with_expressions


def drop_unused_results(body: Body) -> Body:
    """Results of atomics and collectives that nothing reads lose their names: not used means not observed."""
    stmts = list(statements(body))
    if not any(isinstance(stmt, (Atomic, Subgroup)) for stmt in stmts):
        return body
    nodes = postorder([e for stmt in stmts for e in expressions(stmt)])
    used = {node.name for node in nodes if isinstance(node, Local)}

    def drop(stmt: Stmt) -> Stmt:
        if isinstance(stmt, (Atomic, Subgroup)) and stmt.result is not None and stmt.result not in used:
            return replace(stmt, result=None)
        return stmt

    return rewrite_body(body, drop)


def adjacent_lets(body: Body, temporaries: Set[str]) -> Set[int]:
    """The identities of the temporaries whose only use follows at once: nothing happens between the two.

    A local is one of the `temporaries` if its maker has not named it.
    """
    if not temporaries:
        return frozenset()
    users = _only_users(body)
    return _adjacent_lets(body, {name: user for name, user in users.items() if name in temporaries})


def inline(body: Body, lets: Set[int]) -> Body:
    """``let t0 = e; use(t0)`` → ``use(e)`` for the statements with these identities."""
    if not lets:
        return body
    values: dict[Expr, Expr] = {}
    memo: dict[Expr, Expr] = {}  # one for all: a local that is replaced has one use

    def with_values(root: Expr) -> Expr:
        return rewrite(root, lambda node: values.get(node, node), memo)

    def inlined(stmt: Stmt) -> Stmt | Body:
        if isinstance(stmt, Let) and id(stmt) in lets:
            values[Local(stmt.name, stmt.value.dtype)] = with_values(stmt.value)
            return ()
        return with_expressions(stmt, with_values)

    return rewrite_body(body, inlined)


def _only_users(body: Body) -> dict[str, int]:
    """The identity of the one statement that uses a local, and in one expression only, for each local that has one."""
    owners: dict[Expr, int] = {}
    users = [(id(stmt), root) for stmt in statements(body) for root in expressions(stmt)]
    for number, (_, root) in enumerate(users):
        stack = [(root, number)]
        while stack:
            node, owner = stack.pop()
            known = owners.get(node)
            if known != owner and known != _SEVERAL:
                owners[node] = owner = owner if known is None else _SEVERAL
                stack.extend((operand, owner) for operand in node.args)
    locals = ((node.name, owner) for node, owner in owners.items() if isinstance(node, Local))
    return {name: users[owner][0] for name, owner in locals if owner != _SEVERAL}


_SEVERAL = -1


def _adjacent_lets(body: Body, users: dict[str, int]) -> set[int]:
    """The identities of the temporaries that the statement behind them uses, or one that goes into it itself."""
    found: set[int] = set()
    behind: set[int] = set()
    for stmt in reversed(body):
        for nested in bodies(stmt):
            found |= _adjacent_lets(nested, users)
        if isinstance(stmt, Let) and users.get(stmt.name) in behind:
            found.add(id(stmt))
            behind.add(id(stmt))
        else:
            behind = {id(stmt)}
    return found
