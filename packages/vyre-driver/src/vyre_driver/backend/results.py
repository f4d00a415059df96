"""What dispatches give back, and how results get into memory that the caller owns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from vyre_driver.errors import InvalidInput
from vyre_foundation.markup import fragment, table

if TYPE_CHECKING:
    from typing import Any, Protocol

    import numpy.typing as npt

    class SupportsBuffer(Protocol):
        """What `collections.abc.Buffer` is from Python 3.12 on."""

        def __buffer__(self, flags: int, /) -> memoryview: ...

    HostBuffer: TypeAlias = SupportsBuffer | npt.NDArray[Any]

_FIELD_NAMES = re.compile(":[^:]*:")
"""In a format of the buffer protocol."""

Inputs: TypeAlias = "Sequence[MemoryRef]"
"""Contiguous objects of the buffer protocol, one for each input of the program, in binding order."""

Memory: TypeAlias = memoryview
"""Host bytes that a dispatch gives away: fresh, contiguous, format "B"."""

MemoryRef: TypeAlias = "HostBuffer"
"""Host bytes that a dispatch borrows: any contiguous object of the buffer protocol."""

Outputs = list[Memory]
"""Fresh host memory (format "B"), one for each output of the program, in binding order."""

OutputBuffers: TypeAlias = "list[HostBuffer]"
"""Output slots of the caller: a slot whose size fits is written to, any other is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedDispatchResult:
    """Outputs and where the time went, in nanoseconds; None is unknown. `device_ns` is the kernels alone."""

    outputs: Outputs
    wall_ns: int
    device_ns: int | None = None
    enqueue_ns: int | None = None
    wait_ns: int | None = None

    def __repr__(self) -> str:
        size = sum(output.nbytes for output in self.outputs)
        return f"<TimedDispatchResult: {len(self.outputs)} outputs, {size} bytes; {_times_of(self)}>"

    def _repr_html_(self) -> str:
        rows = [(n, f"{output.nbytes} bytes") for n, output in enumerate(self.outputs)]
        return fragment("timed dispatch", _times_of(self), table(("output", "size"), rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentSequenceTiming:
    """Where the time of a sequence of dispatches went, in nanoseconds; a sum with an unknown term is None."""

    wall_ns: int
    device_ns: int | None = None
    enqueue_ns: int | None = None
    wait_ns: int | None = None

    def __repr__(self) -> str:
        return f"<ResidentSequenceTiming: {_times_of(self)}>"

    def _repr_html_(self) -> str:
        return fragment("timed sequence", _times_of(self))


def _times_of(timed: TimedDispatchResult | ResidentSequenceTiming) -> str:
    times = (
        ("wall", timed.wall_ns),
        ("device", timed.device_ns),
        ("enqueue", timed.enqueue_ns),
        ("wait", timed.wait_ns),
    )
    return ", ".join(f"{name} {ns / 1e3:.1f} µs" for name, ns in times if ns is not None)


def host_bytes(name: str, buffer: HostBuffer, *, writable: bool = False) -> memoryview:
    """The bytes of a host buffer without a copy, or `InvalidInput` under `name`."""
    view = _view(name, buffer)
    if writable and view.readonly:
        raise InvalidInput(name, needed="writable memory", got="read-only memory", fix="pass a bytearray or an array")
    if not view.c_contiguous:
        fix = "pass numpy.ascontiguousarray(…)"
        raise InvalidInput(name, needed="contiguous memory", got="a strided view", fix=fix)
    if not is_plain(view):
        got, fix = "references to Python objects", "convert it to an array of numbers"
        raise InvalidInput(name, needed="memory of plain data", got=got, fix=fix)
    if view.nbytes == 0:
        return memoryview(bytearray() if writable else b"")
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def is_plain(view: memoryview) -> bool:
    """Whether bytes are all that is in `view`.

    References to Python objects mean nothing to a device, and only the interpreter may replace them.
    """
    return "O" not in view.format or "O" not in _FIELD_NAMES.sub("", view.format)


def _view(name: str, buffer: HostBuffer) -> memoryview:
    try:
        return memoryview(cast("SupportsBuffer", buffer))
    except (TypeError, ValueError):
        if isinstance(buffer, np.ndarray) and buffer.flags.c_contiguous:  # bf16, which has no letter in the protocol
            return memoryview(cast("SupportsBuffer", buffer.reshape(-1).view(np.uint8)))
        got = f"a strided {buffer.dtype} array" if isinstance(buffer, np.ndarray) else type(buffer).__name__
        raise InvalidInput(name, needed="an object with the buffer protocol (bytes, an array, …)", got=got) from None


def borrowed_input_slices(inputs: Inputs) -> list[memoryview]:
    """The bytes of every input, without a copy."""
    return [host_bytes(f"input {n}", buffer) for n, buffer in enumerate(inputs)]


def replace_output_buffers_preserving_slots(outputs: OutputBuffers, results: Sequence[memoryview]) -> None:
    """Make `outputs` hold `results`: slots of the right size keep their memory, and there are as many as results.

    Nothing is written when a slot is read-only.
    """
    targets = [host_bytes(f"output buffer {n}", slot, writable=True) for n, slot in enumerate(outputs)]
    for slot, target in enumerate(targets[: len(results)]):
        if target.nbytes == results[slot].nbytes:
            target[:] = results[slot]
        else:
            outputs[slot] = results[slot]
    outputs[len(results) :] = results[len(outputs) :]
