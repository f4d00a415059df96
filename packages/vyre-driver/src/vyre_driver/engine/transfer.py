"""How the bytes of a dispatch come to the device and back: by copies, or not at all where memory is one.

A transfer gives the kernels their arguments for one dispatch (`bring`), and the outputs after it (`results`).
Dispatches take turns, so it may remember one in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol

import numpy as np

from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.device import Device

Args = tuple[Any, ...]
"""The arguments of a kernel: the port's memories, then u32 lengths."""


Targets = Sequence["memoryview | None"]
"""Memory of the caller for each output, of its size and apart from the inputs; None: the output gets fresh memory."""


class Form(Enum):
    """What outputs are given as."""

    BYTES = "bytes"
    """Views of bytes."""
    ARRAYS = "arrays"
    """Arrays of the declared types."""


BYTES, ARRAYS = Form
"""To compare with: members of a class take longer to get than to use."""


class Transfer(Protocol):
    """See the module."""

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """Device memory that it holds between dispatches."""

    def bring(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Args]:
        """Make memory what it is at the start: the arguments of each kernel. `inputs` are contiguous host buffers.

        With `targets` the outputs are made there where that can be."""

    def begin(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Any]:
        """The same where one kernel alone is launched: those of its arguments that come with the dispatch."""

    def lasting(self) -> tuple[Args, Sequence[int]]:
        """The arguments of that kernel, and the places of those that come with each dispatch."""

    def results(self, form: Form) -> list[Any]:
        """The outputs in the program's order: host memory that is the caller's from now on."""

    def results_into(self, targets: Targets) -> list[memoryview | None]:
        """The outputs as bytes; None for those that are in their target."""

    @property
    def reads(self) -> bool:
        """Whether `results` waits for the device."""

    @property
    def moves(self) -> bool:
        """Whether there is anything to do before or after a launch."""


class Copies:
    """Between host memory and memory of the device.

    `uploads` are (memory, position of the input), `fills` (memory, byte, size), `readbacks` (memory, start, stop, type)
    in the order of the outputs. `args` stay one object, so a port sees that nothing changed.
    """

    __slots__ = ("_args", "_device", "_readbacks", "_uploads", "fills", "moves", "owned", "reads")

    def __init__(
        self,
        device: Device,
        args: tuple[Args, ...],
        owned: tuple[Allocation, ...],
        uploads: Sequence[tuple[Allocation, int]],
        fills: Sequence[tuple[Allocation, int, int]],
        readbacks: Sequence[tuple[Allocation, int, int, np.dtype[Any]]],
    ) -> None:
        self._device, self._args, self.owned = device, args, owned
        self._uploads, self.fills, self._readbacks = uploads, fills, readbacks
        self.reads = any(stop > start for _, start, stop, _ in readbacks)
        self.moves = bool(uploads or fills or readbacks)

    def bring(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Args]:
        self.begin(inputs)
        return self._args

    def lasting(self) -> tuple[Args, Sequence[int]]:
        return self._args[0], ()

    def begin(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Any]:
        for allocation, position in self._uploads:
            given = inputs[position]
            self._device.copy_in(allocation, given if given.__class__ is memoryview else _bytes_of(given))
        for allocation, byte, size in self.fills:
            self._device.fill(allocation, byte, size)
        return ()

    def results(self, form: Form) -> list[Any]:
        outputs: list[Any] = []
        for allocation, start, stop, dtype in self._readbacks:
            room = np.empty(stop - start, np.uint8)
            self._device.copy_out(allocation, room.data, start)
            outputs.append(room.data if form is BYTES else room.view(dtype))
        return outputs

    def results_into(self, targets: Targets) -> list[memoryview | None]:
        outputs: list[memoryview | None] = []
        for (allocation, start, stop, _), target in zip(self._readbacks, targets, strict=True):
            room = np.empty(stop - start, np.uint8).data if target is None else target
            self._device.copy_out(allocation, room, start)
            outputs.append(room if target is None else None)
        return outputs


def _bytes_of(array: Any) -> memoryview:
    """A contiguous array as ports take it; some types have no letter in the buffer protocol."""
    data: memoryview = array.reshape(-1).view(np.uint8).data
    return data
