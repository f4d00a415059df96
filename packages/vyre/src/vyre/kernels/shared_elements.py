"""Stores and updates of one element by several invocations, of which all but one are lost.

The values of a program have *sources*, by which they can differ between invocations: an index of the launch, data that
is loaded at such an index, and all else, such as the result of an atomic. What has no source is the same everywhere.

An element is shared where its index lacks the index of an axis of the launch. For the memory of a workgroup, only axes
count along which a workgroup has several invocations. Two kinds of stores to a shared element are mistakes:

- one of a value that differs, by all invocations along that axis;
- an *update*, whose value or condition reads the same element, unless a condition may select one invocation. One on an
  index of the launch may, such as ``i == 0``, and one on the result of an atomic. One on data is not counted as such:
  it selects as many invocations as the data has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from vyre_foundation.build import Value
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Length, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE, Axis
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
    Store,
    Subgroup,
    Var,
)
from vyre_foundation.ir.walk import postorder, statements
from vyre_foundation.validate.access import ATOMIC_MEMORY


class Index(NamedTuple):
    """The index of the launch on an axis."""

    axis: int


class Data(NamedTuple):
    """What is loaded from an input at an index of the launch on an axis."""

    axis: int


OTHER = "other"
"""An invocation's place in its workgroup, its workgroup, or what an atomic has replaced."""
COLLECTIVE = "collective"
"""The result of a subgroup operation: it may be the same in all invocations."""
Source: TypeAlias = Index | Data | str | Load
"""A `Load` is one from memory that the program writes: what is there may be the same in all invocations."""
Sources: TypeAlias = frozenset[Source]
NO_SOURCES: Sources = frozenset()
_SAME = (IdKind.NUM_WORKGROUPS, IdKind.SUBGROUP_SIZE)


class SharedStore(NamedTuple):
    """A store by which invocations lose what others store."""

    number: int
    """Which statement of the program it is."""
    store: Store
    is_update: bool
    reads_itself: bool
    """Whether the value is computed from the element."""
    axes: Sequence[int]
    """The axes of the launch along which invocations share the element."""
    by_all: bool
    """Whether all invocations of the launch do it, and not those along some axes, or under a condition on data."""


def shared_stores(program: Program, own_index: Sequence[Value], shape: Sequence[Axis]) -> Iterator[SharedStore]:
    """Give the stores of a program by which invocations lose what others store, in its order.

    Args:
        program: The program.
        own_index: The indices of the invocation in the launch.
        shape: The axes of the launch.
    """
    own = [index.expr for index in own_index]
    if any(_is_candidate(stmt, own) for stmt in statements(program.body)):
        yield from _Search(program, own, shape).search()


def _is_candidate(stmt: Stmt, own: Sequence[Expr]) -> bool:
    if not isinstance(stmt, Store) or stmt.buffer.memory not in ATOMIC_MEMORY:
        return False
    return not {*own} <= {*postorder([stmt.index])}


