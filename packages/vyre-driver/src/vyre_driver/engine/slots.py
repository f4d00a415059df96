"""Output slots of the caller: which of them the device may write to, and how the others are filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vyre_driver.backend.results import OutputBuffers, host_bytes
from vyre_driver.engine.prepared import Prepared

Slots = Sequence[memoryview]
"""The slots of one dispatch, as writable bytes."""


def writable_slots(slots: OutputBuffers) -> Slots:
    """All slots as bytes, or `InvalidInput` for one that cannot be written to."""
    return [host_bytes(f"output slot {n}", slot, writable=True) for n, slot in enumerate(slots)]


def targets(launch: Prepared, inputs: Sequence[Any], slots: Slots) -> list[memoryview | None]:
    """For each output its slot, if that has its size and is apart from the `inputs`, which are contiguous buffers.

    None where it is not; for all outputs of a program that may trap, because a dispatch that traps has no outputs.
    """
    layouts = launch.plan.outputs
    if launch.traps is not None:
        return [None] * len(layouts)
    found: list[memoryview | None] = []
    taken = [_span(view) for view in inputs]
    for n, layout in enumerate(layouts):
        slot = slots[n] if n < len(slots) and slots[n].nbytes == layout.size > 0 else None
        if slot is not None:
            start, stop = _span(slot)
            if any(start < other_stop and other_start < stop for other_start, other_stop in taken):
                slot = None
            else:
                taken.append((start, stop))
        found.append(slot)
    return found


def replace_slots(slots: OutputBuffers, outputs: Sequence[memoryview | None]) -> None:
    """Fill the slots: None is an output that is in its slot already. A slot of another size is replaced."""
    for n, output in enumerate(outputs):
        if output is None:
            continue
        if n == len(slots):
            slots.append(output)
            continue
        room = host_bytes(f"output slot {n}", slots[n], writable=True)
        if room.nbytes == output.nbytes:
            room[:] = output
        else:
            slots[n] = output
    del slots[len(outputs) :]


def _span(view: Any) -> tuple[int, int]:
    """The addresses from which and up to which it goes."""
    start = int(np.frombuffer(view, np.uint8).__array_interface__["data"][0]) if view.nbytes else 0
    return start, start + view.nbytes
