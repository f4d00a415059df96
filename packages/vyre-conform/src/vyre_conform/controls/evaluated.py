"""Faulty backends around an evaluator: it gets another launch than the caller's, or its results are spoiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from vyre_conform.case import Launch
from vyre_conform.controls.fault import Plant, found
from vyre_conform.oracle.evaluators import EVALUATORS, fresh_memory, plan_case
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.results import Inputs, Outputs, borrowed_input_slices
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, Stmt
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions

Change = Callable[[Launch], Launch]
Spoil = Callable[[Launch, list[bytes], Inputs], Sequence[bytes]]
"""What the caller gets instead of the outputs. The inputs are the caller's own memory."""

_NO_COMPILER_EMITS = frozenset(("InvalidProgram", "UndefinedBehaviour", "DivergentBarrier"))


class FaultyEvaluator(VyreBackend, contract=1):
    """Evaluates `change` of each launch, and gives what `spoil` makes of the outputs."""

    def __init__(self, change: Change | None, spoil: Spoil | None, evaluator: str) -> None:
        self._change, self._spoil, self._evaluate = change, spoil, EVALUATORS[evaluator]

    def id(self) -> str:
        return "mutant"

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        views = borrowed_input_slices(inputs)
        launch = Launch(
            program=program,
            inputs={buffer.name: bytes(view) for buffer, view in zip(program.inputs, views, strict=True)},
            grid=config.grid_override,
            workgroup=config.workgroup_override,
            iterations=config.fixpoint_iterations,
        )
        outputs = self._changed(launch) if self._change is not None else self._evaluated(launch)
        if self._spoil is not None:
            outputs = list(self._spoil(launch, outputs, inputs))
        return [memoryview(data) for data in outputs]

    def _changed(self, launch: Launch) -> list[bytes]:
        """The outputs of the changed launch, unless the change has made it invalid: no compiler would emit that."""
        assert self._change is not None
        try:
            return self._evaluated(self._change(launch))
        except VyreError as error:
            if type(error).__name__ not in _NO_COMPILER_EMITS:
                raise
            return self._evaluated(launch)

    def _evaluated(self, launch: Launch) -> list[bytes]:
        plan = plan_case(launch)
        memory = fresh_memory(plan, launch.inputs)
        self._evaluate(plan, memory)
        return [bytes(memory[o.buffer][o.start : o.stop]) for o in plan.outputs]


def right() -> FaultyEvaluator:
    """Without a fault."""
    return FaultyEvaluator(None, None, "vector")


# ── ways to plant ────────────────────────────────────────────────────────────────────────────────────────────────────


def of_launches(change: Change, evaluator: str = "vector") -> Plant:
    """A host that launches something else."""
    return Plant(lambda: FaultyEvaluator(change, None, evaluator), "evaluator")


def of_evaluator(where: str, wrap: Callable[[Any], Any]) -> Plant:
    """The faster evaluator with the attribute `where` of its process replaced."""

    def begin() -> FaultyEvaluator:
        owner, name = found(where)
        setattr(owner, name, wrap(getattr(owner, name)))
        return right()

    return Plant(begin, "evaluator", where)


def of_outputs(spoil: Spoil) -> Plant:
    """A host that reads back something else."""
    return Plant(lambda: FaultyEvaluator(None, spoil, "vector"), "evaluator")


def of_programs(change: Callable[[Program], Program], evaluator: str = "vector") -> Plant:
    """A miscompiler: executes a changed program instead of the one that is given."""
    return of_launches(lambda launch: replace(launch, program=change(launch.program)), evaluator)


def of_expressions(rule: Callable[[Expr], Expr]) -> Plant:
    """A miscompiler of expressions: `rule` is applied to every node, children first."""
    return of_programs(in_expressions(rule))


def of_statements(rule: Callable[[Stmt], Stmt | Body], evaluator: str = "vector") -> Plant:
    """A miscompiler of statements: `rule` gives what replaces each of them, inner ones first."""
    return of_programs(in_statements(rule), evaluator)


def in_expressions(rule: Callable[[Expr], Expr]) -> Callable[[Program], Program]:
    """Programs with `rule` applied to every expression, children first."""

    def change(program: Program) -> Program:
        memo: dict[Expr, Expr] = {}

        def in_stmt(stmt: Stmt) -> Stmt:
            return with_expressions(stmt, lambda e: rewrite(e, rule, memo))

        return replace(program, body=rewrite_body(program.body, in_stmt))

    return change


def in_statements(rule: Callable[[Stmt], Stmt | Body]) -> Callable[[Program], Program]:
    """Programs with every statement replaced by what `rule` gives, inner ones first."""
    return lambda program: replace(program, body=rewrite_body(program.body, rule))
