"""Moving elements to or from places that an array names."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vyre_algorithms.arguments import Array, Backend, array_of, of_kind, type_of, vector
from vyre_algorithms.launches import launch
from vyre_algorithms.order import bits_of, bits_type
from vyre_driver.errors import InvalidInput
from vyre_foundation import DType, LengthOf, Program, program, u32
from vyre_foundation.dtype import i32, i64, u64

GROUP = 64


def gather(x: object, indices: object, /, *, backend: Backend = None) -> Array:
    """Take the elements at indices of the first axis.

    Args:
        x: An array with one axis or more.
        indices: An array of integers; negative ones count from the end.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `indices`, followed by the other axes of `x`.

    Raises:
        InvalidInput: An index is out of bounds, or an argument is of another kind.
    """
    array = array_of(x)
    if not array.ndim:
        raise InvalidInput("x", needed="an array with an axis", got="a scalar", fix="pass .reshape(1)")
    array, places = np.ascontiguousarray(array), _places(indices, array.shape[0])
    inner = math.prod(array.shape[1:])
    shape = (*places.shape, *array.shape[1:])
    if not places.size or not inner:
        return np.zeros(shape, array.dtype)
    dtype = type_of(array)
    given = {"x": bits_of(array, dtype).reshape(-1), "indices": places.reshape(-1)}
    found = launch(_gather(bits_type(dtype), inner), given, -(-places.size * inner // GROUP), backend)["out"]
    return found.view(array.dtype).reshape(shape)


def scatter(x: object, indices: object, values: object, /, operation: str = "set", *, backend: Backend = None) -> Array:
    """Put values at indices of a copy of a vector.

    Args:
        x: An array with one axis.
        indices: An array of integers with one axis; negative ones count from the end.
        values: As many elements of the type of `x`.
        operation: "set" puts the value there, of several for one index the last; "add", "min" and "max" combine all of
            them with what is there, for integers of 32 or 64 bits.
        backend: As for `vyre.run`.

    Returns:
        An array like `x`.

    Raises:
        InvalidInput: An index is out of bounds, the arrays do not fit each other, or an argument is of another kind.
    """
    array, given = vector(x), vector(values, "values")
    places = _places(vector(indices, "indices"), array.size)
    if given.dtype != array.dtype or given.size != places.size:
        needed, got = f"{places.size} elements of {array.dtype}", f"{given.size} of {given.dtype}"
        raise InvalidInput("values", needed=needed, got=got, fix="pass a value for each index")
    if operation not in ("set", "add", "min", "max"):
        needed = "one of set, add, min, max"
        raise InvalidInput("operation", needed=needed, got=repr(operation), fix="pass the name of an operation")
    if not places.size:
        return array.copy()
    dtype, groups = type_of(array), -(-places.size // GROUP)
    if operation != "set":
        if dtype not in (u32, i32, u64, i64):
            needed, fix = "integers of 32 or 64 bits", "sort pairs of indices and values, and use segmented_reduce"
            raise InvalidInput("x", needed=needed, got=f"an array of {dtype}", fix=fix)
        arrays = {"x": array, "indices": places, "values": given}
        return launch(_combine(dtype, operation), arrays, groups, backend)["x"]
    arrays = {"indices": places, "latest": np.zeros(array.size, np.uint32)}
    latest = launch(_latest(), arrays, groups, backend)["latest"]
    arrays = {"x": bits_of(array, dtype), "values": bits_of(given, dtype), "latest": latest}
    return launch(_put(bits_type(dtype)), arrays, -(-array.size // GROUP), backend)["out"].view(array.dtype)


def _places(indices: object, length: int) -> npt.NDArray[np.uint32]:
    """Indices from the front, which are in bounds."""
    array = array_of(indices, "indices")
    of_kind(array, "iu", "integers", "indices")
    found = np.ascontiguousarray(array).astype(np.int64)
    low, high = (int(found.min()), int(found.max())) if found.size else (0, -1)
    if low < -length or high >= length:
        needed, got = f"indices from {-length} to {length - 1}", str(low if low < -length else high)
        raise InvalidInput("indices", needed=needed, got=got, fix="leave indices out of bounds out")
    if low < 0:
        found = np.where(found < 0, found + length, found)
    return found.astype(np.uint32)


@lru_cache(maxsize=256)
def _gather(bits: DType, inner: int) -> Program:
    with program("gather", GROUP) as p:
        x, indices = p.read("x", bits), p.read("indices", u32)
        out = p.write("out", bits, LengthOf("indices", times=inner))
        i = p.global_id(0)
        out[i] = x[indices[i] if inner == 1 else indices[i // inner] * inner + i % inner]
    return p.build()


@lru_cache(maxsize=256)
def _combine(dtype: DType, operation: str) -> Program:
    with program(f"scatter_{operation}", GROUP) as p:
        x, indices, values = p.read_write("x", dtype), p.read("indices", u32), p.read("values", dtype)
        i = p.global_id(0)
        with p.if_(i < indices.length):
            getattr(x, f"atomic_{operation}")(indices[i], values[i])
    return p.build()


@lru_cache(maxsize=1)
def _latest() -> Program:
    """For each element one more than the number of the last value that goes there, or 0."""
    with program("scatter_latest", GROUP) as p:
        indices, latest = p.read("indices", u32), p.read_write("latest", u32)
        i = p.global_id(0)
        with p.if_(i < indices.length):
            latest.atomic_max(indices[i], i + 1)
    return p.build()


@lru_cache(maxsize=64)
def _put(bits: DType) -> Program:
    with program("scatter_put", GROUP) as p:
        x, values, latest = p.read("x", bits), p.read("values", bits), p.read("latest", u32)
        out = p.write("out", bits, like=x)
        i = p.global_id(0)
        number = p.let(latest[i])
        element = p.var(x[i])
        with p.if_(number != 0):
            element.set(values[number - 1])
        out[i] = element
    return p.build()
