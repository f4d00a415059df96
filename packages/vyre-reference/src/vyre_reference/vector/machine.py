"""Statements over all lanes of a chunk in lock step.

A barrier needs no waiting: every lane has done what stands before it. What it needs is that no lane is missing. Lanes
that leave a body early (by `break`, `continue`, `return`) are simply not among those that the rest of it runs for.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np

from vyre_driver.observe.accesses import Path
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    IndirectDispatch,
    Let,
    Region,
    Return,
    Scope,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
    Var,
)  # fmt: skip
from vyre_reference.bind import HostMemory, bind
from vyre_reference.budget import Budget
from vyre_reference.errors import UndefinedBehaviour
from vyre_reference.place import describe
from vyre_reference.traps import Traps
from vyre_reference.vector import atomics, subgroup
from vyre_reference.vector.chunk import Chunk, chunks
from vyre_reference.vector.evaluate import Step, evaluate as value_of, steps_of
from vyre_reference.vector.lanes import NO_LANES, Lanes
from vyre_reference.vector.locals import Locals
from vyre_reference.vector.loops import LoopCounter
from vyre_reference.vector.meeting import require_everyone, require_one_lane
from vyre_reference.vector.memory import VectorCells, bound_memory, own_memory
from vyre_reference.vector.registers import Bools, Values


def evaluate(plan: LaunchPlan, memory: HostMemory, *, budget: Budget | None = None) -> None:
    """Run the launch over `memory`, the bytes of every bound buffer by name, which it changes.

    Workgroup, private and constant memory are the evaluator's own. Each statement runs for all lanes of a chunk before
    the next one does, chunks run in order, and an atomic meets the lanes of a chunk in linear order.

    Raises `InvalidInput`, `Trapped` after the run, `UndefinedBehaviour`, `DivergentBarrier`, `OutOfFuel` and
    `DispatchTimeout`; then the memory holds what the run had written.
    """
    shared = bound_memory(bind(plan, memory))
    traps = Traps()
    budget = budget or Budget()
    steps = plan.program.memoised(_steps)
    with np.errstate(all="ignore"):
        for _ in range(plan.repeats):
            for chunk in chunks(plan):
                machine = Machine(chunk, shared | own_memory(chunk), budget, traps, steps)
                machine.body(plan.program.body, (), chunk.all, LoopExits([], []))
    traps.raise_first(plan.program)


def _steps(program: Program) -> dict[Expr, tuple[Step, ...]]:
    """How to evaluate the expressions of a program: what `Machine.steps` has worked out by now."""
    return {}


class LoopExits(NamedTuple):
    """The lanes that have left the innermost loop, and those that have left its iteration."""

    broken: list[Lanes]
    continued: list[Lanes]


class Reach(NamedTuple):
    """Accesses of some lanes to a buffer: positions in its array, and which are in bounds (True: all, False: none)."""

    cells: VectorCells
    positions: Values
    inside: Bools | bool


class Machine:
    """A chunk of lanes that runs: its memory, its locals, and where it stands."""

    def __init__(
        self,
        chunk: Chunk,
        memory: dict[Buffer, VectorCells],
        budget: Budget,
        traps: Traps,
        steps: dict[Expr, tuple[Step, ...]],
    ) -> None:
        self.chunk, self.memory, self.budget, self.traps = chunk, memory, budget, traps
        self.locals = Locals(chunk.all)
        self.path: Path = ()
        self._steps = steps

    def steps(self, root: Expr) -> tuple[Step, ...]:
        """How to evaluate `root`; worked out once for a program."""
        steps = self._steps.get(root)
        if steps is None:
            steps = self._steps[root] = steps_of(root)
        return steps

    def body(self, body: Body, path: Path, lanes: Lanes, exits: LoopExits) -> Lanes:
        """Run the statements for `lanes`; the lanes that come out at the end."""
        for position, stmt in enumerate(body):
            if not lanes.count:
                return lanes
            self.path = here = (*path, position)
            self.budget.spend(lanes.count)
            match stmt:
                case Let(name, value) | Var(name, value):
                    self.locals.declare(name, value_of(value, self, lanes), lanes)
                case Assign(name, value):
                    self.locals.assign(name, value_of(value, self, lanes), lanes)
                case Store():
                    self.store(stmt, lanes)
                case Atomic():
                    self.atomic(stmt, lanes)
                case If(condition, then, orelse):
                    holds, fails = lanes.split(value_of(condition, self, lanes))
                    came_out = self.body(then, (*here, 0), holds, exits), self.body(orelse, (*here, 1), fails, exits)
                    lanes = lanes.union(came_out)
                case For():
                    lanes = self.loop(stmt, here, lanes)
                case Region(_, inner):
                    lanes = self.body(inner, (*here, 0), lanes, exits)
                case Break():
                    exits.broken.append(lanes)
                    return NO_LANES
                case Continue():
                    exits.continued.append(lanes)
                    return NO_LANES
                case Return():
                    return NO_LANES
                case Barrier(scope):
                    require_everyone(self, lanes, scope)
                case Subgroup():
                    self.subgroup(stmt, lanes)
                case Trap():
                    self.trap(stmt, lanes)
                case IndirectDispatch():
                    pass  # the plan has the grid
        return lanes

    def loop(self, stmt: For, path: Path, lanes: Lanes) -> Lanes:
        """Run the iterations in lockstep; lanes drop out as theirs end."""
        start, stop = value_of(stmt.start, self, lanes), value_of(stmt.stop, self, lanes)
        iterations = LoopCounter(stmt.start.dtype, start, stop, stmt.step, lanes, self.chunk.all)
        done: list[Lanes] = []
        running = lanes
        for iteration in count():
            running, finished = iterations.split(running, iteration)
            done.append(finished)
            if not running.count:
                return lanes.union(done)
            self.budget.spend(running.count)
            self.locals.declare(stmt.name, iterations.counter(running, iteration), running)
            exits = LoopExits([], [])
            came_out = self.body(stmt.body, (*path, 0), running, exits)
            running = running.union([came_out, *exits.continued])
            done.extend(exits.broken)
        raise AssertionError("every lane has a last iteration")

    def reach(self, buffer: Buffer, index: Values, lanes: Lanes, *, checked: bool) -> Reach:
        """Where accesses go, and which of them are in bounds."""
        cells = self.memory[buffer]
        positions, inside = cells.locate(index, lanes)
        if not checked:
            self.require(inside, lanes, f"an index of {buffer.name!r} was proven to be below {cells.count}, and is not")
        return Reach(cells, positions, inside)

    def load(self, buffer: Buffer, index: Values, lanes: Lanes, *, checked: bool) -> Values:
        """Load one element for each lane; 0 for those out of bounds."""
        cells, positions, inside = self.reach(buffer, index, lanes, checked=checked)
        return cells.load(positions, inside)

    def store(self, stmt: Store, lanes: Lanes) -> None:
        """Store one element for each lane. Of several lanes at one element, the last one wins."""
        index, values = value_of(stmt.index, self, lanes), value_of(stmt.value, self, lanes)
        cells, positions, inside = self.reach(stmt.buffer, index, lanes, checked=stmt.checked)
        cells.store(positions, inside, values, lanes)

    def atomic(self, stmt: Atomic, lanes: Lanes) -> None:
        """Run an atomic for each lane, in the order of the lanes."""
        index, values = value_of(stmt.index, self, lanes), lanes.full(value_of(stmt.value, self, lanes))
        expected = values if stmt.expected is None else lanes.full(value_of(stmt.expected, self, lanes))
        cells, positions, inside = self.reach(stmt.buffer, index, lanes, checked=stmt.checked)
        old: Values = np.zeros(lanes.count, cells.array.dtype)
        chosen = slice(None) if inside is True else np.flatnonzero(lanes.full(np.asarray(inside)))
        targets = lanes.full(positions)[chosen]
        if targets.size:
            wanted = stmt.result is not None
            found = atomics.update(stmt.op, cells.array, targets, values[chosen], expected[chosen], wanted=wanted)
            if found is not None:
                old[chosen] = found
        if stmt.result is not None:
            self.locals.declare(stmt.result, old, lanes)

    def subgroup(self, stmt: Subgroup, lanes: Lanes) -> None:
        """Run a collective over the subgroups of all lanes."""
        require_everyone(self, lanes, Scope.WORKGROUP)
        value = lanes.full(value_of(stmt.value, self, lanes))
        selected = np.zeros((), np.uint32) if stmt.lane is None else value_of(stmt.lane, self, lanes)
        if stmt.op is SubgroupOp.BROADCAST:
            require_one_lane(self, lanes, lanes.full(selected))
        width = self.chunk.plan.program.subgroup_size or 1
        result = subgroup.collective(stmt.op, stmt.value.dtype, width, value, lanes.full(selected))
        if stmt.result is not None:
            self.locals.declare(stmt.result, result, lanes)

    def trap(self, stmt: Trap, lanes: Lanes) -> None:
        """Of all lanes that trap here, the one with the lowest number counts."""
        codes = lanes.full(value_of(stmt.code, self, lanes))
        numbers = self.numbers(lanes)
        first = int(numbers.argmin())
        self.traps.record(int(numbers[first]), self.path, int(codes[first]), stmt.tag)

    def require(self, holds: Bools | bool, lanes: Lanes, claim: str) -> None:
        """Refuse a claim of a legalizer that is false for some lane."""
        failing = np.flatnonzero(~lanes.full(np.asarray(holds)))
        if failing.size:
            raise UndefinedBehaviour(claim, int(self.numbers(lanes)[failing[0]]), where=self.place)

    def numbers(self, lanes: Lanes) -> Values:
        """The linear global ids of `lanes`."""
        return lanes.picked("numbers", lambda: self.chunk.numbers)

    @property
    def place(self) -> str:
        """The statement that runs now, for messages."""
        return describe(self.chunk.plan.program.body, self.path)
