"""Arrays that a kernel writes all over before it reads them: they need not be zero at first.

A write is all over where the coordinates and counters in its index are the digits of a number, and go through all of
their values: ``y * 16 + x`` for all y and x below 16 is each element of 256.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Body, Break, Continue, For, If, Region, Return, Stmt, Store
from vyre_foundation.ir.walk import expressions, postorder, statements

Digits = Mapping[Expr, int]
"""Coordinates and counters that take all values from 0, with how many these are."""
_MAX_NODES = 32


class _State(IntEnum):
    """What has happened to an array so far."""

    READ = 0
    UNTOUCHED = 1
    WRITTEN = 2


def overwritten(program: Program) -> frozenset[Buffer]:
    """The private and workgroup arrays whose first contents nobody sees."""
    ids: Digits = {Id(IdKind.LOCAL_ID, axis): size for axis, size in enumerate(program.workgroup_size)}
    reads = {id(s): _arrays_read(s) for s in statements(program.body)}
    found = []
    for buffer in program.buffers:
        if buffer.memory in (Memory.PRIVATE, Memory.WORKGROUP):
            digits = ids if buffer.memory is Memory.WORKGROUP else {}
            if _Array(buffer, reads).after(program.body, digits) is not _State.READ:
                found.append(buffer)
    return frozenset(found)


def _arrays_read(stmt: Stmt) -> set[Buffer]:
    """The buffers that `stmt` itself looks at."""
    found = {n.buffer for n in postorder(expressions(stmt)) if isinstance(n, Load)}
    return found | {stmt.buffer} if isinstance(stmt, Atomic) else found


class _Array:
    def __init__(self, buffer: Buffer, reads: Mapping[int, set[Buffer]]) -> None:
        self._buffer, self._reads = buffer, reads

    def after(self, body: Body, digits: Digits) -> _State:
        """The state after `body`, which begins with the array untouched. Who leaves early may leave it so."""
        state = _State.UNTOUCHED
        for stmt in body:
            match self._step(stmt, digits):
                case _State.READ:
                    return _State.READ
                case _State.WRITTEN:
                    return _State.WRITTEN
                case _:
                    if _may_leave(stmt):
                        return _State.READ if self._reads_any(body) else state
        return state

    def _step(self, stmt: Stmt, digits: Digits) -> _State:
        match stmt:
            case _ if self._is_read_by(stmt):
                return _State.READ
            case Store(buffer, index) if buffer is self._buffer:
                return _State.WRITTEN if self._is_all_over(index, digits) else _State.UNTOUCHED
            case If(_, then, orelse):
                shared = {} if self._buffer.memory is Memory.WORKGROUP else digits  # not all may take the same branch
                return min(self.after(then, shared), self.after(orelse, shared))
            case For():
                return self._loop(stmt, digits)
            case Region(_, body):
                return self.after(body, digits)
            case _:
                return _State.UNTOUCHED

    def _loop(self, loop: For, digits: Digits) -> _State:
        """What a loop may not come to does not count as written."""
        rounds = 0 if any(map(_may_leave, loop.body)) else _rounds(loop)
        counter = Local(loop.name, loop.start.dtype)
        inner = {**digits, counter: rounds} if rounds else digits
        state = self.after(loop.body, inner)
        if state is _State.WRITTEN and not rounds:
            return _State.UNTOUCHED
        if state is _State.WRITTEN or not self._reads_any(loop.body):
            return state
        return _State.READ

    def _reads_any(self, body: Body) -> bool:
        return any(map(self._is_read_by, statements(body)))

    def _is_read_by(self, stmt: Stmt) -> bool:
        return self._buffer in self._reads[id(stmt)]

    def _is_all_over(self, index: Expr, digits: Digits) -> bool:
        """Whether the digits of `index` make up each number below the count, and no other digit repeats the write."""
        weights = _weights(index, digits)
        if weights is None:
            return False
        place = 1
        for digit, weight in sorted(weights.items(), key=lambda item: item[1]):
            if weight != place:
                return False
            place *= digits[digit]
        return place == self._buffer.count


def _weights(index: Expr, digits: Digits) -> dict[Expr, int] | None:
    """`index` as a sum of digits times numbers."""
    nodes = postorder((index,))
    if len(nodes) > _MAX_NODES:
        return None
    sums: dict[Expr, tuple[dict[Expr, int], int] | None] = {}
    for node in nodes:
        sums[node] = _sum(node, [sums[a] for a in node.args], digits)
    found = sums[index]
    return found[0] if found is not None and found[1] == 0 else None


def _sum(
    node: Expr, args: list[tuple[dict[Expr, int], int] | None], digits: Digits
) -> tuple[dict[Expr, int], int] | None:
    match node, args:
        case Literal(), _ if node.dtype.is_integer:
            return {}, int(node.value)
        case ((Id() | Local()), _) if node in digits:
            return ({node: 1} if digits[node] > 1 else {}), 0
        case Cast(dtype, value), [inner] if value.dtype.is_integer and dtype.bits >= value.dtype.bits:
            return inner
        case Apply(op), [(a, x), (b, y)] if op.id == "add" and not a.keys() & b.keys():
            return {**a, **b}, x + y
        case Apply(op), [(a, x), (b, y)] if op.id == "mul" and not (a and b):
            weights, factor = (a, y) if a else (b, x)
            return {digit: weight * factor for digit, weight in weights.items()}, x * y
        case _:
            return None


def _rounds(loop: For) -> int:
    """How many values a counter takes from 0, if that is known and not none, else 0."""
    ends = (loop.start, loop.stop)
    if loop.step == 1 and all(isinstance(e, Literal) for e in ends):
        start, stop = (int(e.value) for e in ends if isinstance(e, Literal))
        return max(stop, 0) if start == 0 else 0
    return 0


def _may_leave(stmt: Stmt) -> bool:
    jumps: Iterable[Stmt] = statements((stmt,))
    return any(isinstance(s, (Return, Break, Continue)) for s in jumps)
