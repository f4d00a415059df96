"""Stable sorts: by digits of keys, by networks of comparisons in short rows, or by merging with one of the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Backend,
    HostArray,
    array_of,
    axis_back,
    axis_last,
    axis_of,
    condition,
    delivered,
    flattened,
    function,
    target,
    type_of,
)
from vyre_algorithms.launches import (
    Range,
    Recorder,
    beside,
    has_lanes,
    launch,
    mapped,
    run_graph,
    runs_loops,
    with_grid,
    words,
    zeros_beside,
)
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.move import take, take_few
from vyre_algorithms.order import KeyOrder, bits_of, bits_type, of_bits
from vyre_algorithms.scans import record_scan, scan_rows
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
from vyre_foundation.dtype import i64
from vyre_foundation.functions import eq, max as greatest, min as least, not_, popcount, sub_sat

DIGITS = 1 << DIGIT
FETCHED = 4
"""For each digit, at most so many times the average number of a chunk's elements are fetched ahead."""
CHUNK, CHUNKS, LONG_CHUNK, MOST_CHUNKS = 1 << 12, 1 << 5, 1 << 15, 1 << 10
"""Elements that one invocation moves: `CHUNK` at least. They become more, up to `LONG_CHUNK`, where there are `CHUNKS`
invocations all the same, and more than that only where there would be more than `MOST_CHUNKS` invocations."""
LANES, SUBGROUP, ITEMS = DIGITS, 32, 16
"""Where invocations run side by side: those that move a chunk together, those that rank elements together by votes, and
elements of each of them. The first ones of a chunk belong to the first subgroup."""
TILE = LANES * ITEMS
GROUP = 64
SERIAL_BESIDE = 1 << 9
"""Keys that one invocation sorts where invocations run side by side; workgroups sort more. Estimated, not measured."""
ROWS_IN_LOOPS, ROWS_BESIDE = 16, 64
"""Rows that a workgroup sorts, an invocation each: where a worker runs them one after the other, a vector of them."""
LENGTHS_IN_LOOPS, LENGTHS_BESIDE = (16, 128, 1024), (16, 64)
"""Elements for which an invocation has memory, in a program that sorts rows; it is cleared, so the least that does."""
MOST_CROWDED = 1 << 20
"""Bytes of the keys of a bucket at most, where one invocation sorts it."""

Comparison = Callable[[Value, Value], Value]
BEFORE = "lambda a, b: a < b"


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
    _require_comparison(before, type_of(array), descending)
    if not array.size:
        return delivered(array.copy(), out)
    rows = axis_last(array, which)
    flat = flattened(rows)
    if before is None:
        found = of_bits(by_digits(flat, False, descending, rows.shape[-1], backend), type_of(array))
    else:
        found = take(flat, places_in_rows(flat, rows.shape[-1], descending, before, backend), backend)
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
    _require_comparison(before, type_of(array), descending)
    if not array.size:
        return delivered(zeros_beside(array, array.shape, i64), out)
    rows = axis_last(array, which)
    places = places_in_rows(flattened(rows), rows.shape[-1], descending, before, backend)
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
    _require_comparison(before, type_of(array), descending)
    if not array.size:
        return array.copy(), with_them.copy()
    rows = axis_last(array, which)
    places = places_in_rows(flat := flattened(rows), rows.shape[-1], descending, before, backend)
    if array.ndim == 1:
        return take_few(flat, places, backend), take_few(with_them, places, backend)
    found = (take(each, places, backend) for each in (flat, flattened(axis_last(with_them, which))))
    ordered, moved = (axis_back(each.reshape(rows.shape), which) for each in found)
    return ordered, moved


def places_in_rows(array: Array, length: int, descending: bool, before: Comparison | None, backend: Backend) -> Array:
    """The indices, as u32, that sort a vector in rows of `length`; it is not empty."""
    if before is None:
        return by_digits(array, True, descending, length, backend)
    parameters = (type_of(array), before, descending, array.size, length)
    return run_graph(_record_merges, parameters, {"x": array}, backend)["places"]


