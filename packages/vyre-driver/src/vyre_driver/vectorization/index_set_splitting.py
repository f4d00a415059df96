"""Loops that go out of bounds, or do something once, at a round that is known: they are cut there, and nothing is asked
in the parts.

In a sum of everything before, every invocation looks at one that is further down, and the first few find none. The last
one has the sum of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.fresh import Fresh
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.target import Target
from vyre_driver.legalization.transform import rebuilt, transform
from vyre_foundation.ir.expr import Apply, Expr, Literal, Load, Local, literal
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
    Let,
    Return,
    Stmt,
    Subgroup,
    Var,
)  # fmt: skip
from vyre_foundation.ir.walk import expressions, postorder, rewrite_body, statements, with_expressions
from vyre_foundation.validate.declared import declared_locals

MAX_NODES = 500
"""Loops of more operations stay whole."""
_MAX_CUTS = 2
_LEAST = 8
"""Loops of fewer rounds stay whole: compilers write them out."""


def cut_loops(program: Program, ranges: Ranges, target: Target) -> Program:
    """``for l in 0..256: x = w[l - 4]``  →  ``for l in 0..4: x = 0; for l in 4..256: x = w[l - 4] (unchecked)``"""
    if not target.versions:
        return program
    fresh = Fresh(program)

    def cut(stmt: Stmt) -> Stmt | Body:
        return _parts(stmt, ranges, fresh) if isinstance(stmt, For) else stmt

    return declare(program, rewrite_body(program.body, cut))


def _parts(loop: For, ranges: Ranges, fresh: Fresh) -> Stmt | Body:
    start, stop = loop.start, loop.stop
    if not (isinstance(start, Literal) and isinstance(stop, Literal)) or loop.step != 1 or not _can_be_cut(loop):
        return loop
    low, high = int(start.value), int(stop.value)
    nodes = postorder(e for s in statements(loop.body) for e in expressions(s))
    if low < 0 or high - low < _LEAST or len(nodes) > MAX_NODES:
        return loop
    loads = _within(loop, high, nodes)
    for known in ({**loads, **_once(loop)}, loads):
        cuts = sorted({n for rounds in known.values() for n in (rounds.start, rounds.stop) if low < n < high})
        if 0 < len(cuts) <= _MAX_CUTS:
            return tuple([_Part(loop, *ends, known, ranges, fresh).loop() for ends in pairwise([low, *cuts, high])])
    return loop


def _within(loop: For, high: int, nodes: Iterable[Expr]) -> dict[Expr, range]:
    """The rounds in which a checked load is within bounds, for those that are `counter + number`.

    Counters and lengths are less than half of what their type holds, so that what wraps is out of bounds.
    """
    counter, half = Local(loop.name, loop.start.dtype), 1 << (loop.start.dtype.bits - 1)
    found: dict[Expr, range] = {}
    for node in nodes if high <= half else ():
        if isinstance(node, Load) and node.checked and isinstance(node.buffer.count, int):
            distance = _distance(node.index, counter)
            if distance is not None and node.buffer.count <= half:
                found[node] = range(-distance, node.buffer.count - distance)
    return found


def _once(loop: For) -> dict[Expr, range]:
    """The round in which the counter is a number, for conditions of statements that ask for it."""
    counter = Local(loop.name, loop.start.dtype)
    found: dict[Expr, range] = {}
    for stmt in statements(loop.body):
        match stmt:
            case If(Apply(op, (x, Literal() as y)) as condition) if op.id == "eq" and x is counter:
                found[condition] = range(int(y.value), int(y.value) + 1)
            case _:
                pass
    return found


def _distance(index: Expr, counter: Local) -> int | None:
    """The number that `index` is greater than the counter, the nearest to 0 of those that are equal in its type."""
    match index:
        case Local() if index is counter:
            return 0
        case Apply(op, (x, Literal() as y)) if x is counter and op.id in ("add", "sub"):
            number = int(y.value) if op.id == "add" else -int(y.value)
            half = 1 << (index.dtype.bits - 1)
            return (number + half) % (2 * half) - half
        case _:
            return None


def _can_be_cut(loop: For) -> bool:
    jumps = (Break, Continue, Return, Barrier)
    return not any(isinstance(s, jumps) for s in statements(loop.body))


class _Part:
    """The rounds from `low` to `high` of a loop, under other names."""

    def __init__(
        self, loop: For, low: int, high: int, within: Mapping[Expr, range], ranges: Ranges, fresh: Fresh
    ) -> None:
        self._loop, self._low, self._high, self._within, self._ranges = loop, low, high, within, ranges
        self._names = {name: fresh(name) for name in (loop.name, *declared_locals(loop.body))}
        self._memo: dict[Expr, Expr] = {}

    def loop(self) -> For:
        dtype, name = self._loop.start.dtype, self._names[self._loop.name]
        self._ranges.learn(Local(name, dtype), self._low, self._high - 1)
        ends = (literal(dtype, self._low), literal(dtype, self._high))
        return For(name, *ends, 1, rewrite_body(self._loop.body, self._stmt))

    def _stmt(self, stmt: Stmt) -> Stmt | Body:
        stmt = with_expressions(stmt, lambda e: transform(e, self._node, self._memo))
        match stmt:
            case If(Literal(bits=truth), then, orelse):
                return then if truth else orelse
            case Let(name) | Var(name) | Assign(name) | For(name) if name in self._names:
                return replace(stmt, name=self._names[name])
            case Atomic(result=str(name)) | Subgroup(result=str(name)):
                return replace(stmt, result=self._names[name])
            case _:
                return stmt

    def _node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        return self._ranges.carry(node, self._image(node, args))

    def _image(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        match node:
            case Local(name, dtype) if name in self._names:
                return Local(self._names[name], dtype)
            case Apply() if node in self._within:
                return literal(node.dtype, self._low in self._within[node])
            case Load() if node in self._within:
                if self._low not in self._within[node]:
                    return literal(node.dtype, 0)
                first = self._low - self._within[node].start
                self._ranges.learn(args[0], first, first + self._high - 1 - self._low)
                return Load(node.buffer, args[0], checked=False)
            case _:
                return rebuilt(node, args)
