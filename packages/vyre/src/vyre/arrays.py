"""Arrays in the memory of a backend that is named by its id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from vyre.execution import backend_for
from vyre_driver.arrays import make
from vyre_driver.arrays.array import DeviceArray
from vyre_driver.arrays.structs import StructArray, host_structures, layout_of, structured
from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import DTypeLike


@overload
def array(  # type: ignore[overload-overlap]
    given: StructArray, dtype: None = None, *, backend: str | VyreBackend | None = None
) -> StructArray: ...
@overload
def array(
    given: object, dtype: DTypeLike | None = None, *, backend: str | VyreBackend | None = None
) -> DeviceArray: ...
@overload
def array(given: object, dtype: type, *, backend: str | VyreBackend | None = None) -> StructArray: ...
def array(given: object, dtype: Any = None, *, backend: str | VyreBackend | None = None) -> DeviceArray | StructArray:
    """Copy an array to new memory of a backend.

    Args:
        given: A NumPy array, or an object that exports DLPack, the array interface or the buffer protocol: one upload.
            A `DeviceArray` of the same backend: a copy on the device. Lists and numbers need a `dtype`.
        dtype: The type of the elements, or a structure; values that it cannot hold are refused.
        backend: As for `vyre.backend_for`; by default that of `given`, if it is a `DeviceArray`.

    Returns:
        The array; a `StructArray`, if its elements are structures.

    Raises:
        InvalidInput: `given` is not an array, has no type, or is in the memory of another backend.
        BuildError: The language does not have its type, or `dtype` cannot hold its values.
        DeviceOutOfMemory: It does not fit; the error names the largest arrays on the device.
    """
    opened, structure = _backend(given, backend), structured(given if dtype is None else dtype)
    if structure is None:
        return make.array(opened, given, dtype)
    return StructArray(make.array(opened, host_structures(structure, given)), structure)


@overload
def asarray(  # type: ignore[overload-overlap]
    given: StructArray, dtype: None = None, *, backend: str | VyreBackend | None = None
) -> StructArray: ...
@overload
def asarray(
    given: object, dtype: DTypeLike | None = None, *, backend: str | VyreBackend | None = None
) -> DeviceArray: ...
@overload
def asarray(given: object, dtype: type, *, backend: str | VyreBackend | None = None) -> StructArray: ...
def asarray(given: object, dtype: Any = None, *, backend: str | VyreBackend | None = None) -> DeviceArray | StructArray:
    """Make an array of a backend from an array, without a copy if its memory can be used in place.

    Args:
        given: As for `vyre.array`. A contiguous writable array of the host is used in place by backends that compute in
            host memory: a write to either is visible in both.
        dtype: The type of the elements; if it differs from that of `given`, the result is a copy.
        backend: As for `vyre.array`.

    Returns:
        `given` itself if it is an array of the backend; otherwise an array over its memory, or a copy.

    Raises:
        InvalidInput: As for `vyre.array`.
        DeviceOutOfMemory: As for `vyre.array`.
    """
    opened, structure = _backend(given, backend), structured(given if dtype is None else dtype)
    if structure is None:
        return make.asarray(opened, given, dtype)
    if isinstance(given, StructArray) and given.dtype == structure and given.backend is opened:
        return given
    return StructArray(make.asarray(opened, host_structures(structure, given)), structure)


@overload
def zeros(shape: int | Sequence[int], dtype: DTypeLike, *, backend: str | VyreBackend | None = None) -> DeviceArray: ...
@overload
def zeros(shape: int | Sequence[int], dtype: type, *, backend: str | VyreBackend | None = None) -> StructArray: ...
def zeros(
    shape: int | Sequence[int], dtype: Any, *, backend: str | VyreBackend | None = None
) -> DeviceArray | StructArray:
    """Make an array of zeros in the memory of a backend, without an upload.

    Args:
        shape: The length, or the lengths of several axes in the order of NumPy's shapes.
        dtype: The type of the elements, or a structure.
        backend: As for `vyre.backend_for`.

    Returns:
        The array; a `StructArray`, if its elements are structures.

    Raises:
        InvalidInput: The shape is invalid.
        DeviceOutOfMemory: It does not fit; the error names the largest arrays on the device.
    """
    structure = structured(dtype)
    if structure is None:
        return make.zeros(backend_for(backend), shape, dtype)
    layout, lengths = layout_of(structure), tuple(shape) if isinstance(shape, Sequence) else (shape,)
    return StructArray(make.zeros(backend_for(backend), (*lengths, layout.count), layout.unit), structure)


@overload
def empty(shape: int | Sequence[int], dtype: DTypeLike, *, backend: str | VyreBackend | None = None) -> DeviceArray: ...
@overload
def empty(shape: int | Sequence[int], dtype: type, *, backend: str | VyreBackend | None = None) -> StructArray: ...
def empty(
    shape: int | Sequence[int], dtype: Any, *, backend: str | VyreBackend | None = None
) -> DeviceArray | StructArray:
    """Make an array with unspecified contents, for the caller to write.

    Args:
        shape: As for `vyre.zeros`.
        dtype: The type of the elements, or a structure.
        backend: As for `vyre.backend_for`.

    Returns:
        The array; a `StructArray`, if its elements are structures.

    Raises:
        InvalidInput: The shape is invalid.
        DeviceOutOfMemory: It does not fit; the error names the largest arrays on the device.
    """
    structure = structured(dtype)
    if structure is None:
        return make.empty(backend_for(backend), shape, dtype)
    layout, lengths = layout_of(structure), tuple(shape) if isinstance(shape, Sequence) else (shape,)
    return StructArray(make.empty(backend_for(backend), (*lengths, layout.count), layout.unit), structure)


def _backend(given: object, backend: str | VyreBackend | None) -> VyreBackend:
    return given.backend if backend is None and isinstance(given, (DeviceArray, StructArray)) else backend_for(backend)
