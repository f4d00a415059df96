"""Which values and which control flow are the same for whom: a dataflow over expressions, locals and control.

Every expression, every local and every stretch of control flow has a level, at most that of what it depends on. They
start as high as they can be; lowering one lowers its dependents, at most three times each, so the time is linear.

A local depends on the values that it is given and on the control flow at each of these places: under a condition that
only some invocations take, they alone get the new value. Control flow inside of an `If` depends on the condition. In a
loop it depends on the bounds, and on the control flow at each `break` and `return` inside, because who has left does
not reach the next iteration. After a `continue` the rest of the iteration depends on the control flow there, and after
a `return` the rest of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vyre_foundation.ir.expr import Expr, Id, IdKind, Load, Local
from vyre_foundation.ir.program import Program
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
    Return,
    Stmt,
    Subgroup,
    SubgroupOp,
    Var,
)
from vyre_foundation.validate.declared import declared_locals
from vyre_foundation.validate.facts import Uniformity

NONE, WORKGROUP, GRID, LAUNCH = sorted(u.value for u in Uniformity)

_SAME_IN_SUBGROUP = ("reduce", "broadcast", "ballot", "any", "all")
"""Families of collectives that give every lane of the subgroup the same."""


class Control:
    """A stretch of control flow: statements that the same invocations reach."""

    __slots__ = ()


Node = Expr | Control | str
"""What has a level; a local stands for itself by its name."""


class Levels:
    """The greatest levels that all dependencies allow, also while nodes and dependencies are still coming."""

    def __init__(self) -> None:
        self._level: dict[Node, int] = {}
        self._dependents: dict[Node, list[Node]] = {}
        self._can_sink: set[Node] = set()

    def __getitem__(self, node: Node) -> int:
        return self._level[node]

    def open(self, node: Node, level: int = LAUNCH) -> None:
        """Enter a node that will get dependencies later."""
        self._level[node] = level
        self._can_sink.add(node)

    def close(self, node: Expr, level: int, sources: Sequence[Expr]) -> None:
        """Enter a node with all of its dependencies."""
        for source in sources:
            level = min(level, self._level[source])
        self._level[node] = level
        if level > NONE:
            for source in sources:
                if source in self._can_sink:
                    self._can_sink.add(node)
                    self._dependents.setdefault(source, []).append(node)

    def depend(self, node: Node, *sources: Node) -> None:
        """From now on an open node is at most any of `sources`."""
        for source in sources:
            if source in self._can_sink:
                self._dependents.setdefault(source, []).append(node)
            self.limit(node, self._level[source])

    def limit(self, node: Node, level: int) -> None:
        """From now on an open node is at most `level`."""
        work = [node]
        while work:
            node = work.pop()
            if level < self._level[node]:
                self._level[node] = level
                work += self._dependents.get(node, ())


@dataclass(slots=True)
class Exits:
    """The control flow at the jumps out of a body."""

    returns: list[Control] = field(default_factory=list)
    breaks: list[Control] = field(default_factory=list)
    continues: list[Control] = field(default_factory=list)

    def add(self, other: Exits) -> None:
        """Take over the exits of statements that follow."""
        self.returns += other.returns
        self.breaks += other.breaks
        self.continues += other.continues

    def all(self) -> list[Control]:
        """The conditions of all exits."""
        return [*self.returns, *self.breaks, *self.continues]


class Analysis:
    """The levels of a program whose locals are declared as they should be. `nodes`: children before parents."""

    def __init__(self, program: Program, nodes: Sequence[Expr]) -> None:
        self._program = program
        self._nodes = nodes
        self._levels = Levels()
        self._controls: list[Control] = []
        self._least = WORKGROUP if program.workgroup_volume == 1 else NONE
        for name in declared_locals(program.body):
            self._levels.open(name)
        for node in nodes:
            self._enter(node)
        self._body(program.body, self._control())

    def of(self, expr: Expr) -> int:
        """The level of an expression."""
        return self._levels[expr]

    def reaching(self, number: int) -> int:
        """For whom it is the same whether they reach the statement with this number."""
        return self._levels[self._controls[number]]

    def uniformity(self) -> dict[Expr, Uniformity]:
        """The level of every expression."""
        names = {u.value: u for u in Uniformity}
        return {node: names[self._levels[node]] for node in self._nodes}

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _enter(self, node: Expr) -> None:
        match node:
            case Local():
                self._levels.open(node)
                self._levels.depend(node, node.name)
            case Id():
                self._levels.close(node, self._of_id(node), ())
            case Load():
                self._levels.close(node, self._least if node.buffer.access.writes else GRID, node.args)
            case _:
                self._levels.close(node, LAUNCH, node.args)

    def _of_id(self, node: Id) -> int:
        is_single = node.kind.has_axis and self._program.workgroup_size[node.axis] == 1
        match node.kind:
            case IdKind.GLOBAL_ID:
                return WORKGROUP if is_single else self._least
            case IdKind.LOCAL_ID:
                return LAUNCH if is_single else self._least
            case IdKind.WORKGROUP_ID:
                return WORKGROUP
            case IdKind.NUM_WORKGROUPS | IdKind.SUBGROUP_SIZE:
                return LAUNCH
            case IdKind.SUBGROUP_LANE:
                return LAUNCH if self._program.subgroup_size == 1 else self._least

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _control(self, *sources: Node) -> Control:
        control = Control()
        self._levels.open(control)
        self._levels.depend(control, *sources)
        return control

    def _body(self, body: Body, control: Control) -> Exits:
        exits = Exits()
        for stmt in body:
            self._controls.append(control)
            left = self._statement(stmt, control)
            if left is not None and (jumps := left.all()):
                exits.add(left)
                control = self._control(control, *jumps)
        return exits

    def _statement(self, stmt: Stmt, control: Control) -> Exits | None:
        levels = self._levels
        match stmt:
            case Let() | Var() | Assign():
                levels.depend(stmt.name, stmt.value, control)
                if isinstance(stmt, Var):
                    levels.limit(stmt.name, GRID)  # what it holds depends on the place, so no host knows it
            case Atomic(result=str(name)):
                levels.limit(name, self._least)
            case Subgroup(result=str(name)):
                levels.depend(name, control)
                levels.limit(name, self._of_collective(stmt.op))
            case If():
                inside = self._control(control, stmt.condition)
                exits = self._body(stmt.then, inside)
                exits.add(self._body(stmt.orelse, inside))
                return exits
            case For():
                return self._loop(stmt, control)
            case Region():
                return self._body(stmt.body, control)
            case Return():
                return Exits(returns=[control])
            case Break():
                return Exits(breaks=[control])
            case Continue():
                return Exits(continues=[control])
        return None

    def _loop(self, stmt: For, control: Control) -> Exits:
        inside = self._control(control, stmt.start, stmt.stop)
        self._levels.depend(stmt.name, stmt.start, inside)
        exits = self._body(stmt.body, inside)
        self._levels.depend(inside, *exits.breaks, *exits.returns)
        return Exits(returns=exits.returns)

    def _of_collective(self, op: SubgroupOp) -> int:
        is_whole_workgroup = self._program.subgroup_size == self._program.workgroup_volume
        return WORKGROUP if is_whole_workgroup and op.family in _SAME_IN_SUBGROUP else self._least
