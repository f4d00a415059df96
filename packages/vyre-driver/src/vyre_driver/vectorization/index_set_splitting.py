"""Index-set splitting: loops are cut at the iterations where the outcome of a bounds check or a condition changes.

In a scan every invocation reads an element at a fixed distance; the first few are out of bounds. They add nothing
either: a loop begins at the first iteration that does something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.target import Target
from vyre_foundation.ir.expr import Apply, Expr, Literal, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import with_names
from vyre_foundation.ir.stmt import (
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    Let,
    Return,
    Stmt,
)  # fmt: skip
from vyre_foundation.ir.walk import (
    expressions,
    postorder,
    rebuilt,
    rewrite_body,
    statements,
    transform,
    with_expressions,
)
from vyre_foundation.validate.declared import declared_locals

MAX_NODES = 500
"""Loops of more operations are not split."""
_MAX_CUTS = 2
_NOT_LESS = ("le", "ge")
"""Comparisons with what a counter is at least."""
_LEAST = 8
"""Loops of fewer iterations are not split: compilers unroll them."""


def split_index_sets(program: Program, ranges: Ranges, target: Target) -> Program:
    """Cut loops at the iterations where the outcome of a bounds check or a condition changes.

    ``for l in 0..256: x = w[l - 4]``  →  ``for l in 0..4: x = 0; for l in 4..256: x = w[l - 4] (unchecked)``

    Only for targets with `loop_versioning`.
    """
    if not target.loop_versioning:
        return program
    fresh = Fresh.of(program)

    def cut(stmt: Stmt) -> Stmt | Body:
        return _split(_narrowed(stmt), ranges, fresh) if isinstance(stmt, For) else stmt

    return declare(program, rewrite_body(program.body, cut))


def _split(loop: For, ranges: Ranges, fresh: Fresh) -> Stmt | Body:
    start, stop = loop.start, loop.stop
    if not (isinstance(start, Literal) and isinstance(stop, Literal)) or loop.step != 1 or not _can_be_split(loop):
        return loop
    low, high = int(start.value), int(stop.value)
    nodes = postorder(e for s in statements(loop.body) for e in expressions(s))
    if low < 0 or high - low < _LEAST or len(nodes) > MAX_NODES:
        return loop
    loads = _within(loop, high, nodes)
    for known in ({**loads, **_once(loop)}, loads):
        cuts = sorted(
            {n for iterations in known.values() for n in (iterations.start, iterations.stop) if low < n < high}
        )
        if 0 < len(cuts) <= _MAX_CUTS:
            return tuple([_Piece(loop, *ends, known, ranges, fresh).loop() for ends in pairwise([low, *cuts, high])])
    return loop


def _narrowed(loop: For) -> For:
    """The loop without its first iterations where these do nothing.

    ``for l in 0..64: let x = f(l); if 4 <= l: g(x)``  →  ``for l in 4..64: let x = f(l); g(x)``
    """
    match loop:
        case For(name, Literal() as start, step=1, body=(*lets, If(Apply(op, args), then, ()))) if op.id in _NOT_LESS:
            least, counter = args if op.id == "le" else args[::-1]
            is_alone = counter is Local(name, start.dtype) and all(isinstance(s, Let) for s in lets)
            if isinstance(least, Literal) and is_alone:
                return replace(loop, start=max(start, least, key=lambda x: int(x.value)), body=(*lets, *then))
        case _:
            pass
    return loop


def _within(loop: For, high: int, nodes: Iterable[Expr]) -> dict[Expr, range]:
    """The iterations in which a checked load is within bounds, for indices that are `counter + number`.

    Counters and lengths are less than half of what their type holds, so that what wraps is out of bounds.
    """
    counter, half = Local(loop.name, loop.start.dtype), 1 << (loop.start.dtype.bits - 1)
    matches: dict[Expr, range] = {}
    for node in nodes if high <= half else ():
        if isinstance(node, Load) and node.checked and isinstance(node.buffer.count, int):
            distance = _distance(node.index, counter)
            if distance is not None and node.buffer.count <= half:
                matches[node] = range(-distance, node.buffer.count - distance)
    return matches


def _once(loop: For) -> dict[Expr, range]:
    """The iteration in which the counter equals a literal, for conditions that compare them."""
    counter = Local(loop.name, loop.start.dtype)
    matches: dict[Expr, range] = {}
    for stmt in statements(loop.body):
        match stmt:
            case If(Apply(op, (x, Literal() as y)) as condition) if op.id == "eq" and x is counter:
                matches[condition] = range(int(y.value), int(y.value) + 1)
            case _:
                pass
    return matches


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


def _can_be_split(loop: For) -> bool:
    jumps = (Break, Continue, Return, Barrier)
    return not any(isinstance(s, jumps) for s in statements(loop.body))


class _Piece:
    """The iterations from `low` to `high` of a loop, with renamed locals."""

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
        return For(name, *ends, 1, rewrite_body(self._loop.body, self._stmt), self._loop.is_parallel)

    def _stmt(self, stmt: Stmt) -> Stmt | Body:
        stmt = with_expressions(stmt, lambda e: transform(e, self._node, self._memo))
        match stmt:
            case If(Literal(bits=truth), then, orelse):
                return then if truth else orelse
            case _:
                return with_names(stmt, self._names)

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
