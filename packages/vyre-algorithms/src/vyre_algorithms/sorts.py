"""Stable sorts, and the choice of a method: in short rows, by buckets, by digits, or by a comparison of the caller."""

from __future__ import annotations

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Backend,
    HostArray,
    array_of,
    axis_back,
    axis_last,
    axis_of,
    delivered,
    flattened,
    target,
    type_of,
)
from vyre_algorithms.buckets import sort_by_buckets, sort_by_splitters
from vyre_algorithms.launches import beside, counted_up, has_lanes, launch, mapped, run_graph, zeros_beside
from vyre_algorithms.merges import Comparison, comparison, record_merges
from vyre_algorithms.move import take, take_few
from vyre_algorithms.order import KeyOrder, KeyType, bits_of, of_bits
from vyre_algorithms.radix import is_in_order, record_passes
from vyre_algorithms.short_sorts import serial_sort, sort_short_rows
from vyre_algorithms.traced import TracedFunction
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.recorded import RecordedRange
from vyre_driver.tune.distribution import (
    DIGIT,
    SAMPLE,
    SERIAL,
    Distribution,
    SortBackend,
    digits_of,
    select_sort_backend,
    varying_bits,
)
from vyre_foundation import Value
from vyre_foundation.dtype import i64

SERIAL_BESIDE = 1 << 9
"""Keys that one invocation sorts where invocations run side by side; workgroups sort more. Estimated, not measured."""


