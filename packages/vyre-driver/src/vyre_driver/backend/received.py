"""Checks of the results of backends: the number of outputs, and their declared sizes.

`VyreBackend` wraps these checks around the methods that a subclass defines, so they apply to every call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from vyre_driver.backend.lengths import bind_inputs, fixed_lengths, input_lengths
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import DeviceBuffer, Resource
from vyre_driver.backend.results import (
    Inputs,
    OutputBuffers,
    Outputs,
    ResidentSequenceTiming,
    TimedDispatchResult,
    host_bytes,
)
from vyre_driver.device.profile import DeviceProfile, is_extent
from vyre_driver.errors import InvalidInput, InvalidOutput, InvalidProgram
from vyre_foundation.ir.program import Program
from vyre_foundation.validate import facts as foundation
from vyre_foundation.validate.facts import Facts

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeclaredOutputs:
    """The sizes in bytes of the outputs of one dispatch, by name in binding order, and the id of the backend."""

    backend: str
    sizes: Mapping[str, int]

    @classmethod
    def of(cls, backend: str, program: Program, inputs: Inputs) -> DeclaredOutputs:
        """Return the sizes for a dispatch of `program` over `inputs`.

        Raises:
            InvalidProgram: The program is invalid.
            InvalidInput: An input is invalid.
        """
        validated(program)
        given = [view.nbytes for view in bind_inputs(program, inputs)]
        lengths = fixed_lengths(program, input_lengths(program, given))
        sizes = {}
        for buffer in program.outputs:
            start, stop = buffer.output_range or (0, lengths[buffer.name] * buffer.dtype.size)
            sizes[buffer.name] = stop - start
        return cls(backend, sizes)

    def outputs(self, found: object) -> Outputs:
        """Return the outputs as bytes, or raise `InvalidOutput`."""
        if not isinstance(found, (list, tuple)):
            raise InvalidOutput(self.backend, f"{kind_of(found)}, expected a list of outputs")
        if len(found) != len(self.sizes):
            names = ", ".join(self.sizes) or "none"
            raise InvalidOutput(self.backend, f"{len(found)} outputs, expected {len(self.sizes)} ({names})")
        return [self._bytes(name, data) for name, data in zip(self.sizes, found, strict=True)]

    def timed(self, found: object) -> TimedDispatchResult:
        """Return the result of a timed dispatch, or raise `InvalidOutput`."""
        timed = require_kind(self.backend, found, TimedDispatchResult, "dispatch_borrowed_timed")
        return replace(timed, outputs=self.outputs(timed.outputs))

    def pending(self, found: object) -> PendingDispatch:
        """Return a pending dispatch whose outputs are checked when they are read."""
        inner = require_kind(self.backend, found, PendingDispatch, "dispatch_async")  # type: ignore[type-abstract]
        return ReceivedPending(inner, self)

    def arrays(self, found: object) -> dict[str, Array]:
        """Return the outputs as arrays by name, or raise `InvalidOutput`."""
        if not isinstance(found, dict):
            raise InvalidOutput(self.backend, f"{kind_of(found)}, expected a dictionary of outputs")
        self.outputs([found[name] for name in self.sizes if name in found])
        return found

    def _bytes(self, name: str, data: Any) -> memoryview:
        try:
            view = host_bytes(name, data)
        except InvalidInput as error:
            raise InvalidOutput(self.backend, f"{error.got} for {name!r}, expected {error.needed}") from None
        if view.nbytes != self.sizes[name]:
            raise InvalidOutput(self.backend, f"{view.nbytes} bytes for {name!r}, {self.sizes[name]} are declared")
        return memoryview(bytearray(view)) if view.readonly or not view.nbytes else view


class ReceivedPending(PendingDispatch):
    """A pending dispatch whose outputs are checked when they are read."""

    def __init__(self, inner: PendingDispatch, declared: DeclaredOutputs) -> None:
        self._inner, self._declared = inner, declared
        self._outputs: Outputs | None = None

    def is_ready(self) -> bool:
        """Return whether the dispatch has ended."""
        return self._inner.is_ready()

    def await_result(self, timeout: float | None = None) -> Outputs:
        """Return the outputs, which are checked once."""
        found = self._inner.await_result(timeout)
        if self._outputs is None:
            self._outputs = self._declared.outputs(found)
        return self._outputs


def validated(program: Program) -> Facts:
    """Return the facts of `program`, or raise the driver's `InvalidProgram` with every finding."""
    try:
        return program.validate()
    except foundation.InvalidProgram as error:
        raise InvalidProgram(program.name, error.findings) from None  # its message would repeat them


