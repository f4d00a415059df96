"""One launch plan: grid, lengths, binding order and output layout, computed once and used by every executor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Facts

from vyre_driver.backend.config import Extent


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """One output: the buffer and the half-open byte range of it that the host gets."""

    buffer: str
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """Everything about a launch that does not depend on the bytes.

    `program` has the workgroup size that is launched (an override is already in it) and `facts` are its facts. `grid`
    counts workgroups per axis and may hold zeros: then nothing runs. `lengths` gives the element count of every buffer
    by name; `inputs` and `outputs` are in binding order; `repeats` runs the program that often over the same memory.
    """

    program: Program
    facts: Facts
    grid: Extent
    lengths: Mapping[str, int]
    inputs: tuple[str, ...]
    outputs: tuple[OutputLayout, ...]
    repeats: int = 1

    @property
    def num_workgroups(self) -> int:
        x, y, z = self.grid
        return x * y * z

    def byte_length(self, buffer: str) -> int:
        """Bytes that the buffer takes in memory."""
        return self.lengths[buffer] * self.program.buffer(buffer).dtype.size
