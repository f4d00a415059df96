"""Arrays in the memory of a device: typed, shaped, with views, and read back when a caller asks for them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np

from vyre_driver.arrays.memory import ArrayMemory, Holder, constant_memory, is_on_host, result_memory
from vyre_driver.backend.arrow import arrow
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import innermost
from vyre_driver.backend.dlpack import export_dlpack
from vyre_driver.backend.resources import ResidentArray, Resource
from vyre_driver.backend.typed import refuse_missing
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput, UnsupportedFeature
from vyre_driver.plan.gather import ViewCopy, convert, gather, scatter
from vyre_driver.plan.moves import copy_all, copy_range, grid_of
from vyre_driver.plan.operators import WithoutOperators
from vyre_driver.plan.strides import broadcast_strides, contiguous_strides, lengths_of, reordered, reshaped
from vyre_foundation.build.arguments import DTypeLike, dtype_of, elements_of, number, shown, shown_type
from vyre_foundation.dtype import DType, bool_

if TYPE_CHECKING:
    import numpy.typing as npt

COPY = "copy it with .numpy(), or on the device with .copy()"
"""What to do where memory cannot be used in place."""
_FUNCTIONS = frozenset(
    "all any argmax argmin argsort cumprod cumsum dot max mean min prod repeat searchsorted std sum var".split()
)
"""Methods of NumPy's arrays that are functions of the front door."""
_INSTEAD = {
    "clip": "a kernel with vyre.clamp",
    "compress": "vyre.compact(a, mask)",
    "flatten": "a.copy().reshape(-1)",
    "nonzero": "vyre.compact",
    "ravel": "a.reshape(-1)",
    "round": "a kernel with vyre.round",
    "squeeze": "a.reshape(…)",
    "swapaxes": "a.transpose(…)",
    "take": "vyre.gather(a, indices)",
}
_IN_PLACE = {
    "fill": "a[...] = value",
    "partition": "a[...] = vyre.sort(a)",
    "put": "vyre.scatter, which gives a new array",
    "resize": "a.reshape(…), or vyre.empty and a copy",
    "sort": "a[...] = vyre.sort(a)",
}
"""Methods that change an array: called on `.numpy()` they would change a copy."""
_TO_HOST = ("asnumpy", "copy_to_host", "cpu", "get", "to_numpy")
"""What arrays of other libraries call `.numpy()`."""
NAMED_HOLDERS = 5
"""How many arrays the error of a full device names."""
_ANCHOR = np.zeros(1, np.uint8)
"""Where the views begin that stand for places in memory of a device."""