def require_kind(backend: str, found: object, kind: type[T], method: str) -> T:
    """Return `found`, or raise `InvalidOutput` if a method of the contract has not returned a `kind`."""
    if not isinstance(found, kind):
        fix = f"report it to the backend's authors: {method!r} returns a {kind.__name__}"
        raise InvalidOutput(backend, f"{kind_of(found)} from {method!r}, expected a {kind.__name__}", fix=fix)
    return found


def with_checks(name: str, method: object) -> object:
    """Return the method `name` of a class with a check of its result, or the method itself if there is no check."""
    if not isinstance(method, FunctionType) or getattr(method, "__isabstractmethod__", False) or name not in _CHECKED:
        return method
    return _CHECKED[name](method)


def kind_of(found: object) -> str:
    """Return a description of a result for a message: its type, because its text may have any length."""
    return "None" if found is None else f"a value of type {type(found).__name__}"


def _dispatching(check: Callable[[DeclaredOutputs, object], object]) -> Callable[[FunctionType], FunctionType]:
    def around(method: FunctionType) -> FunctionType:
        @wraps(method)
        def checked(self: Any, program: Program, inputs: Inputs, *args: Any, **named: Any) -> object:
            declared = DeclaredOutputs.of(self.id(), program, inputs)
            return check(declared, method(self, program, inputs, *args, **named))

        return checked  # type: ignore[return-value]

    return around


def _into(method: FunctionType) -> FunctionType:
    @wraps(method)
    def checked(self: Any, program: Program, inputs: Inputs, config: object, outputs: OutputBuffers) -> None:
        declared = DeclaredOutputs.of(self.id(), program, inputs)
        method(self, program, inputs, config, outputs)
        declared.outputs(outputs)

    return checked  # type: ignore[return-value]


def _reading(size_of: Callable[..., int]) -> Callable[[FunctionType], FunctionType]:
    def around(method: FunctionType) -> FunctionType:
        @wraps(method)
        def checked(self: Any, *args: Any, **named: Any) -> memoryview:
            found = method(self, *args, **named)
            (data,) = DeclaredOutputs(self.id(), {"contents": size_of(*args, **named)}).outputs([found])
            return data

        return checked  # type: ignore[return-value]

    return around


def _returning(kind: type[Any], *, or_none: bool = False) -> Callable[[FunctionType], FunctionType]:
    def around(method: FunctionType) -> FunctionType:
        @wraps(method)
        def checked(self: Any, *args: Any, **named: Any) -> object:
            found = method(self, *args, **named)
            return found if found is None and or_none else require_kind(self.id(), found, kind, method.__name__)

        return checked  # type: ignore[return-value]

    return around


def _extent(method: FunctionType) -> FunctionType:
    @wraps(method)
    def checked(self: Any) -> object:
        found = method(self)
        if not is_extent(found):
            fix = f"report it to the backend's authors: {method.__name__!r} returns three integers"
            raise InvalidOutput(self.id(), f"{found!r} from {method.__name__!r}, expected three integers", fix=fix)
        return found

    return checked  # type: ignore[return-value]


def _size_of_resource(resource: Resource) -> int:
    return resource.byte_len


def _size_of_range(resource: Resource, byte_offset: int, byte_len: int) -> int:
    return byte_len


def _size_of_buffer(buffer: DeviceBuffer) -> int:
    return buffer.byte_len()


# fmt: off
_CHECKED: Mapping[str, Callable[[FunctionType], FunctionType]] = {
    "dispatch":                  _dispatching(DeclaredOutputs.outputs),
    "dispatch_borrowed":         _dispatching(DeclaredOutputs.outputs),
    "dispatch_borrowed_timed":   _dispatching(DeclaredOutputs.timed),
    "dispatch_borrowed_into":    _into,
    "dispatch_async":            _dispatching(DeclaredOutputs.pending),
    "dispatch_borrowed_async":   _dispatching(DeclaredOutputs.pending),
    "dispatch_resident_timed":   _returning(TimedDispatchResult),
    "dispatch_resident_sequence_read_ranges_timed_into": _returning(ResidentSequenceTiming),
    "allocate_resident":         _returning(Resource),
    "download_resident":         _reading(_size_of_resource),
    "download_resident_range":   _reading(_size_of_range),
    "allocate_device_buffer":    _returning(DeviceBuffer),
    "download_device_buffer":    _reading(_size_of_buffer),
    "compile_native":            _returning(CompiledPipeline, or_none=True),
    "compile_native_shared":     _returning(CompiledPipeline, or_none=True),
    "device_profile":            _returning(DeviceProfile),
    "max_workgroup_size":        _extent,
}
# fmt: on
