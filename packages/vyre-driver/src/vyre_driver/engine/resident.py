"""Memory that lives on the device between dispatches: handles, the checks of them, and the contract's methods.

`Residents` maps handles to memory for any store; `ResidentBackend` is the part of the backend contract over it, and
`HostMemoryBackend` and `HostMemoryPipeline` are the same for backends without a device.
"""

from __future__ import annotations

import threading
import time
import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Protocol

import numpy as np

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pipeline import CompiledPipeline, closed_pipeline
from vyre_driver.backend.resources import (
    DeviceBuffer,
    ResidentReadRange,
    Resource,
    first_overlap,
    validate_buffer_ownership,
)
from vyre_driver.backend.results import Inputs, Outputs, TimedDispatchResult, host_bytes
from vyre_driver.backend.typed import as_arrays, ordered_inputs, require_whole_elements, shaped
from vyre_driver.engine.port import Allocation
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput, StaleHandle, UnsupportedFeature
from vyre_driver.plan.binding import host_buffers
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.backend.results import HostBuffer
    from vyre_driver.backend.typed import Array


MOST_BYTES = 1 << 62
"""More than any memory has. Allocators take sizes as signed integers of 64 bits."""
_ids = count(1)
_generations = count(1)


class ResidentStore(Protocol):
    """The memory of resident resources; `Device` is one."""

    @property
    def generation(self) -> int:
        """A number that no other store of the process has, so that a handle is valid for one store only."""

    def allocate_zeros(self, size: int) -> Allocation:
        """Memory of `size` bytes, at least one, all of them zero."""

    def copy_in(self, allocation: Allocation, data: memoryview, offset: int = 0) -> None:
        """Change bytes."""

    def copy_out(self, allocation: Allocation, into: memoryview, offset: int = 0) -> None:
        """Read bytes."""

    def wrap(self, foreign: object, size: int) -> Allocation | None:
        """Another library's array, without a copy."""

    def export(self, allocation: Allocation, size: int) -> object:
        """The memory as an array of bytes, without a copy."""

    def free(self, allocations: Sequence[Allocation]) -> None:
        """Give memory back."""


def next_generation() -> int:
    """The generation of a store that is opened now."""
    return next(_generations)


