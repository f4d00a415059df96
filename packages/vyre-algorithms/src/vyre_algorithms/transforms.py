"""The programs of Fourier transforms: passes, and what goes before and behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache

from vyre_algorithms.butterflies import Lookup, Number, butterflies, passes_of, product
from vyre_algorithms.roots import memory_of
from vyre_foundation import Array as Buffer, DType, LengthOf, Program, ProgramBuilder, Value, program, select, u32
from vyre_foundation.dtype import bool_, f32, u64
from vyre_foundation.functions import min as least

GROUP, LANES = 64, 16


class RowMove(Enum):
    """How rows become rows of another length."""

    FROM_REAL = auto()
    """Imaginary parts are added, which are 0."""
    FIRST = auto()
    """The first numbers of each."""
    MIRRORED = auto()
    """The second half is the conjugate of the first; missing numbers are 0."""
    TO_REAL = auto()
    """The real parts."""


# ── passes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=64)
def short(dtype: DType, length: int, rows: int, is_inverse: bool) -> Program:
    """All passes over `rows` rows of a power of two by a workgroup, from one array of its memory to another."""
    with program("fft_short", (lanes_of(length), rows)) as p:
        x = p.read("x", memory_of(dtype))
        y = p.write("y", memory_of(dtype), like=x)
        short_rows = _ShortRows(p, dtype, length, rows, is_inverse)
        short_rows.transform(x, short_rows.row, y)
    return p.build()


@lru_cache(maxsize=64)
def short_real(dtype: DType, half: int, rows: int) -> Program:
    """The same with `untangled` behind it: the first half of the transforms of real rows of ``2 * half`` numbers."""
    with program("fft_short_real", (lanes_of(half), rows)) as p:
        x, turns = p.read("x", memory_of(dtype)), p.read("turns", memory_of(dtype))
        p.read("slots", bool_)
        y = p.write("y", memory_of(dtype), LengthOf("slots", times=elements_of(dtype)))
        short_rows = _ShortRows(p, dtype, half, rows, False)
        here, found = short_rows.here, short_rows.transform(x, short_rows.row)
        start = p.let(short_rows.number * (half + 1))
        p.barrier()
        for k in short_rows.pairs():
            a, b = _load(p, found, here + k), _load(p, found, here + select(k == 0, 0, half - k))
            _store_untangled(p, y, start, half, k, a, b, _load(p, turns, k))
    return p.build()


@lru_cache(maxsize=64)
def short_real_inverse(dtype: DType, half: int, rows: int) -> Program:
    """The same with `tangled` before it: real rows of ``2 * half`` numbers."""
    with program("fft_short_real_inverse", (lanes_of(half), rows)) as p:
        x, turns = p.read("x", memory_of(dtype)), p.read("turns", memory_of(dtype))
        p.read("slots", bool_)
        known = p.let(p.uniform("known", u32, 1)[0])
        y = p.write("y", memory_of(dtype), LengthOf("slots", times=elements_of(dtype)))
        short_rows = _ShortRows(p, dtype, half, rows, True)
        given = short_rows.memory()
        row = p.let(short_rows.number * known)
        for k in short_rows.pairs():
            _store_tangled(p, x, row, known, given, short_rows.here, half, k, _load(p, turns, k))
        p.barrier()
        short_rows.transform(given, short_rows.here, y)
    return p.build()


class _ShortRows:
    """The rows of a workgroup, of which each has `lanes_of` invocations, and the memory between passes."""

    def __init__(self, p: ProgramBuilder, dtype: DType, length: int, rows: int, is_inverse: bool) -> None:
        self._p, self._dtype, self._length, self._is_inverse = p, dtype, length, is_inverse
        self._lanes, self._root = lanes_of(length), _roots(p, p.read("roots", memory_of(dtype)), is_inverse)
        self._size = rows * length * elements_of(dtype)
        self._between: list[Buffer] = []
        self.number = p.let(p.workgroup_id(0) * rows + p.local_id(1))
        self.here = p.let(p.local_id(1) * length)
        self.row = p.let(p.workgroup_id(0) * (rows * length) + self.here)

    def memory(self) -> Buffer:
        """Memory of the workgroup for its rows: of two buffers, the one that the last call did not give."""
        if len(self._between) < 2:
            name = f"between{len(self._between)}"
            self._between.append(self._p.workgroup(name, memory_of(self._dtype), self._size))
        else:
            self._between.reverse()
        return self._between[-1]

    def pairs(self) -> Iterator[Value]:
        """The numbers of this invocation up to half the length: the first of two that are as far from the ends."""
        p, middle = self._p, self._length // 2
        for share in range(middle // self._lanes):
            yield p.let(p.local_id(0) + share * self._lanes)
        with p.if_(p.local_id(0) == 0):
            yield p.let(middle, u32)

    def transform(self, x: Buffer, row: Value, y: Buffer | None = None) -> Buffer:
        """All passes from `x`, where the row begins at `row`, to `y`, or without it to memory of the workgroup."""
        p, length, lanes = self._p, self._length, self._lanes
        passes = passes_of(length)
        assert passes is not None
        source, start, stride = x, row, 1
        for number, radices in enumerate(passes):
            is_last = number == len(passes) - 1
            target, place = (self.memory(), self.here) if y is None or not is_last else (y, self.row)
            radix = math.prod(radices)
            step = length // radix
            for share in range(step // lanes):
                at = p.let(p.local_id(0) + share * lanes)
                n = p.let(at // stride * stride)
                first = p.let(place + (at - n) + n * radix)
                load = _numbers(p, source, start + at, step)
                for m, found in butterflies(p, load, self._root, n, step, radices, is_inverse=self._is_inverse):
                    is_divided = is_last and self._is_inverse
                    _store(target, first + m * stride, _over(found, length) if is_divided else found)
            if not is_last:
                p.barrier()
            source, start, stride = target, place, stride * radix
        return source


def lanes_of(length: int) -> int:
    """How many invocations transform a short row: one for every 16 numbers, and at least one."""
    return max(length // 16, 1)


@lru_cache(maxsize=256)
def one_pass(
    dtype: DType, radices: tuple[int, ...], is_inverse: bool, is_first: bool, is_blocked: bool, is_divided: bool
) -> Program:
    """A pass over rows, or two. `is_first`: the stride is 1. `is_blocked`: see `blocks`."""
    radix = math.prod(radices)
    with program("fft_pass", (LANES, GROUP // LANES) if is_blocked else GROUP) as p:
        x, roots, shape = p.read("x", memory_of(dtype)), p.read("roots", memory_of(dtype)), p.uniform("shape", u32, 3)
        y = p.write("y", memory_of(dtype), like=x)
        step, stride = p.let(shape[0]), p.let(shape[1])
        if is_blocked:
            first, lane = p.let((p.workgroup_id(0) * (GROUP // LANES) + p.local_id(1)) * LANES), p.local_id(0)
        else:
            first, lane = p.global_id(0), p.let(0, u32)
        row = p.let(first // step)
        place = p.let(first - row * step)
        at = p.let(place + lane)
        n = at if is_first else p.let(place // stride * stride)
        start = p.let(row * step * radix)
        with p.if_(first < shape[2]):
            load, root = _numbers(p, x, start + at, step), _roots(p, roots, is_inverse)
            target = p.let(start + (at - n) + n * radix)
            for m, found in butterflies(p, load, root, n, step, radices, is_inverse=is_inverse):
                _store(y, target + stride * m, _over(found, (step * radix).cast(dtype)) if is_divided else found)
    return p.build()


def blocks(step: int, stride: int) -> bool:
    """Whether `LANES` butterflies side by side are of one row, and have the same roots, or in a first pass the next."""
    return step % LANES == 0 if stride == 1 else stride % LANES == 0


# ── convolutions with a chirp ────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=4)
def spread(dtype: DType, is_inverse: bool) -> Program:
    """The numbers times the chirp, and zeros behind them."""
    with program("fft_spread", GROUP) as p:
        x, slots = p.read("x", memory_of(dtype)), p.read("slots", bool_)
        chirp, shape = p.read("chirp", memory_of(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", memory_of(dtype), LengthOf("slots", times=elements_of(dtype)))
        i, length, wide = p.global_id(0), p.let(shape[0]), p.let(shape[1])
        row, k = p.let(i // wide), p.let(i % wide)
        with p.if_((k < length) & (i < slots.length)):
            value = _load(p, x, row * length + k)
            _store(y, i, product(p, _conjugate(value) if is_inverse else value, _load(p, chirp, k)))
    return p.build()


@lru_cache(maxsize=2)
def products(dtype: DType) -> Program:
    """The conjugate products with the kernel: their transform is the conjugate of the inverse one."""
    with program("fft_products", GROUP) as p:
        x, kernel = p.read("x", memory_of(dtype)), p.read("kernel", memory_of(dtype))
        y, shape = p.write("y", memory_of(dtype), like=x), p.uniform("shape", u32, 1)
        i = p.global_id(0)
        _store(y, i, _conjugate(product(p, _load(p, x, i), _load(p, kernel, i % shape[0]))))
    return p.build()


@lru_cache(maxsize=4)
def finished(dtype: DType, is_inverse: bool) -> Program:
    """The chirp times the convolution, whose conjugate is given."""
    with program("fft_finished", GROUP) as p:
        x, slots = p.read("x", memory_of(dtype)), p.read("slots", bool_)
        chirp, shape = p.read("chirp", memory_of(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", memory_of(dtype), LengthOf("slots", times=elements_of(dtype)))
        i, length, wide = p.global_id(0), p.let(shape[0]), p.let(shape[1])
        row, k = p.let(i // length), p.let(i % length)
        with p.if_(i < slots.length):
            value = product(p, _conjugate(_load(p, x, row * wide + k)), _load(p, chirp, k))
            _store(y, i, _over(_conjugate(value), length.cast(dtype)) if is_inverse else value)
    return p.build()


# ── real rows ────────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=2)
def untangled(dtype: DType) -> Program:
    """The first half of the transforms of real rows, from those of rows whose parts are neighbours in them.

    An invocation computes two elements, from the same two numbers: that of k, and that as far from the end.
    """
    with program("fft_untangled", GROUP) as p:
        p.read("slots", bool_)
        x, roots = p.read("x", memory_of(dtype)), p.read("roots", memory_of(dtype))
        shape = p.uniform("shape", u32, 2)
        y = p.write("y", memory_of(dtype), LengthOf("slots", times=elements_of(dtype)))
        half, row, k = _pair(p, shape[0])
        with p.if_(row < shape[1]):
            a, b = _load(p, x, row * half + k), _load(p, x, row * half + select(k == 0, 0, half - k))
            _store_untangled(p, y, p.let(row * (half + 1)), half, k, a, b, _load(p, roots, k))
    return p.build()


def _store_untangled(
    p: ProgramBuilder, y: Buffer, start: Value, half: Value | int, k: Value, a: Number, b: Number, root: Number
) -> None:
    """Store the elements k and, as far from the end, ``half - k`` of a row that begins at `start`."""
    real, turned = _tangle(p, a, b, root)
    _store(y, start + k, (0.5 * (real + turned[1]), 0.5 * ((a[1] - b[1]) - turned[0])))
    _store(y, start + (half - k), (0.5 * (real - turned[1]), 0.5 * ((b[1] - a[1]) - turned[0])))


@lru_cache(maxsize=2)
def tangled(dtype: DType) -> Program:
    """Rows whose transforms are real ones with the parts as neighbours, from the first half of the transforms."""
    with program("fft_tangled", GROUP) as p:
        p.read("slots", bool_)
        x, roots = p.read("x", memory_of(dtype)), p.read("roots", memory_of(dtype))
        shape = p.uniform("shape", u32, 3)
        y = p.write("y", memory_of(dtype), LengthOf("slots", times=elements_of(dtype)))
        half, row, k = _pair(p, shape[0])
        known = p.let(shape[2])
        with p.if_(row < shape[1]):
            _store_tangled(p, x, p.let(row * known), known, y, p.let(row * half), half, k, _load(p, roots, k))
    return p.build()


def _store_tangled(
    p: ProgramBuilder,
    x: Buffer,
    row: Value,
    known: Value,
    y: Buffer,
    start: Value,
    half: Value | int,
    k: Value,
    root: Number,
) -> None:
    """Store the numbers k and ``half - k`` of a row that begins at `start`, from one of `known` numbers at `row`."""

    def element(index: Value) -> Number:
        real, imaginary = _load(p, x, row + least(index, known - 1))
        is_known = p.let(index < known)
        return p.let(select(is_known, real, 0.0)), p.let(select(is_known & (k > 0), imaginary, 0.0))

    a, b = element(k), element(p.let(half - k))
    real, turned = _tangle(p, a, b, _conjugate(root))
    _store(y, start + k, (0.5 * (real - turned[1]), 0.5 * ((a[1] - b[1]) + turned[0])))
    with p.if_(k > 0):
        _store(y, start + (half - k), (0.5 * (real + turned[1]), 0.5 * ((b[1] - a[1]) + turned[0])))


def _pair(p: ProgramBuilder, half: Value) -> tuple[Value, Value, Value]:
    """Half the length of a row, the row of an invocation, and the first of its two elements."""
    half, i = p.let(half), p.global_id(0)
    number = p.let(half // 2 + 1)
    row = p.let(i // number)
    return half, row, p.let(i - row * number)


def _tangle(p: ProgramBuilder, a: Number, b: Number, root: Number) -> tuple[Value, Number]:
    """The real part of the sum of `a` and the conjugate of `b`, and their difference times a root."""
    return p.let(a[0] + b[0]), product(p, (p.let(a[0] - b[0]), p.let(a[1] + b[1])), root)


@lru_cache(maxsize=8)
def moved(dtype: DType, move: RowMove) -> Program:
    """Rows of another length."""
    with program("fft_moved", GROUP) as p:
        x, slots = p.read("x", dtype if move is RowMove.FROM_REAL else memory_of(dtype)), p.read("slots", bool_)
        shape = p.uniform("shape", u32, 2)
        is_real = move is RowMove.TO_REAL
        count = LengthOf("slots", times=1 if is_real else elements_of(dtype))
        y = p.write("y", dtype if is_real else memory_of(dtype), count)
        i, given, wanted = p.global_id(0), p.let(shape[0]), p.let(shape[1])
        row, k = p.let(i // wanted), p.let(i % wanted)
        start = p.let(row * given)
        with p.if_(i < slots.length):
            match move:
                case RowMove.FROM_REAL:
                    _store(y, i, (x[start + k], p.let(0.0, dtype)))
                case RowMove.FIRST:
                    _store(y, i, _load(p, x, start + k))
                case RowMove.TO_REAL:
                    y[i] = _load(p, x, start + k)[0]
                case RowMove.MIRRORED:
                    is_second = p.let(2 * k > wanted)
                    index = p.let(select(is_second, wanted - k, k))
                    with p.if_(index < given):
                        real, imaginary = _load(p, x, start + index)
                        imaginary = select(is_second, -imaginary, imaginary)
                        _store(y, i, (real, select(k == 0, 0.0, imaginary)))
    return p.build()


# ── numbers in buffers ───────────────────────────────────────────────────────────────────────────────────────────────


def elements_of(dtype: DType) -> int:
    """The elements of a number in a buffer of `memory_of` the type of its parts."""
    return 1 if dtype is f32 else 2


def _load(p: ProgramBuilder, parts: Buffer, index: Value) -> Number:
    if parts.dtype is not u64:
        return p.let(parts[2 * index]), p.let(parts[2 * index + 1])
    both = p.let(parts[index])
    return p.let(both.cast(u32).bitcast(f32)), p.let((both >> 32).cast(u32).bitcast(f32))


def _store(parts: Buffer, index: Value, value: Number) -> None:
    if parts.dtype is not u64:
        parts[2 * index], parts[2 * index + 1] = value
        return
    low, high = (part.bitcast(u32).cast(u64) for part in value)
    parts[index] = low | (high << 32)


def _numbers(p: ProgramBuilder, parts: Buffer, first: Value, step: Value | int) -> Lookup:
    """The numbers of a butterfly, which are `step` apart."""
    return lambda m: _load(p, parts, first + m * step)


def _roots(p: ProgramBuilder, roots: Buffer, is_inverse: bool) -> Lookup:
    def root(exponent: Value) -> Number:
        real, imaginary = _load(p, roots, exponent)
        return (real, p.let(-imaginary)) if is_inverse else (real, imaginary)

    return root


def _conjugate(value: Number) -> Number:
    return value[0], -value[1]


def _over(value: Number, divisor: Value | int) -> Number:
    return value[0] / divisor, value[1] / divisor
