"""Branches that are decided are taken, and decisions are made once.

::

    if global_id.x < len(a) {                       if global_id.x < len(a) {
      if (global_id.x < len(a)) & (a[0] == 1) {       if a[0] == 1 {
        out[0] = 1;                            →        out[0] = 1;
      }                                               }
    }                                                 out[1] = 2;
    if global_id.x < len(a) {                       }
      out[1] = 2;
    }

A condition is decided by bounds of what it compares, and by the conditions around it and the exits before it. So are
the conditions of selections.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Flag, auto

from vyre_foundation.ir.expr import Apply, Expr, Literal, Local, Select
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, Body, Break, Continue, For, If, Region, Return, Stmt, Store, Trap
from vyre_foundation.ir.walk import bodies, rewrite, same_body, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.optimize.analysis import facts_after
from vyre_foundation.optimize.dependence import Dependences
from vyre_foundation.optimize.known import Knowledge, Known
from vyre_foundation.passes import Pass
from vyre_foundation.validate.control import leaves
from vyre_foundation.validate.facts import Facts


def simplify_branches(program: Program, facts: Facts) -> Program:
    """The program with fewer branches."""
    while True:
        branches = _Branches(program, Knowledge(Dependences(program, facts.mutable), facts.ranges))
        body, _ = branches.body(program.body, Known())
        if body is program.body:
            return program
        before, program = program, replace(program, body=body)
        facts = facts_after(facts, program)
        if _count_of_changes(before) == _count_of_changes(program):
            return program


def _count_of_changes(program: Program) -> int:
    """Where there are fewer, more keeps its value, and more is decided."""
    return sum([isinstance(stmt, (Assign, Store, Atomic)) for stmt in program.statements])


class Has(Flag):
    """What a statement has inside, as far as order matters."""

    NOTHING = 0
    JUMP = auto()
    TRAP = auto()


class _Branches:
    def __init__(self, program: Program, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._has_selections = bool(program.code.of(Select))
        self._images: tuple[Known, dict[Expr, Expr]] = Known(), {}
        """What expressions become where something is known, which mostly is so for several statements."""
        self._has: dict[int, tuple[Stmt, Has]] = {}

    def body(self, body: Body, known: Known) -> tuple[Body, Known]:
        """A body where `known` holds, and what is known at its end."""
        out: list[Stmt] = []
        known = self._append(out, body, known)
        return same_body(body, out), known

    def _append(self, out: list[Stmt], body: Body, known: Known) -> Known:
        """Put the statements of `body` after those in `out`, up to one that always leaves."""
        for stmt in body:
            if out and leaves(out[-1]):
                break
            match stmt:
                case If():
                    known = self._if(out, stmt, known)
                case For():
                    self._for(out, stmt, known)
                case Region():
                    inside, known = self.body(stmt.body, known)
                    out.append(stmt if inside is stmt.body else replace(stmt, body=inside))
                case _:
                    out.append(self._without_decided(stmt, known))
        return known

    def _without_decided(self, stmt: Stmt, known: Known) -> Stmt:
        """A statement without what is known of the conditions of its selections where it stands."""
        if not (known.truths and self._has_selections):
            return stmt
        if known is not self._images[0]:
            self._images = known, {}

        def decided(node: Expr) -> Expr:
            if isinstance(node, Select):
                condition = self._knowledge.reduced(known, node.condition)
                if isinstance(condition, Literal):
                    return node.if_true if condition.bits else node.if_false
                if condition is not node.condition:
                    return Select(condition, node.if_true, node.if_false)
            return node

        return with_expressions(stmt, lambda root: rewrite(root, decided, self._images[1]))

    # ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _if(self, out: list[Stmt], stmt: If, known: Known) -> Known:
        condition = self._knowledge.reduced(known, stmt.condition)
        if isinstance(condition, Literal):
            return self._append(out, stmt.then if condition.bits else stmt.orelse, known)
        holds, fails = (self._knowledge.where(known, condition, truth) for truth in (True, False))
        then, _ = self.body(stmt.then, holds)
        orelse, _ = self.body(stmt.orelse, fails)
        same = condition is stmt.condition and then is stmt.then and orelse is stmt.orelse
        new = stmt if same else If(condition, then, orelse)
        if out and isinstance(out[-1], If) and self._may_join(out[-1], new):
            new = self._joined(out.pop(), new)  # type: ignore[arg-type]
        if self._are_one(new):
            return self._append(out, new.then, known)
        out.append(new)
        if then and leaves(then[-1]):
            return fails
        return holds if orelse and leaves(orelse[-1]) else known

    def _are_one(self, stmt: If) -> bool:
        """Whether both arms are the same; then neither declares a local. Two traps are not one: the first counts."""
        return stmt.then == stmt.orelse and not self._inside(stmt.then) & Has.TRAP

    def _may_join(self, first: If, second: If) -> bool:
        """Whether two branches on one condition may be one.

        Traps keep their order: in a loop, one branch may be taken in one iteration and the other in the next.
        """
        condition = first.condition
        if condition is not second.condition or not self._knowledge.is_stable(condition):
            return False
        if (self._inside(first.then) | self._inside(first.orelse)) & Has.JUMP:
            return False
        return not self._inside(first.orelse) & self._inside(second.then) & Has.TRAP

    def _joined(self, first: If, second: If) -> If:
        return If(first.condition, self._follows(first.then, second.then), self._follows(first.orelse, second.orelse))

    def _follows(self, first: Body, second: Body) -> Body:
        """One body behind another; branches that meet may join in turn."""
        if not (first and second):
            return first or second
        last, next = first[-1], second[0]
        if not (isinstance(last, If) and isinstance(next, If) and self._may_join(last, next)):
            return first + second
        joined = self._joined(last, next)
        if not self._are_one(joined):
            return (*first[:-1], joined, *second[1:])
        return self._follows(self._follows(first[:-1], joined.then), second[1:])

    def _inside(self, body: Body) -> Has:
        found = Has.NOTHING
        for stmt in body:
            if isinstance(stmt, (Return, Break, Continue)):
                found |= Has.JUMP
            elif isinstance(stmt, Trap):
                found |= Has.TRAP
            elif isinstance(stmt, (If, For, Region)):
                if id(stmt) not in self._has:
                    inside = Has.NOTHING
                    for nested in bodies(stmt):
                        inside |= self._inside(nested)
                    self._has[id(stmt)] = stmt, inside
                found |= self._has[id(stmt)][1]
        return found

    # ── loops ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _for(self, out: list[Stmt], stmt: For, known: Known) -> None:
        """A loop without an iteration is removed; in the others the counter is below the end."""
        knowledge = self._knowledge
        if knowledge.interval(stmt.stop, known.bounds).high <= knowledge.interval(stmt.start, known.bounds).low:
            return
        counter = Local(stmt.name, stmt.start.dtype)
        for op, bound in (("ge", stmt.start), ("lt", stmt.stop)):
            known = knowledge.where(known, Apply(OPS[op], counter, bound), True)
        body, _ = self.body(stmt.body, known)
        out.append(stmt if body is stmt.body else replace(stmt, body=body))


BRANCHES = Pass(
    "branches", "Remove branches and selections whose condition is known, and merge equal branches", simplify_branches
)