class Residents:
    """The resident memory of one open device or store. The backend's lock is held for every call.

    A handle is checked by everything it says: backend, generation, id and size. One that was freed, that belongs to
    another backend, or to the same one before its device was opened again, is a `StaleHandle` that says which.
    `dropped` are the ids of handles whose life has ended without `free`; the next `sweep` frees their memory.
    """

    def __init__(self, backend: str, device: ResidentStore) -> None:
        self._backend, self._device = backend, device
        self._live: dict[int, tuple[weakref.ref[Resource], int, Allocation]] = {}
        self.dropped: deque[int] = deque()

    def allocate(self, byte_len: int) -> Resource:
        """A handle to zeros."""
        require_size("byte_len", byte_len)
        if byte_len > MOST_BYTES:
            raise DeviceOutOfMemory(byte_len)
        return self._entered(self._device.allocate_zeros(byte_len), byte_len)

    def wrap(self, foreign: object) -> Resource:
        """A handle to the array of another library, which is not copied, and kept alive."""
        byte_len = getattr(foreign, "nbytes", None)
        allocation = self._device.wrap(foreign, byte_len) if isinstance(byte_len, int) and byte_len > 0 else None
        if allocation is None:
            needed = "a writable array, one piece, that the device uses where it is"
            fix = "upload it to a buffer of this backend"
            raise InvalidInput("foreign", needed=needed, got=f"a {type(foreign).__name__}", fix=fix)
        assert isinstance(byte_len, int)
        return self._entered(allocation, byte_len, is_foreign=True)

    def _entered(self, allocation: Allocation, byte_len: int, *, is_foreign: bool = False) -> Resource:
        generation = self._device.generation
        number = next(_ids)
        end = partial(self.dropped.append, number)  # no more than that: it may run inside of any call
        is_live = partial(_is_live, weakref.ref(self), number)
        resource = Resource(
            backend=self._backend,
            id=number,
            generation=generation,
            byte_len=byte_len,
            _end=end,
            _is_live=is_live,
            is_foreign=is_foreign,
        )
        self._live[number] = weakref.ref(resource), byte_len, allocation
        weakref.finalize(resource, end).atexit = False
        return resource

    def abandoned(self) -> object:
        """Forget what belongs to the parent of a forked process, and free none of it: what the caller keeps alive."""
        left, self._live = self._live, {}
        return left

    def find(self, resource: object) -> Allocation:
        """The memory behind a handle."""
        if not isinstance(resource, Resource):
            needed = "a handle that allocate_resident gave"
            raise InvalidInput("resource", needed=needed, got=type(resource).__name__, fix="pass the handle itself")
        found = self._live.get(resource.id)
        stated = resource.backend, resource.generation, resource.byte_len
        if found is None or stated != (self._backend, self._device.generation, found[1]):
            raise self._stale(resource)
        return found[2]

    def has(self, number: int) -> bool:
        """Whether the resource with this id is alive. May be called without the lock."""
        return number in self._live and number not in self.dropped

    def export(self, resource: Resource) -> object:
        """The memory behind a handle as an array of bytes, which keeps it alive."""
        return self._device.export(self.find(resource), resource.byte_len)

    def handle(self, resource: Resource) -> Resource | None:
        """The handle that `allocate` or `wrap` returned for a live resource, of which `resource` may be a copy."""
        return self._live[resource.id][0]()

    def free(self, resource: Resource) -> None:
        """End the handle's life; the port keeps the memory for as long as work in flight uses it."""
        self.find(resource)
        self.drop(resource.id)

    def drop(self, number: int) -> None:
        """Free the resource with this id, if it is alive."""
        found = self._live.pop(number, None)
        if found is not None:
            self._device.free((found[2],))

    def sweep(self) -> None:
        """Free the memory of handles that nothing refers to."""
        while self.dropped:
            self.drop(self.dropped.popleft())

    def size(self, resource: Resource) -> int:
        """The bytes of a resource that is alive."""
        self.find(resource)
        return resource.byte_len

    def upload(self, uploads: Sequence[tuple[Resource, int, memoryview]]) -> None:
        """Change bytes from offsets on; nothing is changed if one of the uploads is refused."""
        places = [self.find(resource) for resource, _, _ in uploads]
        for resource, offset, data in uploads:
            require_range(resource, offset, data.nbytes)
        for allocation, (_, offset, data) in zip(places, uploads, strict=True):
            self._device.copy_in(allocation, data, offset)

    def download(self, resource: Resource, offset: int, byte_len: int) -> memoryview:
        """A copy of some bytes in fresh host memory."""
        allocation = self.find(resource)
        require_range(resource, offset, byte_len)
        data = np.empty(byte_len, np.uint8).data
        self._device.copy_out(allocation, data, offset)
        return data

    def targets(self, ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]) -> list[memoryview]:
        """`targets` as writable bytes, after all checks of the ranges that will go there."""
        if len(ranges) != len(targets):
            fix = "pass one target for each range"
            raise InvalidInput("targets", needed=f"{len(ranges)} targets", got=f"{len(targets)}", fix=fix)
        return [self.target(r.resource, r.byte_offset, r.byte_len, t) for r, t in zip(ranges, targets, strict=True)]

    def target(self, resource: Resource, offset: int, byte_len: int, target: HostBuffer) -> memoryview:
        """`target` as writable bytes, after all checks of the range that will go there."""
        self.find(resource)
        require_range(resource, offset, byte_len)
        data = host_bytes("target", target, writable=True)
        _require_bytes("target", byte_len, data.nbytes)
        return data

    def download_ranges(self, ranges: Sequence[ResidentReadRange], targets: Sequence[memoryview]) -> None:
        """Ranges into memory that `targets` has checked."""
        for part, data in zip(ranges, targets, strict=True):
            self.download_into(part.resource, part.byte_offset, data)

    def download_into(self, resource: Resource, offset: int, data: memoryview) -> None:
        """Copy one range into memory that `target` has checked."""
        self._device.copy_out(self.find(resource), data, offset)

    def _stale(self, resource: Resource) -> StaleHandle:
        handle = f"resource {resource.id} of backend {resource.backend!r}, generation {resource.generation}"
        if resource.backend != self._backend:
            return StaleHandle(handle, f"it belongs to another backend than {self._backend!r}")
        if resource.generation != self._device.generation:
            reason = (
                f"the device of generation {self._device.generation} is another one, or was opened again, as in a fork"
            )
            return StaleHandle(handle, reason, fix="allocate and upload again on this backend")
        return StaleHandle(handle, "it was freed", fix="allocate a new one")


