"""Memory of a workgroup that its vectors are kept in: a tree of sums needs no memory then.

::

    for lane in 0..128 { shared[lane] = shared[lane] + shared[lane + 128]; }

Written out for every vector, its accesses are at constants, and LLVM replaces the memory by registers. It would also
move the loads of an input to where the sum needs them, which is element 0, 128, 64, 192 and so on. The CPU does not
foresee such an order: a sum over 64 MiB takes 1.5 times as long on a Zen 4. So loads of other memory are volatile, and
stay in the order of the program, where there is a register for each vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet

from vyre_driver_cpu.bounds import UpperBounds
from vyre_driver_cpu.lanes import VectorLanes, can_address
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, Body, Break, Continue, For, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import bodies, expressions, postorder, statements
from vyre_foundation.validate.declared import declared_locals

_MOST = 32
"""Registers for vectors that one array may take, and vectors of one loop."""


class RegisterArrays:
    """The arrays of a kernel that registers can hold, and the loops that access no others of a workgroup."""

    def __init__(self, program: Program, stream_bits: int) -> None:
        self._lets = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
        self._bounds = UpperBounds(self._lets, (s for s in statements(program.body) if isinstance(s, For)))
        self._mutable = frozenset(s.name for s in statements(program.body) if isinstance(s, Var))
        self._bits = stream_bits
        self._constants: set[Expr] = set()
        self._sets: list[AbstractSet[Buffer]] = []  # what each loop accesses
        self._own = {b for b in program.buffers if b.memory is Memory.PRIVATE}
        fits = (b for b in self._own if isinstance(b.count, int) and b.count * b.dtype.bits <= _MOST * self._bits)
        self._arrays = set(fits)
        if self._arrays:
            self._visit(program.body)
            while mixed := [a for a in self._sets if a & self._arrays and not a <= self._arrays]:
                self._arrays.difference_update(*mixed)

    def lanes(self, loop: For) -> VectorLanes | None:
        """The lanes of a loop that accesses such an array; None for another loop."""
        if not self._arrays:
            return None
        accesses = _accesses(loop.body)
        return None if self._arrays.isdisjoint(accesses) else self._lanes(loop, accesses)

    def _visit(self, body: Body) -> None:
        """Leave out the arrays with an access that is not at a constant."""
        for stmt in body:
            if isinstance(stmt, For) and stmt.is_parallel and not runs_once(stmt):
                accesses = _accesses(stmt.body)
                lanes = self._lanes(stmt, accesses)
                self._sets.append(accesses.keys() & self._own)
                for buffer, indices in accesses.items():
                    if lanes is None or not all(self._is_whole(index, lanes) for index in indices):
                        self._arrays.discard(buffer)
                continue
            if isinstance(stmt, For) and runs_once(stmt):
                self._constants.add(Local(stmt.name, stmt.start.dtype))
            for buffer, indices in _own_accesses(stmt).items():
                if isinstance(stmt, Atomic) or not all(map(self._is_constant, indices)):
                    self._arrays.discard(buffer)
            for inner in bodies(stmt):
                self._visit(inner)

    def _is_whole(self, index: Expr, lanes: VectorLanes) -> bool:
        """Whether a vector accesses a whole register, the same in each workgroup; or all lanes one element."""
        pattern = lanes.pattern(index)
        if pattern is None or not can_address(index, pattern) or not self._is_constant(index, lanes.counter):
            return False
        if pattern.is_uniform:
            return True
        first, width = pattern.offsets[0], lanes.width
        places = tuple(offset - first for offset in pattern.offsets)
        return places == tuple(range(width)) and not first % width and pattern.align >= width

    def _is_constant(self, index: Expr, counter: Expr | None = None) -> bool:
        """Whether the counter of vectors is all that an index depends on."""
        if isinstance(index, Literal) or index is counter or index in self._constants:
            return True
        if isinstance(index, Local):
            value = self._lets.get(index.name)
            return value is not None and self._is_constant(value, counter)
        return isinstance(index, (Apply, Cast)) and all(self._is_constant(a, counter) for a in index.args)

    def _lanes(self, loop: For, accesses: Iterable[Buffer]) -> VectorLanes | None:
        trips = loop.trip_count
        if loop.start.dtype is not u32 or not isinstance(loop.start, Literal) or not trips or loop.step != 1:
            return None
        if not _is_simple(loop):
            return None
        elements = [buffer.dtype.bits for buffer in accesses]
        width = self._bits // max([32, *elements])
        if trips < width:
            width = trips
        if trips < 2 or trips % width or width & (width - 1) or trips > _MOST * width:
            return None
        return VectorLanes(loop, width, self._lets, self._mutable, self._bounds)


def runs_once(loop: For) -> bool:
    """Whether a loop over invocations is one of them, which is known, and goes through its body to the end."""
    if not loop.is_parallel or loop.trip_count != 1:
        return False
    return not any(isinstance(s, (Break, Continue)) for s in statements(loop.body))


def _is_simple(loop: For) -> bool:
    """Whether all invocations do the same, one statement behind the other, and leave nothing but stores."""
    own = declared_locals(loop.body).keys()
    if not all(isinstance(s, (Let, Var, Store)) or (isinstance(s, Assign) and s.name in own) for s in loop.body):
        return False
    return not any(isinstance(node, Call) for node in postorder(e for s in loop.body for e in expressions(s)))


def _own_accesses(stmt: Stmt) -> dict[Buffer, list[Expr]]:
    """The indices that a statement itself accesses, of each memory."""
    found: dict[Buffer, list[Expr]] = {}
    if isinstance(stmt, (Store, Atomic)):
        found.setdefault(stmt.buffer, []).append(stmt.index)
    for node in postorder(expressions(stmt)):
        if isinstance(node, Load):
            found.setdefault(node.buffer, []).append(node.index)
    return found


def _accesses(body: Body) -> dict[Buffer, list[Expr]]:
    found: dict[Buffer, list[Expr]] = {}
    for stmt in statements(body):
        for buffer, indices in _own_accesses(stmt).items():
            found.setdefault(buffer, []).extend(indices)
    return found
