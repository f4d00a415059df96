"""Making device arrays from shapes, from host memory and from arrays of other libraries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.arrays.array import DeviceArray, allocate, require_same_backend
from vyre_driver.arrays.memory import ArrayMemory
from vyre_driver.backend.arrow import exports_arrow, from_arrow
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.dlpack import from_dlpack
from vyre_driver.backend.typed import refuse_missing
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput, UnsupportedFeature
from vyre_driver.plan.strides import lengths_of
from vyre_foundation.build.arguments import DTypeLike, dtype_of, elements_of, fix_of_elements, shown
from vyre_foundation.errors import VyreError

if TYPE_CHECKING:
    import numpy.typing as npt


def zeros(backend: VyreBackend, shape: int | Sequence[int], dtype: DTypeLike) -> DeviceArray:
    """Make an array of zeros in the memory of `backend`; nothing is uploaded."""
    return allocate(backend, dtype_of(dtype), lengths_of(shape if isinstance(shape, Sequence) else (shape,)))


def empty(backend: VyreBackend, shape: int | Sequence[int], dtype: DTypeLike) -> DeviceArray:
    """Make an array of unspecified elements in the memory of `backend`, without a dispatch that clears it."""
    lengths = lengths_of(shape if isinstance(shape, Sequence) else (shape,))
    return allocate(backend, dtype_of(dtype), lengths, is_zero=False)


def array(backend: VyreBackend, given: object, dtype: DTypeLike | None = None) -> DeviceArray:
    """Copy `given` to new memory of `backend`: one upload from the host, none from an array of the same backend."""
    if isinstance(given, DeviceArray):
        require_same_backend("array", given, backend)
        if dtype is not None and dtype_of(dtype) is not given.dtype:
            fix = "convert it with .astype(…)"
            raise InvalidInput("array", needed=f"an array of {dtype_of(dtype)}", got=f"one of {given.dtype}", fix=fix)
        return given.copy()
    host = host_array(given, dtype)
    made = allocate(backend, dtype_of(host.dtype), host.shape, is_zero=False)
    made.assign(host)
    return made


def asarray(backend: VyreBackend, given: object, dtype: DTypeLike | None = None) -> DeviceArray:
    """Give `given` as an array of `backend`, without a copy where its memory can be used in place."""
    if isinstance(given, DeviceArray) and (dtype is None or dtype_of(dtype) is given.dtype):
        require_same_backend("array", given, backend)
        return given
    if isinstance(given, DeviceArray):
        return array(backend, given, dtype)
    host = host_array(given, dtype)
    if host.size and host.flags.carray:
        try:
            resource = getattr(backend.wrap_device_buffer(host), "resource", None)
        except (InvalidInput, UnsupportedFeature):  # not memory that this device uses where it is
            resource = None
        if resource is not None:
            return DeviceArray(backend, ArrayMemory(resource, is_shared=True), dtype_of(host.dtype), host.shape)
    return array(backend, host)


def host_zeros(shape: Sequence[int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros in the memory of the host, or the error that every backend raises where there is not that much."""
    try:
        return np.zeros(shape, dtype)
    except (MemoryError, ValueError) as error:  # NumPy raises the latter for more bytes than addresses
        raise DeviceOutOfMemory(math.prod(shape) * np.dtype(dtype).itemsize) from error


def host_array(given: object, dtype: DTypeLike | None = None) -> npt.NDArray[Any]:
    """`given` as a NumPy array of a type of the language.

    Raises:
        InvalidInput: It is no array, carries no type and none is passed, or a value does not fit the type.
    """
    wanted = None if dtype is None else dtype_of(dtype)
    found = imported(given)
    if found is None:
        if wanted is None:
            fix = fix_of_elements(given) or "pass dtype=, as in vyre.array([1, 2], dtype=vyre.f32)"
            raise InvalidInput("array", needed="an array, which carries a type", got=shown(given), fix=fix)
        return elements_of(wanted, given, "array")  # type: ignore[arg-type]
    if wanted is None or found.dtype == wanted.numpy:
        dtype_of(found.dtype)
        return found
    return elements_of(wanted, found, "array")


def imported(given: Any, name: str = "array") -> npt.NDArray[Any] | None:
    """An exporter's array without a copy where it allows that; None if `given` carries no type.

    Raises:
        InvalidInput: Of the argument `name`: it has a mask, nulls or a gradient, or cannot be read.
    """
    refuse_missing(name, given)
    if isinstance(given, (np.ndarray, np.generic)):
        return np.asarray(given)  # of NumPy's own class: a `numpy.matrix` has no other number of axes
    if getattr(given, "requires_grad", False):
        got, fix = f"a {type(given).__name__} that requires a gradient", "pass tensor.detach()"
        raise InvalidInput(name, needed="plain memory", got=got, fix=fix)
    if exports_arrow(given):
        return from_arrow(given, name)
    try:
        if hasattr(given, "__dlpack__"):
            return from_dlpack(given)
        if hasattr(given, "__array_interface__") or hasattr(given, "__array__"):
            return np.asarray(given)
    except Exception as error:  # an exporter raises what it likes
        reason = error.message if isinstance(error, VyreError) else error
        fix = error.fix if isinstance(error, VyreError) else "copy it to the host first"
        got = f"a {type(given).__name__} that NumPy cannot read ({reason})"
        raise InvalidInput(name, needed="memory of the host", got=got, fix=fix) from error
    if isinstance(given, (bytes, bytearray, list, tuple, int, float)):
        return None if not isinstance(given, (bytes, bytearray)) else np.frombuffer(given, np.uint8)
    try:
        return np.asarray(memoryview(given))
    except (TypeError, ValueError):
        return None