def _is_live(of: weakref.ref[Residents], number: int) -> bool:
    """Whether a resource is alive. Called without the lock."""
    residents = of()
    return residents is not None and residents.has(number)


def whole_bytes(resource: Resource, data: HostBuffer) -> memoryview:
    """`data` as bytes, exactly as many as the resource has."""
    contents = host_bytes("data", data)
    if isinstance(resource, Resource):
        _require_bytes("data", resource.byte_len, contents.nbytes)
    return contents


def require_size(name: str, value: object) -> None:
    """Raise `InvalidInput` for anything but a number of bytes."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidInput(name, needed="a number of bytes", got=repr(value), fix="pass an integer of at least 0")


def require_range(resource: Resource, offset: int, byte_len: int) -> None:
    """Refuse a range that is not within the resource."""
    require_size("byte_offset", offset)
    require_size("byte_len", byte_len)
    if offset + byte_len > resource.byte_len:
        needed = f"a range within {resource.byte_len} bytes"
        got = f"the bytes {offset} … {offset + byte_len}"
        raise InvalidInput(f"resource {resource.id}", needed=needed, got=got, fix="read and write within the resource")


def _require_bytes(name: str, needed: int, got: int) -> None:
    if needed != got:
        raise InvalidInput(name, needed=f"{needed} bytes", got=f"{got} bytes", fix="pass memory of exactly that size")


def bound_buffers(residents: Residents, program: Program, resources: Sequence[Resource]) -> tuple[Buffer, ...]:
    """The buffers of `resources` in binding order. Two buffers have memory in common only if neither is written."""
    buffers = host_buffers(program)
    if len(resources) != len(buffers):
        raise _wrong_number(buffers, len(resources))
    _require_apart(buffers, resources, residents.export)
    return buffers


def used_bytes(buffers: Sequence[Buffer], resources: Sequence[Resource]) -> dict[str, int]:
    """The bytes of each resource that its buffer uses, by name."""
    return {
        b.name: min(r.byte_len, b.count * b.dtype.size) if isinstance(b.count, int) else r.byte_len
        for b, r in zip(buffers, resources, strict=True)
    }


def require_places(plan: LaunchPlan, places: Mapping[str, Allocation]) -> None:
    """Refuse resources that are too small for what the plan puts there."""
    for name, allocation in places.items():
        require_capacity(name, plan.byte_length(name), allocation)


def require_capacity(name: str, needed: int, allocation: Allocation) -> None:
    """Refuse a resource that is smaller than its buffer."""
    if needed > allocation.size:
        fix = "allocate a larger resource, or dispatch less"
        raise InvalidInput(
            name, needed=f"a resource of at least {needed} bytes", got=f"{allocation.size} bytes", fix=fix
        )


def _require_apart(
    buffers: Sequence[Buffer], resources: Sequence[Resource], export: Callable[[Resource], object]
) -> None:
    """Refuse common memory of two buffers of which one is written: buffers of a program do not overlap."""
    found = first_overlap(resources, [buffer.is_output for buffer in buffers], export)
    if found is not None:
        other, buffer = (buffers[n] for n in found)
        needed = f"a resource of its own: {other.name!r} and {buffer.name!r} are not both read alone"
        fix = "allocate another resource, or declare one buffer that is read and written"
        got = f"the {'resource' if resources[found[0]] == resources[found[1]] else 'memory'} of {other.name!r}"
        raise InvalidInput(buffer.name, needed=needed, got=got, fix=fix)


def _wrong_number(buffers: Sequence[Buffer], got: int) -> InvalidInput:
    names = ", ".join(buffer.name for buffer in buffers) or "none"
    first = buffers[got].name if got < len(buffers) else f"number {len(buffers)}"
    needed = f"{len(buffers)} resources in binding order ({names})"
    fix = "pass one resource for each input and output of the program, in binding order"
    return InvalidInput(first, needed=needed, got=f"{got} resources", fix=fix)


class EngineBuffer(DeviceBuffer):
    """A buffer of an engine's device; `resource` stands for its memory."""

    def __init__(self, resource: Resource, label: str | None = None) -> None:
        self.resource, self._label = resource, label

    def backend_id(self) -> str:
        return self.resource.backend

    def byte_len(self) -> int:
        return self.resource.byte_len

    def debug_label(self) -> str | None:
        return self._label

    def end(self) -> None:
        self.resource.end()


