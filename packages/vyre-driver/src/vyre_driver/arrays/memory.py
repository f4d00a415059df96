"""Memory of device arrays, which is used again when the last array that has it ends.

A launch that is repeated over memory that it was prepared for costs a few microseconds, and one over new memory many
times as much. So results get memory of the same size that earlier arrays have left, and small inputs from the host,
such as the uniforms of an algorithm, the memory where their contents already are.
"""

from __future__ import annotations

import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import Resource
from vyre_driver.errors import DeviceOutOfMemory, StaleHandle, UnsupportedFeature
from vyre_driver.plan.moves import fill_range, grid_of
from vyre_foundation.dtype import DType
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_CACHED = 8
"""Resources of one size that are cached for results to come."""
MAX_CACHED_BYTES = 1 << 28
"""Larger resources are freed at once."""
MAX_NEW, MAX_NEW_BYTES = 4096, 1 << 29
"""Allocations, and their bytes, after which everything that is cached is freed."""
MAX_CONSTANTS, CONSTANT_BYTES = 256, 256
"""Contents of the host that stay in the memory of a backend, and the bytes that each has at most."""

_NOTHING = bytearray()
_constants: weakref.WeakKeyDictionary[VyreBackend, dict[bytes, ArrayMemory]] = weakref.WeakKeyDictionary()
_on_host: weakref.WeakKeyDictionary[VyreBackend, bool] = weakref.WeakKeyDictionary()
_guard = ForkGuard()


class Holder(NamedTuple):
    """An array, for the error of a device that is full."""

    byte_len: int
    backend: VyreBackend
    dtype: DType
    shape: tuple[int, ...]


class ArrayMemory:
    """The memory of an array and its views. `resource` is its handle.

    `is_shared` says whether something else may refer to it: an array of the host, or of another library. `holders` are
    the arrays that memory was made for, by its identity.
    """

    __slots__ = ("_give_back", "is_shared", "resource")

    holders: ClassVar[dict[int, Holder]] = {}

    def __init__(
        self, resource: Resource, give_back: Callable[[Resource], None] | None = None, *, is_shared: bool = False
    ) -> None:
        self.resource, self._give_back, self.is_shared = resource, give_back, is_shared

    def __del__(self) -> None:
        self.holders.pop(id(self), None)
        give_back = getattr(self, "_give_back", None)  # an interrupt may come before it is set
        if give_back is not None:
            give_back(self.resource)

    def export(self, backend: VyreBackend) -> Any:
        """The memory as an array of bytes, which keeps it alive. No result gets it again: others may look at it."""
        exported = backend.export_resident(self.resource)
        self._give_back, self.is_shared = None, True
        return exported

    def close(self) -> None:
        """Free the memory now."""
        self._give_back = None
        self.resource.end()


class FreeMemory(defaultdict[int, deque[Resource]]):
    """The cached resources of a backend, by size.

    Arrays of the same sizes as before make no allocations, so nothing is freed between them. Those of ever new sizes
    leave behind what no later one uses: it is bounded by what is allocated until everything is freed.
    """

    def __init__(self) -> None:
        super().__init__(lambda: deque(maxlen=MAX_CACHED))
        self._new, self._new_bytes = 0, 0

    def put(self, resource: Resource) -> None:
        """Cache a resource that nothing uses. No more than that: it may run inside of any call."""
        self[resource.byte_len].append(resource)

    def allocate(self, backend: VyreBackend, byte_len: int) -> Resource:
        """A new resource."""
        self._new, self._new_bytes = self._new + 1, self._new_bytes + byte_len
        if self._new > MAX_NEW or self._new_bytes > MAX_NEW_BYTES:
            self.clear()
            self._new, self._new_bytes = 1, byte_len
        try:
            return backend.allocate_resident(byte_len)
        except DeviceOutOfMemory:
            self.clear()
            return backend.allocate_resident(byte_len)


_free: weakref.WeakKeyDictionary[VyreBackend, FreeMemory] = weakref.WeakKeyDictionary()


def result_memory(backend: VyreBackend, byte_len: int, *, is_zero: bool = False) -> ArrayMemory:
    """Memory for a result. Unless it `is_zero`, its contents are unspecified: a dispatch zeroes what it does not write.

    `DeviceOutOfMemory` if there is no room, also without what is cached.
    """
    free = _free.get(backend)
    if free is None:
        free = _free[backend] = FreeMemory()
    cached = free[byte_len]
    give_back = free.put if byte_len <= MAX_CACHED_BYTES else None
    while cached:
        try:
            resource = cached.pop()
        except IndexError:  # another thread took it
            continue
        if is_live(backend, resource):
            memory = ArrayMemory(resource, give_back)
            if is_zero:
                _fill_with_zeros(backend, memory)
            return memory
    return ArrayMemory(free.allocate(backend, byte_len), give_back)


def _fill_with_zeros(backend: VyreBackend, memory: ArrayMemory) -> None:
    byte_len = memory.resource.byte_len
    size = next(size for size in (8, 4, 2, 1) if byte_len % size == 0)
    numbers = np.zeros(size, np.uint8), np.array([0, byte_len // size], np.uint32).view(np.uint8)
    value, at = [constant_memory(backend, each) for each in numbers]
    config = DispatchConfig(grid_override=grid_of(byte_len // size))
    backend.dispatch_resident(fill_range(size), [value.resource, at.resource, memory.resource], config)


def constant_memory(backend: VyreBackend, contents: npt.NDArray[np.uint8]) -> ArrayMemory:
    """Memory with `contents`, which nothing writes to: that of an earlier call with equal ones, or a new upload."""
    key = contents.tobytes()
    with _guard.lock:
        cached = _constants.setdefault(backend, {})
        memory = cached.pop(key, None)
        if memory is not None:
            cached[key] = memory  # as the newest
    if memory is not None and is_live(backend, memory.resource):
        return memory
    memory = result_memory(backend, len(key))
    backend.upload_resident(memory.resource, contents)
    with _guard.lock:
        cached[key] = memory
        dropped = cached.pop(next(iter(cached))) if len(cached) > MAX_CONSTANTS else None
    del dropped  # without the lock
    return memory


def is_live(backend: VyreBackend, resource: Resource) -> bool:
    """Whether the memory of a resource is there: it was not freed, and the device was not opened again."""
    known = resource.is_live()
    if known is None:
        try:
            backend.download_resident_range_into(resource, 0, 0, _NOTHING)
        except StaleHandle:
            return False
    return known is not False


def is_on_host(backend: VyreBackend) -> bool:
    """Whether NumPy can use the memory of a backend.

    It is found out once, by exporting one byte: memory that was exported stays shared.
    """
    known = _on_host.get(backend)
    if known is None:
        resource = backend.allocate_resident(1)
        try:
            known = isinstance(backend.export_resident(resource), np.ndarray)
        except UnsupportedFeature:
            known = False
        resource.end()
        _on_host[backend] = known
    return known
