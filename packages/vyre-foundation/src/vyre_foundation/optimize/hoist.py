"""Loads and values that are the same in every iteration of a loop are computed before it.

::

    for k in 0..len(b) {                          let scale = a[0];
      let scale = a[0];                           let same_1 = a[global_id.x];
      out[k] = b[k] * scale + a[global_id.x];  →  for k in 0..len(b) {
    }                                               out[k] = b[k] * scale + same_1;
                                                  }

Compilers move arithmetic themselves, but no load past the stores of a loop, because they cannot know that memory does
not overlap. So loads move, and declarations; what else is made of them stays. What is in a branch or an inner loop
does not move. Where the program writes the memory, though not in this loop, an access moves only if the loop makes it
in any case: the loop has an iteration, and the access is before its first exit. Otherwise an access would be made that
was not, and could race. Loops with barriers keep what they have, because a value from before them would have to be kept
across each barrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import replace

from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Expr, Load, Local
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, For, Let, Region, Stmt
from vyre_foundation.ir.walk import (
    bodies,
    expressions,
    postorder,
    rewrite,
    same_body,
    with_bodies,
    with_expressions,
)
from vyre_foundation.optimize.analysis import facts_after
from vyre_foundation.optimize.dependence import Changing, Dependences
from vyre_foundation.optimize.effects import EffectsOf
from vyre_foundation.passes import Pass
from vyre_foundation.validate.declared import declaration
from vyre_foundation.validate.facts import Facts

MAX_MOVED = 16
"""A loop that would need more registers for it keeps everything."""


def hoist_from_loops(program: Program, facts: Facts) -> Program:
    """The program with less in its loops."""
    while any(isinstance(stmt, For) for stmt in program.statements):
        body = _Hoist(facts).hoisted()
        if body is program.body:
            break
        program = replace(program, body=body)  # what has left an outer loop may free more of an inner one
        facts = facts_after(facts, program)
    return program


class _Hoist:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._dependences = Dependences(facts.program, facts.mutable)
        self._effects = EffectsOf()
        self._fresh = Fresh(facts.locals)
        self._places = _Places(facts.program.body)
        self._loads: dict[str, dict[Expr, Expr]] = {}

    def hoisted(self) -> Body:
        """The body of the program, with less in its loops."""
        return self._renamed(self._body(self._facts.program.body), {}, {})

    def _body(self, body: Body) -> Body:
        """Inner loops first: what leaves them may leave those around."""
        out: list[Stmt] = []
        for stmt in body:
            stmt = with_bodies(stmt, self._body)
            out += self._loop(stmt) if isinstance(stmt, For) else (stmt,)
        return same_body(body, out)

    def _loop(self, loop: For) -> Body:
        """The loop, behind what has left it."""
        effects = self._effects(loop.body)
        if effects.barrier:
            return (loop,)
        invariants = _Invariants(
            self._dependences, self._places, loop.name, effects.changes, is_reached=self._facts.has_iteration(loop)
        )
        moved: dict[str, Let] = {}
        loads: dict[Expr, Let] = {}
        for stmt in self._unconditional(loop.body):
            if isinstance(stmt, Let) and invariants.holds(stmt.value):
                moved[stmt.name] = stmt
                invariants.leaves(stmt.name)
                continue
            for load in invariants.loads(expressions(stmt)):
                name = self._fresh.numbered("same")
                moved[name] = loads[load] = Let(name, load)
                invariants.leaves(name)
            if self._effects.of(stmt).leaves:
                invariants.is_reached = False
        if not moved or len(moved) > MAX_MOVED:
            return (loop,)
        if loads:
            self._loads[loop.name] = {load: Local(let.name, load.dtype) for load, let in loads.items()}
        return (*moved.values(), replace(loop, body=_without(loop.body, moved)))

    def _renamed(self, body: Body, loads: Mapping[Expr, Expr], memo: dict[Expr, Expr]) -> Body:
        """`body` with the names of the loads that have left loops, in one walk after all of them have left.

        `loads` are those of the loops around, and `memo` begins with them.
        """
        return same_body(body, [self._renamed_in(stmt, loads, memo) for stmt in body])

    def _renamed_in(self, stmt: Stmt, loads: Mapping[Expr, Expr], memo: dict[Expr, Expr]) -> Stmt:
        if loads:
            stmt = with_expressions(stmt, lambda expr: rewrite(expr, lambda node: node, memo))
        if isinstance(stmt, For) and stmt.name in self._loads:
            loads = {**loads, **self._loads[stmt.name]}
            memo = dict(loads)
        return with_bodies(stmt, lambda nested: self._renamed(nested, loads, memo))

    def _unconditional(self, body: Body) -> Iterator[Stmt]:
        """The statements outside of branches and inner loops: iterations reach them, but for exits before them."""
        for stmt in body:
            if isinstance(stmt, Region):
                yield from self._unconditional(stmt.body)
            else:
                yield stmt


class _Places:
    """Where locals are declared: in the order of the text, and after what has left which loop."""

    def __init__(self, body: Body) -> None:
        self._place: dict[str, float] = {}
        self._end: dict[str, int] = {}
        self._number = 0
        self._enter(body)

    def _enter(self, body: Body) -> None:
        for stmt in body:
            self._number += 1
            declared = declaration(stmt)
            if declared is not None:
                self._place[declared[0]] = self._number
            for nested in bodies(stmt):
                self._enter(nested)
            if isinstance(stmt, For):
                self._end[stmt.name] = self._number

    def is_inside(self, name: str, loop: str) -> bool:
        """Whether a local is the counter of a loop, or declared in it."""
        return self._place[loop] <= self._place[name] <= self._end[loop]

    def leaves(self, name: str, loop: str) -> None:
        """A local is declared right before the loop from now on."""
        self._place[name] = self._place[loop] - 0.5


class _Invariants:
    """Which expressions of one loop are the same in all of its iterations, and may be evaluated before it.

    `is_reached`: the loop reaches what comes next at least once.
    """

    def __init__(
        self,
        dependences: Dependences,
        places: _Places,
        loop: str,
        changes: AbstractSet[Changing],
        *,
        is_reached: bool,
    ) -> None:
        self._dependences, self._changes, self.is_reached = dependences, changes, is_reached
        self._places, self._loop = places, loop
        self._known: dict[Expr, bool] = {}
        self._seen: set[Expr] = set()
        self._looked_into: set[Expr] = set()

    def leaves(self, name: str) -> None:
        """A local is declared before the loop from now on."""
        self._places.leaves(name, self._loop)

    def holds(self, root: Expr) -> bool:
        for node in postorder((root,), self._seen):
            self._known[node] = self._is_same(node) and all(self._known[a] for a in node.args)
        return self._known[root]

    def loads(self, roots: Sequence[Expr]) -> Iterator[Load]:
        """The outermost loads under `roots` that are the same, each once in the loop."""
        work = list(reversed(roots))
        while work:
            node = work.pop()
            if node in self._looked_into or not self._dependences.loads(node):
                continue
            self._looked_into.add(node)
            if isinstance(node, Load) and self.holds(node):
                yield node
            else:
                work += reversed(node.args)

    def _is_same(self, node: Expr) -> bool:
        match node:
            case Local(name):
                return not self._places.is_inside(name, self._loop) and name not in self._changes
            case Load(buffer) if buffer in self._dependences.written:
                return buffer not in self._changes and (self.is_reached or buffer.memory is Memory.PRIVATE)
            case _:
                return True


def _without(body: Body, moved: Mapping[str, Let]) -> Body:
    """`body` without the declarations that have left it. None of them is in a branch or another loop."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Region):
            out.append(with_bodies(stmt, lambda nested: _without(nested, moved)))
        elif not (isinstance(stmt, Let) and stmt.name in moved):
            out.append(stmt)
    return same_body(body, out)


HOIST = Pass("hoist", "Move invariant expressions and statements out of loops", hoist_from_loops)