def owned_buffer(buffer: DeviceBuffer) -> EngineBuffer:
    """`buffer`, whose backend id is this engine's, as one that an engine made."""
    if not isinstance(buffer, EngineBuffer):
        reason = f"a {type(buffer).__name__} is not of this backend, whatever it says"
        raise StaleHandle("the device buffer", reason, fix="allocate it with this backend, or wrap the array")
    return buffer


def resources_of(
    program: Program, inputs: Sequence[DeviceBuffer], outputs: Sequence[DeviceBuffer]
) -> tuple[Resource, ...]:
    """The resources of a dispatch in binding order; a buffer that is read and written is both, and changes in place."""
    given = _by_name("inputs", program.inputs, inputs)
    for name, resource in _by_name("outputs", program.outputs, outputs).items():
        if given.setdefault(name, resource) != resource:
            needed = "one device buffer as its input and its output: it is changed in place"
            raise InvalidInput(name, needed=needed, got="two", fix="pass the same buffer twice")
    return tuple([given[buffer.name] for buffer in host_buffers(program)])


def _by_name(what: str, declared: Sequence[Buffer], buffers: Sequence[DeviceBuffer]) -> dict[str, Resource]:
    if len(buffers) != len(declared):
        names = ", ".join(buffer.name for buffer in declared) or "none"
        fix = "pass one device buffer for each, in binding order"
        raise InvalidInput(what, needed=f"{len(declared)} ({names})", got=f"{len(buffers)}", fix=fix)
    return {d.name: owned_buffer(buffer).resource for d, buffer in zip(declared, buffers, strict=True)}


