"""Dispatches where the device works in host memory: nothing is copied that need not be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.device import Device
from vyre_driver.engine.rooms import Room, Rooms
from vyre_driver.engine.transfer import ARRAYS, BYTES, Args, Form, Targets


class Input:
    """An argument that is an input, used where the caller has it; its bytes are copied where that cannot be."""

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

    def begin_in(self, device: Device, inputs: Sequence[Any], target: memoryview | None) -> Any:
        """The same in memory of the caller, or in a room where it does not do."""
        if target is None or not self.is_whole or not target.nbytes:
            return self.begin(device, inputs)
        memory = device.port.in_place(target)
        if memory is None:
            return self.begin(device, inputs)
        self.taken = None
        room = np.frombuffer(target, np.uint8)
        if self.position is not None:
            device.put(room, inputs[self.position])
        elif not self.is_covered:
            device.clear(room)
        return memory

    def result_into(self, target: memoryview | None) -> memoryview | None:
        """None if the result is in its target."""
        if self.taken is None:
            return None
        result: memoryview = self.result(BYTES)
        if target is None:
            return result
        target[:] = result
        return None

    def result(self, form: Form) -> Any:
        """A view of the room, which thereby is the caller's."""
        room, self.taken = self.taken, None
        assert room is not None
        if self.is_whole:
            return room.typed[...] if form is ARRAYS else room.bytes[...].data
        if form is BYTES:
            return room.bytes[self.start : self.stop].data
        return room.bytes[self.start : self.stop].view(room.typed.dtype)


class InPlace:
    """Where the device works in host memory: inputs are used where the caller has them, outputs where they are made.

    `picks` are, for each kernel, the places of its arguments among the inputs, the outputs, and `rest`, in this order.
    `fills` as for copies.
    """

    __slots__ = (
        *("_device", "_fills", "_in_place", "_inputs", "_outputs", "_picks", "_places", "_rest", "_static", "_used"),
        *("moves", "reads"),
    )

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
        self._places = picks
        self._picks = [_picking(places) for places in picks]
        self._inputs, self._outputs, self._rest = inputs, outputs, rest
        self._in_place = device.port.in_place
        self.reads, self.moves = False, True
        come = range(len(inputs) + len(outputs))
        self._used = [place for place in come if picks and place in picks[0]]

    @property
    def owned(self) -> tuple[Allocation, ...]:
        rooms = (output.rooms for output in self._outputs)
        parts = [*(i.owned for i in self._inputs), *(r.owned for r in rooms)]
        return (*self._static, *(allocation for part in parts for allocation in part))

    def bring(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Args]:
        values = [*self._begun(inputs, targets), *self._rest]
        return [pick(values) for pick in self._picks]

    def lasting(self) -> tuple[Args, Sequence[int]]:
        values = [*[None] * (len(self._inputs) + len(self._outputs)), *self._rest]
        first = self._places[0]
        return self._picks[0](values), [first.index(place) for place in self._used]

    def begin(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Any]:
        values = self._begun(inputs, targets)
        return values if len(values) == len(self._used) else [values[place] for place in self._used]

    def _begun(self, inputs: Sequence[Any], targets: Targets | None) -> list[Any]:
        """Inputs and outputs as they are before the launch."""
        device, in_place = self._device, self._in_place
        values = []
        for wanted in self._inputs:
            given = inputs[wanted.position]
            memory = in_place(given)
            values.append(wanted.staged(device, given) if memory is None else memory)
        if targets is None:
            for output in self._outputs:
                values.append(output.begin(device, inputs))
        else:
            for output, target in zip(self._outputs, targets, strict=True):
                values.append(output.begin_in(device, inputs, target))
        for allocation, byte, size in self._fills:
            device.fill(allocation, byte, size)
        return values

    def results(self, form: Form) -> list[Any]:
        return [output.result(form) for output in self._outputs]

    def results_into(self, targets: Targets) -> list[memoryview | None]:
        return [output.result_into(target) for output, target in zip(self._outputs, targets, strict=True)]


def _picking(places: Sequence[int]) -> Callable[[Sequence[Any]], Args]:
    """What takes the values at some places, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple([values[place] for place in places])
