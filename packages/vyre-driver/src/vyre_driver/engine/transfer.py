"""Upload and readback of a dispatch: copies, or none if the device works in host memory.

A transfer gives the kernels their arguments for one dispatch (`upload`), and the outputs after it (`readback`).
The dispatches of one launch follow each other, so it may hold the state of one. Outputs go to memory of the caller
where the device may write to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from vyre_driver.engine.buffer_pool import BufferPool
from vyre_driver.engine.device import Device
from vyre_driver.engine.port import Allocation

if TYPE_CHECKING:
    import numpy.typing as npt

Args = tuple[Any, ...]
"""The arguments of a kernel: the port's memories, then u32 lengths."""


Targets = Sequence["memoryview | None"]
"""Memory of the caller for each output, of its size and apart from the inputs; None: the output gets fresh memory."""


OutputViews = Sequence[memoryview]
"""The output buffers of one dispatch, as writable bytes."""


class Form(Enum):
    """What outputs are given as."""

    BYTES = "bytes"
    """Views of bytes."""
    ARRAYS = "arrays"
    """Arrays of the declared types."""


BYTES, ARRAYS = Form
"""Globals are faster to read than attributes of a class."""


class Transfer(Protocol):
    """The way of one launch's bytes to the device and back."""

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """Device memory that it holds between dispatches."""

    def run(
        self,
        inputs: Sequence[Any],
        launch: Callable[[Sequence[Any]], None],
        form: Form,
        targets: Targets | None = None,
    ) -> list[Any]:
        """`begin`, `launch` and `readback`. `launch` takes what `begin` gives, and waits."""

    def begin(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Any]:
        """`upload` where one kernel alone is launched: those of its arguments that change with each dispatch."""

    def constant_args(self) -> tuple[Args, Sequence[int]]:
        """The arguments of that kernel, and the places of those that change with each dispatch."""

    def upload(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Args]:
        """Make memory what it is at the start: the arguments of each kernel. `inputs` are contiguous host buffers.

        With `targets` the outputs are made there if that is possible.
        """

    def readback(self, form: Form, targets: Targets | None = None) -> list[Any]:
        """The outputs in the program's order: host memory that is the caller's from now on.

        With `targets` they are bytes, and None for those that are in their target.
        """

    @property
    def reads(self) -> bool:
        """Whether `readback` waits for the device."""

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

    def run(
        self,
        inputs: Sequence[Any],
        launch: Callable[[Sequence[Any]], None],
        form: Form,
        targets: Targets | None = None,
    ) -> list[Any]:
        """Upload, launch and wait, read back."""
        launch(self.begin(inputs))
        return self.readback(form, targets)

    def begin(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Any]:
        """Upload; no argument changes."""
        self.upload(inputs)
        return ()

    def constant_args(self) -> tuple[Args, Sequence[int]]:
        """The arguments that stay, and the places of those that change."""
        return self._args[0], ()

    def upload(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Args]:
        """Make memory what it is at the start: the arguments of each kernel."""
        for allocation, position in self._uploads:
            given = inputs[position]
            self._device.copy_in(allocation, given if given.__class__ is memoryview else _bytes_of(given))
        for allocation, byte, size in self.fills:
            self._device.fill(allocation, byte, size)
        return self._args

    def readback(self, form: Form, targets: Targets | None = None) -> list[Any]:
        """The outputs in the program's order."""
        outputs: list[Any] = []
        for n, (allocation, start, stop, dtype) in enumerate(self._readbacks):
            target = None if targets is None else targets[n]
            if target is not None:
                self._device.copy_out(allocation, target, start)
                outputs.append(None)
                continue
            buffer = np.empty(stop - start, np.uint8)
            self._device.copy_out(allocation, buffer.data, start)
            outputs.append(buffer.data if form is BYTES else buffer.view(dtype))
        return outputs


def _bytes_of(array: Any) -> memoryview:
    """A contiguous array as ports take it; some types have no letter in the buffer protocol."""
    data: memoryview = array.reshape(-1).view(np.uint8).data
    return data


class Input:
    """An input that the device reads in the caller's memory, or in a copy if that is not aligned."""

    __slots__ = ("_pool", "position")

    def __init__(self, device: Device, position: int, size: int) -> None:
        self.position = position
        self._pool = BufferPool(device, size, np.dtype(np.uint8))

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """The memory of copies."""
        return self._pool.owned

    def staged(self, device: Device, data: Any) -> Any:
        """Memory with a copy of `data`, for a dispatch that ends before the next begins."""
        buffer, _ = self._pool.take()
        device.put(buffer.bytes, data)
        return buffer.memory


Result: TypeAlias = "npt.NDArray[Any]"
"""An array of all of a pooled buffer."""


