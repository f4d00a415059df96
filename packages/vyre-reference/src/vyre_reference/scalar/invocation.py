"""One invocation: a coroutine that runs the body, and yields where others have to be waited for."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from enum import Enum
from typing import NamedTuple

from vyre_driver.observe.accesses import Path, Touch
from vyre_foundation.ir.buffer import Buffer, Memory
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
    Store,
    Subgroup,
    Trap,
    Var,
)  # fmt: skip
from vyre_foundation.ops.scalar import Scalar
from vyre_reference.errors import UndefinedBehaviour
from vyre_reference.place import describe
from vyre_reference.scalar.atomics import replacement
from vyre_reference.scalar.evaluate import evaluate, zero
from vyre_reference.scalar.memory import ScalarCells
from vyre_reference.scalar.position import position_of
from vyre_reference.scalar.races import RecordedAccess
from vyre_reference.scalar.run import Execution


class Wait(NamedTuple):
    """An invocation waits for others: at which statement, in which iteration of each loop around it."""

    invocation: int
    stmt: Barrier | Subgroup
    path: Path
    iterations: tuple[int, ...]
    value: Scalar = 0
    selected: int = 0


class GiveWay(NamedTuple):
    """An invocation lets the others of its workgroup go first."""


class Flow(Enum):
    """How a body ends."""

    NEXT = "next"
    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"


Steps = Generator[Wait | GiveWay, Scalar, Flow]
"""A body that runs: yields what it waits for, is sent the result of a collective, returns how it ended."""


class Invocation:
    """What one invocation knows: who it is, its locals, the memory it can reach, and where it stands."""

    def __init__(self, run: Execution, group: int, lane: int, memory: Mapping[Buffer, ScalarCells]) -> None:
        self.run, self.memory = run, memory
        self.position = position_of(run.plan, group, lane)
        self.number = self.position.number
        self.locals: dict[str, Scalar] = {}
        self.path: Path = ()
        self.iterations: list[int] = []

    def body(self, body: Body, path: Path) -> Steps:
        """Run the statements one after another; `path` leads to the body."""
        for position, stmt in enumerate(body):
            self.path = here = (*path, position)
            self.run.step(stmt)
            flow = Flow.NEXT
            match stmt:
                case Let(name, value) | Var(name, value) | Assign(name, value):
                    self.locals[name] = evaluate(value, self)
                case Store():
                    self.store(stmt)
                case Atomic():
                    if self.run.schedule.gives_way():
                        yield GiveWay()
                    self.atomic(stmt)
                case If(condition, then, orelse):
                    taken = bool(evaluate(condition, self))
                    self.run.saw("if", "then" if taken else "else")
                    flow = yield from self.body(then, (*here, 0)) if taken else self.body(orelse, (*here, 1))
                case For():
                    flow = yield from self.loop(stmt, here)
                case Region(_, inner):
                    flow = yield from self.body(inner, (*here, 0))
                case Break():
                    flow = Flow.BREAK
                case Continue():
                    flow = Flow.CONTINUE
                case Return():
                    flow = Flow.RETURN
                case Barrier():
                    yield Wait(self.number, stmt, here, tuple(self.iterations))
                case Subgroup():
                    yield from self.subgroup(stmt)
                case Trap(code, tag):
                    self.run.traps.record(self.number, here, int(evaluate(code, self)), tag)
                case IndirectDispatch():
                    pass  # the plan has the grid
            if flow is not Flow.NEXT:
                return flow
        return Flow.NEXT

    def loop(self, stmt: For, path: Path) -> Steps:
        """Python's range counts as the language does: over unbounded integers, below `stop`."""
        start, stop = int(evaluate(stmt.start, self)), int(evaluate(stmt.stop, self))
        self.iterations.append(0)
        for iteration, counter in enumerate(range(start, stop, stmt.step)):
            self.run.budget.spend()
            self.iterations[-1] = iteration
            self.locals[stmt.name] = counter
            flow = yield from self.body(stmt.body, (*path, 0))
            if flow is Flow.RETURN:
                return flow
            if flow is Flow.BREAK:
                break
        self.run.saw("for", "entered" if start < stop else "skipped")
        self.iterations.pop()
        return Flow.NEXT

    def subgroup(self, stmt: Subgroup) -> Generator[Wait, Scalar, None]:
        """Wait until the others of the subgroup are at this collective, and take the result."""
        value = evaluate(stmt.value, self)
        selected = 0 if stmt.lane is None else int(evaluate(stmt.lane, self))
        result = yield Wait(self.number, stmt, self.path, tuple(self.iterations), value, selected)
        if stmt.result is not None:
            self.locals[stmt.result] = result

    def store(self, stmt: Store) -> None:
        """Store an element; a store out of bounds does nothing."""
        index, value = int(evaluate(stmt.index, self)), evaluate(stmt.value, self)
        cells = self.reach(stmt.buffer, index, Touch.WRITE, checked=stmt.checked)
        if cells is not None:
            cells.store(index, value)

    def atomic(self, stmt: Atomic) -> None:
        """Nothing runs between the load and the store: only a yield lets others run."""
        index, value = int(evaluate(stmt.index, self)), int(evaluate(stmt.value, self))
        expected = None if stmt.expected is None else int(evaluate(stmt.expected, self))
        old = int(zero(stmt.buffer.dtype))
        cells = self.reach(stmt.buffer, index, Touch.ATOMIC, checked=stmt.checked)
        if cells is not None:
            old = int(cells.load(index))
            cells.store(index, replacement(stmt.op, stmt.buffer.dtype, old, value, expected))
        if stmt.result is not None:
            self.locals[stmt.result] = old

    def reach(self, buffer: Buffer, index: int, touch: Touch, *, checked: bool) -> ScalarCells | None:
        """The cells that an access goes to, or None where it has no effect: out of bounds."""
        cells = self.memory[buffer]
        if not cells.holds(index):
            if not checked:
                raise self.undefined(f"index {index} of {buffer.name!r} was proven to be below {cells.count}")
            self.run.saw(touch.name.lower(), "out of bounds", buffer.memory.value)
            return None
        if self.run.races is not None and buffer.access.writes and buffer.memory is not Memory.PRIVATE:
            self.run.races.access(cells, index, self.position.group, RecordedAccess(self.number, touch, self.path))
        return cells

    def undefined(self, what: str) -> UndefinedBehaviour:
        """The error for something that has no meaning, at the statement where the invocation stands."""
        return UndefinedBehaviour(what, self.number, where=describe(self.run.plan.program.body, self.path))
