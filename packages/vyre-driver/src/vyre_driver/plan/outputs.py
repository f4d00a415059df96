"""What the host gets of each output: a range of bytes, known before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import InvalidInput, OutputLimitExceeded
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """One output: the buffer and the half-open byte range of it that the host gets."""

    buffer: str
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


def output_binding_layout(buffer: Buffer, length: int) -> OutputLayout:
    """The layout of one output of `length` elements; `InvalidInput` if its declared range goes beyond them."""
    size = length * buffer.dtype.size
    start, stop = buffer.output_range or (0, size)
    if stop > size:
        needed = f"at least the {stop} bytes of its output range"
        raise InvalidInput(buffer.name, needed=needed, got=f"{size} bytes", fix="bind more, or narrow the range")
    return OutputLayout(buffer.name, start, stop)


def output_binding_layouts(program: Program, lengths: Mapping[str, int]) -> tuple[OutputLayout, ...]:
    """The layouts of all outputs in binding order, for element counts by name."""
    return tuple(output_binding_layout(buffer, lengths[buffer.name]) for buffer in program.outputs)


def enforce_actual_output_budget(config: DispatchConfig, layouts: Sequence[OutputLayout]) -> None:
    """Raise `OutputLimitExceeded` if the outputs together are more than the configuration allows."""
    total = sum(layout.size for layout in layouts)
    if config.max_output_bytes is not None and total > config.max_output_bytes:
        raise OutputLimitExceeded(total, config.max_output_bytes)