def indices_in_rows(places: Array, length: int, backend: Backend) -> Array:
    """The indices in rows of `length`, as i64, of places in the vector of all rows."""
    return mapped(_in_row, i64, [places, beside(places, np.array([length], np.uint32))], backend)


def _in_row(place: Value, length: Value) -> Value:
    return (place % length).cast(i64)


# ── by digits ────────────────────────────────────────────────────────────────────────────────────────────────────────


def by_digits(
    array: Array, has_places: bool, descending: bool, length: int, backend: Backend, *, most: int | None = None
) -> Array:
    """The bits of an array sorted in rows of `length`, or with `has_places` the indices that sort it.

    `most` is a number that no element of an unsigned array exceeds, if one is known.
    """
    dtype = type_of(array)
    order, bits = KeyOrder.of(dtype), bits_type(dtype)
    shape = (order, bits, has_places, descending)
    keys = bits_of(array, dtype)
    is_wide = has_lanes([keys], backend)
    few = SERIAL_BESIDE if is_wide else SERIAL
    if length == array.size <= few and not isinstance(keys, RecordedRange):
        return launch(_serial(*shape), {"keys": keys}, 1, backend)["found"]
    if length < array.size:
        in_loops = runs_loops([keys], backend)
        lengths, group = (LENGTHS_IN_LOOPS, ROWS_IN_LOOPS) if in_loops else (LENGTHS_BESIDE, ROWS_BESIDE)
        if length <= lengths[-1]:
            made = _sort_rows(*shape, next(most for most in lengths if length <= most), group)
            grid = -(-array.size // (length * group))
            return launch(made, {"keys": keys, "length": words(length)}, grid, backend)["found"]
        if not has_places:
            return take(keys, by_digits(array, True, descending, length, backend), backend)
    if not isinstance(keys, np.ndarray):  # whose bits the host does not see
        digits = _digits((1 << (bits.bits if most is None else most.bit_length())) - 1, bits)
        parameters = (*shape, array.size, length, digits, bits.bits - 1, is_wide)
        return run_graph(_record_sort, parameters, {"keys": keys}, backend)["found"]
    varying, sign, sample = (1 << bits.bits) - 1, bits.bits - 1, Distribution.of(keys)
    if not sample.varies_throughout:
        differing = varying_bits(keys)
        # Floats of both signs differ in all bits, as they are ordered.
        if order is not KeyOrder.FLOAT or differing.bit_length() < bits.bits:
            varying = differing
    if order is KeyOrder.SIGNED:
        has_signs, sign = varying >> sign, _sign_bit(array)
        varying = has_signs << sign | varying & (1 << sign) - 1
    if varying != sample.varying:
        sample = Distribution.of(keys, varying)
    if select_sort_backend(sample, has_buckets=length == array.size and not is_wide) is SortBackend.BUCKETS:
        found = by_buckets(keys, shape, varying, backend, sign)
        if found is not None:
            return found
    # Large arrays run without a compiled graph, which would keep three times their memory for each size.
    parameters = (*shape, array.size, length, _digits(varying, bits), sign, is_wide)
    return run_graph(_record_sort, parameters, {"keys": keys}, backend, is_short=True)["found"]


def _digits(varying: int, bits: DType) -> tuple[int, ...]:
    """The first bits of the digits in which keys differ; of one at least, because the keys must move."""
    return digits_of(varying, bits.bits) or (0,)


def _sign_bit(array: HostArray) -> int:
    """The lowest bit that is a copy of the sign in all signed integers; the sign if a sample has no digit of copies."""
    sign = 8 * array.itemsize - 1
    for numbers in (array[:: -(-array.size // SAMPLE)], array):
        length = max(int(numbers.max()), ~int(numbers.min())).bit_length()
        if length > sign - DIGIT:
            return sign
    return length


def by_buckets(
    keys: Array, shape: tuple[KeyOrder, DType, bool, bool], varying: int, backend: Backend, sign: int = 0
) -> Array | None:
    """What `by_digits` gives for a vector of keys that differ in the bits `varying`; None if too many have one digit.

    All keys move once, to the bucket of their leading digit. Then one invocation sorts a bucket, which a cache holds.
    `shape` is the order of the keys, their type, whether indices are wanted, and whether the greatest is first; `sign`
    is the sign bit of signed keys.
    """
    _, bits, has_places, _ = shape
    shift = max(0, varying.bit_length() - DIGIT)
    given, bounds = bounds_of_buckets(keys, shape, shift, backend, sign)
    most = int(np.diff(bounds).max())
    if most * keys.itemsize > MOST_CROWDED:
        return None
    moved = to_buckets(shape, given, backend)
    digits = tuple(first for first in _digits(varying, bits) if first < shift)
    if not digits:
        return moved["moved_places" if has_places else "moved"]
    given = {"keys": moved["moved"], "bounds": bounds}
    if has_places:
        given["places"] = moved["moved_places"]
    return launch(_sort_each(*shape, digits, 1 << (most - 1).bit_length()), given, DIGITS, backend)["found"]


def bounds_of_buckets(
    keys: Array, shape: tuple[KeyOrder, DType, bool, bool], shift: int, backend: Backend, sign: int = 0
) -> tuple[dict[str, Array], Array]:
    """What `to_buckets` takes, and where the bucket of each digit from bit `shift` on begins.

    For devices where invocations run one after another. `shape` and `sign` are as for `by_buckets`.
    """
    order, bits, _, _ = shape
    chunk = _chunk(keys.size)
    chunks = -(-keys.size // chunk)
    given = {"keys": keys, "shift": words(shift), "length": words(keys.size)}
    if order is KeyOrder.SIGNED:
        given["bias"] = _bias(sign, bits)
    counts = launch(_count(*shape, False, False, chunk), given, chunks, backend)["counts"]
    (starts,) = scan_rows(reduction_of("sum", u32, u32), [counts], counts.size, True, backend)
    return {**given, "starts": starts}, starts[: DIGITS * chunks + 1 : chunks].copy()


def to_buckets(
    shape: tuple[KeyOrder, DType, bool, bool], given: dict[str, Array], backend: Backend
) -> dict[str, Array]:
    """The keys in their buckets, as ``moved``, and their indices, as ``moved_places``, if they are wanted."""
    size = given["keys"].size
    chunk = _chunk(size)
    return launch(_move(*shape, False, False, chunk), given, -(-size // chunk), backend)


def values_in_buckets(keys: Array, values: Array, backend: Backend) -> Array:
    """Values in the order of their keys, of u32 below `DIGITS`; those of equal keys in their order.

    For devices where invocations run one after another.
    """
    given, _ = bounds_of_buckets(keys, (KeyOrder.UNSIGNED, u32, False, False), 0, backend)
    chunk = _chunk(keys.size)
    given["values"] = values
    return launch(_move_values(type_of(values), chunk), given, -(-keys.size // chunk), backend)["moved"]


def _chunk(size: int) -> int:
    """How many elements an invocation counts and moves, where invocations run one after another."""
    few, many = (1 << (-(-size // number) - 1).bit_length() for number in (CHUNKS, MOST_CHUNKS))
    return max(CHUNK, min(LONG_CHUNK, few), many)


def _record_sort(
    graph: Recorder,
    order: KeyOrder,
    bits: DType,
    has_places: bool,
    descending: bool,
    size: int,
    length: int,
    digits: tuple[int, ...],
    sign: int,
    is_wide: bool,
) -> None:
    """Record a pass for each of some digits of the keys from the last, and for each digit of the number of the row.

    `sign` is the sign bit of signed keys: all above it are copies. Places move with the keys if they are wanted.
    A chunk is moved by one invocation, or if it `is_wide` by `LANES`.
    """
    keys = graph.input("keys", bits, size)
    places: Range = None
    chunk = TILE if is_wide else _chunk(size)
    count, move = (_count_workgroup, _move_workgroup) if is_wide else (_count, _move)
    grid = with_grid(-(-size // chunk))
    add = reduction_of("sum", u32, u32)
    rows = size // length
    passes = [(shift, False) for shift in digits]
    passes += [(shift, True) for shift in range(0, (rows - 1).bit_length(), DIGIT)]
    for shift, of_row in passes:
        given: dict[str, object] = {"keys": keys, "shift": words(shift), "length": words(length)}
        if order is KeyOrder.SIGNED:
            given["bias"] = _bias(sign, bits)
        if places is not None:
            given["places"] = places
        shape = (order, bits, has_places, descending, places is not None, of_row, chunk)
        counts = graph.dispatch(count(*shape), given, config=grid)["counts"]
        (starts,) = record_scan(graph, add, [counts], len(counts), True, is_wide)
        moved = graph.dispatch(move(*shape), {**given, "starts": starts}, config=grid)
        keys, places = moved["moved"], moved.get("moved_places")
    graph.output("found", keys if places is None else places)


@lru_cache(maxsize=256)
def _bias(sign: int, bits: DType) -> HostArray:
    """What makes signed integers, whose bits from `sign` on are copies, ascending from 0."""
    return np.array([1 << sign], bits.numpy)


class _Pass:
    """What the two programs of a pass share: the chunk of a workgroup, and the digit of an element."""

    def __init__(
        self,
        p: ProgramBuilder,
        order: KeyOrder,
        bits: DType,
        descending: bool,
        has_places: bool,
        of_row: bool,
        chunk: int,
    ) -> None:
        self.keys = p.read("keys", bits)
        self._shift, self._length = p.uniform("shift", u32, 1), p.uniform("length", u32, 1)
        self._bias = p.uniform("bias", bits, 1)[0] if order is KeyOrder.SIGNED else None
        self._places = p.read("places", u32, like=self.keys) if has_places else None
        self._p, self._order, self._descending, self._of_row = p, order, descending, of_row
        self.chunk = p.workgroup_id(0)
        self.chunks = p.num_workgroups(0)
        self.first = p.let(self.chunk * chunk)
        self.last = p.let(least(self.first + chunk, self.keys.length))

    def place(self, index: Value) -> Value:
        """The place in the input of the element that is at an index now."""
        return index if self._places is None else self._p.let(self._places[index])

    def bits(self, index: Value) -> Value:
        """The bits of the key at an index."""
        return self._p.let(self.keys[index])

    def digit(self, bits: Value, index: Value) -> Value:
        """The digit of the key at an index, or of the number of its row."""
        shift = self._shift[0]
        if self._of_row:
            return ((self.place(index) // self._length[0]) >> shift) & (DIGITS - 1)
        key = self._order.key(bits, descending=self._descending, bias=self._bias)
        return (key >> shift.cast(key.dtype)).cast(u32) & (DIGITS - 1)


@lru_cache(maxsize=256)
def _count(
    order: KeyOrder, bits: DType, has_places: bool, descending: bool, from_places: bool, of_row: bool, chunk: int
) -> Program:
    """How often each digit is in each chunk, for all chunks of the first digit, then of the next."""
    with program("sort_count", 1) as p:
        this = _Pass(p, order, bits, descending, from_places, of_row, chunk)
        counts = p.write("counts", u32, LengthOf("keys", times=DIGITS, over=chunk, plus=DIGITS))
        own = p.private("own", u32, DIGITS)
        with p.range(this.first, this.last) as k:
            digit = p.let(this.digit(this.bits(k), k))
            own[digit] = own[digit] + 1
        with p.range(DIGITS) as d:
            counts[d * this.chunks + this.chunk] = own[d]
    return p.build()


@lru_cache(maxsize=256)
def _move(
    order: KeyOrder, bits: DType, has_places: bool, descending: bool, from_places: bool, of_row: bool, chunk: int
) -> Program:
    """Each element to the place that the scanned counts give it: those of a chunk one after another.

    Zeros are written there first, those of one digit together. So processors fetch that memory ahead, and do not wait
    for it element by element. Digits of which there are many more than of others need no such help.
    """
    with program("sort_move", 1) as p:
        this = _Pass(p, order, bits, descending, from_places, of_row, chunk)
        starts = p.read("starts", u32)
        moved = p.write("moved", bits, LengthOf("keys"))
        outputs = [moved]
        if has_places:
            moved_places = p.write("moved_places", u32, LengthOf("keys"))
            outputs.append(moved_places)
        own = p.private("own", u32, DIGITS)
        with p.range(DIGITS) as d:
            at = p.let(d * this.chunks + this.chunk)
            own[d] = starts[at]
            _clear(p, outputs, own[d], least(starts[at + 1] - own[d], chunk * FETCHED // DIGITS))
        with p.range(this.first, this.last) as k:
            key = this.bits(k)
            digit = p.let(this.digit(key, k))
            target = p.let(own[digit])
            moved[target] = key
            if has_places:
                moved_places[target] = this.place(k)
            own[digit] = target + 1
    return p.build()


@lru_cache(maxsize=256)
def _move_values(dtype: DType, chunk: int) -> Program:
    """Each value to the place that the scanned counts give its key, as `_move` moves keys."""
    with program("sort_move_values", 1) as p:
        this = _Pass(p, KeyOrder.UNSIGNED, u32, False, False, False, chunk)
        values, starts = p.read("values", dtype, like=this.keys), p.read("starts", u32)
        moved = p.write("moved", dtype, LengthOf("keys"))
        own = p.private("own", u32, DIGITS)
        with p.range(DIGITS) as d:
            at = p.let(d * this.chunks + this.chunk)
            own[d] = starts[at]
            _clear(p, [moved], own[d], least(starts[at + 1] - own[d], chunk * FETCHED // DIGITS))
        with p.range(this.first, this.last) as k:
            digit = p.let(this.digit(this.bits(k), k))
            target = p.let(own[digit])
            moved[target] = values[k]
            own[digit] = target + 1
    return p.build()


def _clear(p: ProgramBuilder, buffers: Sequence[Buffer], first: Value, number: Value) -> None:
    """Write zeros to a part of buffers."""
    first, number = p.let(first), p.let(number)
    for buffer in buffers:
        with p.range(number) as k:
            buffer[first + k] = 0


@lru_cache(maxsize=256)
def _sort_each(
    order: KeyOrder, bits: DType, has_places: bool, descending: bool, digits: tuple[int, ...], most: int
) -> Program:
    """Each bucket, of `most` elements at most, sorted by some digits, the first of them first, by one invocation."""
    with program("sort_buckets", 1) as p:
        keys, bounds = p.read("keys", bits), p.read("bounds", u32)
        places = p.read("places", u32, like=keys) if has_places else None
        found = p.write("found", u32 if has_places else bits, LengthOf("keys"))
        source: list[Buffer] = [keys] if places is None else [keys, places]
        spares = [
            [p.scratch(f"spare{n}_{m}", buffer.dtype, LengthOf("keys")) for m, buffer in enumerate(source)]
            for n in range(min(2, len(digits) - 1))
        ]
        counts = [p.private(f"counts{n}", u32, DIGITS) for n in range(len(digits))]
        first = p.let(bounds[p.global_id(0)])
        number = p.let(least(bounds[p.global_id(0) + 1] - first, most))

        def digit(key: Value, n: int) -> Value:
            return (order.key(key, descending=descending) >> digits[n]).cast(u32) & (DIGITS - 1)

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
                _clear(p, target, first, number)
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
def _count_workgroup(
    order: KeyOrder, bits: DType, has_places: bool, descending: bool, from_places: bool, of_row: bool, chunk: int
) -> Program:
    """What `_count` gives, of chunks whose elements `LANES` invocations count together: one for each digit."""
    with program("sort_count_workgroup", LANES) as p:
        this = _Pass(p, order, bits, descending, from_places, of_row, chunk)
        counts = p.write("counts", u32, LengthOf("keys", times=DIGITS, over=chunk, plus=DIGITS))
        own, lane = p.workgroup("own", u32, DIGITS), p.local_id(0)
        with p.range(this.first + lane, this.last, LANES) as k:
            own.atomic_add(this.digit(this.bits(k), k), 1)
        p.barrier()
        counts[lane * this.chunks + this.chunk] = own[lane]
    return p.build()


@lru_cache(maxsize=256)
def _move_workgroup(
    order: KeyOrder, bits: DType, has_places: bool, descending: bool, from_places: bool, of_row: bool, chunk: int
) -> Program:
    """What `_move` does, of chunks whose elements `LANES` invocations move together.

    A subgroup has consecutive elements and ranks `SUBGROUP` of them at a time: each learns by votes which others have
    its digit. Those before it, and those that the subgroup has counted in earlier turns, are its rank in the subgroup.
    Then the counts of the subgroups are summed, digit by digit, from where the chunk's elements begin.
    """
    with program("sort_move_workgroup", LANES, subgroup_size=SUBGROUP) as p:
        this = _Pass(p, order, bits, descending, from_places, of_row, chunk)
        starts = p.read("starts", u32)
        moved = p.write("moved", bits, LengthOf("keys"))
        moved_places = p.write("moved_places", u32, LengthOf("keys")) if has_places else None
        subgroups = LANES // SUBGROUP
        counted = p.workgroup("counted", u32, subgroups * DIGITS)
        lane, within = p.local_id(0), p.subgroup_lane()
        mine = p.let(lane // SUBGROUP * DIGITS)
        first = p.let(this.first + lane // SUBGROUP * (SUBGROUP * ITEMS) + within)
        below = p.let((constant(u32, 1) << within) - 1)
        ranks = p.private("ranks", u32, ITEMS)
        with p.range(ITEMS) as n:
            k = p.let(first + n * SUBGROUP)
            is_here = p.let(k < this.last)
            digit = p.let(this.digit(this.bits(k), k))
            same = p.var(p.subgroup("ballot", is_here).cast(u32))
            for bit in range(DIGIT):
                is_set = p.let(((digit >> bit) & 1) != 0)
                votes = p.let(p.subgroup("ballot", is_set).cast(u32))
                same.set(same & select(is_set, votes, ~votes))
            before = p.let(counted[mine + digit])
            earlier = p.let(popcount(same & below))
            ranks[n] = before + earlier
            p.barrier()
            with p.if_(is_here & (earlier == 0)):
                counted[mine + digit] = before + popcount(same.get())
            p.barrier()
        start = p.var(starts[lane * this.chunks + this.chunk])
        for subgroup in range(subgroups):
            here = p.let(counted[subgroup * DIGITS + lane])
            counted[subgroup * DIGITS + lane] = start
            start += here
        p.barrier()
        with p.range(ITEMS) as n:
            k = p.let(first + n * SUBGROUP)
            with p.if_(k < this.last):
                key = this.bits(k)
                target = p.let(counted[mine + this.digit(key, k)] + ranks[n])
                moved[target] = key
                if moved_places is not None:
                    moved_places[target] = this.place(k)
    return p.build()


@lru_cache(maxsize=256)
def _sort_rows(order: KeyOrder, bits: DType, has_places: bool, descending: bool, most: int, group: int) -> Program:
    """Each row, of `most` elements at most, sorted by one invocation: all rows compare the same places (Batcher).

    These are the comparisons of Knuth's Algorithm 5.2.2M for `most` elements, without those of elements behind the row.
    Equal keys are compared by their places, if these are wanted.
    """
    with program("sort_rows", group) as p:
        keys, length = p.read("keys", bits), p.let(least(p.uniform("length", u32, 1)[0], most))
        found = p.write("found", u32 if has_places else bits, like=keys)
        own = p.private("own", bits, most)
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
                own[k] = order.key(keys[begin + k], descending=descending)
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
                found[begin + k] = order.bits(own[k], descending=descending) if places is None else places[k]
    return p.build()


@lru_cache(maxsize=256)
def _serial(order: KeyOrder, bits: DType, has_places: bool, descending: bool) -> Program:
    """All passes over a small array by one invocation."""
    with program("sort_serial", 1) as p:
        keys = p.read("keys", bits)
        result = p.write("found", u32 if has_places else bits, LengthOf("keys"))
        sort_serially(p, keys, result, order, descending=descending, has_places=has_places)
    return p.build()


def sort_serially(
    p: ProgramBuilder,
    keys: Buffer,
    result: Buffer,
    order: KeyOrder,
    *,
    descending: bool = False,
    has_places: bool = False,
) -> None:
    """Have one invocation sort keys, or with `has_places` their indices, into a buffer of their number.

    The digits of all passes are counted first: a pass whose keys have one digit moves nothing, and is left out.
    """
    length = keys.length
    # Elements move from one half to the other.
    halves = p.scratch("halves", result.dtype, LengthOf("keys", times=2))
    counts = [p.private(f"counts{n}", u32, DIGITS) for n in range(keys.dtype.bits // DIGIT)]

    def digit(key: Value, n: int) -> Value:
        return (order.key(key, descending=descending) >> (n * DIGIT)).cast(u32) & (DIGITS - 1)

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


# ── by comparison ────────────────────────────────────────────────────────────────────────────────────────────────────


def _require_comparison(before: Comparison | None, dtype: DType, descending: bool) -> None:
    """Refuse what is no comparison of elements, even if there are none."""
    if before is not None:
        function(before, "before", BEFORE)
        _merge(dtype, before, descending, True, False)


def _record_merges(graph: Recorder, dtype: DType, before: Comparison, descending: bool, size: int, length: int) -> None:
    elements = graph.input("x", dtype, size)
    given: dict[str, object] = {} if length == size else {"length": words(length)}
    places: Range = None
    width = 1
    while places is None or width < length:
        merge = _merge(dtype, before, descending, places is None, length < size)
        found = graph.dispatch(merge, {**given, "x": elements, "width": words(width)})
        elements, places, width = found["merged"], found["merged_places"], 2 * width
        given["places"] = places
    graph.output("places", places)


@lru_cache(maxsize=256)
def _merge(dtype: DType, before: Comparison, descending: bool, is_first: bool, has_rows: bool) -> Program:
    """Pairs of sorted runs of `width` elements become one: an element moves past those of the other run before it.

    With `has_rows` each row of `length` elements has runs of its own.
    """
    with program("sort_merge", GROUP) as p:
        x, width = p.read("x", dtype), p.uniform("width", u32, 1)
        places = None if is_first else p.read("places", u32)
        merged, moved = p.write("merged", dtype, like=x), p.write("merged_places", u32, like=x)
        i = p.global_id(0)
        length = p.uniform("length", u32, 1)[0] if has_rows else x.length
        row = p.let(i - i % length) if has_rows else constant(u32, 0)
        run = p.let((i - row) // width[0])
        is_left = p.let((run & 1) == 0)
        first = p.let((run ^ 1) * width[0])
        start = p.let(row + least(first, length))
        low, high = p.var(start), p.var(row + least(first + width[0], length))
        element = p.let(x[i])
        with p.range(32):
            with p.if_(low >= high):
                p.break_()
            middle = p.let((low + high) >> 1)
            left, right = (x[middle], element) if not descending else (element, x[middle])
            other = condition(before, "before", BEFORE, left, right)
            this = condition(before, "before", BEFORE, right, left)
            # Of equal elements those of the left run are first.
            goes_first = select(is_left, other, not_(this))
            low.set(select(goes_first, middle + 1, low))
            high.set(select(goes_first, high, middle))
        # `i` counts from the first row, and so does the target.
        target = p.let((run & 0xFFFF_FFFE) * width[0] + (i - run * width[0]) + (low - start))
        with p.if_(i < x.length):
            merged[target] = element
            moved[target] = i if places is None else places[i]
    return p.build()
