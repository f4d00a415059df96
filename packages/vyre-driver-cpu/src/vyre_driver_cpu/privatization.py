"""Atomics that a call of a kernel does in memory of its own, and combines with the memory of the launch at its end.

::

    for i in … { atomic add(counts[x[i]], 1); }

becomes

    for i in … { own[x[i]] += 1; }
    for j in 0..len(counts) { if own[j] != 0 { atomic add(counts[j], own[j]); } }

An atomic takes several times as long as an addition, even if no other thread uses the element. The results are equal:
the operations are on integers and commute, and a kernel that uses no old value, and loads nothing from that buffer,
cannot observe when they are done. Each call decides by the length: its atomics stay atomics where the buffer has more
elements than the call has invocations, or takes more than `MOST_BYTES`.

An addition to an element that was stored just before waits for that store. So if `COPIES` copies are within the same
limits, iterations of a short loop use them in turns, and the call combines them at its end.
"""

from __future__ import annotations

from vyre_driver.legalization.lowered import Kernel
from vyre_driver.legalization.schedule import TRAPS
from vyre_driver_cpu.function import FunctionText
from vyre_driver_cpu.loops import COPIES
from vyre_driver_cpu.spelling import ATOMICS, COMBINED, LINE, TYPES, Spellings, neutral
from vyre_driver_cpu.statements import Counting
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.stmt import Atomic, AtomicOp, Store
from vyre_foundation.ir.walk import program_expressions, statements

MOST_BYTES = 1 << 14
"""Of a buffer: with what the kernel reads beside it, it stays in a cache of level 1."""


def privatized(kernel: Kernel) -> dict[Buffer, AtomicOp]:
    """The buffers that a kernel accesses by atomics of one operation alone, which commutes, and that operation."""
    program = kernel.program
    used = {node.buffer for node in program_expressions(program) if isinstance(node, Load)}
    ops: dict[Buffer, set[AtomicOp]] = {}
    for stmt in statements(program.body):
        if isinstance(stmt, Store) or (isinstance(stmt, Atomic) and stmt.result is not None):
            used.add(stmt.buffer)
        elif isinstance(stmt, Atomic):
            ops.setdefault(stmt.buffer, set()).add(stmt.op)
    return {
        buffer: op
        for buffer, (op, *others) in ops.items()
        if not others and op in COMBINED and buffer not in used and _may_be_small(buffer, kernel)
    }


def _may_be_small(buffer: Buffer, kernel: Kernel) -> bool:
    """Whether a buffer of the source is small, or its length is known to the kernel."""
    if buffer.name == TRAPS:
        return False
    if isinstance(buffer.count, int):
        return buffer.count * buffer.dtype.size <= MOST_BYTES
    return buffer.name in kernel.lengths


class PrivateBuffer:
    """Prints what a function does before and behind its workgroups, for one buffer.

    `shared` is the address of the buffer, `length` its number of elements. `is_own` says whether the call has elements
    of its own, and `address` is then theirs. `stride` is the number of elements from one copy to the next, 0 if there
    is one.
    """

    def __init__(
        self,
        out: FunctionText,
        spellings: Spellings,
        buffer: Buffer,
        op: AtomicOp,
        shared: str,
        length: str,
        invocations: str,
    ) -> None:
        self._out, self._dtype, self._op, self._shared, self._length = out, buffer.dtype, op, shared, length
        self._combination = spellings.combination(op, buffer.dtype)
        most = MOST_BYTES // buffer.dtype.size
        count = buffer.count if isinstance(buffer.count, int) else most
        elements = COPIES * count if COPIES * count <= most else count
        self._own = out.reserve(TYPES[buffer.dtype], elements, LINE)
        self.is_own = self._is_at_most(length, most, invocations)
        has_copies = self._is_at_most(out.value(f"mul i64 {length}, {COPIES}"), most, invocations)
        self.address = out.value(f"select i1 {self.is_own}, ptr {self._own}, ptr {shared}")
        self.stride = out.value(f"select i1 {has_copies}, i64 {length}, i64 0")

    def _is_at_most(self, number: str, most: int, invocations: str) -> str:
        """Whether a number of elements is within both limits of a private buffer."""
        is_small, is_less = (self._out.value(f"icmp ule i64 {number}, {limit}") for limit in (most, invocations))
        return self._out.value(f"and i1 {is_small}, {is_less}")

    def begin(self) -> None:
        """Set all elements of all copies to the neutral element."""
        out = self._out
        others = out.value(f"mul i64 {self.stride}, {COPIES - 1}")
        counter = self._open(out.value(f"add i64 {self._length}, {others}"))
        out.add(f"store {TYPES[self._dtype]} {self._neutral}, ptr {self._place(self._own, counter)}")
        self._close()

    def end(self) -> None:
        """Combine the copies into the first, and then its elements that are not neutral with those of the buffer."""
        out, t = self._out, TYPES[self._dtype]
        counter = self._open(self.stride)
        place = self._place(self._own, counter)
        value = out.value(f"load {t}, ptr {place}")
        copy = place
        for _ in range(1, COPIES):
            copy = self._place(copy, self.stride)
            value = out.spelled(self._combination, (value, out.value(f"load {t}, ptr {copy}")))
        out.add(f"store {t} {value}, ptr {place}")
        self._close()
        counter = self._open(self._length)
        value = out.value(f"load {t}, ptr {self._place(self._own, counter)}")
        changed, behind = out.name("changed"), out.name("behind")
        out.branch(out.value(f"icmp ne {t} {value}, {self._neutral}"), changed, behind)
        out.open(changed)
        out.spelled(ATOMICS[self._op, self._dtype], (self._place(self._shared, counter), value))
        out.open(behind)
        self._close()

    @property
    def _neutral(self) -> int:
        return neutral(COMBINED[self._op], self._dtype)

    def _open(self, number: str) -> str:
        """Begin a loop of `number` iterations if the buffer is private, and of none otherwise: its counter."""
        own = self._out.value(f"select i1 {self.is_own}, i64 {number}, i64 0")
        self._loop = Counting(self._out, "i64", "u", "0", 1)
        counter = self._loop.open()
        self._loop.test(self._out.value(f"icmp ult i64 {counter}, {own}"))
        return counter

    def _close(self) -> None:
        self._loop.close()

    def _place(self, array: str, counter: str) -> str:
        return self._out.value(f"getelementptr {TYPES[self._dtype]}, ptr {array}, i64 {counter}")
