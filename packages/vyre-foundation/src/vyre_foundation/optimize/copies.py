"""Names for nothing new are left away: copies, literals, ids, lengths, and values that one statement uses once.

::

    let i = global_id.x;             out[global_id.x] = a[global_id.x] * 2 + b[global_id.x];
    let x = a[i] * 2;           →
    var y = b[i];
    out[i] = x + y;

A value moves to its use only where it stays the same value and costs no more: within one iteration of one loop, with no
barrier and no change of what it reads in between; one that reads memory stays in its block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vyre_foundation.ir.expr import Expr, Id, Length, Literal, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Body, Let, Stmt, Var
from vyre_foundation.ir.walk import expressions, rewrite, rewrite_body, with_expressions
from vyre_foundation.optimize.dependence import Dependences
from vyre_foundation.optimize.layout import Layout, NumberedStmt
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Facts

MANY = -1
"""In place of the number of the one statement that uses something."""


def propagate_copies(program: Program, facts: Facts) -> Program:
    """The program with fewer locals."""
    renamed = _with_copies(program)
    moves = _Moves(renamed).find() if any(isinstance(stmt, Let) for stmt in renamed.statements) else ()
    return _substituted(renamed, lambda stmt: stmt if stmt.name in moves else None) if moves else renamed


# ── copies ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _with_copies(program: Program) -> Program:
    """Without names for what is as short as a name. A variable that is never assigned is no variable."""
    assigned = {s.name for s in program.statements if isinstance(s, Assign)}

    def short(stmt: Let | Var) -> Let | Var | None:
        value = stmt.value
        if stmt.name in assigned:
            return None
        if isinstance(value, (Literal, Id, Length)) or (isinstance(value, Local) and value.name not in assigned):
            return stmt
        return Let(stmt.name, value) if isinstance(stmt, Var) else None

    # A copy of a copy is none yet, but where there is one there is a first one.
    is_something = any(isinstance(s, (Let, Var)) and short(s) is not None for s in program.statements)
    return _substituted(program, short) if is_something else program


def _substituted(program: Program, choose: Callable[[Let | Var], Let | Var | None]) -> Program:
    """Without the declarations that `choose` gives back, whose values take the place of their names.

    It gets a declaration with its value as it has become; None leaves the declaration, another one replaces it.
    """
    values: dict[str, Expr] = {}
    memo: dict[Expr, Expr] = {}

    def image(expr: Expr) -> Expr:
        return rewrite(expr, lambda n: values.get(n.name, n) if isinstance(n, Local) else n, memo)

    def statement(stmt: Stmt) -> Stmt | Body:
        stmt = with_expressions(stmt, image)
        if not isinstance(stmt, (Let, Var)):
            return stmt
        chosen = choose(stmt)
        if chosen is not stmt:
            return chosen or stmt
        values[stmt.name] = stmt.value
        return ()

    body = rewrite_body(program.body, statement)
    return program if body is program.body else replace(program, body=body)


# ── values that are used once ────────────────────────────────────────────────────────────────────────────────────────


class _Moves:
    """Decides from the last statement to the first, so that it is known where the uses of a value themselves go."""

    def __init__(self, program: Program) -> None:
        assigned = {s.name for s in program.statements if isinstance(s, Assign)}
        self._layout = Layout(program)
        self._dependences = Dependences(program, assigned)
        self._user: dict[Expr, int] = {}

    def find(self) -> set[str]:
        """The names of the immutable locals whose values move to their use."""
        found: set[str] = set()
        for entry in reversed(self._layout.entries):
            stmt = entry.stmt
            user = entry.number
            if isinstance(stmt, Let):
                target = self._user.get(Local(stmt.name, stmt.value.dtype), MANY)
                if target != MANY and self._may_move(entry, stmt.value, self._layout.entries[target]):
                    found.add(stmt.name)
                    user = target
            for root in expressions(stmt):
                self._use(root, user)
        return found

    def _may_move(self, source: NumberedStmt, value: Expr, target: NumberedStmt) -> bool:
        if source.loop != target.loop or source.phase != target.phase:
            return False
        if self._dependences.loads(value) and source.block != target.block:
            return False
        reads = self._dependences.of(value)
        return reads is not None and not self._layout.changes_between(source.number, target.number, reads)

    def _use(self, root: Expr, user: int) -> None:
        """Everything under `root` is used by the statement with this number; each node is looked into twice at most."""
        work = [root]
        while work:
            node = work.pop()
            known = self._user.get(node)
            if known is None or known not in (user, MANY):
                self._user[node] = user if known is None else MANY
                work += node.args


COPIES = Pass("copies", "Replace copies of values by the values", propagate_copies)
