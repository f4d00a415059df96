"""Rules about memory: whose buffer it is, what may be done to it, and the types of what is written."""

from __future__ import annotations

from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Length, Load
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import ATOMIC_DTYPES, Atomic, AtomicOp, IndirectDispatch, Store
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import ValidationReport

ATOMIC_MEMORY = (Memory.STORAGE, Memory.PERSISTENT, Memory.SCRATCH, Memory.WORKGROUP)
"""Memory that invocations share and may write."""
_REDUCTIONS = {AtomicOp.ADD: "vy.sum", AtomicOp.MIN: "vy.min", AtomicOp.MAX: "vy.max"}
"""What computes the same of an array of floats, in an order that is defined."""


class Accesses:
    """Checks every load, length, store and atomic of a program."""

    def __init__(self, report: ValidationReport) -> None:
        self._report = report
        self._buffers = frozenset(report.program.buffers)

    def check_load(self, number: int, node: Load) -> None:
        """Report a load from a foreign (V009) or write-only buffer (V030)."""
        if node.buffer not in self._buffers:
            self._report.on_node(number, *_foreign(self._report.program, node.buffer))
        if not node.buffer.access.reads:
            message = f"got a load from {node.buffer.name!r}, which is write-only"
            self._report.on_node(number, "V030", message, "declare it as read_write")

    def check_length(self, number: int, node: Length) -> None:
        """Report the length of a buffer that the program does not declare (V009)."""
        if node.buffer not in self._buffers:
            self._report.on_node(number, *_foreign(self._report.program, node.buffer))

    def check_store(self, place: Place, stmt: Store) -> None:
        """Report a store to a foreign (V009) or read-only buffer (V031), or of wrong types (V033, V034)."""
        buffer = stmt.buffer
        self._check_belongs(place, buffer)
        if not buffer.access.writes:
            message = f"got a store to {buffer.name!r}, which is read-only"
            self._report.at(place, "V031", message, "declare it as write or read_write", field="buffer")
        self._check_index(place, buffer, stmt)
        if stmt.value.dtype is not buffer.dtype:
            message = f"got a value of {stmt.value.dtype}, expected {buffer.dtype}, as {buffer.name!r} has"
            self._report.at(place, "V033", message, f"cast the value to {buffer.dtype}", field="value")

    def check_atomic(self, place: Place, stmt: Atomic) -> None:
        """Report an atomic on memory (V032) or a type (V035) that has none, or wrong operands (V034, V036, V037)."""
        buffer = stmt.buffer
        self._check_belongs(place, buffer)
        if buffer.memory not in ATOMIC_MEMORY or not buffer.access.writes:
            got = "read-only" if buffer.memory in ATOMIC_MEMORY else f"in {buffer.memory.value} memory"
            message = f"got an atomic on {buffer.name!r}, which is {got}"
            fix = "use a written storage, persistent, scratch or workgroup buffer"
            self._report.at(place, "V032", message, fix, field="buffer")
        if buffer.dtype.name not in ATOMIC_DTYPES:
            message = f"got an atomic on {buffer.dtype}, expected one of {' '.join(ATOMIC_DTYPES)}"
            fix = "declare the buffer with one of these types"
            if buffer.dtype.is_float and stmt.op in _REDUCTIONS:
                scattered = f"vy.scatter(zeros, places, values, {stmt.op.value!r})"
                fix = (
                    "store a value for each invocation, and combine these outside of the program, by"
                    f" {_REDUCTIONS[stmt.op]} or, in several places, by {scattered}; or count in integers"
                )
            self._report.at(place, "V035", message, fix, field="buffer")
        self._check_index(place, buffer, stmt)
        for field, operand in (("value", stmt.value), ("expected", stmt.expected)):
            if operand is not None and operand.dtype is not buffer.dtype:
                message = f"got {operand.dtype}, expected {buffer.dtype}, as {buffer.name!r} has"
                self._report.at(place, "V036", message, f"cast the operand to {buffer.dtype}", field=field)
        self._check_expected(place, stmt)

    def check_indirect_dispatch(self, place: Place, stmt: IndirectDispatch) -> None:
        """Report a grid from a buffer that the program does not declare (V009)."""
        self._check_belongs(place, stmt.buffer)

    def _check_belongs(self, place: Place, buffer: Buffer) -> None:
        if buffer not in self._buffers:
            self._report.at(place, *_foreign(self._report.program, buffer), field="buffer")

    def _check_expected(self, place: Place, stmt: Atomic) -> None:
        if (stmt.op is AtomicOp.COMPARE_EXCHANGE) == (stmt.expected is not None):
            return
        if stmt.expected is None:
            message, fix = "got compare_exchange without an expected value", "pass the value that is replaced"
        else:
            message, fix = f"got {stmt.op.value} with an expected value", "leave it away, or use compare_exchange"
        self._report.at(place, "V037", message, fix, field="expected")

    def _check_index(self, place: Place, buffer: Buffer, stmt: Store | Atomic) -> None:
        if not stmt.index.dtype.is_integer:
            message = f"got an index of {stmt.index.dtype} for {buffer.name!r}, expected an integer type"
            self._report.at(place, "V034", message, "cast the index to u32", field="index")


def _foreign(program: Program, buffer: Buffer) -> tuple[str, str, str]:
    declared = next((b for b in program.buffers if b.name == buffer.name), None)
    if declared is None:
        return "V009", f"got {buffer!r}, expected a buffer that the program declares", "add it to the program's buffers"
    fields = ("dtype", "access", "memory", "count", "binding", "data", "output_range")
    other = ", ".join(field for field in fields if getattr(declared, field) != getattr(buffer, field))
    message = f"got {buffer!r}, expected {declared!r}, which the program declares; they differ in {other}"
    return "V009", message, f"use the buffer {buffer.name!r} of the program's buffers"
