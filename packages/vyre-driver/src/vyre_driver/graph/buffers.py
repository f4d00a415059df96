"""The buffers of a graph, and ranges of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from vyre_foundation.dtype import DType
from vyre_foundation.ir.origin import Origin


class BufferKind(Enum):
    """Where the contents of a buffer of a graph come from, and how long they live."""

    INPUT = "input"
    """An array that each launch passes. The graph may change its own copy."""
    TEMPORARY = "temporary"
    """Memory of one launch, with unspecified contents until a node writes to it."""
    RESIDENT = "resident"
    """Device memory of the caller, whose handle each launch passes. It is used in place."""


@dataclass(frozen=True, slots=True)
class GraphBuffer:
    """One buffer: `count` elements of `dtype`."""

    name: str
    kind: BufferKind
    dtype: DType
    count: int
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def byte_len(self) -> int:
        """Its size in bytes."""
        return self.count * self.dtype.size


@dataclass(frozen=True, slots=True, order=True)
class BufferRange:
    """The elements ``start … start + count`` of the buffer called `buffer`."""

    buffer: str
    start: int
    count: int

    @property
    def stop(self) -> int:
        """The element behind the last one."""
        return self.start + self.count

    def overlaps(self, other: BufferRange) -> bool:
        """Whether the two share an element."""
        return self.buffer == other.buffer and max(self.start, other.start) < min(self.stop, other.stop)

    def __str__(self) -> str:
        return f"{self.buffer}[{self.start}:{self.stop}]"


Bindings: TypeAlias = "tuple[tuple[str, BufferRange], ...]"
"""Ranges by the name of a program's buffer, or of a nested graph's input or output."""
