"""Memory: bytes outside, values inside. Here alone a value becomes bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ops.scalar import Scalar, from_bits, to_bits


class ScalarCells:
    """The elements of one buffer, little-endian."""

    __slots__ = ("buffer", "bytes", "count")

    def __init__(self, buffer: Buffer, data: memoryview | bytearray) -> None:
        self.buffer, self.bytes = buffer, data
        self.count = len(data) // buffer.dtype.size

    def holds(self, index: int) -> bool:
        """The bounds rule, for an index of any type."""
        return 0 <= index < self.count

    def load(self, index: int) -> Scalar:
        """The element at `index`, which is in bounds."""
        size = self.buffer.dtype.size
        start = index * size
        return from_bits(self.buffer.dtype, int.from_bytes(self.bytes[start : start + size], "little"))

    def store(self, index: int, value: Scalar) -> None:
        """Replace the element at `index`, which is in bounds. A NaN is stored as the canonical one."""
        size = self.buffer.dtype.size
        start = index * size
        self.bytes[start : start + size] = to_bits(self.buffer.dtype, value).to_bytes(size, "little")


Memory = Mapping[Buffer, ScalarCells]
"""What one invocation can reach."""


def zeroed(buffers: Iterable[Buffer], lengths: Mapping[str, int]) -> dict[Buffer, ScalarCells]:
    """Fresh memory for a workgroup or an invocation."""
    return {buffer: ScalarCells(buffer, bytearray(lengths[buffer.name] * buffer.dtype.size)) for buffer in buffers}
