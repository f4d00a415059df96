"""How the bytes of a dispatch come to the device and back: by copies, or not at all where memory is one.

A transfer gives the kernels their arguments for one dispatch (`bring`), and the outputs after it (`results`).
Dispatches take turns, so it may remember one in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from vyre_driver.engine.device import Allocation, Device
from vyre_driver.engine.rooms import Room, Rooms

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Args = tuple[Any, ...]
"""The arguments of a kernel: the port's memories, then u32 lengths."""


class Form(Enum):
    """What outputs are given as."""

    BYTES = "bytes"
    """Views of bytes."""
    ARRAYS = "arrays"
    """Arrays of the declared types."""


class Transfer(Protocol):
    """See the module."""

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """Device memory that it holds between dispatches."""

    def bring(self, inputs: Sequence[Any]) -> Sequence[Args]:
        """Make memory what it is at the start: the arguments of each kernel. `inputs` are contiguous host buffers."""

    def results(self, form: Form) -> list[Any]:
        """The outputs in the program's order: host memory that is the caller's from now on."""

    @property
    def reads(self) -> bool:
        """Whether `results` waits for the device."""


class Copies:
    """Between host memory and memory of the device.

    `uploads` are (memory, position of the input), `fills` (memory, byte, size), `readbacks` (memory, start, stop, type)
    in the order of the outputs. `args` stay one object, so a port sees that nothing changed.
    """

    __slots__ = ("_args", "_device", "_fills", "_readbacks", "_uploads", "owned", "reads")

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
        self._uploads, self._fills, self._readbacks = uploads, fills, readbacks
        self.reads = any(stop > start for _, start, stop, _ in readbacks)

    def bring(self, inputs: Sequence[memoryview]) -> Sequence[Args]:
        for allocation, position in self._uploads:
            self._device.copy_in(allocation, inputs[position])
        for allocation, byte, size in self._fills:
            self._device.fill(allocation, byte, size)
        return self._args

    def results(self, form: Form) -> list[Any]:
        outputs: list[Any] = []
        for allocation, start, stop, dtype in self._readbacks:
            room = np.empty(stop - start, np.uint8)
            self._device.copy_out(allocation, room.data, start)
            outputs.append(room.data if form is Form.BYTES else room.view(dtype))
        return outputs


class Input:
    """An argument that is an input, used where the caller has it; its bytes are copied where that can not be."""

    __slots__ = ("_rooms", "position")

    def __init__(self, device: Device, position: int, size: int) -> None:
        self.position = position
        self._rooms = Rooms(device, size, np.dtype(np.uint8))

    @property
    def owned(self) -> tuple[Allocation, ...]:
        return self._rooms.owned

    def staged(self, device: Device, data: Any) -> Any:
        """Memory with a copy of `data`, for a dispatch that ends before the next begins."""
        room = self._rooms.take()
        device.put(room.bytes, data)
        return room.memory


class Output:
    """An argument that is an output. `start` and `stop` are the part that the host gets.

    It begins as the input at `position`, or as zeros unless the launch is known to write all of it.
    """

    __slots__ = ("is_covered", "is_whole", "position", "rooms", "start", "stop", "taken")

    def __init__(self, rooms: Rooms, start: int, stop: int, position: int | None, *, is_covered: bool) -> None:
        self.rooms, self.start, self.stop = rooms, start, stop
        self.position, self.is_covered = position, is_covered
        self.is_whole = (start, stop) == (0, rooms.size)
        self.taken: Room | None = None

    def begin(self, device: Device, inputs: Sequence[Any]) -> Any:
        """Memory as it is before the launch."""
        self.taken = room = self.rooms.take()
        if self.position is not None:
            device.put(room.bytes, inputs[self.position])
        elif not self.is_covered:
            device.clear(room.bytes)
        return room.memory

    def result(self, form: Form) -> Any:
        """A view of the room, which thereby is the caller's."""
        room, self.taken = self.taken, None
        assert room is not None
        if self.is_whole:
            return room.typed[:] if form is Form.ARRAYS else room.bytes[:].data
        if form is Form.BYTES:
            return room.bytes[self.start : self.stop].data
        return room.bytes[self.start : self.stop].view(room.typed.dtype)


class InPlace:
    """Where the device works in host memory: inputs are used where the caller has them, outputs where they are made.

    `picks` are, for each kernel, the places of its arguments among the inputs, the outputs, and `rest`, in this order.
    `fills` as for copies.
    """

    __slots__ = ("_device", "_fills", "_in_place", "_inputs", "_outputs", "_picks", "_rest", "_static", "reads")

    def __init__(
        self,
        device: Device,
        picks: Sequence[Sequence[int]],
        rest: Sequence[Any],
        static: tuple[Allocation, ...],
        fills: Sequence[tuple[Allocation, int, int]],
        inputs: Sequence[Input],
        outputs: Sequence[Output],
    ) -> None:
        self._device, self._static, self._fills = device, static, fills
        self._picks = [_picking(places) for places in picks]
        self._inputs, self._outputs, self._rest = inputs, outputs, rest
        self._in_place = device.port.in_place
        self.reads = False

    @property
    def owned(self) -> tuple[Allocation, ...]:
        rooms = (output.rooms for output in self._outputs)
        parts = [*(i.owned for i in self._inputs), *(r.owned for r in rooms)]
        return (*self._static, *(allocation for part in parts for allocation in part))

    def bring(self, inputs: Sequence[Any]) -> Sequence[Args]:
        device, in_place = self._device, self._in_place
        values = []
        for wanted in self._inputs:
            given = inputs[wanted.position]
            memory = in_place(given)
            values.append(wanted.staged(device, given) if memory is None else memory)
        for output in self._outputs:
            values.append(output.begin(device, inputs))
        for allocation, byte, size in self._fills:
            device.fill(allocation, byte, size)
        values += self._rest
        return [pick(values) for pick in self._picks]

    def results(self, form: Form) -> list[Any]:
        return [output.result(form) for output in self._outputs]


def _picking(places: Sequence[int]) -> Callable[[Sequence[Any]], Args]:
    """What takes the values at some places, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple([values[place] for place in places])
