"""The results of dispatches, and copies of results to memory of the caller."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from vyre_driver.errors import InvalidInput
from vyre_foundation.markup import fragment, table

if TYPE_CHECKING:
    from typing import Any, Protocol

    import numpy.typing as npt

    class SupportsBuffer(Protocol):
        """The same as `collections.abc.Buffer` from Python 3.12 on."""

        def __buffer__(self, flags: int, /) -> memoryview: ...

    HostBuffer: TypeAlias = SupportsBuffer | npt.NDArray[Any]

_FIELD_NAMES = re.compile(":[^:]*:")
"""Field names in a format of the buffer protocol."""

Inputs: TypeAlias = "Sequence[MemoryRef]"
"""Contiguous objects with the buffer protocol, one for each input of the program, in binding order."""

Memory: TypeAlias = memoryview
"""New host memory that a dispatch returns: contiguous, format "B"."""

MemoryRef: TypeAlias = "HostBuffer"
"""Host memory that a dispatch reads: any contiguous object with the buffer protocol."""

Outputs = list[Memory]
"""New host memory (format "B") for each output of the program, in binding order."""

OutputBuffers: TypeAlias = "list[HostBuffer]"
"""Output buffers of the caller. A buffer of the right size is written to, any other is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedDispatchResult:
    """The outputs and times of a dispatch.

    Times are in nanoseconds; None is unknown. `device_ns` is the time of the kernels.
    """

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
    """The times of a sequence of dispatches in nanoseconds. A sum with an unknown term is None."""

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
    """Return the bytes of a host buffer, without a copy.

    Raises:
        InvalidInput: The memory is not contiguous, not plain data, or not writable if that is needed. The error names
            the buffer `name`.
    """
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


def writable_outputs(outputs: OutputBuffers) -> list[memoryview]:
    """Return the bytes of every output buffer, or raise `InvalidInput` if one is read-only, or overlaps another."""
    views = [host_bytes(f"output buffer {n}", output, writable=True) for n, output in enumerate(outputs)]
    require_apart(views)
    return views


def require_apart(views: Sequence[memoryview]) -> None:
    """Raise `InvalidInput` if two output buffers overlap: each holds one output."""
    if len(views) < 2:
        return
    spans = sorted((span.start, span.stop, n) for n, view in enumerate(views) if (span := addresses_of(view)))
    for (_, stop, first), (start, _, second) in pairwise(spans):
        if start < stop:
            first, second = sorted((first, second))
            got, fix = f"memory of output buffer {first}", "pass other memory for each output"
            raise InvalidInput(f"output buffer {second}", needed="memory of its own", got=got, fix=fix)


def addresses_of(view: memoryview) -> range:
    """Return the addresses of the bytes of host memory."""
    start = np.frombuffer(view, np.uint8).__array_interface__["data"][0] if view.nbytes else 0
    return range(start, start + view.nbytes)


def is_plain(view: memoryview) -> bool:
    """Return whether `view` contains no references to Python objects.

    A device cannot interpret them, and only the interpreter may replace them.
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
    """Return the bytes of every input, without a copy."""
    return [host_bytes(f"input {n}", buffer) for n, buffer in enumerate(inputs)]


def replace_output_buffers_preserving_slots(outputs: OutputBuffers, results: Sequence[memoryview]) -> None:
    """Store `results` in the list `outputs`, which has as many elements afterwards.

    Buffers of the right size are written to; others are replaced. If a buffer is read-only or overlaps another one, an
    error is raised and nothing is written.
    """
    targets = writable_outputs(outputs)
    for slot, target in enumerate(targets[: len(results)]):
        if target.nbytes == results[slot].nbytes:
            target[:] = results[slot]
        else:
            outputs[slot] = results[slot]
    outputs[len(results) :] = results[len(outputs) :]
