"""Binding: the caller's memory, checked against the plan before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from vyre_driver.errors import InvalidInput
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.buffer import Buffer

HostMemory = Mapping[str, bytes | bytearray | memoryview]
"""The bytes of every bound buffer by name. What the program writes must be writable; the rest may be `bytes`."""


def bind(plan: LaunchPlan, memory: HostMemory) -> dict[Buffer, memoryview]:
    """The bytes of every bound buffer of the program and of its constants; `InvalidInput` names what does not fit."""
    views = {}
    for buffer in plan.program.buffers:
        if buffer.data is not None:
            views[buffer] = memoryview(buffer.data)
        elif buffer.memory.is_bound:
            views[buffer] = _view(plan, buffer, memory)
    return views


def _view(plan: LaunchPlan, buffer: Buffer, memory: HostMemory) -> memoryview:
    size = plan.byte_length(buffer.name)
    if buffer.name not in memory:
        raise InvalidInput(buffer.name, needed=f"{size} bytes", got="nothing")
    view = memoryview(memory[buffer.name])
    view = view.cast("B") if view.nbytes else memoryview(bytearray())  # an empty view cannot be cast
    if view.nbytes != size:
        raise InvalidInput(buffer.name, needed=f"{size} bytes", got=f"{view.nbytes} bytes")
    if view.readonly and buffer.access.writes:
        raise InvalidInput(buffer.name, needed="memory that can be written", got="read-only memory")
    return view
