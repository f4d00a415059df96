"""Correctly rounded sums: every bit of every element counts, and the sum is rounded once.

The long accumulator holds any sum: cells of 32 bits from ``2**-1074`` up, in integers of 64 bits, whose additions are
exact in any order. Elements do not go there one by one. An invocation adds 256 elements in accumulators of f64 whose
additions are exact:

- An accumulator starts as ``1.5 * 2**(e + 52)``. While its sum stays below ``2**(e + 51)``, every value that it takes
  is a multiple of ``2**e`` in the same binade. So an addition rounds the element to a multiple of ``2**e``; what the
  rounding leaves is exact, too, and goes to the next accumulator.
- The ``e`` of the first follows from the greatest magnitude of a block of 4096 elements, so that 256 of them fit; those
  of the others follow from the greatest possible rest.
- Within a binade the bits of a float count multiples of ``2**e``: the difference of the bits at the end and at the
  start is the sum, as an integer. The integers of the 16 lanes of a block are added, and go to the long accumulator.

Two accumulators hold all elements whose last bits are not more than 84 bits below the greatest magnitude. The least
magnitude of a lane says whether these are all; if not, the lane repeats its work with seven accumulators. Lanes for
which these are too few, and blocks near the ends of the range of f64, add their elements to the long accumulator one
by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, ldexp, nan

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Axes,
    Backend,
    HostArray,
    array_of,
    axes_of,
    delivered,
    flattened,
    known,
    of_kind,
    require_like,
    target,
    vector,
)
from vyre_algorithms.launches import beside, launch, slots_beside, words
from vyre_algorithms.tree import BLOCK, WIDTH, Reduction, by_halves
from vyre_driver.errors import InvalidInput
from vyre_foundation import (
    Array as Buffer,
    DType,
    LengthOf,
    Mutable,
    Program,
    ProgramBuilder,
    Value,
    constant,
    program,
    select,
)
from vyre_foundation.dtype import bool_, f64, i32, i64, u32, u64
from vyre_foundation.functions import add, max as greatest, min as least, not_

MOST = 1 << 29
"""Elements whose additions to one cell cannot overflow it."""
CELLS = 67
"""Cells of 32 bits for 2**-1074 … 2**1070; behind them are the numbers of elements that are +∞, −∞ and NaN."""
OWN = -(-(CELLS + 3) // WIDTH) * WIDTH
"""Cells of a workgroup, in whole rows."""
TOP = 960
"""Blocks with elements above 2**TOP go to the long accumulator, where nothing overflows."""
FIRST, NEXT = 41, 43
"""How far below the greatest element the first accumulator ends, and each of the others below the one before it."""
FEW, MANY = 2, 7
"""Accumulators of a lane at first, and where these do not hold all."""
ROWS = 1 << 16
"""Sums of one launch: their long accumulators have 35 MiB."""
LEAST = -1074
"""The exponent of the least positive f64."""


def exact_sum(
    x: object, /, axis: Axes = None, *, keepdims: bool = False, out: Array | None = None, backend: Backend = None
) -> Array:
    """Add floats as if with unlimited precision, and round each sum once.

    Args:
        x: An array of floats, at most 2**29 for each sum.
        axis: An axis, a tuple of axes, or None for all elements. The empty tuple reduces nothing.
        keepdims: Whether the reduced axes stay, with length 1.
        out: The array that receives the result.
        backend: As for `vyre.run`. It needs f64.

    Returns:
        An array of the type of `x`, or a NumPy scalar if no axis is left: the floats nearest to the sums, ties to even.
        Infinities of both signs, or a NaN, give NaN. A sum that is 0 is +0.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = known(array_of(x))
    dtype, axes = of_kind(array, "f", "floats"), axes_of(axis, array.ndim)
    shape = tuple([1 if n in axes else size for n, size in enumerate(array.shape) if keepdims or n not in axes])
    if out is not None:
        target(out, [array], dtype, shape)
    left = [n for n in range(array.ndim) if n not in axes]
    order, rows = [*left, *axes], math.prod(array.shape[n] for n in left)
    flat = flattened(array if order == sorted(order) else array.transpose(*order))
    return delivered(beside(array, _sums([flat], rows, dtype, backend).reshape(shape)), out)