def sort(
    x: object,
    /,
    axis: int = -1,
    *,
    descending: bool = False,
    before: Comparison | None = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Sort the elements along an axis.

    Args:
        x: An array of any type. Floats are in the total order of IEEE 754: −0 is before +0, and NaNs are at the ends,
            by their signs.
        axis: The axis to sort along.
        descending: Whether the greatest element is first.
        before: A comparison that replaces the order of the type: a function of two values of the language that returns
            a bool, whether the first sorts before the second.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`, with the same bits in another order.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    which = axis_of(axis, array.ndim)
    if out is not None:
        target(out, [array], type_of(array), array.shape)
    traced = comparison(before, type_of(array), descending)
    if not array.size:
        return delivered(array.copy(), out)
    rows = axis_last(array, which)
    flat = flattened(rows)
    if before is None:
        found = of_bits(sort_bits(flat, False, descending, rows.shape[-1], backend), type_of(array))
    else:
        found = take(flat, places_in_rows(flat, rows.shape[-1], descending, traced, backend), backend)
    return delivered(axis_back(found.reshape(rows.shape), which), out)


def argsort(
    x: object,
    /,
    axis: int = -1,
    *,
    descending: bool = False,
    before: Comparison | None = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Find the indices that sort the elements along an axis; equal elements keep their order.

    Args:
        x: As for `sort`.
        axis: As for `sort`.
        descending: As for `sort`.
        before: As for `sort`.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array of int64 in the shape of `x`.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    which = axis_of(axis, array.ndim)
    if out is not None:
        target(out, [array], i64, array.shape)
    traced = comparison(before, type_of(array), descending)
    if not array.size:
        return delivered(zeros_beside(array, array.shape, i64), out)
    rows = axis_last(array, which)
    places = places_in_rows(flattened(rows), rows.shape[-1], descending, traced, backend)
    found = indices_in_rows(places, rows.shape[-1], backend) if rows.ndim > 1 else places.astype(np.int64)
    return delivered(axis_back(found.reshape(rows.shape), which), out)


def sort_pairs(
    keys: object,
    values: object,
    /,
    axis: int = -1,
    *,
    descending: bool = False,
    before: Comparison | None = None,
    backend: Backend = None,
) -> tuple[Array, Array]:
    """Sort keys along an axis, and values with them; pairs with equal keys keep their order.

    Args:
        keys: An array of any type.
        values: An array in the shape of `keys`. If `keys` has one axis, each value may be an array: `values` has as
            many elements on its first axis.
        axis: The axis of the keys to sort along.
        descending: As for `sort`.
        before: As for `sort`, of keys.
        backend: As for `vyre.run`.

    Returns:
        The keys and the values.

    Raises:
        InvalidInput: The arrays do not fit each other, or an argument is invalid.
    """
    array, with_them = array_of(keys, "keys"), array_of(values, "values")
    for given, name in ((array, "keys"), (with_them, "values")):
        type_of(given, name)  # which refuses other types
    which = axis_of(axis, array.ndim)
    if with_them.shape[: array.ndim] != array.shape or (array.ndim > 1 and with_them.ndim > array.ndim):
        needed = f"the shape {array.shape}" if array.ndim > 1 else f"{array.size} elements on the first axis"
        raise InvalidInput("values", needed=needed, got=f"the shape {with_them.shape}", fix="pass a value for each key")
    traced = comparison(before, type_of(array), descending)
    if not array.size:
        return array.copy(), with_them.copy()
    rows = axis_last(array, which)
    places = places_in_rows(flat := flattened(rows), rows.shape[-1], descending, traced, backend)
    if array.ndim == 1:
        return take_few(flat, places, backend), take_few(with_them, places, backend)
    found = (take(each, places, backend) for each in (flat, flattened(axis_last(with_them, which))))
    ordered, moved = (axis_back(each.reshape(rows.shape), which) for each in found)
    return ordered, moved


def places_in_rows(
    array: Array, length: int, descending: bool, before: TracedFunction | None, backend: Backend
) -> Array:
    """The indices, as u32, that sort a vector in rows of `length`; it is not empty."""
    if before is None:
        return sort_bits(array, True, descending, length, backend)
    parameters = (type_of(array), before, descending, array.size, length)
    return run_graph(record_merges, parameters, {"x": array}, backend)["places"]


def indices_in_rows(places: Array, length: int, backend: Backend) -> Array:
    """The indices in rows of `length`, as i64, of places in the vector of all rows."""
    return mapped(_in_row, i64, [places, beside(places, np.array([length], np.uint32))], backend)


def _in_row(place: Value, length: Value) -> Value:
    return (place % length).cast(i64)


def sort_bits(
    array: Array, has_places: bool, descending: bool, length: int, backend: Backend, *, most: int | None = None
) -> Array:
    """The bits of an array sorted in rows of `length`, or with `has_places` the indices that sort it.

    `most` is a number that no element of an unsigned array exceeds, if one is known.
    """
    dtype = type_of(array)
    key_type, keys = KeyType.of(dtype, descending=descending), bits_of(array, dtype)
    is_wide = has_lanes([keys], backend)
    few = SERIAL_BESIDE if is_wide else SERIAL
    if length == array.size <= few and not isinstance(keys, RecordedRange):
        return launch(serial_sort(key_type, has_places), {"keys": keys}, 1, backend)["found"]
    if length < array.size:
        found = sort_short_rows(keys, key_type, has_places, length, backend)
        if found is not None:
            return found
        if not has_places:
            return take(keys, sort_bits(array, True, descending, length, backend), backend)
    width = key_type.bits.bits
    if not isinstance(keys, np.ndarray):  # whose bits the host does not see
        digits = _digits((1 << (width if most is None else most.bit_length())) - 1, width)
        parameters = (key_type, has_places, array.size, length, digits, width - 1, is_wide)
        return run_graph(record_passes, parameters, {"keys": keys}, backend)["found"]
    if length == array.size and not is_wide and is_in_order(keys, key_type, backend):
        return counted_up(array.size) if has_places else keys.copy()
    distribution, sign = _distribution(array, keys, key_type.order)
    sort_backend = select_sort_backend(distribution, has_buckets=length == array.size and not is_wide)
    if sort_backend is SortBackend.BUCKETS:
        found = sort_by_buckets(keys, key_type, has_places, distribution.varying, backend, sign)
        if found is not None:
            return found
    elif sort_backend is SortBackend.SPLITTERS:
        found = sort_by_splitters(keys, key_type, has_places, backend)
        if found is not None:
            return found
    # Large arrays run without a compiled graph, which would keep three times their memory for each size.
    parameters = (key_type, has_places, array.size, length, _digits(distribution.varying, width), sign, is_wide)
    return run_graph(record_passes, parameters, {"keys": keys}, backend, is_short=True)["found"]


def _digits(varying: int, width: int) -> tuple[int, ...]:
    """The first bits of the digits in which keys differ; of one at least, because the keys must move."""
    return digits_of(varying, width) or (0,)


def _distribution(array: HostArray, keys: HostArray, order: KeyOrder) -> tuple[Distribution, int]:
    """The distribution of the keys of an array, with all bits in which they differ; and the sign bit of signed ones."""
    width, sample = 8 * keys.itemsize, Distribution.of(keys)
    varying, sign = (1 << width) - 1, width - 1
    if not sample.varies_throughout:
        differing = varying_bits(keys)
        # Floats of both signs differ in all bits, as they are ordered.
        if order is not KeyOrder.FLOAT or differing.bit_length() < width:
            varying = differing
    if order is KeyOrder.SIGNED:
        has_signs, sign = varying >> sign, _sign_bit(array)
        varying = has_signs << sign | varying & (1 << sign) - 1
    return sample if varying == sample.varying else Distribution.of(keys, varying), sign


def _sign_bit(array: HostArray) -> int:
    """The lowest bit that is a copy of the sign in all signed integers; the sign if a sample has no digit of copies."""
    sign = 8 * array.itemsize - 1
    for numbers in (array[:: -(-array.size // SAMPLE)], array):
        length = max(int(numbers.max()), ~int(numbers.min())).bit_length()
        if length > sign - DIGIT:
            return sign
    return length
