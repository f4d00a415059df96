"""Radix sort: each pass counts the digits of the keys in chunks, scans the counts, and moves the keys."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import Backend, HostArray
from vyre_algorithms.launches import Range, Recorder, launch, with_grid, words
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.order import KeyOrder, KeyType
from vyre_algorithms.scans import record_scan
from vyre_driver.tune.distribution import DIGIT
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
from vyre_foundation.dtype import u8
from vyre_foundation.functions import min as least, popcount, sub_sat

DIGITS = 1 << DIGIT
NUMBERS = 1 << 12
"""Keys that are moved at once by all of their bits, if there are no others."""
LEADING = 1 << 16
"""Numbers that the leading bits of a distance may be, for each of which a table has a bucket."""
FETCHED = 4
"""The most elements that are prefetched for a digit, as a multiple of what a chunk has of each digit on average."""
CHUNK, CHUNKS, LONG_CHUNK, MOST_CHUNKS = 1 << 12, 1 << 5, 1 << 15, 1 << 10
"""Elements that one invocation moves: `CHUNK` at least. They become more, up to `LONG_CHUNK`, where there are `CHUNKS`
invocations all the same, and more than that only where there would be more than `MOST_CHUNKS` invocations."""
LANES, SUBGROUP, ITEMS = DIGITS, 32, 16
"""Where invocations run side by side: those that move a chunk together, those that rank elements together by votes, and
elements of each of them. The first ones of a chunk belong to the first subgroup."""
TILE = LANES * ITEMS


FEW = 64
"""Keys at most that the host looks at, to see that keys are not in order."""


class DigitOf(Enum):
    """What elements are moved by."""

    KEY = "key"
    """A digit of the key, whose first bit ``shift`` says."""
    ROW = "row"
    """A digit of the number of the row, likewise."""
    SPLITTERS = "splitters"
    """The bucket that ``table`` says, by the leading bits of the key's distance from ``low``. The key itself moves."""
    NUMBER = "number"
    """The key, which is below `NUMBERS`."""

    __hash__ = object.__hash__

    @property
    def digits(self) -> int:
        """How many there may be."""
        return NUMBERS if self is DigitOf.NUMBER else DIGITS


