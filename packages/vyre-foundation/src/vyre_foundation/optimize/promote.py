"""An element that a loop stores at one index is a local during the loop.

::

                                                    let some_1 = 0 < n[0];
    for k in 0..n[0] {                              var own_1 = out[global_id.x];
      out[global_id.x] = out[global_id.x] + a[k];   for k in 0..n[0] {
    }                                            →    own_1 = own_1 + a[k];
                                                    }
                                                    if some_1 { out[global_id.x] = own_1; }

Compilers cannot do this where memory may overlap or an access is guarded. Between barriers no other invocation accesses
an element that this one stores, so it is enough that each access of the loop to the same buffer is known to be to the
same element or to another one, and that the loop has an iteration. The store after the loop is dropped out of bounds as
those in the loop are. There a load gives 0 and not what was stored, so unless the index is proven to be in bounds,
the element may be read only for its own next value.

Where the loop may have no iteration, the load before it is made without a test only if the program with it is proven to
be deterministic, because it could race else. The loop itself stays outside of branches: where workgroups run as loops,
a loop in a branch is one of each invocation.

An element that only some iterations store has a second local, which says whether one has::

                                                    var own_1 = out[global_id.x];
    for k in 0..n[0] {                              var stored_1 = false;
      if a[k] > 0.0 {                               for k in 0..n[0] {
        out[global_id.x] = out[global_id.x] + a[k];   if a[k] > 0.0 {
      }                                          →      own_1 = own_1 + a[k];
    }                                                   stored_1 = true;
                                                      }
                                                    }
                                                    if stored_1 { out[global_id.x] = own_1; }

Without a store the element keeps its bits, which for a NaN are more than a local has. No test before the loop tells
whether there will be a store, so the load is made without one, on the same condition, or the element stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from vyre_foundation.dtype import bool_
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, Body, For, If, Let, Region, Stmt, Store, Var
from vyre_foundation.ir.walk import (
    bodies,
    expressions,
    postorder,
    rewrite,
    rewrite_body,
    same_body,
    statements,
    with_bodies,
    with_expressions,
)
from vyre_foundation.ops import OPS
from vyre_foundation.optimize.dependence import Dependences
from vyre_foundation.optimize.effects import EffectsOf
from vyre_foundation.optimize.forward import are_apart
from vyre_foundation.passes import Pass
from vyre_foundation.validate import validate
from vyre_foundation.validate.declared import declaration
from vyre_foundation.validate.facts import Facts, Interval
from vyre_foundation.validate.intervals import whole

MAX_PROMOTED = 8
"""A loop that would need more registers for it keeps all its elements in memory."""

MAX_VISITS = 16
"""How often a statement may be looked at, on average; then nothing more is promoted."""

Element = tuple[Buffer, Expr]
"""An element of a buffer, by its index."""


def promote_elements(program: Program, facts: Facts) -> Program:
    """The program with fewer accesses to memory in its loops."""
    loops = _Loops(program.body).found
    if not loops:
        return program
    for may_load_early in (True, False):
        walk = _Promote(facts, loops, may_load_early=may_load_early)
        body = walk.body(program.body)
        if body is program.body:
            break
        made = replace(program, body=body)
        if not walk.loads_early or validate(made).determinism.is_deterministic:
            return made
    return program


class _Loops:
    """The loops with a store at an index made of nothing that is declared in them, by their counters."""

    def __init__(self, body: Body) -> None:
        self.found: set[str] = set()
        self._around: list[str] = []
        self._depths: dict[str, int] = {}
        self._known: dict[Expr, int] = {}
        self._seen: set[Expr] = set()
        self._enter(body)

    def _enter(self, body: Body) -> None:
        for stmt in body:
            declared = declaration(stmt)
            if declared is not None:
                self._depths[declared[0]] = len(self._around) + isinstance(stmt, For)
            if isinstance(stmt, Store):
                self.found.update(self._around[self._depth(stmt.index) :])
            if isinstance(stmt, For):
                self._around.append(stmt.name)
            for nested in bodies(stmt):
                self._enter(nested)
            if isinstance(stmt, For):
                self._around.pop()

    def _depth(self, index: Expr) -> int:
        """How many loops there are around the innermost local that an index is made of."""
        for node in postorder((index,), self._seen):
            own = self._depths[node.name] if isinstance(node, Local) else 0
            self._known[node] = max([self._known[a] for a in node.args], default=own)
        return self._known[index]


class _Promote:
    def __init__(self, facts: Facts, loops: set[str], *, may_load_early: bool) -> None:
        self.loads_early = False
        self._may_load_early = may_load_early
        self._facts, self._loops = facts, loops
        self._dependences = Dependences(facts.program, facts.mutable)
        self._effects = EffectsOf()
        self._fresh = Fresh(facts.locals)
        self._visits = MAX_VISITS * (100 + len(facts.program.code.nodes))

    def body(self, body: Body) -> Body:
        """Outer loops first: an element that they keep is a local in those inside."""
        out: list[Stmt] = []
        for stmt in body:
            out += self._loop(stmt) if isinstance(stmt, For) else (with_bodies(stmt, self.body),)
        return same_body(body, out)

    def _loop(self, loop: For) -> Body:
        elements = self._promoted(loop) if loop.name in self._loops else {}
        if not elements:
            return (with_bodies(loop, self.body),)
        locals_ = {element: Local(self._fresh.numbered("own"), element[0].dtype) for element in elements}
        flags = {
            element: Local(self._fresh.numbered("stored"), bool_) for element, always in elements.items() if not always
        }
        inside = replace(loop, body=self.body(_with_locals(loop.body, locals_, flags)))
        loads = {element: Var(local.name, Load(*element)) for element, local in locals_.items()}
        stores = {element: Store(*element, local) for element, local in locals_.items()}
        sure = [element for element in elements if element not in flags]
        before: Sequence[Stmt] = [loads[element] for element in sure]
        after: Body = tuple([stores[element] for element in sure])
        unset = [Var(flag.name, literal(bool_, 0)) for flag in flags.values()]
        before_some = (*[loads[element] for element in flags], *unset)
        after_some = tuple([If(flag, (stores[element],)) for element, flag in flags.items()])
        self.loads_early |= bool(flags)
        if sure and not self._facts.has_iteration(loop):
            some = Let(self._fresh.numbered("some"), Apply(OPS["lt"], loop.start, loop.stop))
            condition = Local(some.name, some.value.dtype)
            before = some, *self._before([loads[element] for element in sure], condition)
            after = (If(condition, after),)
        return (*before, *before_some, inside, *after, *after_some)

    def _before(self, loads: Sequence[Var], condition: Expr) -> Sequence[Stmt]:
        """Loads before a loop that has an iteration if the condition holds."""
        if self._may_load_early:
            self.loads_early = True
            return loads
        zeros = [Var(load.name, literal(load.value.dtype, 0)) for load in loads]
        return (*zeros, If(condition, tuple([Assign(load.name, load.value) for load in loads])))

    # ── which elements ───────────────────────────────────────────────────────────────────────────────────────────────

    def _promoted(self, loop: For) -> dict[Element, bool]:
        """The elements that are better locals in all of the loop, and whether each iteration stores them."""
        effects = self._effects(loop.body)
        if effects.barrier or effects.returns:
            return {}
        sure = _stored(self._in_each_iteration(loop.body))
        stored = sure | (_stored(statements(loop.body)) if self._may_load_early else {})
        inside = {name for stmt in statements((loop,)) if (name := _declared(stmt)) is not None} if stored else set()
        candidates = [
            (buffer, index)
            for buffer, index in stored
            if self._is_fixed(index, inside) and self._dependences.are_disjoint(index, effects.changes)
        ]
        if not candidates:
            return {}
        accesses = _Accesses(loop.body, {buffer for buffer, _ in candidates}, self._dependences)
        self._visits -= accesses.visits
        found = {element: element in sure for element in candidates if self._is_local(element, accesses)}
        if len(found) > MAX_PROMOTED:
            found = {element: always for element, always in found.items() if always}
        return found if len(found) <= MAX_PROMOTED and self._visits > 0 else {}

    def _in_each_iteration(self, body: Body) -> Iterator[Stmt]:
        """The statements that every iteration executes, up to the first way out of it."""
        for stmt in body:
            if isinstance(stmt, Region) or (isinstance(stmt, For) and self._facts.has_iteration(stmt)):
                yield from self._in_each_iteration(stmt.body)
            else:
                yield stmt
            if self._effects.of(stmt).leaves:
                return

    def _is_fixed(self, index: Expr, inside: set[str]) -> bool:
        """Whether it is made of values from before the loop, and reads no memory that the program writes."""
        found = self._dependences.of(index)
        if found is None or any(isinstance(changing, Buffer) for changing in found):
            return False
        return not any(isinstance(node, Local) and node.name in inside for node in postorder((index,)))

    def _is_local(self, element: Element, accesses: _Accesses) -> bool:
        """Whether a local can stand for an element.

        It can if the element is loaded, no other access may be to the same element, and where its index may be out of
        bounds, nothing shows that a local holds what the store drops.
        """
        buffer, index = element
        if buffer in accesses.atomics or element not in accesses.loads:
            return False
        count = buffer.count if isinstance(buffer.count, int) else None
        if element in accesses.read_elsewhere and not self._facts.in_bounds(count, index):
            return False
        others = [other for found, other in accesses.all() if found is buffer and other is not index]
        return all(are_apart(index, self._bounds(index), other, self._bounds(other)) for other in others)

    def _bounds(self, index: Expr) -> Interval:
        return self._facts.ranges.get(index) or whole(index.dtype)


class _Accesses:
    """The accesses of a loop to some buffers.

    These are the elements that it loads and stores, and those that are loaded for anything but the next value of the
    same element.
    """

    def __init__(self, body: Body, buffers: set[Buffer], dependences: Dependences) -> None:
        self.loads: dict[Element, None] = {}
        self.stores: dict[Element, None] = {}
        self.read_elsewhere: set[Element] = set()
        self.atomics: set[Buffer] = set()
        self.visits = 0
        for stmt in statements(body):
            self.visits += 1
            own: Element | None = None
            if isinstance(stmt, Store) and stmt.buffer in buffers:
                own = stmt.buffer, stmt.index
                self.stores[own] = None
            elif isinstance(stmt, Atomic):
                self.atomics.add(stmt.buffer)
            for expr in expressions(stmt):
                if not dependences.loads(expr):
                    continue
                nodes = postorder((expr,))
                self.visits += len(nodes)
                for node in nodes:
                    if isinstance(node, Load) and node.buffer in buffers:
                        element = node.buffer, node.index
                        self.loads[element] = None
                        if element != own:
                            self.read_elsewhere.add(element)

    def all(self) -> Iterator[Element]:
        yield from self.loads
        yield from self.stores


def _stored(stmts: Iterable[Stmt]) -> dict[Element, None]:
    """The elements that statements store in memory that is worth a local."""
    stores = (stmt for stmt in stmts if isinstance(stmt, Store) and stmt.buffer.memory is not Memory.PRIVATE)
    return dict.fromkeys((stmt.buffer, stmt.index) for stmt in stores)


def _declared(stmt: Stmt) -> str | None:
    declared = declaration(stmt)
    return None if declared is None else declared[0]


def _with_locals(body: Body, locals_: Mapping[Element, Local], flags: Mapping[Element, Local]) -> Body:
    """`body` with locals in place of elements, and flags that are set where one is stored."""
    memo: dict[Expr, Expr] = {Load(*element): local for element, local in locals_.items()}

    def statement(stmt: Stmt) -> Stmt | Body:
        stmt = with_expressions(stmt, lambda expr: rewrite(expr, lambda node: node, memo))
        if not isinstance(stmt, Store) or (element := (stmt.buffer, stmt.index)) not in locals_:
            return stmt
        assign = Assign(locals_[element].name, stmt.value)
        return (assign, Assign(flags[element].name, literal(bool_, 1))) if element in flags else assign

    return rewrite_body(body, statement)


PROMOTE = Pass("promote", "Keep elements that a loop stores at one index in locals", promote_elements)
