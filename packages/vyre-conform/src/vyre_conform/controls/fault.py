"""What a planted fault is: a backend that is right, but for one thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from vyre_conform.case import Launch
from vyre_conform.oracle.evaluators import EVALUATORS, evaluate_case
from vyre_conform.outcome import Outcome, Raised, Returned
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, Stmt
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions

Execute = Callable[[Launch], "Outcome | None"]
"""The outcome of a launch under the fault; None where the fault does not touch it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `begin` makes an executor with the fault, fresh for each hunt because some of them remember.

    `near` are queries for the cases that are likely to find it; all others are tried after them.
    """

    id: str
    summary: str
    begin: Callable[[], Execute]
    near: str = "*"


def of_programs(change: Callable[[Program], Program], evaluator: str = "vector") -> Callable[[], Execute]:
    """A miscompiler: executes a changed program instead of the one that is given."""

    def execute(launch: Launch) -> Outcome | None:
        program = change(launch.program)
        if program == launch.program:
            return None
        return without_new_refusals(launch, replace(launch, program=program), evaluator)

    return lambda: execute


def of_expressions(rule: Callable[[Expr], Expr]) -> Callable[[], Execute]:
    """A miscompiler of expressions: `rule` is applied to every node, children first."""

    def change(program: Program) -> Program:
        memo: dict[Expr, Expr] = {}

        def in_stmt(stmt: Stmt) -> Stmt:
            return with_expressions(stmt, lambda e: rewrite(e, rule, memo))

        return replace(program, body=rewrite_body(program.body, in_stmt))

    return of_programs(change)


def of_statements(rule: Callable[[Stmt], Stmt | Body], evaluator: str = "vector") -> Callable[[], Execute]:
    """A miscompiler of statements: `rule` gives what replaces each of them, inner ones first."""
    return of_programs(lambda program: replace(program, body=rewrite_body(program.body, rule)), evaluator)


def of_launches(change: Callable[[Launch], Launch]) -> Callable[[], Execute]:
    """A host that launches something else."""

    def execute(launch: Launch) -> Outcome | None:
        changed = change(launch)
        return None if changed == launch else without_new_refusals(launch, changed, "vector")

    return lambda: execute


def of_outputs(change: Callable[[Launch, Returned], Outcome]) -> Callable[[], Execute]:
    """A host that reads back something else."""

    def execute(launch: Launch) -> Outcome | None:
        outcome = evaluate_case(launch, EVALUATORS["vector"])
        return change(launch, outcome) if isinstance(outcome, Returned) else None

    return lambda: execute


def without_new_refusals(launch: Launch, changed: Launch, evaluator: str) -> Outcome | None:
    """The outcome of `changed`, unless the change has made it invalid: no compiler would emit that."""
    outcome = evaluate_case(changed, EVALUATORS[evaluator])
    if isinstance(outcome, Raised) and outcome.error in ("InvalidProgram", "UndefinedBehaviour", "DivergentBarrier"):
        return None
    return outcome