def is_in_order(keys: HostArray, key_type: KeyType, backend: Backend) -> bool:
    """Whether keys ascend. Of most that do not, a few show it."""
    few = key_type.host_keys(keys[:: -(-keys.size // FEW)])
    if (few[:-1] > few[1:]).any():
        return False
    given = {"keys": keys, "descends": np.zeros(1, np.uint32)}
    return not launch(_descents(key_type), given, -(-keys.size // CHUNK), backend)["descends"].item()


@lru_cache(maxsize=64)
def _descents(key_type: KeyType) -> Program:
    """Whether a key is greater than the next one."""
    with program("sort_descents", 1) as p:
        keys, descends = p.read("keys", key_type.bits), p.read_write("descends", u32)
        first = p.let(p.workgroup_id(0) * CHUNK)
        here = p.var(0, u32)
        with p.range(first, least(first + CHUNK, keys.length - 1)) as k:
            here.set(here | (key_type.key(keys[k]) > key_type.key(keys[k + 1])).cast(u32))
        with p.if_(here != 0):
            descends.atomic_or(0, 1)
    return p.build()


def record_passes(
    graph: Recorder,
    key_type: KeyType,
    has_places: bool,
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
    keys = graph.input("keys", key_type.bits, size)
    places: Range = None
    chunk = TILE if is_wide else chunk_length(size)
    count, move = (_count_workgroup, _move_workgroup) if is_wide else (count_digits, move_by_digit)
    grid = with_grid(-(-size // chunk))
    add = reduction_of("sum", u32, u32)
    rows = size // length
    passes = [(shift, DigitOf.KEY) for shift in digits]
    passes += [(shift, DigitOf.ROW) for shift in range(0, (rows - 1).bit_length(), DIGIT)]
    for shift, digit_of in passes:
        given: dict[str, object] = {"keys": keys, **pass_inputs(key_type, shift, length, sign)}
        if places is not None:
            given["places"] = places
        from_places = places is not None
        counts = graph.dispatch(count(key_type, chunk, from_places, digit_of), given, config=grid)["counts"]
        (starts,) = record_scan(graph, add, [counts], len(counts), True, is_wide)
        made = move(key_type, chunk, has_places, from_places, digit_of)
        moved = graph.dispatch(made, {**given, "starts": starts}, config=grid)
        keys, places = moved["moved"], moved.get("moved_places")
    graph.output("found", keys if places is None else places)


def chunk_length(size: int, digit_of: DigitOf = DigitOf.KEY) -> int:
    """How many elements an invocation counts and moves, where invocations run one after another."""
    few, many = (1 << (-(-size // number) - 1).bit_length() for number in (CHUNKS, MOST_CHUNKS))
    return max(CHUNK, FETCHED * digit_of.digits, min(LONG_CHUNK, few), many)


def pass_inputs(key_type: KeyType, shift: int, length: int, sign: int) -> dict[str, HostArray]:
    """What a pass takes beside arrays: the first bit of the digit, the length of a row, and what is added to keys."""
    given = {"shift": words(shift), "length": words(length)}
    if key_type.order is KeyOrder.SIGNED:
        given["bias"] = _bias(sign, key_type.bits)
    return given


@lru_cache(maxsize=256)
def _bias(sign: int, bits: DType) -> HostArray:
    """What makes signed integers, whose bits from `sign` on are copies, ascending from 0."""
    return np.array([1 << sign], bits.numpy)


class _Pass:
    """What the two programs of a pass share: the chunk of a workgroup, and the digit of an element."""

    def __init__(self, p: ProgramBuilder, key_type: KeyType, chunk: int, from_places: bool, digit_of: DigitOf) -> None:
        self.keys = p.read("keys", key_type.bits)
        if digit_of is DigitOf.SPLITTERS:
            self._table, self._low = p.read("table", u8), p.uniform("low", key_type.bits, 1)
        self._shift, self._length = p.uniform("shift", u32, 1), p.uniform("length", u32, 1)
        self._bias = p.uniform("bias", key_type.bits, 1)[0] if key_type.order is KeyOrder.SIGNED else None
        self._places = p.read("places", u32, like=self.keys) if from_places else None
        self._p, self._key_type, self._digit_of, self.digits = p, key_type, digit_of, digit_of.digits
        self.chunk = p.workgroup_id(0)
        self.chunks = p.num_workgroups(0)
        self.first = p.let(self.chunk * chunk)
        self.last = p.let(least(self.first + chunk, self.keys.length))

    def place(self, index: Value) -> Value:
        """The place in the input of the element that is at an index now."""
        return index if self._places is None else self._p.let(self._places[index])

    def bits(self, index: Value) -> Value:
        """The bits of the element at an index, or of its key if that moves."""
        bits = self._p.let(self.keys[index])
        return self._p.let(self._key_type.key(bits)) if self._digit_of is DigitOf.SPLITTERS else bits

    def digit(self, bits: Value, index: Value) -> Value:
        """What the element at an index is moved by."""
        shift = self._shift[0]
        if self._digit_of is DigitOf.ROW:
            return ((self.place(index) // self._length[0]) >> shift) & (DIGITS - 1)
        if self._digit_of is DigitOf.SPLITTERS:
            leading = sub_sat(bits, self._low[0]) >> shift.cast(bits.dtype)
            return self._table[least(leading, LEADING - 1).cast(u32)].cast(u32)
        key = self._key_type.key(bits, bias=self._bias)
        return (key >> shift.cast(key.dtype)).cast(u32) & (self.digits - 1)


# ── a chunk by one invocation ────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=256)
def count_digits(key_type: KeyType, chunk: int, from_places: bool = False, digit_of: DigitOf = DigitOf.KEY) -> Program:
    """How often each digit is in each chunk, for all chunks of the first digit, then of the next."""
    with program("sort_count", 1) as p:
        this = _Pass(p, key_type, chunk, from_places, digit_of)
        counts = p.write("counts", u32, LengthOf("keys", times=this.digits, over=chunk, plus=this.digits))
        own = p.private("own", u32, this.digits)
        with p.range(this.first, this.last) as k:
            digit = p.let(this.digit(this.bits(k), k))
            own[digit] = own[digit] + 1
        with p.range(this.digits) as d:
            counts[d * this.chunks + this.chunk] = own[d]
    return p.build()


@lru_cache(maxsize=256)
def move_by_digit(
    key_type: KeyType,
    chunk: int,
    has_places: bool = False,
    from_places: bool = False,
    digit_of: DigitOf = DigitOf.KEY,
    values_type: DType | None = None,
) -> Program:
    """Each key to the place that the scanned counts give it, those of a chunk one after another; or its value alone.

    Zeros are written there first, those of one digit together. So processors fetch that memory ahead, and do not wait
    for it element by element. Digits of which there are many more than of others need no such help.
    """
    with program("sort_move" if values_type is None else "sort_move_values", 1) as p:
        this = _Pass(p, key_type, chunk, from_places, digit_of)
        values = None if values_type is None else p.read("values", values_type, like=this.keys)
        starts = p.read("starts", u32)
        moved = p.write("moved", values_type or key_type.bits, LengthOf("keys"))
        outputs = [moved]
        if has_places:
            moved_places = p.write("moved_places", u32, LengthOf("keys"))
            outputs.append(moved_places)
        own = p.private("own", u32, this.digits)
        with p.range(this.digits) as d:
            at = p.let(d * this.chunks + this.chunk)
            own[d] = starts[at]
            write_zeros(p, outputs, own[d], least(starts[at + 1] - own[d], chunk * FETCHED // this.digits))
        with p.range(this.first, this.last) as k:
            key = this.bits(k)
            digit = p.let(this.digit(key, k))
            target = p.let(own[digit])
            moved[target] = key if values is None else values[k]
            if has_places:
                moved_places[target] = this.place(k)
            own[digit] = target + 1
    return p.build()


def write_zeros(p: ProgramBuilder, buffers: Sequence[Buffer], first: Value, number: Value) -> None:
    """Write zeros to a part of buffers."""
    first, number = p.let(first), p.let(number)
    for buffer in buffers:
        with p.range(number) as k:
            buffer[first + k] = 0


# ── a chunk by a workgroup ───────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=256)
def _count_workgroup(key_type: KeyType, chunk: int, from_places: bool, digit_of: DigitOf) -> Program:
    """What `count_digits` gives, of chunks whose elements `LANES` invocations count together: one for each digit."""
    with program("sort_count_workgroup", LANES) as p:
        this = _Pass(p, key_type, chunk, from_places, digit_of)
        counts = p.write("counts", u32, LengthOf("keys", times=DIGITS, over=chunk, plus=DIGITS))
        own, lane = p.workgroup("own", u32, DIGITS), p.local_id(0)
        with p.range(this.first + lane, this.last, LANES) as k:
            own.atomic_add(this.digit(this.bits(k), k), 1)
        p.barrier()
        counts[lane * this.chunks + this.chunk] = own[lane]
    return p.build()


@lru_cache(maxsize=256)
def _move_workgroup(key_type: KeyType, chunk: int, has_places: bool, from_places: bool, digit_of: DigitOf) -> Program:
    """What `move_by_digit` does, of chunks whose elements `LANES` invocations move together.

    A subgroup has consecutive elements and ranks `SUBGROUP` of them at a time: each learns by votes which others have
    its digit. Those before it, and those that the subgroup has counted in earlier turns, are its rank in the subgroup.
    Then the counts of the subgroups are summed, digit by digit, from where the chunk's elements begin.
    """
    with program("sort_move_workgroup", LANES, subgroup_size=SUBGROUP) as p:
        this = _Pass(p, key_type, chunk, from_places, digit_of)
        starts = p.read("starts", u32)
        moved = p.write("moved", key_type.bits, LengthOf("keys"))
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
