"""Dispatch over arrays by name: the typed form of the raw contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.errors import InvalidInput
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.backend.results import Inputs, Outputs

    Array: TypeAlias = npt.NDArray[Any]


class TypedDispatchExt(ABC):
    """What every backend can do because it dispatches bytes."""

    @abstractmethod
    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Run `program` over bytes."""

    def dispatch_arrays(
        self, program: Program, arrays: Mapping[str, object], config: DispatchConfig = DEFAULT_CONFIG
    ) -> dict[str, Array]:
        """Run `program` over arrays by buffer name; the outputs by name, one-dimensional, in the declared types.

        An input is a NumPy array, or anything that exports DLPack, the array interface or the buffer protocol, of the
        declared type and any shape. Python numbers and lists are refused: they carry no type. `InvalidInput` names the
        buffer that is missing, unknown, or of another type.
        """
        require_whole_elements(program)
        return as_arrays(program, self.dispatch(program, ordered_inputs(program, arrays), config))


def ordered_inputs(program: Program, arrays: Mapping[str, object]) -> list[Array]:
    """The inputs of `program` in binding order as contiguous arrays of bytes, checked by name and type."""
    declared = {buffer.name: buffer for buffer in program.inputs}
    for name in arrays:
        if name not in declared:
            raise InvalidInput(
                name, needed=f"one of {_listed(declared)}", got="a name that the program has no input of"
            )
    for name in declared:
        if name not in arrays:
            fix = "pass an array for every input of the program"
            raise InvalidInput(name, needed=f"an array of {declared[name].dtype}", got="nothing", fix=fix)
    return [_bytes_of(buffer, arrays[name]) for name, buffer in declared.items()]


def _listed(declared: Mapping[str, Buffer]) -> str:
    return ", ".join(declared) or "no names: the program has no inputs"


def _bytes_of(buffer: Buffer, value: object) -> Array:
    import numpy as np

    array = _import(buffer, value)
    expected = np.dtype(buffer.dtype.numpy)
    if array.dtype != expected:
        fix = f"convert it with .astype({expected.name!r}), or declare the buffer with its type"
        raise InvalidInput(
            buffer.name, needed=f"an array of {expected.name}", got=f"one of {array.dtype.name}", fix=fix
        )
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _import(buffer: Buffer, value: object) -> Array:
    """`value` as a NumPy array without a copy where its exporter allows it."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(buffer, value)
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        got = type(value).__name__
        needed = f"an array of {buffer.dtype}"
        raise InvalidInput(
            buffer.name, needed=needed, got=got, fix="pass a NumPy array, which carries a type"
        ) from None


def _from_dlpack(buffer: Buffer, value: Any) -> Array:
    import numpy as np

    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as error:
        got = f"a {type(value).__name__} that NumPy can not read ({error})"
        raise InvalidInput(
            buffer.name, needed="memory of the host", got=got, fix="copy it to the host first"
        ) from error


def require_whole_elements(program: Program) -> None:
    """Refuse a program with an output range that cuts an element: an array can not show it."""
    for buffer in program.outputs:
        start, stop = buffer.output_range or (0, 0)
        if start % buffer.dtype.size or stop % buffer.dtype.size:
            needed = f"an output range of whole elements of {buffer.dtype}"
            fix = "dispatch bytes instead of arrays, or widen the range"
            raise InvalidInput(buffer.name, needed=needed, got=f"the bytes {start} … {stop}", fix=fix)


def as_arrays(program: Program, outputs: Outputs) -> dict[str, Array]:
    """The outputs of `program` by name, in the declared types."""
    import numpy as np

    return {b.name: np.frombuffer(view, dtype=b.dtype.numpy) for b, view in zip(program.outputs, outputs, strict=True)}