class ResidentBackend(VyreBackend, contract=1, checked=False):
    """Keeps memory on the device, whatever that is. Dispatches over it are the subclass's."""

    @abstractmethod
    def _residents(self) -> AbstractContextManager[Residents]:
        """Exclusive use of the memory of the open device."""

    def _about_to_free(self, resource: Resource) -> None:
        """Drop the cached launches over this resource. Called within `_residents`."""

    def _about_to_share(self, resource: Resource) -> None:
        """Others may use the memory of this resource from now on, at any time. Called within `_residents`."""

    # ── resident resources ───────────────────────────────────────────────────────────────────────────────────────────

    def allocate_resident(self, byte_len: int) -> Resource:
        with self._residents() as residents:
            return residents.allocate(byte_len)

    def upload_resident(self, resource: Resource, data: HostBuffer) -> None:
        self.upload_resident_many([(resource, data)])

    def upload_resident_many(self, uploads: Sequence[tuple[Resource, HostBuffer]]) -> None:
        with self._residents() as residents:
            residents.upload([(resource, 0, whole_bytes(resource, data)) for resource, data in uploads])

    def upload_resident_at(self, resource: Resource, byte_offset: int, data: HostBuffer) -> None:
        self.upload_resident_at_many([(resource, byte_offset, data)])

    def upload_resident_at_many(self, uploads: Sequence[tuple[Resource, int, HostBuffer]]) -> None:
        with self._residents() as residents:
            residents.upload([(resource, offset, host_bytes("data", data)) for resource, offset, data in uploads])

    def download_resident(self, resource: Resource) -> memoryview:
        with self._residents() as residents:
            return residents.download(resource, 0, residents.size(resource))

    def download_resident_into(self, resource: Resource, target: HostBuffer) -> None:
        with self._residents() as residents:
            size = residents.size(resource)
            residents.download_into(resource, 0, residents.target(resource, 0, size, target))

    def download_resident_range(self, resource: Resource, byte_offset: int, byte_len: int) -> memoryview:
        with self._residents() as residents:
            return residents.download(resource, byte_offset, byte_len)

    def download_resident_range_into(
        self, resource: Resource, byte_offset: int, byte_len: int, target: HostBuffer
    ) -> None:
        part = ResidentReadRange(resource=resource, byte_offset=byte_offset, byte_len=byte_len)
        self.download_resident_ranges_into([part], [target])

    def download_resident_ranges_into(self, ranges: Sequence[ResidentReadRange], targets: Sequence[HostBuffer]) -> None:
        with self._residents() as residents:
            residents.download_ranges(ranges, residents.targets(ranges, targets))

    def export_resident(self, resource: Resource) -> object:
        with self._residents() as residents:
            self._about_to_share(resource)
            return residents.export(resource)

    def free_resident(self, resource: Resource) -> None:
        """Launches that use it, also pending ones, complete: the memory lives as long as they do."""
        with self._residents() as residents:
            residents.find(resource)
            self._about_to_free(resource)
            residents.free(resource)

    # ── device buffers ───────────────────────────────────────────────────────────────────────────────────────────────

    def allocate_device_buffer(self, byte_len: int) -> DeviceBuffer:
        return EngineBuffer(self.allocate_resident(byte_len))

    def wrap_device_buffer(self, foreign: object) -> DeviceBuffer:
        with self._residents() as residents:
            return EngineBuffer(residents.wrap(foreign), f"wrapped {type(foreign).__name__}")

    def upload_device_buffer(self, buffer: DeviceBuffer, data: HostBuffer) -> None:
        self.upload_resident(self._resource(buffer), data)

    def download_device_buffer(self, buffer: DeviceBuffer) -> memoryview:
        return self.download_resident(self._resource(buffer))

    def free_device_buffer(self, buffer: DeviceBuffer) -> None:
        self.free_resident(self._resource(buffer))

    def dispatch_with_device_buffers(
        self,
        program: Program,
        inputs: Sequence[DeviceBuffer],
        outputs: Sequence[DeviceBuffer],
        config: DispatchConfig = DEFAULT_CONFIG,
    ) -> None:
        validate_buffer_ownership(self.id(), (*inputs, *outputs))
        self.dispatch_resident_timed(program, resources_of(program, inputs, outputs), config)

    def _resource(self, buffer: DeviceBuffer) -> Resource:
        validate_buffer_ownership(self.id(), (buffer,))
        return owned_buffer(buffer).resource


class HostStore:
    """Host memory as a store of resources: an `Allocation`'s memory is an array of bytes."""

    def __init__(self) -> None:
        self.generation = next_generation()

    def allocate_zeros(self, size: int) -> Allocation:
        try:
            memory = np.zeros(max(1, size), np.uint8)
        except MemoryError as error:
            raise DeviceOutOfMemory(size) from error
        return Allocation(memory, memory.nbytes)

    def copy_in(self, allocation: Allocation, data: memoryview, offset: int = 0) -> None:
        allocation.memory[offset : offset + data.nbytes] = data

    def copy_out(self, allocation: Allocation, into: memoryview, offset: int = 0) -> None:
        into[:] = allocation.memory[offset : offset + into.nbytes].data

    def wrap(self, foreign: object, size: int) -> Allocation | None:
        """A NumPy array in one piece that may be written to."""
        if not isinstance(foreign, np.ndarray) or not foreign.flags.carray:
            return None
        return Allocation(foreign.reshape(-1).view(np.uint8), size, is_borrowed=True)

    def export(self, allocation: Allocation, size: int) -> npt.NDArray[np.uint8]:
        """The array itself."""
        found: npt.NDArray[np.uint8] = allocation.memory[:size]
        return found

    def free(self, allocations: Sequence[Allocation]) -> None:
        """Nothing: arrays end with their last user."""


