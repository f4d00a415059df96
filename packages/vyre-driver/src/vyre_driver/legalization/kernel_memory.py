"""The memory of one kernel: which buffers it touches, as what type, in which argument position."""

from __future__ import annotations

from vyre_driver.legalization.forms.forms import Forms
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, Memory
from vyre_foundation.ir.expr import Length, Load
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Store
from vyre_foundation.ir.walk import statements


def kernel_memory(program: Program, forms: Forms) -> dict[Buffer, Buffer]:
    """The buffers that `program` touches, in argument order, each with its declaration in the kernel.

    ``scratch s: f16 (binding 7)``  →  ``storage s: u16 read_write (binding 2)``: to a kernel all memory of the device
    is alike, of the length that it gets; what it never writes is read-only.
    """
    written, read = written_buffers(program), read_buffers(program)
    memory: dict[Buffer, Buffer] = {}
    position = 0
    for buffer in program.buffers:
        if buffer in written or buffer in read:
            memory[buffer] = _declaration(buffer, position, buffer in written, forms)
            position += memory[buffer].binding is not None
    return memory


def _declaration(buffer: Buffer, position: int, written: bool, forms: Forms) -> Buffer:
    dtype = forms.storage(buffer.dtype)
    if buffer.binding is None:
        return buffer.replace(dtype=dtype)
    count = buffer.count if isinstance(buffer.count, int) else RUNTIME
    if buffer.memory is Memory.UNIFORM:
        return Buffer(buffer.name, dtype, Access.READ, Memory.UNIFORM, count, position)
    access = Access.READ_WRITE if written else Access.READ
    return Buffer(buffer.name, dtype, access, Memory.STORAGE, count, position)


def written_buffers(program: Program) -> set[Buffer]:
    """The buffers that stores and atomics name."""
    return {s.buffer for s in statements(program.body) if isinstance(s, (Store, Atomic))}


def read_buffers(program: Program) -> set[Buffer]:
    """The buffers whose elements or lengths expressions take."""
    return {n.buffer for n in program.code.others if isinstance(n, (Load, Length))}


def lengths_read(program: Program) -> tuple[str, ...]:
    """The buffers whose lengths a kernel has to be told: those that it names, and those that it checks loads with."""
    read = {
        n.buffer
        for n in program.code.others
        if isinstance(n, Length) or (isinstance(n, Load) and n.checked and not isinstance(n.buffer.count, int))
    }
    return tuple(b.name for b in program.buffers if b in read)