class _Search:
    """Walks a program twice: to find the sources of its locals, then its stores."""

    def __init__(self, program: Program, own: Sequence[Expr], shape: Sequence[Axis]) -> None:
        self._body, self._own, self._shape = program.body, own, shape
        self._axes = frozenset(k for k, length in enumerate(shape) if length != 1)
        x = len(shape) - 1  # the last axis; the one before is y, and all others are z
        self._axes_of_workgroup = frozenset(k for k in self._axes if program.workgroup_size[min(x - k, 2)] > 1)
        self._lets: dict[str, Expr] = {}
        self._locals: dict[str, Sources] = {}
        self._known: dict[Expr, Sources] = {}
        self._number = -1

    def search(self) -> Iterator[SharedStore]:
        """Give the stores, in the order of the program."""
        before = None
        while before != self._locals:
            before = dict(self._locals)
            for _ in self._walk(self._body, NO_SOURCES):
                pass
        self._number = -1
        yield from self._walk(self._body, NO_SOURCES)

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _of(self, expr: Expr) -> Sources:
        """The sources of an expression."""
        for node in postorder([expr], {*self._known}):
            self._known[node] = self._of_node(node)
        return self._known[expr]

    def _of_node(self, node: Expr) -> Sources:
        found: Sources = frozenset().union(*(self._known[part] for part in node.args))
        match node:
            case _ if node in self._own:
                return frozenset([Index(self._own.index(node))])
            case Id():
                return NO_SOURCES if node.kind in _SAME else frozenset([OTHER])
            case Local():
                return self._locals.get(node.name, NO_SOURCES)
            case Load() if node.buffer.memory is Memory.PRIVATE or node.buffer.access.writes:
                return frozenset([node])
            case Load():
                return frozenset(Data(part.axis) if isinstance(part, Index) else part for part in found)
        return found

    def _selecting(self, condition: Expr, holds: bool) -> Sources:
        """The sources of a condition, without those of parts that only compare an index with a length."""
        match condition:
            case Apply() if condition.op.id == "not":
                return self._selecting(condition.args[0], not holds)
            case Apply() if condition.op.id == ("and" if holds else "or"):
                return frozenset().union(*(self._selecting(part, holds) for part in condition.args))
            case Apply(op, (index, length)) if op.id == ("lt" if holds else "ge") and index in self._own:
                return NO_SOURCES if self._is_length(self._own.index(index), length) else self._of(condition)
        return self._of(condition)

    def _is_length(self, axis: int, expr: Expr) -> bool:
        """Whether an expression is a length, or a number above 1, so that more than one index is below it."""
        match self._lets.get(expr.name, expr) if isinstance(expr, Local) else expr:
            case Literal() as number:
                return number.value > 1
            case Length():
                return True
            case Load(buffer):
                return buffer.name in (LAUNCH_SHAPE, self._shape[axis])
        return False

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _walk(self, body: Body, reach: Sources) -> Iterator[SharedStore]:
        """Go through a body that invocations reach under conditions with the sources `reach`."""
        for stmt in body:
            self._number += 1
            match stmt:
                case Let() | Var() | Assign():
                    self._give(stmt.name, self._of(stmt.value) | reach)
                    if isinstance(stmt, Let):
                        self._lets[stmt.name] = stmt.value
                case Atomic(result=str(name)):
                    self._give(name, frozenset([OTHER]))
                case Subgroup(result=str(name)):
                    self._give(name, frozenset([COLLECTIVE]))
                case Store():
                    if (found := self._shared(stmt, reach)) is not None:
                        yield found
                case If():
                    for arm, holds in ((stmt.then, True), (stmt.orelse, False)):
                        yield from self._walk(arm, reach | self._selecting(stmt.condition, holds))
                case For():
                    inside = reach | self._of(stmt.start) | self._of(stmt.stop)
                    inside |= self._leaving(stmt.body, inside)
                    self._give(stmt.name, inside)
                    yield from self._walk(stmt.body, inside)
                case Region():
                    yield from self._walk(stmt.body, reach)
            reach |= self._leaving((stmt,), reach)

    def _give(self, name: str, found: Sources) -> None:
        known = self._locals.get(name, NO_SOURCES)
        if not found <= known:
            self._locals[name] = known | found
            self._known.clear()

    def _leaving(self, body: Body, reach: Sources, *, in_loop: bool = False) -> Sources:
        """The sources of the conditions under which invocations do not reach the end of a body."""
        found = NO_SOURCES
        for stmt in body:
            match stmt:
                case If():
                    for arm, holds in ((stmt.then, True), (stmt.orelse, False)):
                        where = reach | self._selecting(stmt.condition, not holds)
                        found |= self._leaving(arm, where, in_loop=in_loop)
                case For():
                    inside = reach | self._of(stmt.start) | self._of(stmt.stop)
                    found |= self._leaving(stmt.body, inside, in_loop=True)
                case Region():
                    found |= self._leaving(stmt.body, reach, in_loop=in_loop)
                case Return():
                    found |= reach
                case Break() | Continue() if not in_loop:
                    found |= reach
        return found

    def _shared(self, stmt: Store, reach: Sources) -> SharedStore | None:
        """What is lost by a store that invocations reach under conditions with the sources `reach`."""
        memory, place = stmt.buffer.memory, self._of(stmt.index)
        if memory not in ATOMIC_MEMORY or not all(isinstance(source, Index) for source in place):
            return None
        own = {axis.axis for axis in place if isinstance(axis, Index)}
        shared = (self._axes_of_workgroup if memory is Memory.WORKGROUP else self._axes) - own
        if not shared:
            return None
        element = Load(stmt.buffer, stmt.index, checked=stmt.checked)
        value, conditions = (self._apart(sources, own) for sources in (self._of(stmt.value), reach))
        differs = any(source == OTHER or isinstance(source, (Index, Data)) for source in value)
        is_update = element in value or (element in conditions and differs)
        if memory is Memory.WORKGROUP and element not in value:
            return None  # who shares it is not all of an axis, and the value may be that of the workgroup
        selecting = {source for source in conditions - {element} if not isinstance(source, Data)}
        if selecting or not (is_update or (differs and not conditions)):
            return None
        by_all = not own and not conditions - {element}
        return SharedStore(self._number, stmt, is_update, element in value, sorted(shared), by_all)

    def _apart(self, sources: Sources, own: set[int]) -> Sources:
        """The sources by which invocations differ that have the same indices on the axes `own`."""
        return frozenset(x for x in sources if not (isinstance(x, (Index, Data)) and x.axis in own))
