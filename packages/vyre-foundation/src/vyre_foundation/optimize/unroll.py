"""Loops of few iterations are unrolled, where knowing the counter decides something.

::

    for i in 0..3 {                                     if local_id.x < 4 >> 0 {
      if local_id.x < 4 >> i {                            w[local_id.x] = 0;
        w[local_id.x] = i;                              }
      }                                           →     barrier workgroup;
      barrier workgroup;                                if local_id.x < 4 >> 1 {
    }                                                     w[local_id.x] = 1;
                                                        }
                                                        …

Compilers unroll too, but after what depends on the counter here: phases between barriers, guards, private arrays in
registers. A loop stays a loop where the counter decides nothing, and where the iterations would be too many or too
large. An array is in memory if one of its indices stays unknown, so its other indices decide nothing.

A trap is never written twice: of several trap statements the first one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from itertools import islice

from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Literal, Load, Local, Select
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import renamed
from vyre_foundation.ir.stmt import (
    Barrier,
    Body,
    Break,
    Continue,
    For,
    Let,
    Scope,
    Stmt,
    Store,
    Trap,
)
from vyre_foundation.ir.walk import bodies, expressions, postorder, same_body, statements, with_bodies
from vyre_foundation.passes import Pass
from vyre_foundation.validate.control import leaves
from vyre_foundation.validate.declared import declared_locals
from vyre_foundation.validate.facts import Facts

MAX_ITERATIONS = 64
MAX_NODES = 1024
"""How many statements and expressions the iterations of one loop may come to."""

MAX_PROGRAM = 4096
"""How many a program may come to. Loops of a larger one are not unrolled."""

_BY_COUNTS = frozenset("shl shr rotl rotr div rem".split())
"""Ops that cost less where the second operand is a literal."""

_COMPARISONS = frozenset("eq ne lt le gt ge".split())

_IN_REGISTERS = (Memory.PRIVATE, Memory.CONSTANT)
"""Memory whose elements are values when their indices are literals."""


def unroll_loops(program: Program, facts: Facts) -> Program:
    """The program with fewer loops."""
    while any(isinstance(stmt, For) for stmt in program.statements):
        body = _Unroll(program).body(program.body)
        if body is program.body:
            break
        program = replace(program, body=body)  # iterations share expressions, so there may be room for more
    return program


class _Unroll:
    def __init__(self, program: Program) -> None:
        self._fresh = Fresh(declared_locals(program.body))
        self._counters = {s.name for s in program.statements if isinstance(s, For)}
        self._size = _size(program.body)
        self._in_memory = _in_memory(program)

    def body(self, body: Body) -> Body:
        """Outer loops first, because their iterations decide about the loops inside."""
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, For) and (iterations := self._iterations(stmt)) is not None:
                for number, value in enumerate(iterations):
                    out += self.body(self._iteration(stmt, number, value))
            else:
                out.append(with_bodies(stmt, self.body))
        return same_body(body, _reached(out))

    def _iteration(self, loop: For, number: int, value: int) -> Body:
        names = {name: self._fresh.numbered(name) for name in declared_locals(loop.body)} if number else {}
        self._counters |= {new for name, new in names.items() if name in self._counters}
        dtype = loop.start.dtype
        return renamed(loop.body, names, {loop.name: Literal(dtype, value & ((1 << dtype.bits) - 1))})

    def _iterations(self, loop: For) -> range | None:
        """The values of the counter if the loop is to be unrolled; the budget is then used."""
        if not (isinstance(loop.start, Literal) and isinstance(loop.stop, Literal)):
            return None
        if not _may_unroll(loop):
            return None
        iterations = range(int(loop.start.value), int(loop.stop.value), loop.step)
        if len(iterations) > 1:
            most = min(MAX_NODES // len(iterations), (MAX_PROGRAM - self._size) // (len(iterations) - 1))
            if next(islice(statements(loop.body), max(0, most), None), None) is not None:
                return None  # in time that does not depend on how large the loop is
            size = _size(loop.body)
            added = size * (len(iterations) - 1)
            if size > most:
                return None
            if _is_single(loop.body) or not self._decides(loop):
                return None
            self._size += added
        return iterations

    def _decides(self, loop: For) -> bool:
        """Whether phases, operands or elements are known where the counter is."""
        inside = list(statements(loop.body))
        if any(isinstance(s, Barrier) for s in inside):
            return True
        operands: dict[Expr, _Operands] = {}
        for node in postorder(root for stmt in inside for root in expressions(stmt)):
            operands[node] = self._operands(node, operands, loop.name)
            if self._is_decided(node, operands):
                return True
        bounds = [bound for stmt in inside if isinstance(stmt, For) for bound in (stmt.start, stmt.stop)]
        elements = [s.index for s in inside if isinstance(s, Store) and self._may_be_in_registers(s.buffer)]
        return any(operands[x] is _Operands.COUNTER for x in (*bounds, *elements))

    def _operands(self, node: Expr, operands: Mapping[Expr, _Operands], counter: str) -> _Operands:
        match node:
            case Literal():
                return _Operands.NUMBERS
            case Local(name) if name in self._counters:
                return _Operands.COUNTER if name == counter else _Operands.NUMBERS
            case Apply():
                return max(operands[a] for a in node.args)
            case _:
                return _Operands.OTHERS

    def _is_decided(self, node: Expr, operands: Mapping[Expr, _Operands]) -> bool:
        """Whether the counter makes an op cheaper, or an element of memory a value."""
        match node:
            case Load():
                return self._may_be_in_registers(node.buffer) and operands[node.index] is _Operands.COUNTER
            case Apply(op, args) if op.id in _BY_COUNTS:
                return operands[args[1]] is _Operands.COUNTER or operands[node] is _Operands.COUNTER
            case Apply(op) if op.id in _COMPARISONS:
                return operands[node] is _Operands.COUNTER
            case _:
                return False

    def _may_be_in_registers(self, buffer: Buffer) -> bool:
        return buffer.memory in _IN_REGISTERS and buffer not in self._in_memory


class _Operands(IntEnum):
    """What an expression is made of: counters of other loops are as good as numbers, because these may unroll too."""

    NUMBERS = 0
    COUNTER = 1
    OTHERS = 2


def _in_memory(program: Program) -> set[Buffer]:
    """Private arrays with an index that stays unknown whichever loops are unrolled."""
    if not any(buffer.memory is Memory.PRIVATE for buffer in program.buffers):
        return set()
    defined: dict[str, tuple[Expr, ...]] = {s.name: (s.value,) for s in program.of(Let)}
    defined |= {s.name: (s.start, s.stop) for s in program.of(For) if _may_unroll(s)}
    numbers: dict[Expr, bool] = {}
    for node in postorder(root for stmt in program.statements for root in expressions(stmt)):
        match node:
            case Literal():
                numbers[node] = True
            case Local(name):  # what it is made of comes before it
                numbers[node] = name in defined and all(numbers[x] for x in defined[name])
            case Apply() | Select() | Cast() | Bitcast():
                numbers[node] = all(numbers[a] for a in node.args)
            case Load(buffer, index):
                numbers[node] = buffer.memory is Memory.CONSTANT and numbers[index]
            case _:
                numbers[node] = False
    accesses = [(node.buffer, node.index) for node in numbers if isinstance(node, Load)]
    accesses += [(s.buffer, s.index) for s in program.of(Store)]
    return {buffer for buffer, index in accesses if buffer.memory is Memory.PRIVATE and not numbers[index]}


def _may_unroll(loop: For) -> bool:
    """Whether a loop is one to unroll once its bounds are literals."""
    return (loop.trip_count is None or loop.trip_count <= MAX_ITERATIONS) and not _is_left_early(loop.body)


def _reached(stmts: list[Stmt]) -> list[Stmt]:
    """The statements up to the first one that always leaves the body, as an iteration of a loop may."""
    for number, stmt in enumerate(stmts, 1):
        if leaves(stmt):
            return stmts[:number]
    return stmts


def _size(body: Body) -> int:
    stmts = list(statements(body))
    return len(stmts) + len(postorder(root for stmt in stmts for root in expressions(stmt)))


def _is_single(body: Body) -> bool:
    """Whether something in it must not be written twice: a trap, or a barrier that splits the program."""
    return any(isinstance(s, Trap) or (isinstance(s, Barrier) and s.scope is Scope.GRID) for s in statements(body))


def _is_left_early(body: Body) -> bool:
    """Whether a `break` or `continue` in it belongs to the loop around it."""
    for stmt in body:
        if isinstance(stmt, (Break, Continue)):
            return True
        if not isinstance(stmt, For) and any(map(_is_left_early, bodies(stmt))):
            return True
    return False


UNROLL = Pass("unroll", "Unroll loops of few iterations", unroll_loops)
