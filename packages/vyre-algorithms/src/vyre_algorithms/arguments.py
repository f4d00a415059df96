"""What callers pass, checked: errors name the argument and end in a remedy."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from inspect import signature
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vyre_algorithms.traced import TracedFunction
from vyre_driver import DeviceArray, VyreBackend
from vyre_driver.arrays.array import require_no_repeats, require_same_backend
from vyre_driver.arrays.make import imported
from vyre_driver.backend.typed import refuse_missing
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput
from vyre_driver.graph.recorded import RecordedRange
from vyre_foundation import BuildError, DType, Value, constant
from vyre_foundation.build.arguments import NUMBERS_OF_TEXTS, dtype_of, fix_of_elements, number, shown
from vyre_foundation.dtype import DTYPES, bf16, bool_, f64, i64
from vyre_foundation.errors import VyreError

HostArray: TypeAlias = npt.NDArray[Any]
Array: TypeAlias = Any
"""An array of NumPy, a `DeviceArray`, or a range of a graph: functions give the kind that they are given."""
Backend: TypeAlias = str | VyreBackend | None
Axes: TypeAlias = int | Sequence[int] | None

_ARRAYS = (np.ndarray, DeviceArray, RecordedRange)

MOST = 1 << 31
"""Elements of an array: indices, and their sums with the size of a block, fit u32."""


def array_of(value: object, name: str = "x") -> Array:
    """An array of a device as it is, or one of the host from what a caller passes, without a copy if possible."""
    if type(value) is np.ndarray and value.dtype.isnative and value.size < MOST:
        return value
    array: Array
    if type(value) in _ARRAYS:
        array = value
    else:
        found = imported(value, name)
        if found is None:
            fix = fix_of_elements(value) or "pass a NumPy array, which carries a type: numpy.asarray(…)"
            raise InvalidInput(name, needed="an array", got=type(value).__name__, fix=fix)
        array = found
    if type(array) is np.ndarray and not array.dtype.isnative:
        fix = f"convert it with .astype({array.dtype.name!r})"
        raise InvalidInput(name, needed="the byte order of this machine", got=shown(array.dtype), fix=fix)
    if array.size >= MOST:
        fix = "split the array"
        raise InvalidInput(name, needed=f"fewer than {MOST} elements", got=str(array.size), fix=fix)
    return array


def known(
    array: Array, name: str = "x", *, fix: str = "make it an output of the graph, and call the function with that"
) -> Array:
    """The array, if its elements are known: a result whose shape depends on them cannot be recorded."""
    if isinstance(array, RecordedRange):
        raise InvalidInput(name, needed="elements that are known now", got=f"{array!r}", fix=fix)
    return array


def type_of(array: Array, name: str = "x") -> DType:
    """The type of the language that an array has."""
    dtype = array.dtype
    return dtype if type(dtype) is DType else _TYPES.get(dtype) or as_dtype(dtype, name)


def as_dtype(given: object, name: str = "dtype") -> DType:
    """The type of the language that `given` is, or names as in NumPy: ``float`` is f64, and ``"float32"`` f32."""
    try:
        return _dtype_of(given) if isinstance(given, (np.dtype, type, str)) else dtype_of(given)
    except BuildError as error:
        fix = error.fix
        if isinstance(given, np.dtype) and given.kind in "SUT":
            fix = NUMBERS_OF_TEXTS
        raise InvalidInput(name, needed="a type of the language", got=shown(given), fix=fix) from None


@lru_cache(maxsize=64, typed=True)
def _dtype_of(given: object) -> DType:
    if isinstance(given, type) and given in _PYTHON_TYPES:
        return _PYTHON_TYPES[given]
    if isinstance(given, str):
        if given in ("i8", "u8"):
            fix = f"use vyre.{given} for 8 bits, or numpy.{'u' * (given == 'u8')}int64 for 8 bytes"
            raise BuildError(f"got {given!r}, expected a type", fix=fix)
        try:
            return dtype_of(np.dtype(given))
        except (SyntaxError, TypeError, ValueError):
            pass
    return dtype_of(given)


_PYTHON_TYPES = {bool: bool_, int: i64, float: f64}


_TYPES = {dtype.numpy: dtype for dtype in DTYPES if dtype is not bf16}
"""The types of NumPy, which are looked up for each array."""


def of_kind(array: Array, kinds: str, needed: str, name: str = "x") -> DType:
    """The type of an array whose NumPy kind is one of `kinds`; bfloat16 counts as "f"."""
    dtype = type_of(array, name)
    kind = "f" if dtype.is_float else dtype.numpy.kind
    if kind not in kinds:
        fix = "convert the array with .astype(…)"
        raise InvalidInput(name, needed=f"an array of {needed}", got=f"one of {dtype}", fix=fix)
    return dtype


def vector(value: object, name: str = "x") -> Array:
    """An array with one axis, contiguous."""
    array = array_of(value, name)
    if array.ndim != 1:
        fix = "pass .reshape(-1), or one row at a time"
        raise InvalidInput(name, needed="an array with one axis", got=f"the shape {array.shape}", fix=fix)
    return contiguous(array)


def contiguous(array: Array) -> Array:
    """The array with its elements one after another; a copy only if they are not."""
    if type(array) is np.ndarray:
        try:
            return np.asarray(array, order="C")  # `ascontiguousarray` adds an axis to what has none
        except MemoryError as error:
            raise DeviceOutOfMemory(array.nbytes) from error
    return array if array.is_contiguous else array.copy()


def flattened(array: Array) -> Array:
    """All elements in row-major order as a vector; a copy only if they are not one after another."""
    array = contiguous(array)
    return array if array.ndim == 1 else array.reshape(-1)


def is_contiguous(array: Array) -> bool:
    """Whether its elements are one after another."""
    return bool(array.flags.c_contiguous) if type(array) is np.ndarray else array.is_contiguous


def memory_order(array: Array) -> list[int]:
    """The axes in an order in which the array is contiguous: their own, if there is no such order."""
    own = list(range(array.ndim))
    if is_contiguous(array):
        return own
    order = sorted(own, key=lambda n: (-array.strides[n], array.shape[n]))
    return order if is_contiguous(array.transpose(*order)) else own


def converted(array: Array, dtype: DType) -> Array:
    """The array in a type; floats beyond it are infinities, of which NumPy would warn."""
    if array.dtype is dtype.numpy or array.dtype is dtype:
        return array
    if dtype.bits == 16 and type(array) is np.ndarray:
        with np.errstate(all="ignore"):
            return array.astype(dtype.numpy, copy=False)
    return array.astype(dtype.numpy, copy=False)


def prefix(array: Array, number: int) -> Array:
    """The first elements: a copy if a view would keep more than twice their memory alive."""
    part = array[:number]
    return part if 2 * number >= array.size else part.copy()


def axis_of(given: object, ndim: int, name: str = "axis", *, fix: str = "count the axes of the array") -> int:
    """The number of an axis, counted from the front."""
    try:
        axis = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidInput(name, needed="an integer", got=type(given).__name__, fix="pass an integer") from None
    if not -ndim <= axis < ndim:
        needed = f"an axis from {-ndim} to {ndim - 1}" if ndim else "no axis, as the array has none"
        raise InvalidInput(name, needed=needed, got=str(axis), fix=fix)
    return axis % ndim


def axes_of(given: Axes, ndim: int) -> tuple[int, ...]:
    """The axes that a caller names, ascending; all of them for None."""
    if given is None:
        return tuple(range(ndim))
    if type(given) is int:
        return (axis_of(given, ndim),)
    named = tuple(given) if isinstance(given, Sequence) else (given,)
    axes = tuple(sorted(axis_of(axis, ndim) for axis in named))
    if len(set(axes)) != len(axes):
        raise InvalidInput("axis", needed="each axis once", got=str(named), fix="name no axis twice")
    return axes


def axis_last(array: Array, axis: int) -> Array:
    """The array with one axis moved to the end, contiguous."""
    if axis == array.ndim - 1:
        return contiguous(array)
    return contiguous(array.transpose(*(n for n in range(array.ndim) if n != axis), axis))


def axis_back(array: Array, axis: int) -> Array:
    """The array with its last axis moved to where `axis_last` took it from."""
    if axis == array.ndim - 1:
        return array
    return array.transpose(*range(axis), array.ndim - 1, *range(axis, array.ndim - 1))


def count(given: object, name: str, most: int = MOST) -> int:
    """A number from 0 to `most`."""
    try:
        found = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidInput(name, needed="an integer", got=type(given).__name__, fix="pass an integer") from None
    if not 0 <= found <= most:
        raise InvalidInput(name, needed=f"0 … {most}", got=str(found), fix="pass a number in that range")
    return found


def greatest_natural(array: HostArray) -> int:
    """The greatest of integers, of which there are some, found by one look at each; 2**64 if one is negative."""
    greatest = int(np.maximum.reduce(array.view(f"u{array.itemsize}"), None))
    is_negative = array.dtype.kind == "i" and greatest >> (8 * array.itemsize - 1)
    return 1 << 64 if is_negative else greatest


def real(given: object, name: str) -> float:
    """A number that is not NaN."""
    found = number(given)
    if found is None or found != found:
        raise InvalidInput(name, needed="a number", got=shown(given), fix="pass a number that is not NaN")
    return float(found)


def element_of(given: object, dtype: DType, name: str) -> HostArray:
    """An array of one element with a number that a type has; floats are rounded."""
    found = number(given)
    if found is None:
        raise InvalidInput(name, needed="a number", got=shown(given), fix=f"pass a number of {dtype}")
    try:
        constant(dtype, found)
    except VyreError as error:
        raise InvalidInput(name, needed=f"a number of {dtype}", got=shown(given), fix=error.fix) from None
    return np.full(1, found, dtype.numpy)


def function(given: object, name: str, example: str) -> TracedFunction:
    """A function of the caller as a key of caches; what is none is refused, and `example` shows what can be passed."""
    if not callable(given):
        raise InvalidInput(name, needed="a function of values", got=type(given).__name__, fix=f"pass {example}")
    try:
        hash(given)
    except TypeError:
        got = f"a {type(given).__name__}, which has no hash"
        raise InvalidInput(name, needed="a function of values", got=got, fix=f"pass {example}") from None
    return TracedFunction(given)


def called(given: TracedFunction, name: str, example: str, *values: object) -> Any:
    """What a function of the caller gives for values; it is refused if it takes another number of them."""
    try:
        signature(given.function).bind(*values)
    except ValueError:  # a function of C without a signature
        pass
    except TypeError:
        needed = f"a function of {len(values)} value{'s' * (len(values) > 1)}"
        got = f"one of other arguments: {signature(given.function)}"
        raise InvalidInput(name, needed=needed, got=got, fix=f"pass {example}") from None
    return given.function(*values)


def condition(given: TracedFunction, name: str, example: str, *values: object) -> Value:
    """The bool that a function of the caller gives for values."""
    found = called(given, name, example, *values)
    if isinstance(found, bool):
        return constant(bool_, found)
    if not isinstance(found, Value) or found.dtype is not bool_:
        got = f"one that gives {found.dtype if isinstance(found, Value) else type(found).__name__}"
        raise InvalidInput(name, needed="a function that gives a bool", got=got, fix=f"pass {example}")
    return found


def require_like(x: Array, y: Array) -> None:
    """Refuse a vector `y` of another type or length than `x`."""
    dtype, other = type_of(x), type_of(y, "y")
    if other is not dtype or y.size != x.size:
        needed, got = f"{x.size} elements of {dtype}", f"{y.size} of {other}"
        raise InvalidInput("y", needed=needed, got=got, fix="pass two vectors of one type and length")


def starts_of(given: object, length: int) -> HostArray:
    """The starts of segments, and the end of the last: integers of any type that ascend from 0 to `length`."""
    starts = vector(known(array_of(given, "starts"), "starts"), "starts")
    of_kind(starts, "iu", "integers", "starts")
    found: HostArray = np.asarray(starts)
    falls = found[1:] < found[:-1]
    if not found.size or found[0] != 0 or found[-1] != length or np.count_nonzero(falls):
        got = f"those from {found[0]} to {found[-1]}" if found.size else "none"
        if np.count_nonzero(falls):
            at = int(falls.argmax())
            got = f"{found[at]}, and {found[at + 1]} after it"
        fix = "pass the first element of each segment, and the length of the array last"
        raise InvalidInput("starts", needed=f"ascending integers from 0 to {length}", got=got, fix=fix)
    return found


def target(out: Array, arrays: Sequence[Array], dtype: DType, shape: tuple[int, ...]) -> None:
    """Refuse an `out` that a result of `arrays` cannot go to, before anything is computed or recorded."""
    needed, fix = f"an array of {dtype} {shape}", "pass an array of that type and shape"
    if not isinstance(out, _ARRAYS):
        raise InvalidInput("out", needed=needed, got=type(out).__name__, fix=fix)
    own = type_of(out, "out")
    if out.shape != shape or own is not dtype:
        raise InvalidInput("out", needed=needed, got=f"{own} {out.shape}", fix=fix)
    refuse_missing("out", out)
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        fix = "pass an array of your own, such as numpy.empty(…) makes"
        raise InvalidInput("out", needed="an array that can be written to", got="a read-only one", fix=fix)
    if isinstance(out, (np.ndarray, DeviceArray)):
        require_no_repeats("out", out.shape, out.strides)
    recorded = next((array for array in arrays if isinstance(array, RecordedRange)), None)
    if recorded is not None and getattr(out, "recorder", None) is not recorded.recorder:
        needed, fix = f"a range of the graph of {recorded!r}", "make the result an output of the graph"
        raise InvalidInput("out", needed=needed, got=shown(out), fix=fix)
    device = next((array for array in arrays if isinstance(array, DeviceArray)), None)
    if device is not None and isinstance(out, DeviceArray):
        require_same_backend("out", out, device.backend)


def delivered(result: Array, out: Array | None) -> Array:
    """The result, or `out`, which `target` has accepted, with the result in it."""
    if out is None:
        return result if result.ndim or type(result) is not np.ndarray else result[()]
    if isinstance(out, np.ndarray):
        np.copyto(out, np.asarray(result))
    else:
        out.assign(result)
    return out