class HostMemoryBackend(ResidentBackend, contract=1, checked=False):
    """Keeps resources in host memory, and dispatches over them by `dispatch`: the contract, without the speed."""

    def __init__(self) -> None:
        self._guard = ForkGuard(threading.RLock)
        self.forget_resources()

    def forget_resources(self) -> None:
        """Make every handle stale, as `try_recover` must. Not part of the contract."""
        self._held = Residents(self.id(), HostStore())

    @contextmanager
    def _residents(self) -> Iterator[Residents]:
        with self._guard.lock:
            self._held.sweep()
            yield self._held

    def dispatch_resident_timed(
        self, program: Program, resources: Sequence[Resource], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return self.over_resources(program, resources, lambda inputs: self.dispatch(program, inputs, config))

    def over_resources(
        self, program: Program, resources: Sequence[Resource], run: Callable[[Inputs], Outputs]
    ) -> TimedDispatchResult:
        """A dispatch of `program` over resources, by `run` over host memory.

        Not part of the contract: for pipelines, which hold more state than a backend.
        """
        started = time.perf_counter_ns()
        if any(buffer.output_range is not None for buffer in program.outputs):
            raise UnsupportedFeature("output ranges over resident memory", backend=self.id())
        with self._residents() as residents:
            allocations = [residents.find(resource) for resource in resources]
            buffers = bound_buffers(residents, program, resources)
            memory = {b.name: allocation for b, allocation in zip(buffers, allocations, strict=True)}
            used = used_bytes(buffers, resources)
            inputs = [memory[buffer.name].memory[: used[buffer.name]] for buffer in program.inputs]
            outputs = run(inputs)
            for buffer, contents in zip(program.outputs, outputs, strict=True):
                require_capacity(buffer.name, contents.nbytes, memory[buffer.name])
            for buffer, contents in zip(program.outputs, outputs, strict=True):
                memory[buffer.name].memory[: contents.nbytes] = contents
        return TimedDispatchResult(outputs=[], wall_ns=time.perf_counter_ns() - started)


class HostMemoryPipeline(CompiledPipeline):
    """A program of such a backend, with state from one dispatch to the next. All but `dispatch` follows from that."""

    def __init__(self, backend: HostMemoryBackend, program: Program, config: DispatchConfig) -> None:
        self._backend, self._program, self._config = backend, program, config
        self._is_closed = False

    def id(self) -> str:
        return f"{self._backend.id()}:{self._program.fingerprint()}"

    def close(self) -> None:
        self._is_closed = True

    def _require_open(self) -> None:
        """Raise `StaleHandle` if the pipeline was closed; `dispatch` of a subclass calls it first."""
        if self._is_closed:
            raise closed_pipeline()

    def dispatch_arrays(self, arrays: Mapping[str, object], config: DispatchConfig | None = None) -> dict[str, Array]:
        self._require_open()
        require_whole_elements(self._program)
        outputs = as_arrays(self._program, self.dispatch(ordered_inputs(self._program, arrays), config))
        return shaped(self._program, arrays, outputs)

    def dispatch_resident(self, resources: Sequence[Resource], config: DispatchConfig | None = None) -> None:
        self.dispatch_resident_timed(resources, config)

    def dispatch_resident_timed(
        self, resources: Sequence[Resource], config: DispatchConfig | None = None
    ) -> TimedDispatchResult:
        self._require_open()
        return self._backend.over_resources(self._program, resources, lambda inputs: self.dispatch(inputs, config))