class Output:
    """An output in pooled host memory, of which the caller gets the bytes from `start` to `stop`.

    Before the launch it has the contents of the input at `position`, or zeros. One that is covered is left as it is:
    the launch writes all of it.
    """

    __slots__ = ("is_covered", "is_whole", "pool", "position", "start", "stop")

    def __init__(self, pool: BufferPool, start: int, stop: int, position: int | None, *, is_covered: bool) -> None:
        self.pool, self.start, self.stop = pool, start, stop
        self.position, self.is_covered = position, is_covered
        self.is_whole = (start, stop) == (0, pool.size)

    def prepare(self, device: Device, inputs: Sequence[Any], contents: npt.NDArray[np.uint8]) -> None:
        """Make memory what it is before the launch."""
        if self.is_covered:
            return
        if self.position is None:
            device.clear(contents)
        else:
            device.put(contents, inputs[self.position])

    def prepare_in(self, device: Device, inputs: Sequence[Any], target: memoryview | None) -> tuple[Any, Result | None]:
        """Prepared memory: the caller's if the device can use it; else a pooled buffer, and the array of it."""
        if target is not None and self.is_whole and target.nbytes:
            memory = device.port.in_place(target)
            if memory is not None:
                self.prepare(device, inputs, np.frombuffer(target, np.uint8))
                return memory, None
        buffer, array = self.pool.take()
        self.prepare(device, inputs, buffer.bytes)
        return buffer.memory, array

    def moved(self, array: Result | None, target: memoryview | None) -> memoryview | None:
        """The result as bytes, None if it is in its target."""
        if array is None:
            return None
        result: memoryview = self.result(array, BYTES)
        if target is None:
            return result
        target[:] = result
        return None

    def result(self, array: Result, form: Form) -> Any:
        """The result, of an array of the memory."""
        if self.is_whole:
            return array if form is ARRAYS else array.view(np.uint8).data
        data = array.view(np.uint8)[self.start : self.stop]
        return data.data if form is BYTES else data.view(array.dtype)


class InPlace:
    """For a device that works in host memory: kernels read the caller's inputs and write to pooled buffers.

    `picks` are, for each kernel, the places of its arguments among the inputs, the outputs, and `rest`, in this order.
    `fills` as for copies. The arrays of outputs are the caller's from the readback on.
    """

    __slots__ = (
        *("_are_whole", "_arrays", "_device", "_fills", "_has_unused", "_in_place", "_inputs", "_outputs", "_picks"),
        *("_places", "_rest", "_static", "_used", "moves", "reads"),
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
        self._are_whole = all(output.is_whole for output in outputs)
        self._arrays: list[Any] = []
        self.reads, self.moves = False, True
        come = range(len(inputs) + len(outputs))
        self._used = [place for place in come if picks and place in picks[0]]
        self._has_unused = len(self._used) < len(come)

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """Device memory that it holds between dispatches."""
        pool = (output.pool for output in self._outputs)
        parts = [*(i.owned for i in self._inputs), *(r.owned for r in pool)]
        return (*self._static, *(allocation for part in parts for allocation in part))

    def run(
        self,
        inputs: Sequence[Any],
        launch: Callable[[Sequence[Any]], None],
        form: Form,
        targets: Targets | None = None,
    ) -> list[Any]:
        """Upload, launch and wait, read back."""
        launch(self.begin(inputs, targets))
        return self.readback(form, targets)

    def begin(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Any]:
        """Make memory what it is at the start: the memory that the kernel uses."""
        values = self._prepared(inputs, targets)
        return [values[place] for place in self._used] if self._has_unused else values

    def upload(self, inputs: Sequence[Any], targets: Targets | None = None) -> Sequence[Args]:
        """Make memory what it is at the start: the arguments of each kernel."""
        values = [*self._prepared(inputs, targets), *self._rest]
        return [pick(values) for pick in self._picks]

    def constant_args(self) -> tuple[Args, Sequence[int]]:
        """The arguments that stay, and the places of those that change."""
        values = [*[None] * (len(self._inputs) + len(self._outputs)), *self._rest]
        first = self._places[0]
        return self._picks[0](values), [first.index(place) for place in self._used]

    def _prepared(self, inputs: Sequence[Any], targets: Targets | None) -> list[Any]:
        """The memory of inputs and outputs before the launch."""
        device, in_place = self._device, self._in_place
        values = []
        for wanted in self._inputs:
            given = inputs[wanted.position]
            memory = in_place(given)
            values.append(wanted.staged(device, given) if memory is None else memory)
        arrays: list[Any] = []
        self._arrays = arrays
        if targets is None:
            for output in self._outputs:
                buffer, array = output.pool.take()
                if not output.is_covered:
                    output.prepare(device, inputs, buffer.bytes)
                values.append(buffer.memory)
                arrays.append(array)
        else:
            for output, target in zip(self._outputs, targets, strict=True):
                memory, result = output.prepare_in(device, inputs, target)
                values.append(memory)
                arrays.append(result)
        for allocation, byte, size in self._fills:
            device.fill(allocation, byte, size)
        return values

    def readback(self, form: Form, targets: Targets | None = None) -> list[Any]:
        """The outputs in the program's order."""
        arrays, self._arrays = self._arrays, []
        if targets is not None:
            moves = zip(self._outputs, arrays, targets, strict=True)
            return [output.moved(array, target) for output, array, target in moves]
        if self._are_whole and form is ARRAYS:
            return arrays
        pairs = zip(self._outputs, arrays)  # noqa: B905 - one for each, and strict takes longer
        return [output.result(array, form) for output, array in pairs]


def _picking(places: Sequence[int]) -> Callable[[Sequence[Any]], Args]:
    """A function that takes the values at some places, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple([values[place] for place in places])