def exact_dot(x: object, y: object, /, *, out: Array | None = None, backend: Backend = None) -> Array:
    """Add the exact products of two vectors as if with unlimited precision, and round the sum once.

    Args:
        x: An array with one axis, of f16, bf16 or f32, whose products are exact in f64.
        y: An array of the same type and length.
        out: The array that receives the result.
        backend: As for `vyre.run`. It needs f64.

    Returns:
        A NumPy scalar, of the type of `x`, as for `exact_sum`.

    Raises:
        InvalidInput: The vectors do not fit each other, or an argument is invalid.
    """
    left, right = known(vector(x)), known(vector(y, "y"), "y")
    dtype = of_kind(left, "f", "floats")
    if dtype is f64:
        fix = "convert the vectors, or multiply them and use exact_sum, which rounds each product"
        raise InvalidInput("x", needed="an array of f16, bf16 or f32", got="one of f64", fix=fix)
    require_like(left, right)
    if out is not None:
        target(out, [left, right], dtype, ())
    return delivered(beside(left, _sums([left, right], 1, dtype, backend).reshape(())), out)


def _sums(arrays: Sequence[Array], rows: int, dtype: DType, backend: Backend) -> HostArray:
    """The sums of as many sequences of one length, one after another, or of the products of their elements."""
    size = arrays[0].size
    if not size:
        return np.zeros(rows, dtype.numpy)
    length = size // rows
    if length > MOST:
        needed = f"at most {MOST} elements for each sum"
        raise InvalidInput("x", needed=needed, got=str(length), fix="split the array")
    if rows == 1:
        cells = np.asarray(long_accumulator(arrays, dtype, backend))
        return np.array([rounded(cells.tolist(), dtype)]).astype(dtype.numpy)
    found = []
    for first in range(0, rows, ROWS):
        number = min(ROWS, rows - first)
        part = arrays[0][first * length : (first + number) * length]
        cells = np.asarray(_of_rows(part, number, dtype, backend)).reshape(number, -1)
        found.append(_rounded_rows(cells, dtype))
    return np.concatenate(found)


