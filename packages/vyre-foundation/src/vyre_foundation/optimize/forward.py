"""What was just written is known: variables that hold a short value, and elements that were stored or loaded.

::

    var x = 0;                         var x = 0;
    w[local_id.x] = a[0] * 2;          let stored = a[0] * 2;
    b[x] = w[local_id.x];         →    w[local_id.x] = stored;
    x = 7;                             b[0] = stored;
    b[1] = x;                          x = 7;
                                       b[1] = 7;

An element is known until something may write it: a store or an atomic whose index may be the same, or a barrier, behind
which the writes of others show. Between barriers no other invocation writes what this invocation reads: that would be a
race, and a program with a race has no meaning. A store counts only where its index is in bounds, for else it is
dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, Length, Literal, Load, Local
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, Barrier, Body, For, If, Let, Region, Stmt, Store, Var
from vyre_foundation.ir.walk import same_body, with_expressions
from vyre_foundation.optimize.analysis import facts_after
from vyre_foundation.optimize.dependence import NOTHING, Dependences
from vyre_foundation.optimize.effects import Effects, EffectsOf
from vyre_foundation.optimize.fold import folded
from vyre_foundation.passes import Pass
from vyre_foundation.validate.control import leaves
from vyre_foundation.validate.facts import Facts, Interval
from vyre_foundation.validate.inferred import InferredRanges
from vyre_foundation.validate.intervals import hull

MAX_ELEMENTS = 32
"""How many elements are remembered; the oldest are forgotten."""

MAX_VISITS = 64
"""How often an expression may be looked into, on average; then nothing more is replaced."""


def forward_values(program: Program, facts: Facts) -> Program:
    """The program with fewer loads and fewer reads of variables."""
    if not facts.mutable and not any(use.loads and (use.stores or use.atomics) for use in facts.usage.values()):
        return program
    while True:
        walk = _Forward(facts)
        body = walk.body(program.body, _State())
        if body is program.body:
            return program
        program = replace(program, body=body)
        if not walk.has_learned():
            return program
        facts = facts_after(facts, program)


# ── what is known at a place ─────────────────────────────────────────────────────────────────────────────────────────

Element = tuple[Buffer, Expr]
"""An element of a buffer, by its index."""


@dataclass(slots=True, eq=False)
class _Content:
    """What an element holds: something short, or what a store has written, which `name` then gives a name."""

    short: Expr | None
    name: Callable[[], Expr] | None = None

    def expr(self) -> Expr:
        if self.short is None:
            assert self.name is not None
            self.short = self.name()
        return self.short


class _Value(NamedTuple):
    """The content of an element, which another element may have too; and the `bounds` of the index of this one."""

    content: _Content
    bounds: Interval


@dataclass(slots=True)
class _State:
    """The values of variables and of elements."""

    locals: dict[str, Expr] = field(default_factory=dict)
    elements: dict[Element, _Value] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(dict(self.locals), dict(self.elements))

    def meet(self, others: list[_State]) -> None:
        """Forget what is not the same in all of the others."""
        self.locals = {k: v for k, v in self.locals.items() if all(o.locals.get(k) is v for o in others)}
        self.elements = {k: v for k, v in self.elements.items() if all(o.elements.get(k) is v for o in others)}

    def forget_nameless(self, but: set[_Content]) -> None:
        """The statements that could have given a name to others are out of reach."""
        self.elements = {k: v for k, v in self.elements.items() if v.content.short is not None or v.content in but}

    def remember(self, element: Element, value: _Value) -> None:
        self.elements.pop(element, None)
        if len(self.elements) >= MAX_ELEMENTS:
            del self.elements[next(iter(self.elements))]
        self.elements[element] = value


class _Forward:
    def __init__(self, facts: Facts) -> None:
        self._given: dict[Local, Interval] = {}
        self._mutable = facts.mutable
        self._ranges = InferredRanges(facts.program, facts.ranges)
        self._dependences = Dependences(facts.program, facts.mutable)
        self._effects = EffectsOf()
        self._fresh = Fresh(facts.locals)
        self._visits = MAX_VISITS * (100 + len(facts.program.code.nodes))

    def body(self, body: Body, state: _State) -> Body:
        """A body that begins in `state`, which becomes that at its end."""
        out: list[Stmt] = []
        names: dict[int, Local] = {}
        for stmt in body:
            out.append(self._statement(stmt, state, len(out), names))
        return same_body(body, [one for n, stmt in enumerate(out) for one in _with_name(stmt, names.get(n))])

    def has_learned(self) -> bool:
        """Whether the values that a variable is given now bound it more tightly, and with it perhaps an index."""
        known = self._ranges.known
        return any(
            known[local].low < low or known[local].high > high
            for local, (low, high) in self._given.items()
            if local in known
        )

    def _note(self, local: Local, value: Expr) -> None:
        if value.dtype.is_integer:
            bounds = self._ranges.of(value)
            self._given[local] = hull(self._given.get(local, bounds), bounds)

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _statement(self, stmt: Stmt, state: _State, place: int, names: dict[int, Local]) -> Stmt:
        """What becomes of a statement; `names` are for the values of stores, by their places in the body."""
        new = with_expressions(stmt, lambda expr: self._image(expr, state))
        match new:
            case Let(name, value):
                self._learn_load(Local(name, value.dtype), value, state)
            case Var(name, value) | Assign(name, value):
                self._note(Local(name, value.dtype), value)
                self._change(name, value, state)
            case Store():
                self._store(new, state, self._naming(new.value, place, names))
            case Atomic(buffer=buffer, index=index):
                self._write(buffer, index, state)
            case Barrier():
                self._forget(Effects(barrier=True), state)
            case If():
                return self._if(new, state)
            case For(body=body):
                self._forget(self._effects(body), state)
                return _with_body(new, self.body(body, state.copy()))
            case Region(body=body):
                before = {value.content for value in state.elements.values()}
                inside = self.body(body, state)
                state.forget_nameless(before)
                return _with_body(new, inside)
        return new

    def _if(self, stmt: If, state: _State) -> If:
        states = state.copy(), state.copy()
        then, orelse = self.body(stmt.then, states[0]), self.body(stmt.orelse, states[1])
        arms = zip((then, orelse), states, strict=True)
        state.meet([end for body, end in arms if not (body and leaves(body[-1]))])
        return stmt if then is stmt.then and orelse is stmt.orelse else replace(stmt, then=then, orelse=orelse)

    def _store(self, stmt: Store, state: _State, name: Callable[[], Expr]) -> None:
        buffer, index, value = stmt.buffer, stmt.index, stmt.value
        bounds = self._ranges.of(index)
        stored = _Content(value if self._is_short(value) else None, name)
        is_cached = isinstance(buffer.count, int) and bounds.low >= 0 and bounds.high < buffer.count
        is_cached = is_cached and self._dependences.are_disjoint(
            index, {buffer}
        )  # else it is another index from now on
        if is_cached and isinstance(value, Load) and value.buffer in self._dependences.written:
            state.remember((value.buffer, value.index), _Value(stored, self._ranges.of(value.index)))
        self._write(buffer, index, state)
        if is_cached:
            state.remember((buffer, index), _Value(stored, bounds))

    def _naming(self, value: Expr, place: int, names: dict[int, Local]) -> Callable[[], Expr]:
        def name() -> Expr:
            if place not in names:
                names[place] = Local(self._fresh.numbered("stored"), value.dtype)
                if value.dtype.is_integer:
                    self._ranges.known[names[place]] = self._ranges.of(value)
            return names[place]

        return name

    # ── knowledge ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _is_short(self, value: Expr) -> bool:
        """Whether it costs nothing and keeps its value."""
        if isinstance(value, Local):
            return value.name not in self._mutable
        return isinstance(value, (Literal, Id, Length))

    def _learn_load(self, local: Local, value: Expr, state: _State) -> None:
        if isinstance(value, Load) and value.buffer in self._dependences.written:
            bounds = self._ranges.of(value.index)
            state.remember((value.buffer, value.index), _Value(_Content(local), bounds))

    def _change(self, name: str, value: Expr, state: _State) -> None:
        """A variable gets another value."""
        self._forget(Effects(frozenset((name,))), state)
        if self._is_short(value):
            state.locals[name] = value

    def _write(self, buffer: Buffer, index: Expr, state: _State) -> None:
        """An element gets another value: forget all that may be this one, and what is found by its contents."""
        bounds = self._ranges.of(index)
        for element, value in list(state.elements.items()):
            same = element[0] is buffer and not are_apart(element[1], value.bounds, index, bounds)
            if same or not self._dependences.are_disjoint(element[1], {buffer}):
                del state.elements[element]

    def _forget(self, effects: Effects, state: _State) -> None:
        """Forget what is not known any more when all of this may have happened."""
        for name in [name for name in state.locals if name in effects.changes]:
            del state.locals[name]
        for element, value in list(state.elements.items()):
            buffer, index = element
            stays = buffer not in effects.changes and self._dependences.are_disjoint(index, effects.changes)
            if not stays or (effects.barrier and not self._outlives_barriers(element, value)):
                del state.elements[element]

    def _outlives_barriers(self, element: Element, value: _Value) -> bool:
        """No other invocation writes private memory, but a value that is no literal would occupy a register."""
        buffer, index = element
        return (
            buffer.memory is Memory.PRIVATE
            and isinstance(value.content.short, Literal)
            and self._dependences.of(index) == NOTHING
        )

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _image(self, root: Expr, state: _State) -> Expr:
        """`root` with what is known. Only what reads variables or written memory is looked into."""
        if not (state.locals or state.elements) or self._dependences.of(root) == NOTHING or self._visits < 0:
            return root
        images: dict[Expr, Expr] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            if node not in images:
                todo = [a for a in node.args if a not in images and self._dependences.of(a) != NOTHING]
                if todo:
                    stack += todo
                    continue
                args = tuple([images.get(a, a) for a in node.args])
                node_image = node if args == node.args else node.rebuild(args)
                images[node] = folded(node_image) or self._known(node_image, state)
            stack.pop()
        self._visits -= len(images)
        return images[root]

    def _known(self, node: Expr, state: _State) -> Expr:
        if isinstance(node, Local):
            return state.locals.get(node.name, node)
        if isinstance(node, Load) and (value := state.elements.get((node.buffer, node.index))) is not None:
            return value.content.expr()
        return node


def _with_name(stmt: Stmt, name: Local | None) -> tuple[Stmt, ...]:
    if name is None:
        return (stmt,)
    assert isinstance(stmt, Store)
    return Let(name.name, stmt.value), replace(stmt, value=name)


def _with_body(stmt: For | Region, body: Body) -> For | Region:
    return stmt if body is stmt.body else replace(stmt, body=body)


def are_apart(x: Expr, x_bounds: Interval, y: Expr, y_bounds: Interval) -> bool:
    """Whether two indices are never the same."""
    if x_bounds.high < y_bounds.low or y_bounds.high < x_bounds.low:
        return True
    (x_base, x_offset), (y_base, y_offset) = _base_and_offset(x), _base_and_offset(y)
    return x_base is y_base and x_offset != y_offset


def _base_and_offset(index: Expr) -> tuple[Expr | None, int]:
    """Split ``x + 7`` into ``x`` and 7; a literal has no base."""
    match index:
        case Literal():
            return None, int(index.value)
        case Apply(op, (x, Literal() as y)) if op.id == "add":
            return x, y.bits
        case _:
            return index, 0


FORWARD = Pass("forward", "Forward stored values to loads, and remove stores that nothing reads", forward_values)
