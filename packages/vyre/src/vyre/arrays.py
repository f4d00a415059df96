"""Arrays in the memory of a backend that is named by its id."""

from __future__ import annotations

from collections.abc import Sequence

from vyre.execution import backend_for
from vyre_driver.arrays import make
from vyre_driver.arrays.array import DeviceArray
from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import DTypeLike


def array(given: object, dtype: DTypeLike | None = None, *, backend: str | VyreBackend | None = None) -> DeviceArray:
    """Copy an array to new memory of a backend.

    Args:
        given: A NumPy array, or an object that exports DLPack, the array interface or the buffer protocol: one upload.
            A `DeviceArray` of the same backend: a copy on the device. Lists and numbers need a `dtype`.
        dtype: The type of the elements; values that it cannot hold are refused.
        backend: As for `vyre.backend_for`; by default that of `given`, if it is a `DeviceArray`.

    Returns:
        The array.

    Raises:
        InvalidInput: `given` is no array, carries no type, or is in the memory of another backend.
        BuildError: Its type is none of the language, or `dtype` cannot hold its values.
        DeviceOutOfMemory: It does not fit; the error names the largest arrays on the device.
    """
    return make.array(_backend(given, backend), given, dtype)


def asarray(given: object, dtype: DTypeLike | None = None, *, backend: str | VyreBackend | None = None) -> DeviceArray:
    """Give an array as an array of a backend, without a copy where its memory can be used in place.

    Args:
        given: As for `vyre.array`. A contiguous writable array of the host is used in place by backends that compute in
            host memory: what is written to either is seen in both.
        dtype: The type of the elements; another one than that of `given` makes a copy.
        backend: As for `vyre.array`.

    Returns:
        `given` itself, if it is an array of the backend; else an array over its memory, or a copy.

    Raises:
        InvalidInput: As for `vyre.array`.
        DeviceOutOfMemory: As for `vyre.array`.
    """
    return make.asarray(_backend(given, backend), given, dtype)


def zeros(shape: int | Sequence[int], dtype: DTypeLike, *, backend: str | VyreBackend | None = None) -> DeviceArray:
    """Make an array of zeros in the memory of a backend, without an upload.

    Args:
        shape: The length, or the lengths of several axes in the order of NumPy's shapes.
        dtype: The type of the elements.
        backend: As for `vyre.backend_for`.

    Returns:
        The array.

    Raises:
        InvalidInput: The shape is none.
        DeviceOutOfMemory: It does not fit; the error names the largest arrays on the device.
    """
    return make.zeros(backend_for(backend), shape, dtype)


def empty(shape: int | Sequence[int], dtype: DTypeLike, *, backend: str | VyreBackend | None = None) -> DeviceArray:
    """Make an array whose contents a caller is going to write. Today they are zeros, which callers cannot rely on.

    Args:
        shape: As for `vyre.zeros`.
        dtype: The type of the elements.
        backend: As for `vyre.backend_for`.

    Returns:
        The array.

    Raises:
        InvalidInput: The shape is none.
        DeviceOutOfMemory: It does not fit; the error names the largest arrays on the device.
    """
    return make.zeros(backend_for(backend), shape, dtype)


def _backend(given: object, backend: str | VyreBackend | None) -> VyreBackend:
    return given.backend if backend is None and isinstance(given, DeviceArray) else backend_for(backend)
