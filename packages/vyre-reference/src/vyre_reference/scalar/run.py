"""One evaluation: what all of its invocations share."""

from __future__ import annotations

from dataclasses import dataclass, field

from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.stmt import Stmt
from vyre_reference.budget import Budget
from vyre_reference.scalar.coverage import Coverage
from vyre_reference.scalar.evaluate import Tape, tape_of
from vyre_reference.scalar.memory import ScalarCells
from vyre_reference.scalar.races import RaceDetector
from vyre_reference.scalar.schedule import Schedule
from vyre_reference.traps import Traps


@dataclass(slots=True, kw_only=True)
class Execution:
    """The launch, the memory that all can reach, and those who watch."""

    plan: LaunchPlan
    memory: dict[Buffer, ScalarCells]
    schedule: Schedule
    budget: Budget
    races: RaceDetector | None
    coverage: Coverage | None
    traps: Traps = field(default_factory=Traps)
    tapes: dict[Expr, Tape] = field(default_factory=dict)

    def tape(self, root: Expr) -> Tape:
        """Give the tape of an expression, made once per execution."""
        tape = self.tapes.get(root)
        if tape is None:
            tape = self.tapes[root] = tape_of(root)
        return tape

    def step(self, stmt: Stmt) -> None:
        """A statement is about to run."""
        self.budget.spend()
        if self.coverage is not None:
            self.coverage.statement(stmt)

    def saw(self, *kind: str) -> None:
        """An outcome for the coverage."""
        if self.coverage is not None:
            self.coverage.saw(*kind)

    def workgroup_barrier(self, group: int) -> None:
        """All invocations of `group` have met."""
        if self.races is not None:
            self.races.workgroup_barrier(group)

    def grid_barrier(self) -> None:
        """All invocations have met."""
        if self.races is not None:
            self.races.grid_barrier()
