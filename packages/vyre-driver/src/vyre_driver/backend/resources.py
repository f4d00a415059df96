"""Memory that stays on a device between dispatches: handles to it, steps over it, and typed device buffers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.device.profile import Extent
from vyre_driver.errors import StaleHandle, UnsupportedFeature
from vyre_foundation.dtype import DType
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.results import HostBuffer

DEVICE_BUFFER_FEATURE = "DeviceBuffer"
"""The feature's name in `UnsupportedFeature`."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Resource:
    """A handle to resident memory: meaningful only to the backend that made it, and only in its generation.

    The memory lives until `free_resident`, the end of a ``with`` block of the handle, or the last reference to the
    handle, whichever comes first. A copy of a handle keeps nothing alive.
    """

    backend: str
    id: int
    generation: int
    byte_len: int
    _end: Callable[[], object] | None = field(default=None, repr=False, compare=False)
    _is_live: Callable[[], bool] | None = field(default=None, repr=False, compare=False)

    def __hash__(self) -> int:
        return self.id

    def __enter__(self) -> Resource:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def is_live(self) -> bool | None:
        """Whether the memory is there; None where the backend alone knows. Another thread may end it at any time."""
        return None if self._is_live is None else self._is_live()

    def end(self) -> None:
        """End its life, if it has not ended. The memory is free after the next call of the backend."""
        if self._end is not None:
            self._end()


class ResidentArray(ABC):
    """An array whose elements are in resident memory, as those of `DeviceArray`."""

    __slots__ = ()

    dtype: DType

    @property
    @abstractmethod
    def resource(self) -> Resource | None:
        """The handle, if the array is all of its memory in order; else None."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class ResidentDispatchStep:
    """One dispatch of a sequence: the program over resources, one for each input and output in binding order."""

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
    """Uploads of whole resources, the steps after them, and then ranges that are read, each into its target."""

    uploads: Sequence[tuple[Resource, HostBuffer]] = ()
    steps: Sequence[ResidentDispatchStep] = ()
    ranges: Sequence[ResidentReadRange] = ()
    targets: Sequence[HostBuffer] = ()


class DeviceBuffer(ABC):
    """A buffer in the memory of one backend, for callers that own device memory themselves."""

    @abstractmethod
    def backend_id(self) -> str:
        """The backend that made it."""

    @abstractmethod
    def byte_len(self) -> int:
        """Its size in bytes."""

    def debug_label(self) -> str | None:
        """A name for reports."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.backend_id()!r}: {self.byte_len()} bytes>"

    def __enter__(self) -> DeviceBuffer:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:  # noqa: B027 - a buffer of the host ends with its last reference
        """End its life, where its backend frees memory."""


class HostShimBuffer(DeviceBuffer):
    """A device buffer in host memory, for backends that compute there and for tests of code that takes buffers."""

    def __init__(self, backend: str, contents: bytes | bytearray | memoryview, label: str | None = None) -> None:
        self._backend, self._contents, self._label = backend, bytearray(contents), label

    def backend_id(self) -> str:
        """See `DeviceBuffer.backend_id`."""
        return self._backend

    def byte_len(self) -> int:
        """See `DeviceBuffer.byte_len`."""
        return len(self._contents)

    def debug_label(self) -> str | None:
        """The label that it was made with; None without one."""
        return self._label

    def as_slice(self) -> memoryview:
        """The contents, writable."""
        return memoryview(self._contents)


def validate_buffer_ownership(backend: str, buffers: Sequence[DeviceBuffer]) -> None:
    """Refuse buffers that another backend made: `StaleHandle` names the position and the owner."""
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
    """What a backend without device buffers does: it checks whose they are, and then refuses."""
    validate_buffer_ownership(backend, (*inputs, *outputs))
    raise UnsupportedFeature(DEVICE_BUFFER_FEATURE, backend=backend)
