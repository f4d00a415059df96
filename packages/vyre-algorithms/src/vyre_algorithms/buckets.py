"""Sorting by buckets: all keys move to buckets, and one invocation sorts each bucket.

A bucket has the keys with one leading digit, and is sorted by the others. Or a sample of the keys shows where buckets
of about equal size begin. In these, the leading bits of the distance of a key from the least of its bucket say about
where it belongs, and exchanges with neighbours bring it to its place. If many keys have the same such bits, or after
many exchanges, all bits of the distances are sorted by digits.

For devices where invocations run one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import Array, Backend, HostArray, type_of
from vyre_algorithms.launches import launch, words
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.order import KeyOrder, KeyType
from vyre_algorithms.radix import (
    DIGITS,
    LEADING,
    DigitOf,
    chunk_length,
    count_digits,
    move_by_digit,
    pass_inputs,
    write_zeros,
)
from vyre_algorithms.scans import scan_rows
from vyre_driver.tune.distribution import CROWDED_SHARE, DIGIT, digits_of, sampled
from vyre_foundation import Array as Buffer, LengthOf, Program, ProgramBuilder, Value, program, select, u32
from vyre_foundation.dtype import u64
from vyre_foundation.functions import clz, max as greatest, min as least, sub_sat

MOST_CROWDED = 1 << 20
"""Bytes of the keys of a bucket at most, where one invocation sorts it."""
BUCKET = 1 << 9
"""Keys of a bucket that a sample divides, on average, at least."""
PLACED = 12
"""Bits that move the keys of a bucket at once. An invocation has a count for each number that they may be."""
TURNS, CLOSE = 16, 32
"""Exchanges of each key with both its neighbours, at most, where no more than `CLOSE` keys have the same such bits."""


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


def sort_by_splitters(keys: HostArray, key_type: KeyType, has_places: bool, backend: Backend) -> Array | None:
    """As `sort_by_buckets`, in buckets of about equal size; None if one has too many of a sample, or of the keys."""
    buckets = min(DIGITS, -(-keys.size // BUCKET))
    splitters = _splitters(np.sort(key_type.host_keys(sampled(keys))), buckets, MOST_CROWDED / keys.nbytes)
    if splitters is None:
        return None
    given: dict[str, Array] = {"keys": keys, **pass_inputs(key_type, 0, keys.size, key_type.bits.bits - 1), **splitters}
    given, bounds = _bounds(key_type, given, DigitOf.SPLITTERS, backend)
    most = int(np.diff(bounds).max())
    if most * keys.itemsize > MOST_CROWDED:
        return None
    chunk = chunk_length(keys.size)
    made = move_by_digit(key_type, chunk, has_places, digit_of=DigitOf.SPLITTERS)
    moved = launch(made, given, -(-keys.size // chunk), backend)
    given = {"keys": moved["moved"], "bounds": bounds}
    if has_places:
        given["places"] = moved["moved_places"]
    made = _sort_split(key_type, has_places, 1 << most.bit_length())
    return launch(made, given, buckets, backend)["places" if has_places else "keys"]


def _splitters(sample: HostArray, buckets: int, most: float) -> dict[str, Array] | None:
    """What `DigitOf.SPLITTERS` takes, so that buckets have about as many of a sorted sample; None if one is crowded.

    The share of one with a single key of the sample may be up to `most`.
    """
    distances = sample - sample[0]
    shift = max(0, int(distances[-1]).bit_length() - LEADING.bit_length() + 1)
    leading = (distances >> distances.dtype.type(shift)).astype(np.intp)
    first = leading[np.arange(1, buckets) * sample.size // buckets]
    table = np.repeat(np.arange(buckets, dtype=np.uint8), np.diff(first, prepend=0, append=LEADING))
    shares = np.bincount(table[leading], minlength=buckets) / sample.size
    is_new = np.append(True, sample[1:] != sample[:-1])
    is_mixed = np.bincount(table[leading[is_new]], minlength=buckets) > 1
    if (shares > np.where(is_mixed, max(CROWDED_SHARE, 2 / buckets), most)).any():
        return None
    return {"table": table, "low": sample[:1], "shift": words(shift)}


def bounds_of_buckets(
    keys: Array, key_type: KeyType, shift: int, backend: Backend, sign: int = 0, digit_of: DigitOf = DigitOf.KEY
) -> tuple[dict[str, Array], Array]:
    """What `move_to_buckets` takes, and where the bucket of each digit from bit `shift` on begins.

    `sign` is the sign bit of signed keys.
    """
    return _bounds(key_type, {"keys": keys, **pass_inputs(key_type, shift, keys.size, sign)}, digit_of, backend)


def _bounds(
    key_type: KeyType, given: dict[str, Array], digit_of: DigitOf, backend: Backend
) -> tuple[dict[str, Array], Array]:
    """As `bounds_of_buckets`, from what the program that counts takes."""
    size = given["keys"].size
    chunk = chunk_length(size, digit_of)
    chunks = -(-size // chunk)
    counts = launch(count_digits(key_type, chunk, digit_of=digit_of), given, chunks, backend)["counts"]
    (starts,) = scan_rows(reduction_of("sum", u32, u32), [counts], counts.size, True, backend)
    return {**given, "starts": starts}, starts[: digit_of.digits * chunks + 1 : chunks].copy()


def move_to_buckets(
    key_type: KeyType, given: dict[str, Array], backend: Backend, *, has_places: bool = False
) -> dict[str, Array]:
    """The keys in their buckets, as ``moved``, and their indices, as ``moved_places``, if they are wanted."""
    size = given["keys"].size
    chunk = chunk_length(size)
    return launch(move_by_digit(key_type, chunk, has_places), given, -(-size // chunk), backend)


def values_in_buckets(keys: Array, values: Array, digit_of: DigitOf, backend: Backend) -> Array:
    """Values in the order of their keys, which are digits of u32; those of equal keys in their order."""
    key_type = KeyType(u32, KeyOrder.UNSIGNED)
    given, _ = bounds_of_buckets(keys, key_type, 0, backend, digit_of=digit_of)
    chunk = chunk_length(keys.size, digit_of)
    made = move_by_digit(key_type, chunk, digit_of=digit_of, values_type=type_of(values))
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


@lru_cache(maxsize=256)
def _sort_split(key_type: KeyType, has_places: bool, most: int) -> Program:
    """Each bucket, of `most` keys at most, sorted by one invocation."""
    with program("sort_split", 1) as p:
        keys, bounds = p.read_write("keys", key_type.bits), p.read("bounds", u32)
        given = [keys, p.read_write("places", u32, like=keys)] if has_places else [keys]
        own = [p.scratch(f"own{n}", buffer.dtype, LengthOf("keys")) for n, buffer in enumerate(given)]
        first = p.let(bounds[p.global_id(0)])
        number = p.let(least(bounds[p.global_id(0) + 1] - first, most))
        low, high = p.var(keys[first]), p.var(keys[first])
        with p.range(number) as k:
            low.set(least(low, keys[first + k]))
            high.set(greatest(high, keys[first + k]))
        distance = p.let(high - low)
        bucket = _Bucket(p, first, number, p.let(low.get()), distance)
        bits = p.let(least(64 - clz(distance.cast(u64)).cast(u32), keys.dtype.bits))
        shift = p.let(sub_sat(bits, least(32 - clz(number), PLACED)))
        write_zeros(p, own, first, number)  # see `move_by_digit`
        most_alike = bucket.move(given, own, shift)
        is_mixed = p.var(shift != 0)
        with p.range(TURNS):
            with p.if_(~is_mixed | (most_alike > CLOSE)):
                p.break_()
            is_mixed.set(False)
            for parity in range(2):
                with p.range(least(sub_sat(number, parity) // 2, most // 2)) as k:
                    here = p.let(first + parity + 2 * k)
                    is_mixed.set(is_mixed | _exchange(p, own, here))
        with p.if_(is_mixed), p.range(0, bits, 2 * PLACED) as low_bit:
            bucket.move(own, given, low_bit)
            # Behind the last digit: those in order stay so when they move by their highest bit.
            bucket.move(given, own, p.let(least(low_bit + PLACED, keys.dtype.bits - 1)))
        with p.range(number) as k:
            element = own[-1][first + k]
            given[-1][first + k] = element if has_places else key_type.element(element)
    return p.build()


def _exchange(p: ProgramBuilder, own: Sequence[Buffer], here: Value) -> Value:
    """Put two neighbours in order, of which the first has the keys. The result says whether they were not."""
    pairs = [(p.let(buffer[here]), p.let(buffer[here + 1])) for buffer in own]
    first, second = pairs[0]
    is_after = p.let(second < first)
    for buffer, (a, b) in zip(own, pairs, strict=True):
        buffer[here], buffer[here + 1] = select(is_after, b, a), select(is_after, a, b)
    return is_after


class _Bucket:
    """The keys of a bucket, and places with them."""

    def __init__(self, p: ProgramBuilder, first: Value, number: Value, low: Value, distance: Value) -> None:
        self._p, self._first, self._number, self._low, self._distance = p, first, number, low, distance
        self._counted = p.private("counted", u32, 1 << PLACED)

    def move(self, source: Sequence[Buffer], target: Sequence[Buffer], shift: Value) -> Value:
        """Move them to the order of a digit of their distances from the least key. The most that have one digit."""
        p, counted = self._p, self._counted

        def digit(key: Value) -> Value:
            return p.let(((key - self._low) >> shift.cast(key.dtype)).cast(u32) & ((1 << PLACED) - 1))

        highest = p.let((self._distance >> shift.cast(self._distance.dtype)).cast(u64))
        digits = p.let(least(highest, (1 << PLACED) - 1).cast(u32) + 1)
        with p.range(digits) as d:
            counted[d] = 0
        with p.range(self._number) as k:
            d = digit(source[0][self._first + k])
            counted[d] = counted[d] + 1
        before, most = p.var(self._first), p.var(0, u32)
        with p.range(digits) as d:
            here = p.let(counted[d])
            most.set(greatest(most, here))
            counted[d] = before
            before += here
        with p.range(self._number) as k:
            elements = [p.let(buffer[self._first + k]) for buffer in source]
            d = digit(elements[0])
            place = p.let(counted[d])
            for buffer, element in zip(target, elements, strict=True):
                buffer[place] = element
            counted[d] = place + 1
        return p.let(most.get())