class DeviceArray(WithoutOperators, ResidentArray):
    """An array in the memory of one backend. Made by `array`, `asarray`, `empty` and `zeros`, and by kernels.

    A slice is a view of the same memory. The memory is freed when no array over it is left, or by `close`, which a
    ``with`` block calls at its end. Calls from several threads are serialized by the backend.
    """

    __slots__ = (
        *("_is_contiguous", "_memory", "_offset", "_resource", "_shape", "_strides", "backend", "dtype", "size"),
        "__weakref__",
    )

    size: int
    """The number of elements."""

    def __init__(
        self,
        backend: VyreBackend,
        memory: ArrayMemory,
        dtype: DType,
        shape: tuple[int, ...],
        offset: int = 0,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        """Not for callers: `offset` and `strides` count elements."""
        self.backend, self._memory, self.dtype, self._shape = backend, memory, dtype, shape
        self._resource, self._offset, self.size = memory.resource, offset, math.prod(shape)
        self._strides = contiguous_strides(shape) if strides is None else strides
        self._is_contiguous: bool | None = True if strides is None else None

    def __repr__(self) -> str:
        return f"<{self.dtype} array of shape {self.shape} on {self.backend.id()!r}>"

    # ── what it is ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def device(self) -> str:
        """The id of the backend that owns the memory."""
        return self.backend.id()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes. It cannot be assigned: `reshape` gives a view of another shape."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def nbytes(self) -> int:
        """The size of its elements in bytes; that of a view does not include other elements."""
        return self.size * self.dtype.size

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance of adjacent elements on each axis in bytes, as in NumPy."""
        return tuple([stride * self.dtype.size for stride in self._strides])

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements are adjacent in memory, in the order of their indices."""
        known = self._is_contiguous
        if known is None:
            axes = zip(self.shape, self._strides, contiguous_strides(self.shape), strict=True)
            known = self._is_contiguous = not self.size or all(length == 1 or a == b for length, a, b in axes)
        return known

    @property
    def resource(self) -> Resource | None:
        """The handle for dispatches over resident memory, if the array is the whole memory in order; None otherwise."""
        resource = self._resource
        if self._offset or resource.byte_len != self.size * self.dtype.size:
            return None
        return resource if self._is_contiguous or self.is_contiguous else None

    @property
    def own_resource(self) -> Resource | None:
        """`resource`, if only arrays of this class refer to the memory; None otherwise."""
        return None if self._memory.is_shared else self.resource

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length. Fix: use `.size`")
        return self.shape[0]

    # ── to the host ──────────────────────────────────────────────────────────────────────────────────────────────────

    def numpy(self, *, copy: bool = True) -> npt.NDArray[Any]:
        """Return the elements as a NumPy array: a copy, in one download, or the memory itself.

        Args:
            copy: False returns an array over the memory itself, so that writes are visible in both.

        Raises:
            UnsupportedFeature: `copy` is False, and the memory is not host memory.
            StaleHandle: The array was closed, or its device was opened again.
        """
        if not copy:
            if not is_on_host(self.backend):
                raise UnsupportedFeature("using the memory of an array on the host", fix=COPY, backend=self.device)
            exported: npt.NDArray[Any] = self._exported()
            return exported
        size, dtype = self.dtype.size, self.dtype.numpy
        if self.size == 0:
            return np.empty(self.shape, dtype)
        reach = [(length - 1) * stride for length, stride in zip(self.shape, self._strides, strict=True)]
        first = self._offset + sum(step for step in reach if step < 0)
        last = self._offset + sum(step for step in reach if step > 0)
        host = np.empty(last - first + 1, dtype)
        self.backend.download_resident_range_into(self._resource, first * size, host.nbytes, host.view(np.uint8))
        if self.is_contiguous:
            return host.reshape(self.shape)
        start = (self._offset - first) * size
        return np.ndarray(self.shape, dtype, host.view(np.uint8).data, start, self.strides).copy()

    def _exported(self) -> Any:
        """An array over the same memory: of NumPy, or of a library for arrays of such devices."""
        size, dtype = self.dtype.size, self.dtype.numpy
        exported = self._memory.export(self.backend)
        if isinstance(exported, np.ndarray):
            return np.ndarray(self.shape, dtype, exported.data, self._offset * size, self.strides)
        if not self.is_contiguous:
            raise UnsupportedFeature("exporting of a view whose elements are apart", fix=COPY, backend=self.device)
        first = self._offset * size
        return exported[first : first + self.nbytes].view(dtype).reshape(self.shape)

    def _host(self) -> npt.NDArray[Any]:
        """The elements on the host, without a copy where the memory is the host's."""
        try:
            return self.numpy(copy=False)
        except UnsupportedFeature:
            return self.numpy()

    @property
    def __numpy_dtype__(self) -> np.dtype[Any]:
        """The type for `numpy.result_type`, which asks for this from NumPy 2.4 on, and takes no other `dtype`."""
        return self.dtype.numpy

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        try:
            host = self.numpy() if copy else self.numpy(copy=False)
        except UnsupportedFeature as error:
            if copy is False:
                raise ValueError(str(error)) from error
            host = self.numpy()
        return host if dtype is None else np.array(host, dtype, copy=copy)

    def __getattr__(self, name: str) -> Any:
        """The protocols of the library whose arrays have such memory, as ``__array_interface__`` of NumPy."""
        if not name.endswith("array_interface__"):
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if hasattr(np.ndarray, name) and not name.startswith("_"):
                instead = f"vyre.{name}(a)" if name in _FUNCTIONS else _INSTEAD.get(name, "a function such as vyre.sum")
                message += f". Fix: use {_IN_PLACE.get(name) or f'.numpy().{name}, or {instead}'}"
            elif name in _TO_HOST:
                message += ". Fix: use .numpy(), which copies to the host"
            raise AttributeError(message, name=name, obj=self)
        found, on_host = None, is_on_host(self.backend)
        if on_host == (name == "__array_interface__") and not (on_host and self.dtype.numpy.kind == "V"):
            try:
                found = getattr(self._exported(), name, None)
            except UnsupportedFeature as error:
                raise AttributeError(str(error), name=name, obj=self) from error
        if found is None:
            raise AttributeError(f"{self!r} has no {name}. Fix: {COPY}", name=name, obj=self)
        return found

    def __buffer__(self, flags: int) -> memoryview:
        try:
            return self.numpy(copy=False).data
        except (UnsupportedFeature, ValueError) as error:
            raise BufferError(str(error)) from error

    def __dlpack__(self, **options: Any) -> Any:
        """Export the memory where it is; a copy on the host, where the backend cannot, or the caller asks for one."""
        if options.get("copy"):
            return export_dlpack(self.numpy(), **{name: x for name, x in options.items() if name != "copy"})
        try:
            return export_dlpack(self._exported(), **options)
        except UnsupportedFeature as error:
            if options.get("copy") is False:
                raise BufferError(str(error)) from error
            return export_dlpack(self.numpy(), **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        try:
            kind, number = self._exported().__dlpack_device__()
        except UnsupportedFeature:
            return (1, 0)
        return (int(kind), int(number))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Export to Arrow, by `pyarrow`: the memory itself where it is the host's, and the elements are contiguous."""
        if self.ndim != 1 or self.dtype.numpy.kind == "V":
            fix = "export .reshape(-1), or convert it with .astype(…)"
            raise InvalidInput("array", needed="one axis of a type that Arrow has", got=f"{self!r}", fix=fix)
        exported: tuple[object, object] = arrow().array(self._host()).__arrow_c_array__(requested_schema)
        return exported

    def item(self) -> bool | int | float:
        """Copy the only element to the host, as a Python number."""
        if self.size != 1:
            fix = "index the element, as in array[0]"
            raise InvalidInput("array", needed="one element", got=f"{self.size} elements", fix=fix)
        found: bool | int | float = self.numpy().reshape(()).item()
        return found

    def tolist(self) -> Any:
        """Copy the elements to the host, as lists of Python numbers, as in NumPy."""
        return self.numpy().tolist()

    def __format__(self, spec: str, /) -> str:
        """The only element in a format; without a format what `repr` gives."""
        return format(self.item(), spec) if spec else repr(self)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the truth of {self!r} is not known on the host. Fix: use .item(), or .numpy()")

    # ── on the device ────────────────────────────────────────────────────────────────────────────────────────────────

    def __getitem__(self, index: object) -> DeviceArray:
        """A view: integers, slices, ``...`` and None as in NumPy."""
        parts = index if isinstance(index, tuple) else (index,)
        if sum(part is Ellipsis for part in parts) != 1:
            parts = (*parts, ...)
        at = next(number for number, part in enumerate(parts) if part is Ellipsis)
        number = sum(part is not None for part in parts) - 1
        if number > self.ndim:
            raise IndexError(f"{number} indices for the shape {self.shape}. Fix: pass one for each axis")
        parts = (*parts[:at], *[slice(None)] * (self.ndim - number), *parts[at + 1 :])
        offset, axis = self._offset, -1
        shape: list[int] = []  # a call of `list[int]` takes a microsecond
        strides: list[int] = []
        for part in parts:
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            axis += 1
            length, stride = self.shape[axis], self._strides[axis]
            if isinstance(part, slice):
                start, stop, step = part.indices(length)
                count = len(range(start, stop, step))
                offset += start * stride if count else 0
                shape.append(count)
                strides.append(stride * step)
            else:
                offset += _position(part, length, axis) * stride
        return DeviceArray(self.backend, self._memory, self.dtype, tuple(shape), offset, tuple(strides))

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self[number] for number in range(len(self)))

    def reshape(self, *shape: int | Sequence[int]) -> DeviceArray:
        """Change the shape: return a view, or a copy on the device if the elements are not contiguous.

        A contiguous array that has the shape is returned itself.

        Args:
            *shape: The lengths, as numbers or as one sequence; one of them may be -1.

        Raises:
            InvalidInput: The shape has another number of elements.
        """
        lengths = reshaped(self.size, shape)
        if not self.is_contiguous:
            return self.copy().reshape(lengths)
        if lengths == self.shape:
            return self
        return DeviceArray(self.backend, self._memory, self.dtype, lengths, self._offset)

    @property
    def T(self) -> DeviceArray:
        """A view with the axes in reverse order."""
        shape, strides = self.shape[::-1], self._strides[::-1]
        return DeviceArray(self.backend, self._memory, self.dtype, shape, self._offset, strides)

    def transpose(self, *axes: int | Sequence[int]) -> DeviceArray:
        """Return a view with the axes in another order, by default in reverse order.

        Args:
            *axes: The axis of this array that each axis of the view is, as numbers or as one sequence. Negative ones
                count from the end.

        Raises:
            InvalidInput: An axis is missing or named twice.
        """
        order = reordered(self.ndim, axes)
        shape, strides = tuple([self.shape[n] for n in order]), tuple([self._strides[n] for n in order])
        return DeviceArray(self.backend, self._memory, self.dtype, shape, self._offset, strides)

    def broadcast_to(self, shape: Sequence[int]) -> DeviceArray:
        """Return a view that repeats the elements along new first axes and along axes of length 1, as in NumPy.

        Raises:
            InvalidInput: The array does not broadcast to the shape.
        """
        lengths = lengths_of(shape)
        strides = broadcast_strides(self.shape, self._strides, lengths)
        return DeviceArray(self.backend, self._memory, self.dtype, lengths, self._offset, strides)

    def view(self, dtype: DTypeLike) -> DeviceArray:
        """Return a view of the bytes as elements of another type. If its size differs, so does the last axis.

        Raises:
            InvalidInput: The elements are not adjacent, or their bytes are not whole elements of that type.
        """
        other, size = dtype_of(dtype), self.dtype.size
        if other.size == size:
            return DeviceArray(self.backend, self._memory, other, self.shape, self._offset, self._strides)
        first = self._offset * size
        last_axis = self.shape[-1] * size if self.shape else 1
        if not self.is_contiguous or first % other.size or last_axis % other.size:
            needed, got = f"a contiguous array of whole elements of {other}", f"{self!r}"
            raise InvalidInput("dtype", needed=needed, got=got, fix="copy the array, or convert it with .astype(…)")
        shape = (*self.shape[:-1], last_axis // other.size)
        return DeviceArray(self.backend, self._memory, other, shape, first // other.size)

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> DeviceArray:
        """Convert the elements on the device, as `cast` of the language does: floats saturate, and NaN becomes 0.

        Args:
            dtype: The type of the result.
            copy: Whether an array of that type is copied. If False, the array itself is returned.
        """
        other = dtype_of(dtype)
        if other is self.dtype:
            return self.copy() if copy else self
        made = allocate(self.backend, other, self.shape, is_zero=False)
        if self.size:
            source = self if self.resource is not None else self.copy()
            resources = [source._resource, made._resource]
            self.backend.dispatch_resident(convert(self.dtype, other), resources)
        return made

    def copy(self) -> DeviceArray:
        """Copy the elements to new memory on the device, in order."""
        made = allocate(self.backend, self.dtype, self.shape, is_zero=False)
        if self.size == 0:
            return made
        assert made.resource is not None
        whole = self.resource
        if whole is not None:
            program, resources = copy_all(self.dtype.size), [whole, made.resource]
            self.backend.dispatch_resident(program, resources)
            return made
        if self.is_contiguous:
            made.assign(self)
            return made
        _run(_gathering(self), self._resource, made.resource, self.backend)
        return made

    def assign(self, given: object) -> None:
        """Replace the elements, or those of a view, by the elements of an array of the same type and shape.

        Args:
            given: An array of the same backend, copied on the device, or a NumPy array, which is uploaded.

        Raises:
            InvalidInput: The array has another type, shape or backend, or this one is a view that repeats elements.
        """
        if not isinstance(given, (np.ndarray, DeviceArray)):
            fix = "pass a NumPy array or an array of the device"
            raise InvalidInput("array", needed="an array", got=type(given).__name__, fix=fix)
        refuse_missing("array", given)
        if numpy_dtype(self) != numpy_dtype(given) or given.shape != self.shape:
            own, other = numpy_dtype(self).name, shown_type(numpy_dtype(given))
            needed, got = f"an array of {own} of the shape {self.shape}", f"one of {other}, {given.shape}"
            fix = "reshape it first" if other == own else f"convert it with .astype({own!r})"
            raise InvalidInput("array", needed=needed, got=got, fix=fix)
        if self.size == 0:
            return
        require_no_repeats("array", self.shape, self.strides)
        if isinstance(given, np.ndarray) and self.is_contiguous:
            data = np.ascontiguousarray(given).reshape(-1).view(np.uint8)
            self.backend.upload_resident_at(self._resource, self._offset * self.dtype.size, data)
            return
        if isinstance(given, DeviceArray):
            require_same_backend("array", given, self.backend)
            if self.resource is not None and not given.is_contiguous and given._resource is not self._resource:
                _run(_gathering(given), given._resource, self._resource, self.backend)
                return
            source = given.copy() if not given.is_contiguous or given._resource is self._resource else given
        else:
            source = allocate(self.backend, self.dtype, given.shape, is_zero=False)
            source.assign(given)
        size = self.dtype.size
        if self.resource is not None and source.resource is not None:
            self.backend.dispatch_resident(copy_all(size), [source._resource, self._resource])
        elif self.is_contiguous:
            numbers = np.array([source._offset, self._offset, self.size], np.uint32)
            move = ViewCopy(copy_range(size), numbers, DispatchConfig(grid_override=grid_of(self.size)))
            _run(move, source._resource, self._resource, self.backend)
        else:
            if source.resource is None:
                source = source.copy()
            move = scatter(size, self._offset, self.shape, self._strides)
            _run(move, source._resource, self._resource, self.backend)

    def __setitem__(self, index: object, value: object) -> None:
        """Replace the elements of a view, as `assign` does. A number, or an array, is broadcast to the view."""
        parts = index if isinstance(index, tuple) else (index,)
        if any(getattr(part, "ndim", 0) > 0 for part in parts):
            raise TypeError("got an array as an index of an assignment. Fix: call vyre.scatter, or choose in a kernel")
        view = self[index]
        if isinstance(value, np.generic) or number(value) is not None:
            value = elements_of(self.dtype, value, "value")  # type: ignore[arg-type]
        view.assign(_broadcast(value, view.shape))

    # ── lifetime ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """Free the memory, including that of all views. A second call does nothing."""
        self._memory.close()

    def __enter__(self) -> DeviceArray:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __copy__(self) -> DeviceArray:
        return self.copy()

    def __deepcopy__(self, _: object) -> DeviceArray:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is memory of a device. Fix: pickle array.numpy()")


def allocate(backend: VyreBackend, dtype: DType, shape: tuple[int, ...], *, is_zero: bool = True) -> DeviceArray:
    """An array of zeros, or of unspecified elements, in memory that earlier arrays have left.

    The error of a full device names the largest arrays there.
    """
    nbytes = math.prod(shape) * dtype.size
    try:
        memory = result_memory(backend, nbytes, is_zero=is_zero)
    except DeviceOutOfMemory as error:
        raise DeviceOutOfMemory(nbytes, fix=_holders(backend) or error.fix) from error
    memory.holders[id(memory)] = Holder(memory.resource.byte_len, backend, dtype, shape)
    return DeviceArray(backend, memory, dtype, shape)


def require_targets_apart(targets: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` if two arrays for results, of the host or of a device, have an element in common."""
    for (first, a), (second, b) in combinations(targets.items(), 2):
        if shares_memory(a, b):
            fix = "pass other memory for each result, or leave one out: what is returned is new"
            raise InvalidInput(second, needed=f"memory apart from that for {first!r}", got="memory of both", fix=fix)


def shares_memory(a: Any, b: Any) -> bool:
    """Return whether two arrays, of NumPy or of a device, have an element in common."""
    if isinstance(a, DeviceArray) and isinstance(b, DeviceArray) and a._memory is b._memory:
        return np.shares_memory(_positions(a), _positions(b))
    for array in (a, b):  # only arrays over memory that was exported, or is foreign, have memory of others
        if isinstance(array, DeviceArray) and not (array._memory.is_shared and is_on_host(array.backend)):
            return False
    first, second = (array.numpy(copy=False) if isinstance(array, DeviceArray) else array for array in (a, b))
    return np.shares_memory(first, second)


def _positions(array: DeviceArray) -> npt.NDArray[np.uint8]:
    """Where the elements are from the begin of the memory: a view of NumPy that is compared, and never read."""
    size = array.dtype.size
    shape, strides = (2, *array.shape, size), (array._offset * size, *array.strides, 1)
    found: npt.NDArray[np.uint8] = np.lib.stride_tricks.as_strided(_ANCHOR, shape, strides)[1]
    return found


def require_no_repeats(name: str, shape: Sequence[int], strides: Sequence[int]) -> None:
    """Raise `InvalidInput` for a view whose indices stand for one element several times, which no result can go to."""
    if any(length > 1 and not stride for length, stride in zip(shape, strides, strict=True)) and 0 not in shape:
        needed, got = "a view of different elements", f"one that repeats elements, with the strides {tuple(strides)}"
        raise InvalidInput(name, needed=needed, got=got, fix="store into the array that was broadcast, or into a copy")


def numpy_dtype(array: Any) -> np.dtype[Any]:
    """The NumPy type of the elements of a host array, a device array, or a range of a graph."""
    return np.dtype(array.dtype.numpy if isinstance(array.dtype, DType) else array.dtype)


def _gathering(array: DeviceArray) -> ViewCopy:
    """The copy of the elements of a view in the order of its indices."""
    return gather(array.dtype.size, array._offset, array.shape, array._strides)


def _run(move: ViewCopy, source: Resource, target: Resource, backend: VyreBackend) -> None:
    """Copy elements, as a program over resources does."""
    layout = constant_memory(backend, move.layout.view(np.uint8))
    backend.dispatch_resident(move.program, [source, layout.resource, target], move.config)


def _holders(backend: VyreBackend) -> str:
    """What to close, the largest arrays first."""
    device = innermost(backend)
    found = [held for held in list(ArrayMemory.holders.values()) if innermost(held.backend) is device]
    largest = sorted(found, key=lambda held: -held.byte_len)[:NAMED_HOLDERS]
    shown = [f"{dtype}{list(shape)} of {size} bytes" for size, _, dtype, shape in largest]
    return f"close arrays that are not needed; the largest are {', '.join(shown)}" if shown else ""


def require_same_backend(name: str, array: DeviceArray, backend: VyreBackend) -> None:
    """Refuse an array in the memory of another backend than that of the launch."""
    if innermost(array.backend) is not innermost(backend):
        fix = "copy it through the host, with vyre.array(a.numpy(), backend=…), or launch where it is"
        needed, got = f"an array in the memory of {backend.id()!r}", f"one of {array.backend.id()!r}"
        if array.backend.id() == backend.id():
            got = f"one of another backend {backend.id()!r}, which is open too"
            fix = "use one for both: `backend_for` gives the same each time, and `acquire` another one"
        raise InvalidInput(name, needed=needed, got=got, fix=fix)


def _broadcast(given: object, shape: tuple[int, ...]) -> object:
    """An array that is repeated to fill a shape; what does not broadcast to it as it is, for `assign` to refuse."""
    if not isinstance(given, (np.ndarray, DeviceArray)) or given.shape == shape:
        return given
    try:
        return (
            given.broadcast_to(shape) if isinstance(given, DeviceArray) else np.broadcast_to(given, shape, subok=True)
        )
    except ValueError:
        return given


def _position(part: object, length: int, axis: int) -> int:
    is_several = isinstance(part, np.ndarray) and part.ndim > 0
    if isinstance(part, bool) or is_several or not isinstance(part, SupportsIndex):
        raise TypeError(f"got {shown(part)} as an index. Fix: {_instead_of_index(part)}")
    number = operator.index(part)
    if not -length <= number < length:
        fix = f"use an index from {-length} to {length - 1}" if length else "index an axis that has elements"
        raise IndexError(f"the index {number} is out of bounds for axis {axis} of length {length}. Fix: {fix}")
    return number % length


def _instead_of_index(part: object) -> str:
    """What to write where NumPy would take elements by a mask, or by several indices."""
    dtype = getattr(part, "dtype", None)
    if dtype is None:
        return "use integers, slices and ..., or index .numpy()"
    if dtype == np.bool_ or dtype is bool_:
        return "call vyre.compact(array, mask) for the elements of a mask"
    return "call vyre.gather(array, indices) for elements of the first axis, or index .numpy()"
