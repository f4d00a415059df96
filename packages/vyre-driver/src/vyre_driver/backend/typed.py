"""Dispatch over arrays by name, on top of the dispatch over bytes."""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vyre_driver.backend.arrow import exports_arrow, from_arrow
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.dlpack import from_dlpack
from vyre_driver.backend.lengths import ONE_NUMBER, is_number
from vyre_driver.backend.resources import ResidentArray
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_foundation.build.arguments import fix_of_elements, missing_elements, number, shown_type
from vyre_foundation.dtype import f32, f64
from vyre_foundation.errors import LiteralOutOfRange, VyreError
from vyre_foundation.ir.buffer import Buffer, LengthOf
from vyre_foundation.ir.expr import literal
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.backend.results import Inputs, Outputs

    Array: TypeAlias = npt.NDArray[Any]


class TypedDispatchExt(ABC):
    """Dispatch over arrays, for every backend that dispatches bytes."""

    @abstractmethod
    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Run a program over bytes; see `VyreBackend.dispatch`."""

    def dispatch_arrays(
        self, program: Program, arrays: Mapping[str, object], config: DispatchConfig = DEFAULT_CONFIG
    ) -> dict[str, Array]:
        """Run a program over arrays by buffer name.

        Args:
            program: A valid program.
            arrays: One for each input, of the declared type and any shape: NumPy arrays, or objects that export DLPack,
                the array interface or the buffer protocol. A uniform of one element also takes a number, of Python or
                NumPy (a scalar, or an array without axes), that its type holds; other numbers and lists are refused,
                because they carry no type.
            config: The options of the dispatch.

        Returns:
            The outputs by name, in the declared types. An output that is declared `like` an input, or that is one, has
            the shape of the array that was passed for it; the others have one dimension.

        Raises:
            InvalidInput: A buffer, which the error names, is missing, unknown, or of another type.
        """
        return dispatch_named(program, arrays, lambda inputs: self.dispatch(program, inputs, config))


def dispatch_named(
    program: Program, arrays: Mapping[str, object], dispatch: Callable[[Inputs], Outputs]
) -> dict[str, Array]:
    """Run a program over arrays by name with `dispatch`, which takes and returns bytes in binding order."""
    require_whole_elements(program)
    return shaped(program, arrays, as_arrays(program, dispatch(ordered_inputs(program, arrays))))


def ordered_inputs(program: Program, arrays: Mapping[str, object]) -> list[Array]:
    """Return the inputs of a program in binding order, as contiguous arrays of bytes. Names and types are checked."""
    require_names(program, arrays)
    return [array_bytes(buffer, arrays[buffer.name]) for buffer in program.inputs]


def require_names(program: Program, arrays: Mapping[str, object]) -> None:
    """Raise an error unless `arrays` is a mapping with one entry for each input of the program."""
    _require_mapping(arrays)
    declared = {buffer.name: buffer for buffer in program.inputs}
    for name in arrays:
        if name not in declared:
            is_output = any(buffer.name == name for buffer in program.outputs)
            fix = f"leave it out: outputs are returned by name, as in run(…)[{name!r}]" if is_output else ""
            got = "the name of an output" if is_output else "a name that the program has no input of"
            raise InvalidInput(name, needed=f"one of {_listed(declared)}", got=got, fix=fix)
    for name in declared:
        if name not in arrays:
            fix = "pass an array for every input of the program"
            raise InvalidInput(name, needed=f"an array of {declared[name].dtype}", got="nothing", fix=fix)


def _require_mapping(given: object) -> None:
    if not isinstance(given, Mapping):
        got, fix = type(given).__name__, "pass a dictionary, or one keyword for each input"
        raise InvalidLaunch("arrays", needed="a mapping from the names of inputs to arrays", got=got, fix=fix)


def _listed(declared: Mapping[str, Buffer]) -> str:
    return ", ".join(declared) or "no names: the program has no inputs"


def array_bytes(buffer: Buffer, value: object) -> Array:
    """Return the contiguous bytes of an array for `buffer`. Its type is checked, the number of elements is not."""
    expected = np.dtype(buffer.dtype.numpy)
    if is_number(buffer) and not (type(value) is np.ndarray and value.dtype == expected):
        found = number(value)
        if found is not None:
            return number_bytes(buffer, found)
    array = _import(buffer, value)
    _require_type(buffer, array, value)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def require_types(program: Program, arrays: Mapping[str, object]) -> None:
    """Raise `InvalidInput` for a NumPy array, or bytes, of a wrong type. Other objects are checked when read."""
    for buffer in program.inputs:
        value = arrays.get(buffer.name)
        if isinstance(value, np.ndarray) and not is_number(buffer):
            _require_type(buffer, value, value)
        elif isinstance(value, (bytes, bytearray)):
            _require_type(buffer, np.frombuffer(value, np.uint8), value)


def _require_type(buffer: Buffer, array: Array, value: object) -> None:
    """Raise `InvalidInput` if an array, which was made from `value`, has another type than the buffer."""
    expected = np.dtype(buffer.dtype.numpy)
    if array.dtype != expected:
        got, fix = f"one of {shown_type(array.dtype)}", f"convert it to {expected.name}"
        if array.dtype.names is not None:
            got = "an array of structures"
        elif hasattr(value, "astype"):
            fix = f"convert it with .astype({expected.name!r})"
        if isinstance(value, (bytes, bytearray, memoryview)):
            fix = f"say what the bytes are, with numpy.frombuffer(data, {expected.name!r})"
        elif found_fix := fix_of_elements(array):
            fix = found_fix
        elif array.dtype.name != expected.name:
            fix += ", or declare the buffer with its type"
        if is_number(buffer) and array.size != 1:
            raise InvalidInput(buffer.name, needed=f"a number of {buffer.dtype}", got=got, fix=ONE_NUMBER)
        raise InvalidInput(buffer.name, needed=f"an array of {expected.name}", got=got, fix=fix)


_PACKED = {f32: struct.Struct("<f").pack, f64: struct.Struct("<d").pack}
"""Functions that round most Python numbers without making a literal expression."""


def number_bytes(buffer: Buffer, value: bool | int | float) -> Array:
    """Return the bytes of one element of `buffer`, or raise `InvalidInput` if its type cannot hold the number."""
    pack = _PACKED.get(buffer.dtype)
    if pack is not None and type(value) is float and value == value:
        try:
            return np.frombuffer(pack(value), np.uint8)
        except OverflowError:  # it is rounded to an infinity
            pass
    try:
        bits = literal(buffer.dtype, value).bits
    except LiteralOutOfRange as error:
        raise InvalidInput(buffer.name, needed=f"a value of {buffer.dtype}", got=repr(value), fix=error.fix) from None
    return np.frombuffer(bits.to_bytes(buffer.dtype.size, "little"), np.uint8)


def _import(buffer: Buffer, value: object) -> Array:
    """Return `value` as a NumPy array, without a copy if its exporter allows that."""
    if type(value) is np.ndarray:
        return value
    refuse_missing(buffer.name, value)
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, ResidentArray):
        fix = "pass it to vyre.run, a kernel or `resident` of a graph, which use it where it is, or pass .numpy()"
        raise InvalidInput(buffer.name, needed="memory of the host", got="an array of a device", fix=fix)
    if getattr(value, "requires_grad", False):
        got, fix = f"a {type(value).__name__} that requires a gradient", "pass tensor.detach()"
        raise InvalidInput(buffer.name, needed="plain memory", got=got, fix=fix)
    if exports_arrow(value):
        return from_arrow(value, buffer.name)
    if hasattr(value, "__dlpack__"):
        return _exported(buffer, value, from_dlpack)
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return _exported(buffer, value, np.asarray)
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        got, name = type(value).__name__, np.dtype(buffer.dtype.numpy).name
        if is_number(buffer):
            raise InvalidInput(
                buffer.name, needed=f"a number of {buffer.dtype}", got=got, fix="pass a number"
            ) from None
        fix = f"pass a NumPy array, which carries a type: numpy.asarray(…, {name!r})"
        fix = fix_of_elements(value) or fix
        if isinstance(value, (bool, int, float)):
            fix = f"pass numpy.array([{value!r}], {name!r}), or declare a uniform of one element, which takes a number"
        raise InvalidInput(buffer.name, needed=f"an array of {buffer.dtype}", got=got, fix=fix) from None


def refuse_missing(name: str, value: object) -> None:
    """Raise `InvalidInput` for an array with a mask, or a column of Arrow, polars or pandas with nulls."""
    if missing := missing_elements(value):
        needed, got, fix = missing
        raise InvalidInput(name, needed=needed, got=got, fix=fix)


def _exported(buffer: Buffer, value: Any, read: Callable[[Any], Array]) -> Array:
    try:
        return read(value)
    except Exception as error:  # an exporter raises what it likes
        reason = error.message if isinstance(error, VyreError) else error
        got = f"a {type(value).__name__} that NumPy cannot read ({reason})"
        copied = f"copy it to the host first, as {np.dtype(buffer.dtype.numpy).name}"
        fix = error.fix if isinstance(error, VyreError) else copied
        raise InvalidInput(buffer.name, needed="memory of the host", got=got, fix=fix) from error


def shaped(program: Program, arrays: Mapping[str, object], outputs: dict[str, Array]) -> dict[str, Array]:
    """`outputs` by name, each in the shape of the array for the input that it is declared like."""
    for array in arrays.values():
        if getattr(array, "ndim", 1) != 1:
            break
    else:
        return outputs
    return {name: _in_shape(outputs[name], arrays.get(input_model(program, program.buffer(name)))) for name in outputs}


def _in_shape(output: Array, model: object) -> Array:
    shape = getattr(model, "shape", output.shape)
    return output.reshape(shape) if math.prod(shape) == output.size else output


def input_model(program: Program, buffer: Buffer) -> str:
    """Return the input whose length is that of `buffer` by `LengthOf`, "" if there is none."""
    while not buffer.is_input:
        rule = buffer.count
        if not isinstance(rule, LengthOf) or rule != LengthOf(rule.buffer):
            return ""
        buffer = program.buffer(rule.buffer)
    return buffer.name


def require_whole_elements(program: Program) -> None:
    """Raise `InvalidInput` if an output range of a program contains a part of an element: an array cannot hold it."""
    for buffer in program.ranged_outputs:
        assert buffer.output_range is not None
        start, stop = buffer.output_range
        if start % buffer.dtype.size or stop % buffer.dtype.size:
            needed = f"an output range of whole elements of {buffer.dtype}"
            fix = "dispatch bytes instead of arrays, or widen the range"
            raise InvalidInput(buffer.name, needed=needed, got=f"the bytes {start} … {stop}", fix=fix)


def as_arrays(program: Program, outputs: Outputs) -> dict[str, Array]:
    """Return the outputs of a program by name, in the declared types."""
    return {b.name: np.frombuffer(view, dtype=b.dtype.numpy) for b, view in zip(program.outputs, outputs, strict=True)}
