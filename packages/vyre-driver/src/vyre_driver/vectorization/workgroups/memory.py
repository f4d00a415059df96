"""The memory of a workgroup that runs as one work item: all of it private to that work item.

A workgroup array keeps its elements. A private array, and a local that lives from one phase to another, has its
elements for each invocation, neighbours side by side.
"""

from __future__ import annotations

from collections.abc import Mapping

from vyre_driver.legalization.coordinates import add, multiply
from vyre_foundation.dtype import DType, u32, u64
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Load, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS

MAX_BYTES = 1024 * 1024
"""More private memory than this is no longer sure to fit the stack of a device's thread, which has 8 MiB as a rule."""


class GroupMemory:
    """`arrays` are what workgroup and private memory become, by their declarations; `spilled` what locals live in."""

    def __init__(self, program: Program, spilled: Mapping[str, DType], fresh: Fresh) -> None:
        self._volume = program.workgroup_volume
        self.arrays = {b: self._array(b) for b in program.buffers if b.memory in (Memory.WORKGROUP, Memory.PRIVATE)}
        self.spilled = {name: _private(fresh(f"{name}_kept"), dtype, self._volume) for name, dtype in spilled.items()}

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All private buffers: those of arrays, then those of spilled locals."""
        return (*self.arrays.values(), *self.spilled.values())

    @property
    def has_lane_arrays(self) -> bool:
        """Whether there is something for each invocation, in the order of their numbers."""
        return bool(self.spilled) or any(b.memory is Memory.PRIVATE for b in self.arrays)

    @property
    def bytes(self) -> int:
        """The size of all buffers in bytes."""
        return sum(b.dtype.size * b.count for b in self.buffers if isinstance(b.count, int))

    def _array(self, buffer: Buffer) -> Buffer:
        assert isinstance(buffer.count, int)
        count = buffer.count * (self._volume if buffer.memory is Memory.PRIVATE else 1)
        return _private(buffer.name, buffer.dtype, count)

    def load(self, load: Load, index: Expr, lane: Expr) -> Expr:
        """The load of an element, by the invocation `lane`. What is out of bounds stays so."""
        array = self.arrays[load.buffer]
        if load.buffer.memory is Memory.PRIVATE:
            own = self.index(load.buffer, index, lane)
            if load.checked:
                inside = Apply(OPS["lt"], index, literal(index.dtype, _count(load.buffer)))
                own = Select(inside, own, literal(own.dtype, _count(array)))
            index = own
        return Load(array, index, checked=load.checked)

    def index(self, buffer: Buffer, index: Expr, lane: Expr) -> Expr:
        """Where the element `index` of an invocation is, for an index within bounds."""
        if buffer.memory is not Memory.PRIVATE:
            return index
        wide = u64 if u64 in (index.dtype, lane.dtype) else u32
        index, lane = (x if x.dtype is wide else Cast(wide, x) for x in (index, lane))
        return add(multiply(index, literal(wide, self._volume)), lane)


def _private(name: str, dtype: DType, count: int) -> Buffer:
    return Buffer(name, dtype, Access.READ_WRITE, Memory.PRIVATE, count)


def _count(buffer: Buffer) -> int:
    assert isinstance(buffer.count, int)
    return buffer.count
