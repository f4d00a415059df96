"""Sorts by one invocation: of a whole array that is short, and of each short row of an array."""

from __future__ import annotations

from functools import lru_cache

from vyre_algorithms.arguments import Array, Backend
from vyre_algorithms.launches import launch, runs_loops, slots_beside, words
from vyre_algorithms.order import KeyType
from vyre_algorithms.radix import DIGITS
from vyre_driver.tune.distribution import DIGIT
from vyre_foundation import Array as Buffer, LengthOf, Program, ProgramBuilder, Value, constant, program, select, u32
from vyre_foundation.dtype import bool_
from vyre_foundation.functions import eq, max as greatest, min as least, sub_sat

ROWS_IN_LOOPS, ROWS_BESIDE = 16, 64
"""Rows that a workgroup sorts, an invocation each: where a worker runs them one after the other, a vector of them."""
LENGTHS_IN_LOOPS, LENGTHS_BESIDE = (16, 128, 1024), (16, 64)
"""Elements for which an invocation has memory, in a program that sorts rows; it is cleared, so the least that does."""


def sort_short_rows(keys: Array, key_type: KeyType, has_places: bool, length: int, backend: Backend) -> Array | None:
    """Keys sorted in rows of `length`, or the indices that sort them; None if rows are too long for that."""
    in_loops = runs_loops([keys], backend)
    lengths, group = (LENGTHS_IN_LOOPS, ROWS_IN_LOOPS) if in_loops else (LENGTHS_BESIDE, ROWS_BESIDE)
    if length > lengths[-1]:
        return None
    made = _sort_rows(key_type, has_places, next(most for most in lengths if length <= most), group)
    grid = -(-keys.size // (length * group))
    return launch(made, {"keys": keys, "length": words(length)}, grid, backend)["found"]


@lru_cache(maxsize=256)
def _sort_rows(key_type: KeyType, has_places: bool, most: int, group: int) -> Program:
    """Each row, of `most` elements at most, sorted by one invocation: all rows compare the same places (Batcher).

    These are the comparisons of Knuth's Algorithm 5.2.2M for `most` elements, without those of elements behind the row.
    Equal keys are compared by their places, if these are wanted.
    """
    with program("sort_rows", group) as p:
        keys, length = p.read("keys", key_type.bits), p.let(least(p.uniform("length", u32, 1)[0], most))
        found = p.write("found", u32 if has_places else key_type.bits, like=keys)
        own = p.private("own", key_type.bits, most)
        places = p.private("places", u32, most) if has_places else None

        def exchange(i: Value, j: Value) -> None:
            a, b = p.let(own[i]), p.let(own[j])
            if places is None:
                own[i], own[j] = least(a, b), greatest(a, b)
                return
            first, second = p.let(places[i]), p.let(places[j])
            is_after = p.let((b < a) | (eq(a, b) & (second < first)))
            own[i], own[j] = select(is_after, b, a), select(is_after, a, b)
            places[i], places[j] = select(is_after, second, first), select(is_after, first, second)

        begin = p.let(p.global_id(0) * length)
        with p.if_(begin < keys.length):
            with p.range(length) as k:
                own[k] = key_type.key(keys[begin + k])
                if places is not None:
                    places[k] = begin + k
            steps = (most - 1).bit_length()
            with p.range(steps) as step, p.range(step + 1) as turn:
                width = p.let(constant(u32, 1) << (steps - 1 - step))
                offset = p.let(select(turn == 0, constant(u32, 0), width))
                distance = p.let(select(turn == 0, width, (constant(u32, 1) << (steps - turn)) - width))
                last = p.let(sub_sat(length, distance))
                runs = p.let((sub_sat(last, offset) + (2 * width - 1)) // (2 * width))
                with p.range(least(runs, most // 2)) as run:
                    first = p.let(offset + run * 2 * width)
                    with p.range(first, least(first + width, last)) as k:
                        exchange(k, k + distance)
            with p.range(length) as k:
                found[begin + k] = key_type.element(own[k]) if places is None else places[k]
    return p.build()


def first_of_rows(keys: Array, key_type: KeyType, number: int, length: int, backend: Backend) -> Array:
    """The indices of the first `number` keys of each row of `length`, in order."""
    rows = keys.size // length
    given = {"keys": keys, "length": words(length), "slots": slots_beside(keys, rows * number)}
    return launch(_first_of_rows(key_type, number), given, rows, backend)["found"]


@lru_cache(maxsize=256)
def _first_of_rows(key_type: KeyType, number: int) -> Program:
    """An invocation for each row has the first keys so far in order, and moves those that a key is before."""
    with program("first_of_rows", 1) as p:
        keys, length, slots = p.read("keys", key_type.bits), p.uniform("length", u32, 1), p.read("slots", bool_)
        found = p.write("found", u32, like=slots)
        most = max(number, 2)  # with room for one, floats are selected without a branch: 4 times as long
        own, places = p.private("own", key_type.bits, most), p.private("places", u32, most)
        begin = p.let(p.global_id(0) * length[0])
        # The estimate of the launch's time does not know the uniform: the number of keys is its bound.
        with p.range(least(length[0], keys.length)) as k:
            key = p.let(key_type.key(keys[begin + k]))
            with p.if_((k < most) | (key < own[most - 1])):
                place = p.var(least(k, most - 1))
                with p.range(most - 1):
                    with p.if_((place == 0) | (own[place - 1] <= key)):
                        p.break_()
                    own[place], places[place] = own[place - 1], places[place - 1]
                    place -= 1
                own[place], places[place] = key, begin + k
        with p.range(number) as k:
            found[p.global_id(0) * number + k] = places[k]
    return p.build()


@lru_cache(maxsize=256)
def serial_sort(key_type: KeyType, has_places: bool) -> Program:
    """All passes over a small array by one invocation."""
    with program("sort_serial", 1) as p:
        keys = p.read("keys", key_type.bits)
        result = p.write("found", u32 if has_places else key_type.bits, LengthOf("keys"))
        sort_serially(p, keys, result, key_type, has_places=has_places)
    return p.build()


def sort_serially(
    p: ProgramBuilder,
    keys: Buffer,
    result: Buffer,
    key_type: KeyType,
    *,
    has_places: bool = False,
    length_of: str = "keys",
) -> None:
    """Have one invocation sort keys, or with `has_places` their indices, into a buffer of their number.

    That is the length of the input `length_of`. The digits of all passes are counted first: a pass whose keys have one
    digit moves nothing, and is left out.
    """
    length = keys.length
    # Elements move from one half to the other.
    halves = p.scratch("halves", result.dtype, LengthOf(length_of, times=2))
    counts = [p.private(f"counts{n}", u32, DIGITS) for n in range(keys.dtype.bits // DIGIT)]

    def digit(key: Value, n: int) -> Value:
        return (key_type.key(key) >> (n * DIGIT)).cast(u32) & (DIGITS - 1)

    with p.range(length) as k:
        key = p.let(keys[k])
        halves[k] = k if has_places else key
        for n, counted in enumerate(counts):
            d = p.let(digit(key, n))
            counted[d] = counted[d] + 1
    first, source = p.let(keys[0]), p.var(0, u32)
    for n, counted in enumerate(counts):
        with p.if_(counted[digit(first, n)] != length):
            here, there = p.let(source.get()), p.let(length - source)
            before = p.var(there)
            with p.range(DIGITS) as d:
                number = p.let(counted[d])
                counted[d] = before
                before += number
            with p.range(length) as k:
                element = p.let(halves[here + k])
                d = p.let(digit(keys[element] if has_places else element, n))
                place = p.let(counted[d])
                halves[place] = element
                counted[d] = place + 1
            source.set(there)
    with p.range(length) as k:
        result[k] = halves[source + k]