def _of_rows(array: Array, rows: int, dtype: DType, backend: Backend) -> Array:
    """The cells of the long accumulators for the sums of sequences of one length."""
    length = array.size // rows
    given = {"x0": array, "length": words(length), "slots": slots_beside(array, rows)}
    return launch(_accumulate_rows(dtype), given, rows * -(-length // BLOCK), backend)["cells"]


def long_accumulator(arrays: Sequence[Array], dtype: DType, backend: Backend) -> Array:
    """The cells of the long accumulator for the sum of elements, or of products, as integers of 64 bits.

    The cells of several arrays are added to those of all of them; sums may need more than 64 bits.
    """
    given = {f"x{n}": array for n, array in enumerate(arrays)}
    return launch(_accumulate(dtype, len(arrays)), given, -(-arrays[0].size // BLOCK), backend)["cells"]


def rounded(cells: Sequence[int], dtype: DType) -> float:
    """The float of a type that is nearest to what the long accumulator holds."""
    positive, negative, nans = cells[CELLS:]
    if nans or (positive and negative):
        return nan
    if positive or negative:
        return inf if positive else -inf
    total = sum(cell << (32 * n) for n, cell in enumerate(cells[:CELLS]) if cell)
    assert dtype.format is not None
    precision, emin, emax = dtype.format
    last = max(abs(total).bit_length() - precision, emin - (precision - 1) + 1074)
    quotient, rest = divmod(abs(total), 1 << last)
    half = 1 << last >> 1
    quotient += rest > half or (rest == half and last > 0 and quotient & 1)
    if quotient.bit_length() + last - 1074 > emax + 1:
        found = inf
    else:
        found = ldexp(quotient, last - 1074)
    return -found if total < 0 else found


def _rounded_rows(cells: HostArray, dtype: DType) -> HostArray:
    """What `rounded` gives for each of several long accumulators."""
    used = np.flatnonzero(cells[:, :CELLS].any(axis=0))
    low, high = (used[0], used[-1] + 2) if used.size else (0, 1)  # one more than these holds what is carried
    digits = np.array(cells.T[low : min(high, CELLS)], order="C")
    sign = np.where(_carry(digits) < 0, -1, 1)
    digits *= sign
    _carry(digits)
    # The 64 bits from the first one that is not 0, and whether one behind them is not 0.
    top, lowest = len(digits) - 1 - np.argmax(digits[::-1] != 0, axis=0), np.argmax(digits != 0, axis=0)
    digits = np.concatenate([np.zeros_like(digits, shape=(2, len(cells))), digits])
    first, second, third = (digits[top + n, np.arange(len(cells))].astype(np.uint64) for n in (2, 1, 0))
    length = np.frexp(first.astype(np.float64))[1]
    shift = (32 - length).astype(np.uint64)
    bits = (first << 32 | second) << shift | third >> (32 - shift)
    has_more = ((third << shift) & 0xFFFFFFFF != 0) | (lowest < top - 2)
    length = length + 32 * (top + low)
    assert dtype.format is not None
    precision, emin, _ = dtype.format
    last = np.maximum(length - precision, emin - (precision - 1) + 1074)
    behind = np.minimum(last - length + 63, 64).astype(np.uint64)
    halves = bits >> behind  # of the last place
    has_more |= bits != halves << behind
    numbers = (halves >> 1) + (halves & 1 & (has_more | (halves >> 1)))
    positive, negative, nans = cells.T[CELLS:] != 0
    with np.errstate(over="ignore"):
        found = np.ldexp(numbers.astype(np.float64), (last - 1074).astype(np.intc)) * sign
        found[positive], found[negative] = inf, -inf
        found[nans | (positive & negative)] = nan
        result: HostArray = found.astype(dtype.numpy)
    return result


def _carry(cells: HostArray) -> HostArray:
    """Leave 32 bits in each cell, and return what the last one carries: it is negative if the sum is."""
    carry: HostArray = np.zeros_like(cells[0])
    for cell in cells:
        cell += carry
        carry = cell >> 32
        cell &= 0xFFFFFFFF
    return carry


@lru_cache(maxsize=16)
def _accumulate(dtype: DType, factors: int) -> Program:
    """The cells of the long accumulator for the sum of the elements, or of their products."""
    with program("exact_sum", WIDTH) as p:
        sources = [p.read(f"x{n}", dtype) for n in range(factors)]
        cells = p.write("cells", i64, CELLS + 3)
        begin = p.let(p.workgroup_id(0) * BLOCK)
        _add_block(_Block(p, sources, begin, sources[0].length, is_row=False), cells, constant(u32, 0))
    return p.build()


@lru_cache(maxsize=16)
def _accumulate_rows(dtype: DType) -> Program:
    """The cells of the long accumulators for the sums of rows; each has workgroups of its own."""
    with program("exact_sum", WIDTH) as p:
        source, length = p.read("x0", dtype), p.uniform("length", u32, 1)[0]
        p.read("slots", bool_)
        cells = p.write("cells", i64, LengthOf("slots", times=CELLS + 3))
        blocks = p.let((length + (BLOCK - 1)) // BLOCK)
        row = p.let(p.workgroup_id(0) // blocks)
        place = p.let(row * (CELLS + 3))
        begin = p.let(row * length + (p.workgroup_id(0) % blocks) * BLOCK)
        end = p.let(row * length + length)
        _add_block(_Block(p, [source], begin, end, is_row=True), cells, place)
    return p.build()


@dataclass(frozen=True)
class _Block:
    """The elements of a workgroup, or the products of those of two arrays."""

    p: ProgramBuilder
    sources: Sequence[Buffer]
    begin: Value
    end: Value
    """Where the sequence ends: that is inside of the block, or behind it."""
    is_row: bool
    """Whether the elements of another sequence follow."""

    @property
    def dtype(self) -> DType:
        """The type of what is added."""
        return self.sources[0].dtype if len(self.sources) == 1 else f64

    def each(self, use: Callable[[Value], None]) -> None:
        """Use the elements of a lane one after another; those beyond the end are 0."""
        p, lane = self.p, self.p.local_id(0)
        with p.if_(self.end - self.begin >= BLOCK), p.range(0, BLOCK // WIDTH) as step:
            use(_product([source[self.begin + step * WIDTH + lane] for source in self.sources]))
        with p.else_(), p.range(self.begin, least(self.begin + BLOCK, self.end), WIDTH) as first:
            element = _product([source[first + lane] for source in self.sources])
            use(select(first + lane < self.end, element, constant(self.dtype, 0)) if self.is_row else element)

    def magnitudes(self) -> tuple[Mutable, Mutable]:
        """The bits of the greatest magnitude in a lane, and of the least one, less 1, among those that are not 0."""
        # Bits without the sign are ordered as magnitudes, and NaNs are above.
        bits_type = self.dtype.unsigned
        most, least_less_one = self.p.var(0, bits_type), self.p.var(bits_type.highest, bits_type)

        def compare(element: Value) -> None:
            bits = self.p.let(element.bitcast(bits_type) & (bits_type.highest >> 1))
            most.set(greatest(most, bits))
            least_less_one.set(least(least_less_one, bits - 1))

        self.each(compare)
        return most, least_less_one

    def held_by(
        self, units: Sequence[Value], starts: Sequence[Value], last_bit: Value, is_wanted: Value
    ) -> tuple[list[Value], Value]:
        """The sums of a lane in an accumulator for each unit, and whether these hold all."""
        p = self.p
        sums = [p.var(start) for start in starts]
        with p.if_(is_wanted):
            self.each(lambda element: _spread(p, sums, _as_f64(element)))
        is_all = p.let(is_wanted & (greatest(last_bit, constant(i32, LEAST)) >= units[-1]))
        wholes = (total.get().bitcast(i64) - start.bitcast(i64) for total, start in zip(sums, starts, strict=True))
        return [p.let(select(is_all, whole, constant(i64, 0))) for whole in wholes], is_all


def _add_block(block: _Block, cells: Buffer, place: Value) -> None:
    """Add the elements of a workgroup to the long accumulator that begins at a place of `cells`."""
    p, lane, kind, format_ = block.p, block.p.local_id(0), block.dtype, block.sources[0].dtype.format
    assert format_ is not None
    digits = format_[0] * len(block.sources)
    own = p.workgroup("own", i64, OWN)
    most, least_less_one = block.magnitudes()
    for row in range(0, OWN, WIDTH):
        own[row + lane] = 0
    (greatest_of_lanes,) = by_halves(p, _greatest(kind.unsigned), [(most.get(),)], "most")
    p.barrier()
    top = p.let(_as_f64(greatest_of_lanes[0].bitcast(kind)))
    is_usual = p.let(top < 2.0**TOP)
    units = [p.let(greatest(_exponent(top) - (FIRST + NEXT * n), constant(i32, LEAST))) for n in range(MANY)]
    starts = [p.let(_power(unit + 52) | (1 << 51)).bitcast(f64) for unit in units]
    last_bit = p.let(_exponent(_as_f64((least_less_one + 1).bitcast(kind))) - (digits - 1))

    few, is_few = block.held_by(units[:FEW], starts[:FEW], last_bit, is_usual)
    group_totals = by_halves(p, _WHOLES, [tuple(few)])
    many, is_many = block.held_by(units, starts, last_bit, is_usual & not_(is_few))
    p.barrier()  # which keeps atomics out of the loops before it: they are vectors on CPUs
    with p.if_(is_many):
        for unit, whole in zip(units, many, strict=True):
            _add_whole(p, own, unit, whole)
    with p.if_(not_(is_few | is_many)):
        block.each(lambda element: _add_float(p, own, _as_f64(element)))
    with p.if_(lane == 0):
        for unit, memory in zip(units, group_totals, strict=False):
            _add_whole(p, own, unit, memory[0])
    p.barrier()
    for row in range(0, OWN, WIDTH):
        number = p.let(own[row + lane])
        with p.if_(number != 0):
            cells.atomic_add(place + row + lane, number)


def _product(factors: Sequence[Value]) -> Value:
    """A number as it is, or the product of two as f64, which is exact."""
    return factors[0] if len(factors) == 1 else factors[0].cast(f64) * factors[1].cast(f64)


def _as_f64(value: Value) -> Value:
    return value if value.dtype is f64 else value.cast(f64)


def _exponent(value: Value) -> Value:
    """The exponent of a positive f64; below the least one for 0 and subnormal numbers."""
    return (value.bitcast(u64) >> 52).cast(u32).bitcast(i32) - 1023


def _power(exponent: Value) -> Value:
    """The bits of a power of 2 as f64."""
    return (exponent + 1023).bitcast(u32).cast(u64) << 52


def _spread(p: ProgramBuilder, sums: Sequence[Mutable], element: Value) -> None:
    """Add an element to the first accumulator, what rounding leaves of it to the next, and so on."""
    rest = element
    for total in sums[:-1]:
        before = p.let(total.get())
        after = p.let(before + rest)
        total.set(after)
        rest = p.let(rest - (after - before))
    sums[-1].set(sums[-1].get() + rest)


_WHOLES = Reduction(
    "wholes", (), (i64,) * FEW, (constant(i64, 0),) * FEW, lambda *_: (), lambda a, b: tuple(map(add, a, b))
)


@lru_cache(maxsize=8)
def _greatest(bits: DType) -> Reduction:
    return Reduction("greatest", (), (bits,), (constant(bits, 0),), lambda *_: (), lambda a, b: (greatest(a[0], b[0]),))


def _add_float(p: ProgramBuilder, cells: Buffer, value: Value) -> None:
    """Add an f64 to the long accumulator, or count it there."""
    bits = p.let(value.bitcast(u64))
    biased = p.let((bits >> 52).cast(u32) & 0x7FF)
    is_negative = p.let((bits >> 63) != 0)
    with p.if_(biased == 0x7FF):
        is_nan = (bits << 12) != 0
        which = select(is_nan, constant(u32, 2), select(is_negative, constant(u32, 1), constant(u32, 0)))
        cells.atomic_add(which + CELLS, 1)
    with p.else_():
        hidden = select(biased == 0, constant(u64, 0), constant(u64, 1 << 52))
        _add(p, cells, greatest(biased, constant(u32, 1)) - 1, is_negative, (bits & ((1 << 52) - 1)) | hidden)


def _add_whole(p: ProgramBuilder, cells: Buffer, unit: Value, whole: Value) -> None:
    """Add a multiple of ``2**unit`` to the long accumulator."""
    is_negative = p.let(whole < 0)
    _add(p, cells, (unit - LEAST).bitcast(u32), is_negative, select(is_negative, -whole, whole).bitcast(u64))


def _add(p: ProgramBuilder, cells: Buffer, position: Value, is_negative: Value, magnitude: Value) -> None:
    """Add a multiple of ``2**(position - 1074)`` below 2**60: its bits, shifted, are those of three cells."""
    place, bits = p.let(position), p.let(magnitude)
    shift, cell = p.let((place & 31).cast(u64)), p.let(place >> 5)
    low, high = p.let((bits & 0xFFFF_FFFF) << shift), p.let((bits >> 32) << shift)
    for n, digit in enumerate((low & 0xFFFF_FFFF, (low >> 32) + (high & 0xFFFF_FFFF), high >> 32)):
        signed = p.let(digit.bitcast(i64))
        cells.atomic_add(cell + n, select(is_negative, -signed, signed))
