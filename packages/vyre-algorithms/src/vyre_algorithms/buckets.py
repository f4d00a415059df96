"""Sorting by buckets: all keys move to the bucket of their leading digit, and one invocation sorts each bucket.

For devices where invocations run one after another.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import Array, Backend, type_of
from vyre_algorithms.launches import launch
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.order import KeyOrder, KeyType
from vyre_algorithms.radix import DIGITS, chunk_length, count_digits, move_by_digit, pass_inputs, write_zeros
from vyre_algorithms.scans import scan_rows
from vyre_driver.tune.distribution import DIGIT, digits_of
from vyre_foundation import Array as Buffer, LengthOf, Program, Value, program, u32
from vyre_foundation.functions import min as least

MOST_CROWDED = 1 << 20
"""Bytes of the keys of a bucket at most, where one invocation sorts it."""


def sort_by_buckets(
    keys: Array, key_type: KeyType, has_places: bool, varying: int, backend: Backend, sign: int = 0
) -> Array | None:
    """A vector of keys sorted, or the indices that sort it; None if too many keys have one leading digit.

    Keys differ in the bits `varying`, and `sign` is the sign bit of signed keys. A cache holds a bucket.
    """
    shift = max(0, varying.bit_length() - DIGIT)
    given, bounds = bounds_of_buckets(keys, key_type, shift, backend, sign)
    most = int(np.diff(bounds).max())
    if most * keys.itemsize > MOST_CROWDED:
        return None
    moved = move_to_buckets(key_type, given, backend, has_places=has_places)
    digits = tuple(first for first in digits_of(varying, key_type.bits.bits) if first < shift)
    if not digits:
        return moved["moved_places" if has_places else "moved"]
    given = {"keys": moved["moved"], "bounds": bounds}
    if has_places:
        given["places"] = moved["moved_places"]
    made = _sort_each(key_type, has_places, digits, 1 << (most - 1).bit_length())
    return launch(made, given, DIGITS, backend)["found"]


def bounds_of_buckets(
    keys: Array, key_type: KeyType, shift: int, backend: Backend, sign: int = 0
) -> tuple[dict[str, Array], Array]:
    """What `move_to_buckets` takes, and where the bucket of each digit from bit `shift` on begins.

    `sign` is the sign bit of signed keys.
    """
    chunk = chunk_length(keys.size)
    chunks = -(-keys.size // chunk)
    given: dict[str, Array] = {"keys": keys, **pass_inputs(key_type, shift, keys.size, sign)}
    counts = launch(count_digits(key_type, chunk), given, chunks, backend)["counts"]
    (starts,) = scan_rows(reduction_of("sum", u32, u32), [counts], counts.size, True, backend)
    return {**given, "starts": starts}, starts[: DIGITS * chunks + 1 : chunks].copy()


def move_to_buckets(
    key_type: KeyType, given: dict[str, Array], backend: Backend, *, has_places: bool = False
) -> dict[str, Array]:
    """The keys in their buckets, as ``moved``, and their indices, as ``moved_places``, if they are wanted."""
    size = given["keys"].size
    chunk = chunk_length(size)
    return launch(move_by_digit(key_type, chunk, has_places), given, -(-size // chunk), backend)


def values_in_buckets(keys: Array, values: Array, backend: Backend) -> Array:
    """Values in the order of their keys, of u32 below `DIGITS`; those of equal keys in their order."""
    key_type = KeyType(u32, KeyOrder.UNSIGNED)
    given, _ = bounds_of_buckets(keys, key_type, 0, backend)
    chunk = chunk_length(keys.size)
    made = move_by_digit(key_type, chunk, values_type=type_of(values))
    return launch(made, {**given, "values": values}, -(-keys.size // chunk), backend)["moved"]


@lru_cache(maxsize=256)
def _sort_each(key_type: KeyType, has_places: bool, digits: tuple[int, ...], most: int) -> Program:
    """Each bucket, of `most` elements at most, sorted by some digits, the first of them first, by one invocation."""
    with program("sort_buckets", 1) as p:
        keys, bounds = p.read("keys", key_type.bits), p.read("bounds", u32)
        places = p.read("places", u32, like=keys) if has_places else None
        found = p.write("found", u32 if has_places else key_type.bits, LengthOf("keys"))
        source: list[Buffer] = [keys] if places is None else [keys, places]
        spares = [
            [p.scratch(f"spare{n}_{m}", buffer.dtype, LengthOf("keys")) for m, buffer in enumerate(source)]
            for n in range(min(2, len(digits) - 1))
        ]
        counts = [p.private(f"counts{n}", u32, DIGITS) for n in range(len(digits))]
        first = p.let(bounds[p.global_id(0)])
        number = p.let(least(bounds[p.global_id(0) + 1] - first, most))

        def digit(key: Value, n: int) -> Value:
            return (key_type.key(key) >> digits[n]).cast(u32) & (DIGITS - 1)

        with p.range(number) as k:
            key = p.let(keys[first + k])
            for n, counted in enumerate(counts):
                d = p.let(digit(key, n))
                counted[d] = counted[d] + 1
        before = [p.var(first) for _ in counts]
        with p.range(DIGITS) as d:
            for counted, so_far in zip(counts, before, strict=True):
                here = p.let(counted[d])
                counted[d] = so_far
                so_far += here
        for n, counted in enumerate(counts):
            is_last = n == len(digits) - 1
            target = [found] if is_last else spares[n % 2]
            if n < len(spares) or is_last:  # its memory is used for the first time
                write_zeros(p, target, first, number)
            with p.range(number) as k:
                elements = [p.let(buffer[first + k]) for buffer in source]
                d = p.let(digit(elements[0], n))
                place = p.let(counted[d])
                # The last pass writes the places alone, if they are wanted.
                for buffer, element in zip(target, elements[-len(target) :], strict=True):
                    buffer[place] = element
                counted[d] = place + 1
            source = target
    return p.build()
