"""The byte range of each output that the host receives, which is known before the launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import InvalidInput, InvalidLaunch, OutputLimitExceeded
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """An output: its buffer, and the half-open byte range that the host receives."""

    buffer: str
    start: int
    stop: int

    @property
    def size(self) -> int:
        """The length of the range in bytes."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class OutputBindingLayout(OutputLayout):
    """An output with the binding number of its buffer."""

    binding: int

    @property
    def word_count(self) -> int:
        """The number of u32 words that hold the output; at least one, because memory is never empty."""
        return max(1, -(-self.size // 4))


def output_binding_layout(buffer: Buffer, length: int) -> OutputBindingLayout:
    """Return the layout of an output of `length` elements, or raise `InvalidInput` if its range exceeds them."""
    size = length * buffer.dtype.size
    start, stop = buffer.output_range or (0, size)
    if stop > size:
        needed = f"at least the {stop} bytes of its output range"
        raise InvalidInput(buffer.name, needed=needed, got=f"{size} bytes", fix="bind more, or narrow the range")
    assert buffer.binding is not None, "outputs are bound"
    return OutputBindingLayout(buffer.name, start, stop, buffer.binding)


def output_binding_layouts(program: Program, lengths: Mapping[str, int]) -> tuple[OutputBindingLayout, ...]:
    """Return the layouts of all outputs in binding order, for element counts by name."""
    return tuple(output_binding_layout(buffer, lengths[buffer.name]) for buffer in program.outputs)


def output_layout_from_program(program: Program, lengths: Mapping[str, int]) -> OutputBindingLayout:
    """Return the layout of the only output, or raise `InvalidLaunch` for another number of outputs."""
    layouts = output_binding_layouts(program, lengths)
    if len(layouts) != 1:
        names = ", ".join(layout.buffer for layout in layouts) or "none"
        fix = "name the output that is meant"
        raise InvalidLaunch("output", needed="a program with one output", got=f"{len(layouts)} ({names})", fix=fix)
    return layouts[0]


def enforce_actual_output_budget(config: DispatchConfig, layouts: Sequence[OutputLayout]) -> None:
    """Raise `OutputLimitExceeded` if the total size of the outputs exceeds the limit of the configuration."""
    total = sum(layout.size for layout in layouts)
    if config.max_output_bytes is not None and total > config.max_output_bytes:
        raise OutputLimitExceeded(total, config.max_output_bytes)
