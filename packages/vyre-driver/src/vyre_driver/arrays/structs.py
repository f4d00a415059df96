"""Arrays of structures: the layout of NumPy's structured types, and arrays of them on a device.

A buffer of a program has one type. A structure consists of several elements of a buffer, its *units*. The unit is the
type of all fields if they have the same type, and otherwise the widest unsigned integer whose size divides the sizes
and offsets of all fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from vyre_driver.arrays.array import COPY, DeviceArray
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.typed import refuse_missing
from vyre_driver.errors import InvalidInput, UnsupportedFeature
from vyre_driver.plan.operators import WithoutOperators
from vyre_foundation.build.arguments import dtype_of, shown
from vyre_foundation.dtype import DType, u8, u16, u32, u64

if TYPE_CHECKING:
    import numpy.typing as npt

Structured: TypeAlias = "np.dtype[np.void]"
UNITS = {dtype.size: dtype for dtype in (u8, u16, u32, u64)}
VECTOR_SIZES = (2, 3, 4)
"""The lengths that a field which is an array may have: it is a vector in kernels."""


@dataclass(frozen=True, slots=True)
class StructLayout:
    """The layout of the elements of a structured type in units."""

    dtype: Structured
    unit: DType
    count: int
    """The number of units of one element."""

    def units(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the units of a structured array, with one more axis, over the same memory or a contiguous copy."""
        whole = np.ascontiguousarray(array).reshape(array.shape)
        return np.ndarray((*array.shape, self.count), self.unit.numpy, whole.reshape(-1).view(np.uint8).data)

    def structures(self, units: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the structured array over units."""
        return units.view(self.dtype).reshape(units.shape[:-1])


@lru_cache(maxsize=256)
def layout_of(dtype: Structured) -> StructLayout:
    """Return the layout of a structured type.

    Raises:
        InvalidInput: A field is not a number, a vector or a structure, or overlaps another one.
    """
    leaves = sorted(_leaves(dtype, 0, ""), key=lambda leaf: leaf[1])
    if not leaves:
        raise InvalidInput("dtype", needed="a structure with fields", got=f"{dtype}", fix="give it fields")
    if any(offset + leaf.size > behind for (leaf, offset), (_, behind) in pairwise(leaves)):
        fix = "keep one of the fields that overlap; its bits can be read as another type, as in x.bitcast(vy.f32)"
        raise InvalidInput("dtype", needed="fields that do not overlap", got=f"{dtype}", fix=fix)
    size = math.gcd(8, dtype.itemsize, *(n for leaf, offset in leaves for n in (leaf.size, offset)))
    kinds = {leaf for leaf, _ in leaves}
    (only, *others) = kinds
    unit = only if not others and only.size == size else UNITS[size]
    return StructLayout(dtype, unit, dtype.itemsize // size)


def _leaves(dtype: np.dtype[Any], offset: int, name: str) -> Iterator[tuple[DType, int]]:
    """The numbers of which a type is made, with their places in bytes."""
    if dtype.names is not None:
        for field in dtype.names:
            inner, place = dtype.fields[field][:2]  # type: ignore[index]
            yield from _leaves(inner, offset + place, f"{name}.{field}" if name else field)
    elif dtype.subdtype is not None:
        base, shape = dtype.subdtype
        if len(shape) != 1 or shape[0] not in VECTOR_SIZES or base.names is not None:
            got = f"the field {name!r} of {dtype}"
            fix = "use fields of numbers, vectors of two to four numbers, and structures"
            raise InvalidInput("dtype", needed="fields that are numbers, vectors or structures", got=got, fix=fix)
        for number in range(shape[0]):
            yield dtype_of(base), offset + number * base.itemsize
    else:
        yield dtype_of(dtype), offset


def structured(given: object) -> Structured | None:
    """Return the structured type that `given` is, or has, like a class made by `vyre.struct`; None for other types."""
    dtype = given if isinstance(given, np.dtype) else getattr(given, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and dtype.names is not None else None


def host_structures(dtype: Structured, given: object) -> npt.NDArray[Any] | DeviceArray:
    """Return the units of structures in host memory: a structured array, or rows of Python numbers."""
    if isinstance(given, (list, tuple)):
        try:
            given = np.array(given, dtype)
        except (TypeError, ValueError, OverflowError) as error:
            fix = "pass a list of tuples, one number for each field"
            raise InvalidInput("array", needed=f"rows of {dtype}", got=f"{error}", fix=fix) from error
    return given_units(dtype, "array", given)


class StructArray(WithoutOperators):
    """An array of structures in the memory of one backend: a `DeviceArray` of units, with one more axis.

    ``a["field"]`` is a view of a field: a `DeviceArray`, with one more axis for a vector, or a `StructArray`. Slices
    are views. The memory is freed like that of a `DeviceArray`.
    """

    __slots__ = ("dtype", "units")

    def __init__(self, units: DeviceArray, dtype: Structured) -> None:
        """Not for callers: the last axis of `units` is one structure."""
        self.units, self.dtype = units, dtype

    def __repr__(self) -> str:
        names = ", ".join(self.dtype.names or ())
        return f"<structure({names}) array of shape {self.shape} on {self.device!r}>"

    @property
    def backend(self) -> VyreBackend:
        """The backend that owns the memory."""
        return self.units.backend

    @property
    def device(self) -> str:
        """The id of the backend."""
        return self.units.device

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return self.units.shape[:-1]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.units.ndim - 1

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of its elements in bytes, including padding."""
        return self.units.nbytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length. Fix: use `.size`")
        return self.shape[0]

    def numpy(self, *, copy: bool = True) -> npt.NDArray[Any]:
        """Return the elements as a structured NumPy array: a copy, in one download, or the memory itself.

        Args:
            copy: False returns an array over the memory itself, so that writes are visible in both.

        Raises:
            UnsupportedFeature: `copy` is False, and the memory is not host memory.
            StaleHandle: The array was closed, or its device was opened again.
        """
        return layout_of(self.dtype).structures(self.units.numpy(copy=copy))

    def tolist(self) -> Any:
        """Copy the elements to the host, as lists of tuples, as in NumPy."""
        return self.numpy().tolist()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        try:
            host = self.numpy(copy=bool(copy))
        except UnsupportedFeature as error:
            if copy is False:
                raise ValueError(str(error)) from error
            host = self.numpy()
        return host if dtype is None else host.astype(dtype, copy=False)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        try:
            return self.numpy(copy=False).__array_interface__
        except UnsupportedFeature as error:
            raise AttributeError(str(error), name="__array_interface__", obj=self) from error

    def __getitem__(self, index: object) -> Any:
        """A view: of a field by its name, of elements by integers, slices and ``...`` as in NumPy."""
        if isinstance(index, str):
            return self._field(index)
        parts = index if isinstance(index, tuple) else (index,)
        whole = (*parts, slice(None)) if Ellipsis in parts else (*parts, ...)
        if len(parts) - (Ellipsis in parts) > self.ndim:
            raise IndexError(f"{len(parts)} indices for the shape {self.shape}. Fix: pass one for each axis")
        return StructArray(self.units[whole], self.dtype)

    def _field(self, name: str) -> DeviceArray | StructArray:
        if name not in (self.dtype.names or ()):
            fields = ", ".join(map(repr, self.dtype.names or ()))
            raise InvalidInput("field", needed=f"one of {fields}", got=repr(name), fix="name a field")
        dtype, place = self.dtype.fields[name][:2]  # type: ignore[index]
        layout = layout_of(dtype) if dtype.names is not None else None
        base, extra = dtype.subdtype or (dtype, ())
        unit = dtype_of(base) if layout is None else layout.unit
        last = extra if layout is None else (layout.count,)
        first = self.units._offset * self.units.dtype.size + place
        steps = [step * self.units.dtype.size for step in self.units._strides[:-1]]
        if any(number % unit.size for number in (first, *steps)):
            got = f"the field {name!r}, which lies at no multiple of its size"
            fix = "read it from .numpy(), or align the fields, as numpy.dtype(…, align=True) does"
            raise InvalidInput("field", needed="a field whose places are aligned", got=got, fix=fix)
        shape, strides = (*self.shape, *last), (*(step // unit.size for step in steps), *(1 for _ in last))
        memory = self.units._memory
        found = DeviceArray(self.backend, memory, unit, shape, first // unit.size, strides)
        return found if layout is None else StructArray(found, dtype)

    def __iter__(self) -> Iterator[StructArray]:
        return (self[number] for number in range(len(self)))

    def __setitem__(self, index: object, value: object) -> None:
        """Replace the elements of a view, or those of a field; one structure replaces all of them."""
        view = self[index]
        if isinstance(view, StructArray) and isinstance(value, (np.void, tuple)):
            whole = np.zeros(view.shape, view.dtype)
            whole[...] = value
            value = whole
        if isinstance(view, DeviceArray):
            view[...] = value
        else:
            view.assign(value)

    def assign(self, given: object) -> None:
        """Replace the elements by those of an array of the same type and shape.

        Args:
            given: An array of the same backend, copied on the device, or a NumPy array, which is uploaded.

        Raises:
            InvalidInput: The array has another type, shape or backend.
        """
        self.units.assign(given_units(self.dtype, "array", given))

    def reshape(self, *shape: int) -> StructArray:
        """Change the shape: return a view, or a copy on the device if the elements are not contiguous.

        Args:
            *shape: The lengths; one of them may be -1.

        Raises:
            InvalidInput: The shape has another number of elements.
        """
        return StructArray(self.units.reshape(*shape, self.units.shape[-1]), self.dtype)

    def copy(self) -> StructArray:
        """Copy the elements to memory of their own on the device, in order."""
        return StructArray(self.units.copy(), self.dtype)

    def item(self) -> tuple[Any, ...]:
        """Copy the only element to the host, as a tuple of its fields."""
        if self.size != 1:
            fix = "index the element, as in array[0]"
            raise InvalidInput("array", needed="one element", got=f"{self.size} elements", fix=fix)
        found: tuple[Any, ...] = self.numpy().reshape(()).item()
        return found

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the truth of {self!r} is not known on the host. Fix: use .item(), or .numpy()")

    def close(self) -> None:
        """Free the memory, including that of all views. A second call does nothing."""
        self.units.close()

    def __enter__(self) -> StructArray:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __copy__(self) -> StructArray:
        return self.copy()

    def __deepcopy__(self, _: object) -> StructArray:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is memory of a device. Fix: pickle array.numpy()")


def over_units(dtype: Structured, units: npt.NDArray[Any] | DeviceArray) -> npt.NDArray[Any] | StructArray:
    """Return the array of structures over its units."""
    return StructArray(units, dtype) if isinstance(units, DeviceArray) else layout_of(dtype).structures(units)


def given_units(
    dtype: Structured, name: str, given: object, *, in_place: bool = False
) -> npt.NDArray[Any] | DeviceArray:
    """Return the units of an array of structures of a type. With `in_place`, copies are refused.

    Raises:
        InvalidInput: It is not an array of structures, or of another type, or has a mask.
    """
    refuse_missing(name, given)
    if not isinstance(given, (np.ndarray, StructArray)) or given.dtype != dtype:
        is_array = isinstance(given, (np.ndarray, StructArray, DeviceArray))
        got = f"one of {given.dtype}" if is_array else shown(given)  # type: ignore[attr-defined]
        other = "see bytes as such, as in numpy.frombuffer(x, Particle.dtype)"
        if is_array:
            is_converted = isinstance(given, np.ndarray) and given.dtype.names is not None
            other = "convert it with .astype(…)" if is_converted else "see bytes as such, as in x.view(Particle.dtype)"
        fix = f"make it with that type, as in numpy.zeros(n, Particle.dtype), or {other}"
        raise InvalidInput(name, needed=f"an array of {dtype}", got=got, fix=fix)
    if isinstance(given, StructArray):
        return given.units
    if in_place and not given.flags.c_contiguous:
        raise InvalidInput(name, needed="a contiguous array", got="a view whose elements are apart", fix=COPY)
    return layout_of(dtype).units(given)
