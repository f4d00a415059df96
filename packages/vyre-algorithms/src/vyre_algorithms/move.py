"""Moving elements to or from places that an array names."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vyre_algorithms.arguments import (
    MOST,
    Array,
    Backend,
    array_of,
    axis_of,
    flattened,
    greatest_natural,
    of_kind,
    starts_of,
    type_of,
    vector,
)
from vyre_algorithms.launches import (
    beside,
    broadcast,
    joined,
    launch,
    mapped,
    profile_of,
    runs_loops,
    slots_beside,
    words,
    zeros_beside,
)
from vyre_algorithms.order import KeyType, bits_of, bits_type, of_bits
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.recorded import RecordedRange
from vyre_driver.tune.distribution import SERIAL
from vyre_foundation import (
    Array as Buffer,
    DType,
    LengthOf,
    Program,
    ProgramBuilder,
    Value,
    constant,
    program,
    select,
    u32,
)
from vyre_foundation.dtype import bool_, i32, i64, u64
from vyre_foundation.functions import add, is_nan, max as greatest, min as least

GROUP = 64
FEW = 4096
"""The most elements that `take_few` moves on the host."""
PART, ROWS = 16384, 1024
"""Elements of wide rows, or narrow rows, that an invocation copies."""
SCATTERED: dict[str, Callable[[Value, Value], Value]] = {
    "set": lambda old, new: new,
    "add": operator.add,
    "prod": operator.mul,
    "min": least,
    "max": greatest,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
"""The operations of `scatter`: what an element becomes, from what it is and a value."""
FEW_ATOMICS = 4096
"""Elements of an array whose atomics are fast, at most: workers may combine them in memory of their own."""
SET_WORKERS, COMBINE_WORKERS = 2, 1
"""The most workers whose atomics take longer than stores of one of them: those of values that replace or combine."""
NARROW = 16
"""Elements of a narrow row at most. A program states their number: compilers copy so few by a few instructions."""


def gather(x: object, indices: object, /, axis: int = 0, *, backend: Backend = None) -> Array:
    """Take the elements at indices of an axis.

    Args:
        x: An array with one axis or more.
        indices: An array of integers; negative ones count from the end.
        axis: The axis that the indices refer to.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`, where the axes of `indices` take the place of the axis.

    Raises:
        InvalidInput: An index is out of bounds, or an argument is invalid. Of ranges of a graph, an index out of bounds
            is a trap of the launch.
    """
    array, wanted = with_axes(x), array_of(indices, "indices")
    which, kind = axis_of(axis, array.ndim), of_kind(wanted, "iu", "integers", "indices")
    if array.ndim > 1 or not wanted.size or RecordedRange in (type(array), type(wanted)):
        return take(array, places_of(wanted, array.shape[which], backend), backend, which)
    dtype = type_of(array)
    given = {"x": bits_of(flattened(array), dtype), "indices": flattened(wanted), "outside": np.zeros(1, np.uint32)}
    found = launch(_gather_checked(bits_type(dtype), kind), given, -(-wanted.size // GROUP), backend)
    if found["outside"].item():
        places_of(wanted, array.size, backend)  # which refuses them, and says which
    return of_bits(found["out"], dtype).reshape(wanted.shape)


def scatter(
    x: object,
    indices: object,
    values: object,
    /,
    operation: str = "set",
    *,
    axis: int = 0,
    backend: Backend = None,
) -> Array:
    """Put values at indices of an axis of a copy of an array.

    Args:
        x: An array with one axis or more.
        indices: An array of integers; negative ones count from the end.
        values: An array of the type of `x` in the shape that `gather` gives for these indices.
        operation: "set" puts the value there, of several for one index the last. The others combine all of them with
            what is there: "add" and "prod", which wrap and take numbers; "min" and "max", where a NaN wins and −0 is
            less than +0; "and", "or" and "xor", which take bools and integers. Floats are added and multiplied one
            after the other in the order of the indices, and each sum and each product is rounded.
        axis: The axis that the indices refer to.
        backend: As for `vyre.run`.

    Returns:
        An array like `x`.

    Raises:
        InvalidInput: An index is out of bounds, the arrays do not fit each other, or an argument is invalid.
    """
    array, given, wanted = with_axes(x), array_of(values, "values"), array_of(indices, "indices")
    which = axis_of(axis, array.ndim)
    dtype, other = type_of(array), type_of(given, "values")
    shape = _replaced(array.shape, which, wanted.shape)
    if other is not dtype or given.shape != shape:
        needed, got = f"an array of {dtype} {shape}", f"one of {other} {given.shape}"
        raise InvalidInput("values", needed=needed, got=got, fix="pass a value for each index")
    if operation not in SCATTERED:
        needed = f"one of {', '.join(SCATTERED)}"
        meant = {"sum": "add", "mul": "prod", "multiply": "prod"}.get(operation)
        fix = f"pass {meant!r}" if meant else "pass the name of an operation"
        raise InvalidInput("operation", needed=needed, got=repr(operation), fix=fix)
    in_order = _is_in_order(operation, dtype)
    if operation in ("add", "prod"):
        of_kind(array, "iuf", "numbers")
    elif operation in ("and", "or", "xor"):
        of_kind(array, "biu", "bools or integers")
    places = flattened(places_of(wanted, array.shape[which], backend))
    if not given.size:
        return array.copy()
    if operation == "set" or in_order or dtype in (u32, i32, u64, i64):
        return _scattered(array, places, given, operation, which, backend)
    words_of = _words_of(operation, dtype)
    array, given = (mapped(words_of.word, words_of.dtype, [part], backend) for part in (array, given))
    return mapped(words_of.element, dtype, [_scattered(array, places, given, operation, which, backend)], backend)


def _scattered(array: Array, places: Array, given: Array, operation: str, which: int, backend: Backend) -> Array:
    """As `scatter`, of at least one value at places that are u32 in bounds, of a type that has the operation."""
    dtype = type_of(array)
    in_order = _is_in_order(operation, dtype)
    outer, inner = math.prod(array.shape[:which]), math.prod(array.shape[which + 1 :])
    flat, given, stored = flattened(array), flattened(given), dtype
    if operation == "set":
        flat, given, stored = bits_of(flat, dtype), bits_of(given, dtype), bits_type(dtype)
    if in_order or (outer * inner == 1 and _is_serial(operation, flat, places, given, backend)):
        group = 1 if inner == 1 else GROUP
        arrays = {"x": flat, "indices": places, "values": given, "shape": words(array.shape[which], inner)}
        found = launch(_in_order(stored, operation, group), arrays, outer * -(-inner // group), backend)["x"]
    elif operation != "set":
        arrays = {"x": flat, "indices": places, "values": given}
        found = launch(_combine(dtype, operation, outer, inner), arrays, -(-given.size // GROUP), backend)["x"]
    else:
        arrays = {"indices": places, "latest": zeros_beside(array, (array.shape[which],), u32)}
        latest = launch(_latest(), arrays, -(-places.size // GROUP), backend)["latest"]
        arrays = {"x": flat, "values": given, "latest": latest}
        grid, made = -(-array.size // GROUP), _put(stored, outer, inner)
        if outer * inner > 1 and runs_loops([flat, given], backend):
            arrays["shape"] = words(array.shape[which], places.size, inner)
            grid, made = _parts(array.size, inner), _put_rows(stored, outer > 1, _narrow(inner))
        found = launch(made, arrays, grid, backend)["out"]
    return of_bits(found, dtype).reshape(array.shape)


def _is_in_order(operation: str, dtype: DType) -> bool:
    """Whether the order of the values shows, or no device has the operation as an atomic."""
    return operation == "prod" or (operation == "add" and dtype.is_float)


class _Words(NamedTuple):
    """Integers with atomics in place of elements: the same operation of both gives the same."""

    dtype: DType
    word: Callable[[Value], Value]
    element: Callable[[Value], Value]


@lru_cache(maxsize=64)
def _words_of(operation: str, dtype: DType) -> _Words:
    """Of integers their values, which a cast truncates to the same bits; of floats, which are compared, their keys."""
    if not dtype.is_float:
        kind = i32 if dtype.is_signed else u32
        return _Words(kind, lambda element: element.cast(kind), lambda word: word.cast(dtype))
    bits, kind = bits_type(dtype), u64 if dtype.bits == 64 else u32
    keys, nan = KeyType.of(dtype), 0 if operation == "min" else bits.highest  # the keys of two NaNs

    def word(element: Value) -> Value:
        key = select(is_nan(element), constant(bits, nan), keys.key(element.bitcast(bits)))
        return key if kind is bits else key.cast(kind)

    def element(word: Value) -> Value:
        return keys.element(word if kind is bits else word.cast(bits)).bitcast(dtype)

    return _Words(kind, word, element)


def _is_serial(operation: str, array: Array, places: Array, given: Array, backend: Backend) -> bool:
    """Whether one worker scatters to a vector one value after another, which is faster than atomics of few workers.

    It is also faster where two launches, which set values, take longer than it.
    """
    are_few = operation == "set" and array.size + given.size <= SERIAL
    if array.size <= FEW_ATOMICS and not are_few:
        return False
    profile = profile_of([array, places, given], backend)
    most = SET_WORKERS if operation == "set" else COMBINE_WORKERS
    if profile is None or not profile.workgroups_are_loops:
        return False
    return are_few or (profile.compute_units or MOST) <= most


def take_along_axis(x: object, indices: object, /, axis: int = -1, *, backend: Backend = None) -> Array:
    """Take elements at indices along an axis, where each sequence has indices of its own, as `argsort` gives them.

    Args:
        x: An array with one axis or more.
        indices: An array of integers in the shape of `x` except for the length of the axis; negative ones count from
            the end.
        axis: The axis that the indices refer to.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `indices`.

    Raises:
        InvalidInput: As for `gather`, or the shapes do not fit each other.
    """
    array, wanted = with_axes(x), array_of(indices, "indices")
    which, dtype = axis_of(axis, array.ndim), type_of(array)
    number = wanted.shape[which] if wanted.ndim == array.ndim else 0
    shape = _replaced(array.shape, which, (number,))
    if wanted.shape != shape:
        needed = f"the shape {array.shape} but for axis {which}"
        fix = "pass indices for each sequence along the axis, or use gather for the same of all"
        raise InvalidInput("indices", needed=needed, got=str(wanted.shape), fix=fix)
    places = places_of(wanted, array.shape[which], backend)
    if not wanted.size:
        return zeros_beside(array, shape, dtype)
    inner = math.prod(shape[which + 1 :])
    given = {
        "x": bits_of(flattened(array), dtype),
        "indices": flattened(places),
        "shape": words(array.shape[which], number, inner),
    }
    made = _along_axis(bits_type(dtype), inner == 1)
    return of_bits(launch(made, given, -(-wanted.size // GROUP), backend)["out"], dtype).reshape(shape)


def with_axes(x: object) -> Array:
    """An array that is not a scalar."""
    array = array_of(x)
    if not array.ndim:
        raise InvalidInput("x", needed="an array with an axis", got="a scalar", fix="pass .reshape(1)")
    return array


def _replaced(shape: tuple[int, ...], axis: int, others: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with other axes in place of one."""
    return (*shape[:axis], *others, *shape[axis + 1 :])


def take(array: Array, places: Array, backend: Backend, axis: int = 0) -> Array:
    """The elements of an axis at places, which are u32 in bounds."""
    dtype, shape = type_of(array), _replaced(array.shape, axis, places.shape)
    size = math.prod(shape)
    if not size:
        return zeros_beside(array, shape, dtype)
    given = {"x": bits_of(flattened(array), dtype), "indices": flattened(places)}
    outer, inner = math.prod(array.shape[:axis]), math.prod(array.shape[axis + 1 :])
    grid, made = -(-size // GROUP), _gather(bits_type(dtype), outer, inner)
    if outer * inner > 1 and runs_loops([array, places], backend):
        given |= {"shape": words(places.size, array.shape[axis], inner), "slots": slots_beside(array, size)}
        grid, made = _parts(size, inner), _gather_rows(bits_type(dtype), outer > 1, _narrow(inner))
    return of_bits(launch(made, given, grid, backend)["out"], dtype).reshape(shape)


def take_few(array: Array, places: Array, backend: Backend) -> Array:
    """As `take`, but on the host where both are NumPy arrays of few elements: a launch takes longer."""
    if isinstance(array, np.ndarray) and isinstance(places, np.ndarray) and places.size <= FEW and array.ndim == 1:
        moved: Array = array[places]
        return moved
    return take(array, places, backend)


def places_of(indices: object, length: int, backend: Backend, *, is_from_end: bool = True) -> Array:
    """Indices from the front as u32, which are in bounds; with `is_from_end` negative ones count from the end."""
    array = array_of(indices, "indices")
    of_kind(array, "iu", "integers", "indices")
    if not isinstance(array, np.ndarray):
        return _places_elsewhere(array, length, is_from_end, backend)
    if array.size and greatest_natural(array) >= length:
        low, high = int(array.min()), int(array.max())
        if low < (-length if is_from_end else 0) or high >= length:
            raise _out_of_bounds(length, str(high if high >= length else low))
        array = np.where(array < 0, array.astype(np.int64) + length, array)
    return np.asarray(array, np.uint32, order="C")


def places_below(indices: object, length: int, name: str, fix: str, backend: Backend) -> Array:
    """Indices from 0 that are below `length`, as u32; others are refused by their name and with a remedy of its own."""
    array = array_of(indices, name)
    of_kind(array, "iu", "integers", name)
    try:
        return places_of(array, length, backend, is_from_end=False)
    except InvalidInput as error:
        needed = f"integers from 0 that are below {length}"
        raise InvalidInput(name, needed=needed, got=error.got, fix=fix) from None


def offsets_of(starts: object, length: int, backend: Backend) -> Array:
    """The starts of segments, and the end of the last, as u32: numbers that ascend from 0 to `length`.

    In a graph, others are a trap.
    """
    if not isinstance(starts, RecordedRange):
        return starts_of(starts, length).astype(np.uint32, copy=False)
    array = vector(starts, "starts")
    dtype = of_kind(array, "iu", "integers", "starts")
    given = {"starts": array, "end": words(length)}
    return launch(_ascending(dtype), given, -(-array.size // GROUP), backend)["offsets"]


def offsets_in_rows(offsets: Array, rows: int, length: int, backend: Backend) -> Array:
    """The starts of the segments of one row, and its end, repeated for a vector of `rows` rows of `length`, as u32."""
    if rows == 1:
        return offsets
    segments = offsets.size - 1
    if rows * segments >= MOST:
        got = f"{rows} rows of {segments}"
        raise InvalidInput("starts", needed=f"fewer than {MOST} segments", got=got, fix="pass fewer rows at a time")
    of_row = np.repeat(np.arange(rows, dtype=np.uint32) * np.uint32(length), segments)
    end = np.array([rows * length], np.uint32)
    if isinstance(offsets, np.ndarray):
        return np.append(np.tile(offsets[:-1], rows) + of_row, end)
    if not of_row.size:
        return beside(offsets, end)
    each = broadcast(offsets[:-1].reshape(1, segments), (rows, segments)).reshape(-1)
    return joined([mapped(add, u32, [each, beside(offsets, of_row)], backend), beside(offsets, end)])


def _out_of_bounds(length: int, got: str) -> InvalidInput:
    fix = "leave indices out of bounds out"
    return InvalidInput("indices", needed=f"indices from {-length} to {length - 1}", got=got, fix=fix)


def _places_elsewhere(array: Array, length: int, is_from_end: bool, backend: Backend) -> Array:
    """The same on a device: the host reads the number of indices that are out of bounds, and nothing else.

    In a graph, an index that is out of bounds is a trap.
    """
    if not array.size:
        return array.astype(u32)
    is_recorded = isinstance(array, RecordedRange)
    made = _bounded(array.dtype, is_from_end, is_recorded)
    given = {"indices": flattened(array), "length": words(length)}
    if is_recorded:
        return launch(made, given, -(-array.size // GROUP), backend)["places"].reshape(array.shape)
    found = launch(made, {**given, "outside": np.zeros(1, np.uint32)}, -(-array.size // GROUP), backend)
    outside = found["outside"].item()
    if outside:
        raise _out_of_bounds(length, f"{outside} out of bounds")
    return found["places"].reshape(array.shape)


@lru_cache(maxsize=16)
def _bounded(kind: DType, is_from_end: bool, has_trap: bool) -> Program:
    """Indices from the front; one that is out of bounds is a trap, or is counted in `outside`."""
    with program("bounded_indices", GROUP) as p:
        indices, length = p.read("indices", kind), p.uniform("length", u32, 1)
        outside = None if has_trap else p.read_write("outside", u32)
        places = p.write("places", u32, like=indices)
        i = p.global_id(0)
        with p.if_(i < indices.length):
            place, is_outside = _from_front(p, indices[i], length[0], is_from_end=is_from_end)
            with p.if_(is_outside):
                if outside is None:
                    p.trap(i, "the index at this place is out of bounds")
                else:
                    outside.atomic_add(0, 1)
            places[i] = place.cast(u32)
    return p.build()


def _from_front(p: ProgramBuilder, index: Value, length: Value, *, is_from_end: bool = True) -> tuple[Value, Value]:
    """An index from the front, and whether it is out of bounds; with `is_from_end` negative ones count from the end."""
    state = i64 if index.dtype.is_signed else u64
    end, place = p.let(length.cast(state)), p.let(index.cast(state))
    if not index.dtype.is_signed:
        return place, place >= end
    if is_from_end:
        place = p.let(select(place < 0, place + end, place))
    return place, (place < 0) | (place >= end)


@lru_cache(maxsize=64)
def _gather_checked(bits: DType, kind: DType) -> Program:
    """The elements of a vector at indices of any type; the indices out of bounds are counted in `outside`."""
    with program("gather_checked", GROUP) as p:
        x, indices, outside = p.read("x", bits), p.read("indices", kind), p.read_write("outside", u32)
        out = p.write("out", bits, like=indices)
        i = p.global_id(0)
        with p.if_(i < indices.length):
            place, is_outside = _from_front(p, indices[i], x.length)
            with p.if_(is_outside):
                outside.atomic_add(0, 1)
            out[i] = x[place.cast(u32)]
    return p.build()


@lru_cache(maxsize=16)
def _ascending(kind: DType) -> Program:
    """Starts as u32; a trap unless they ascend from 0 to `end`."""
    with program("ascending_starts", GROUP) as p:
        starts, end = p.read("starts", kind), p.uniform("end", u32, 1)
        offsets = p.write("offsets", u32, like=starts)
        i = p.global_id(0)
        state = i64 if kind.is_signed else u64
        with p.if_(i < starts.length):
            start, last = p.let(starts[i].cast(state)), p.let(end[0].cast(state))
            following = p.let(select(i + 1 < starts.length, starts[i + 1].cast(state), last))
            is_wrong = (start > following) | (following > last) | ((i == 0) & (start != 0))
            with p.if_(is_wrong | ((i + 1 == starts.length) & (start != last))):
                p.trap(i, "starts do not ascend from 0 to the number of elements here")
            offsets[i] = start.cast(u32)
    return p.build()


# An axis lies between `outer` axes and `inner` ones, as numbers of elements: its element k in (o, r) is at
# (o * length + k) * inner + r.


@lru_cache(maxsize=256)
def _gather(bits: DType, outer: int, inner: int) -> Program:
    with program("gather", GROUP) as p:
        x, indices = p.read("x", bits), p.read("indices", u32)
        out = p.write("out", bits, LengthOf("indices", times=outer * inner))
        i = p.global_id(0)
        out[i] = x[_place(i, x, indices, outer, inner)]
    return p.build()


@lru_cache(maxsize=16)
def _along_axis(bits: DType, are_rows: bool) -> Program:
    """Elements at `indices`, each in its own sequence; ``shape`` has the lengths of the axis, and of a row."""
    with program("gather_along_axis", GROUP) as p:
        x, indices, shape = p.read("x", bits), p.read("indices", u32), p.uniform("shape", u32, 3)
        out = p.write("out", bits, like=indices)
        i = p.global_id(0)
        if are_rows:
            out[i] = x[i // shape[1] * shape[0] + indices[i]]
        else:
            row = i // shape[2]
            out[i] = x[(row // shape[1] * shape[0] + indices[i]) * shape[2] + i % shape[2]]
    return p.build()


@lru_cache(maxsize=256)
def _combine(dtype: DType, operation: str, outer: int, inner: int) -> Program:
    with program(f"scatter_{operation}", GROUP) as p:
        x, indices, values = p.read_write("x", dtype), p.read("indices", u32), p.read("values", dtype)
        i = p.global_id(0)
        with p.if_(i < values.length):
            getattr(x, f"atomic_{operation}")(_place(i, x, indices, outer, inner), values[i])
    return p.build()


@lru_cache(maxsize=64)
def _in_order(dtype: DType, operation: str, group: int) -> Program:
    """Values one after another: an invocation has all elements of one place behind the axis."""
    with program(f"scatter_{operation}_in_order", group) as p:
        x, indices, values = p.read_write("x", dtype), p.read("indices", u32), p.read("values", dtype)
        shape = p.uniform("shape", u32, 2)
        length, inner = p.let(shape[0]), p.let(shape[1])
        tiles = p.let((inner + (group - 1)) // group)
        outer, column = p.let(p.workgroup_id(0) // tiles), p.let(p.workgroup_id(0) % tiles * group + p.local_id(0))
        with p.if_(column < inner), p.range(0, indices.length) as k:
            at = p.let((outer * length + indices[k]) * inner + column)
            x[at] = SCATTERED[operation](x[at], values[(outer * indices.length + k) * inner + column])
    return p.build()


def _place(i: Value, x: Buffer, indices: Buffer, outer: int, inner: int) -> Value:
    """Where in `x` the element is that element `i` of an array with the indices in place of the axis stands for."""
    k = i if inner == 1 else i // inner
    place = indices[k if outer == 1 else k % indices.length]
    if outer > 1:
        place = k // indices.length * (x.length // (outer * inner)) + place
    return place if inner == 1 else place * inner + i % inner


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
def _put(bits: DType, outer: int, inner: int) -> Program:
    with program("scatter_put", GROUP) as p:
        x, values, latest = p.read("x", bits), p.read("values", bits), p.read("latest", u32)
        out = p.write("out", bits, like=x)
        i = p.global_id(0)
        k = i if inner == 1 else i // inner
        length = x.length // (outer * inner)
        number = p.let(latest[k if outer == 1 else k % length])
        element = p.var(x[i])
        with p.if_(number != 0):
            place = number - 1
            if outer > 1:
                place = k // length * (values.length // (outer * inner)) + place
            element.set(values[place if inner == 1 else place * inner + i % inner])
        out[i] = element
    return p.build()


# Where a worker runs one invocation after the other, an invocation copies whole rows: the elements behind an axis.


def _narrow(inner: int) -> int | None:
    """The number of elements of a row, if a program states it."""
    return inner if inner <= NARROW else None


def _parts(size: int, inner: int) -> int:
    """The number of invocations that copy `size` elements, in rows of `inner`."""
    return -(-size // (inner * ROWS)) if inner <= NARROW else -(-size // PART)


@lru_cache(maxsize=256)
def _gather_rows(bits: DType, has_outer: bool, narrow: int | None) -> Program:
    with program("gather_rows", 1) as p:
        x, indices, slots = p.read("x", bits), p.read("indices", u32), p.read("slots", bool_)
        rows = _Rows(p, p.write("out", bits, like=slots), has_outer, narrow)
        with rows.each():
            rows.copy(x, rows.outer * rows.length + indices[rows.place])
    return p.build()


@lru_cache(maxsize=64)
def _put_rows(bits: DType, has_outer: bool, narrow: int | None) -> Program:
    with program("scatter_put_rows", 1) as p:
        x, values, latest = p.read("x", bits), p.read("values", bits), p.read("latest", u32)
        rows = _Rows(p, p.write("out", bits, like=x), has_outer, narrow)
        with rows.each():
            number = p.let(latest[rows.place])
            with p.if_(number != 0):
                rows.copy(values, rows.outer * rows.length + (number - 1))
            with p.else_():
                rows.copy(x, rows.number)
    return p.build()


class _Rows:
    """The rows of an array that an invocation writes, one after the other.

    ``shape`` has the lengths of the axis in this array and in the one that rows are copied from, and that of a row.
    """

    number: Value
    """Of the row that is written."""
    outer: Value
    """The index over the axes before that axis."""
    place: Value
    """Its place on its axis."""

    def __init__(self, p: ProgramBuilder, out: Buffer, has_outer: bool, narrow: int | None) -> None:
        shape = p.uniform("shape", u32, 3)
        self._p, self._out, self._has_outer, self._narrow = p, out, has_outer, narrow
        self._own, self.length, self._inner = p.let(shape[0]), p.let(shape[1]), p.let(shape[2])

    @contextmanager
    def each(self) -> Iterator[None]:
        """Write what is in the block for each row."""
        p, size = self._p, self._out.length
        if self._narrow is not None:
            first = p.let(p.workgroup_id(0) * ROWS)
            bounds = first, p.let(least(first + ROWS, size // self._narrow))
        else:
            self._first = p.let(p.workgroup_id(0) * PART)
            self._last = p.let(least(self._first + PART, size))
            bounds = p.let(self._first // self._inner), p.let((self._last - 1) // self._inner + 1)
        with p.range(*bounds) as self.number:
            self.outer, self.place = constant(u32, 0), self.number
            if self._has_outer:
                self.outer, self.place = p.let(self.number // self._own), p.let(self.number % self._own)
            yield

    def copy(self, source: Buffer, row: Value) -> None:
        """Copy a row of an array, as far as it is in the part of this invocation."""
        p, inner = self._p, self._inner if self._narrow is None else self._narrow
        begin, target = p.let(row * inner), p.let(self.number * inner)
        if self._narrow is not None:
            bounds = constant(u32, 0), constant(u32, self._narrow)
        else:
            bounds = p.let(greatest(self._first, target) - target), p.let(least(self._last - target, inner))
        with p.range(*bounds) as k:
            self._out[target + k] = source[begin + k]
