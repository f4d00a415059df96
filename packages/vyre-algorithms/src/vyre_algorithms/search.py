"""Searching: places in sorted arrays, and the greatest elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import Array, Backend, array_of, contiguous, count, type_of, vector
from vyre_algorithms.choose import FEW, Choice, Elements, choose
from vyre_algorithms.count import Binning, count_bins
from vyre_algorithms.launches import launch, words, zeros_beside
from vyre_algorithms.move import gather
from vyre_algorithms.order import KeyOrder, bits_of, bits_type
from vyre_algorithms.sorts import argsort
from vyre_driver import DeviceArray
from vyre_driver.errors import InvalidInput
from vyre_foundation import DType, Program, Value, constant, program, select, u32
from vyre_foundation.dtype import i64
from vyre_foundation.functions import min as least

GROUP = 64
LEADING = 11
"""Leading bits of the keys by which `top_k` finds candidates."""


def searchsorted(x: object, values: object, /, side: str = "left", *, backend: Backend = None) -> Array:
    """Find where values go in a sorted array.

    Args:
        x: An array with one axis, ascending in the order of `sort`.
        values: An array of the same type.
        side: "left" for the first place that keeps the order, "right" for the last.
        backend: As for `vyre.run`.

    Returns:
        An array of int64 in the shape of `values`.

    Raises:
        InvalidInput: The types differ, or an argument is of another kind.
    """
    array, wanted = vector(x), array_of(values, "values")
    dtype = type_of(array)
    if type_of(wanted) is not dtype:
        fix = "convert one of the arrays with .astype(…)"
        raise InvalidInput("values", needed=f"an array of {dtype}", got=f"one of {type_of(wanted)}", fix=fix)
    if side not in ("left", "right"):
        raise InvalidInput("side", needed="'left' or 'right'", got=repr(side), fix="pass one of them")
    if not array.size or not wanted.size:
        return zeros_beside(wanted, wanted.shape, i64)
    sought = contiguous(wanted).reshape(-1)
    given = {"x": bits_of(array, dtype), "values": bits_of(sought, dtype), "steps": words(int(array.size).bit_length())}
    search = _search(KeyOrder.of(dtype), bits_type(dtype), side == "right")
    found = launch(search, given, -(-sought.size // GROUP), backend)["places"]
    return found.astype(np.int64).reshape(wanted.shape)


def top_k(x: object, k: int, /, *, largest: bool = True, backend: Backend = None) -> tuple[Array, Array]:
    """Find the greatest elements, the greatest first.

    Args:
        x: An array with one axis, of any type, in the order of `sort`.
        k: How many.
        largest: Whether the greatest are wanted, or else the least, the least first.
        backend: As for `vyre.run`.

    Returns:
        The elements, and their indices, of int64. Of equal elements those with lower indices come first.

    Raises:
        InvalidInput: There are fewer than `k` elements, or an argument is of another kind.
    """
    array = vector(x)
    number = count(k, "k", array.size)
    if not number:
        return array[:0], zeros_beside(array, (0,), i64)
    if isinstance(array, DeviceArray) or array.size <= FEW:
        order = argsort(array, descending=largest, backend=backend)[:number]
        return gather(array, order, backend=backend), order
    dtype = type_of(array)
    shape = (KeyOrder.of(dtype), bits_type(dtype), largest)
    bits = bits_of(array, dtype)
    counts = count_bins(_leading(*shape), bits, np.zeros(1, np.uint32), 1 << LEADING, backend)
    # Keys are smaller the earlier an element comes: the bins up to this one have `k` elements or more.
    bound = np.searchsorted(np.cumsum(counts, dtype=np.int64), number).astype(np.uint32).reshape(1)
    places = choose(_among(*shape), [bits, bound], backend, has_places=True)
    candidates = array[places]
    order = argsort(candidates, descending=largest, backend=backend)[:number]
    return candidates[order], places[order].astype(np.int64)


def _leading_bits(order: KeyOrder, bits: Value, is_falling: bool) -> Value:
    key = order.key(bits, descending=is_falling)
    return (key >> max(0, key.dtype.bits - LEADING)).cast(u32)


@lru_cache(maxsize=64)
def _leading(order: KeyOrder, bits: DType, is_falling: bool) -> Binning:
    return lambda p, element, table: _leading_bits(order, element, is_falling)


@lru_cache(maxsize=64)
def _among(order: KeyOrder, bits: DType, is_falling: bool) -> Choice:
    def is_candidate(sources: Sequence[Elements], index: Value) -> Value:
        return _leading_bits(order, sources[0][index], is_falling) <= sources[1][0]

    return is_candidate


@lru_cache(maxsize=256)
def _search(order: KeyOrder, bits: DType, is_right: bool) -> Program:
    """Halve the range in which the place of each value is, as often as the length of the array demands."""
    with program("search", GROUP) as p:
        x, values = p.read("x", bits), p.read("values", bits)
        steps = p.uniform("steps", u32, 1)
        places = p.write("places", u32, like=values)
        key = p.let(order.key(values[p.global_id(0)]))
        low, high = p.var(0, u32), p.var(x.length)
        with p.range(least(steps[0], constant(u32, 32))):
            middle = p.let((low + high) >> 1)
            there = p.let(order.key(x[middle]))
            is_below = p.let((low < high) & ((there <= key) if is_right else (there < key)))
            low.set(select(is_below, middle + 1, low))
            high.set(select(is_below, high, middle))
        places[p.global_id(0)] = low
    return p.build()
