"""Memory that stays on a device between dispatches: handles, steps over them, and device buffers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NoReturn

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.device.profile import Extent
from vyre_driver.errors import StaleHandle, UnsupportedFeature
from vyre_foundation.dtype import DType
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer

DEVICE_BUFFER_FEATURE = "DeviceBuffer"
"""The name of the feature in `UnsupportedFeature`."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Resource:
    """A handle to resident memory. It is valid only for the backend that made it, and only in its generation.

    The memory is freed by `free_resident`, at the end of a ``with`` block of the handle, or with the last reference to
    the handle, whichever comes first. A copy of a handle does not keep the memory alive.
    """

    backend: str
    id: int
    generation: int
    byte_len: int
    _end: Callable[[], object] | None = field(default=None, repr=False, compare=False)
    _is_live: Callable[[], bool] | None = field(default=None, repr=False, compare=False)
    is_foreign: bool = field(default=False, repr=False, compare=False)
    """Whether it is the array of another library. Several handles may stand for such memory."""

    def __hash__(self) -> int:
        return self.id

    def __enter__(self) -> Resource:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def is_live(self) -> bool | None:
        """Return whether the memory is allocated; None if unknown. Another thread may free it at any time."""
        return None if self._is_live is None else self._is_live()

    def end(self) -> None:
        """Free the memory if it has not been freed. It is available again after the next call of the backend."""
        if self._end is not None:
            self._end()


def first_overlap(
    resources: Sequence[Resource], is_written: Sequence[bool], export: Callable[[Resource], object]
) -> tuple[int, int] | None:
    """Return the positions of the first two resources with common memory of which one is written, or None.

    Args:
        resources: Handles of one backend.
        is_written: Whether each of them is written.
        export: The memory of a resource as an array, as `VyreBackend.export_resident` gives it. It is called only if
            one of them `is_foreign`.
    """
    first: dict[int, int] = {}
    for number, resource in enumerate(resources):
        other = first.setdefault(resource.id, number)
        if other != number and (is_written[number] or is_written[other]):
            return other, number
    if not any(resource.is_foreign for resource in resources):
        return None
    spans = [_span(resource, export) for resource in resources]
    pairs = combinations(range(len(spans)), 2)
    return next(((m, n) for m, n in pairs if (is_written[m] or is_written[n]) and meet(spans[m], spans[n])), None)


def _span(resource: Resource, export: Callable[[Resource], object]) -> range:
    """The addresses of a resource, in host memory or on a device; empty if unknown."""
    try:
        exported = export(resource)
    except UnsupportedFeature:
        return range(0)
    protocol = next((name for name in dir(exported) if name.endswith("array_interface__")), None)
    start = 0 if protocol is None else int(getattr(exported, protocol)["data"][0])
    return range(start, start + resource.byte_len) if start else range(0)


def meet(a: range, b: range) -> bool:
    """Return whether two ranges of addresses have one in common."""
    return a.start < b.stop and b.start < a.stop and bool(a) and bool(b)


class ResidentArray(ABC):
    """An array in resident memory, such as a `DeviceArray`."""

    __slots__ = ()

    dtype: DType

    @property
    @abstractmethod
    def resource(self) -> Resource | None:
        """The handle, if the array is the whole memory in order; None otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class ResidentDispatchStep:
    """A dispatch in a sequence. `resources` has one for each input and output, in binding order."""

    program: Program
    resources: tuple[Resource, ...]
    grid_override: Extent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentReadRange:
    """The bytes ``byte_offset … byte_offset + byte_len`` of a resource."""

    resource: Resource
    byte_offset: int
    byte_len: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentWave:
    """A part of a sequence: uploads of whole resources, then steps, then reads of ranges into their targets."""

    uploads: Sequence[tuple[Resource, HostBuffer]] = ()
    steps: Sequence[ResidentDispatchStep] = ()
    ranges: Sequence[ResidentReadRange] = ()
    targets: Sequence[HostBuffer] = ()


class DeviceBuffer(ABC):
    """A buffer in the memory of one backend, for callers that manage device memory themselves."""

    @abstractmethod
    def backend_id(self) -> str:
        """Return the id of the backend that made the buffer."""

    @abstractmethod
    def byte_len(self) -> int:
        """Return the size in bytes."""

    def debug_label(self) -> str | None:
        """Return a name for reports, or None."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.backend_id()!r}: {self.byte_len()} bytes>"

    def __enter__(self) -> DeviceBuffer:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:  # noqa: B027 - a buffer of the host ends with its last reference
        """Free the buffer, if its backend frees memory explicitly."""


class HostShimBuffer(DeviceBuffer):
    """A device buffer in host memory, for backends that compute there, and for tests."""

    def __init__(self, backend: str, contents: bytes | bytearray | memoryview, label: str | None = None) -> None:
        self._backend, self._contents, self._label = backend, bytearray(contents), label

    def backend_id(self) -> str:
        """See `DeviceBuffer.backend_id`."""
        return self._backend

    def byte_len(self) -> int:
        """See `DeviceBuffer.byte_len`."""
        return len(self._contents)

    def debug_label(self) -> str | None:
        """Return the label with which the buffer was made, or None."""
        return self._label

    def as_slice(self) -> memoryview:
        """Return the contents, which are writable."""
        return memoryview(self._contents)


def validate_buffer_ownership(backend: str, buffers: Sequence[DeviceBuffer]) -> None:
    """Raise `StaleHandle` if another backend made a buffer. The error names its position and its backend."""
    for position, buffer in enumerate(buffers):
        owner = buffer.backend_id()
        if owner != backend:
            reason = f"it belongs to backend {owner!r}, this is {backend!r}"
            raise StaleHandle(f"device buffer {position}", reason, fix="allocate it with this backend")


def default_dispatch_with_device_buffers(
    backend: str,
    program: Program,
    inputs: Sequence[DeviceBuffer],
    outputs: Sequence[DeviceBuffer],
    config: DispatchConfig = DEFAULT_CONFIG,
) -> NoReturn:
    """Check the buffers, and raise `UnsupportedFeature`: the behaviour of a backend without device buffers."""
    validate_buffer_ownership(backend, (*inputs, *outputs))
    raise UnsupportedFeature(DEVICE_BUFFER_FEATURE, backend=backend)
