"""Correctly rounded sums: every bit of every element counts, and the sum is rounded once.

A workgroup adds a block of 4096 elements in two floating-point accumulators, or three for f64, whose additions are
exact. To add ``1.5 * 2**(e + 52)`` and subtract it again rounds an f64 to a multiple of ``2**e``, and the rest is
exact, too. The ``e`` of the first accumulator follows from the greatest element of the block, so that the sum of 4096
such multiples has 53 bits at most; those of the others follow from the greatest possible rest. What is left after
them, which is rare, and blocks near the ends of the range of f64 go to the long accumulator element by element, and
so do the sums: cells of 32 bits from ``2**-1074`` up, in integers of 64 bits. Integer additions are exact in any
order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf, ldexp, nan

import numpy as np

from vyre_algorithms.arguments import Array, Backend, array_of, contiguous, delivered, of_kind, type_of, vector
from vyre_algorithms.launches import beside, launch
from vyre_algorithms.tree import BLOCK, LANES, Reduction, by_halves
from vyre_driver.errors import InvalidInput
from vyre_foundation import Array as Buffer, DType, Program, ProgramBuilder, Value, constant, program, select
from vyre_foundation.dtype import f64, i32, i64, u32, u64
from vyre_foundation.functions import add, max as greatest, min as least, ne, not_

MOST = 1 << 29
"""Elements whose additions to one cell cannot overflow it."""
CELLS = 67
"""Cells of 32 bits for 2**-1074 … 2**1070; behind them are the numbers of elements that are +∞, −∞ and NaN."""
TOP = 960
"""Blocks with elements above 2**TOP go to the long accumulator, where nothing overflows."""
FIRST, NEXT = 39, 41
"""How far below the greatest element the first accumulator ends, and each of the others below the one before it."""


def exact_sum(x: object, /, *, backend: Backend = None) -> Array:
    """Add floats as if with unlimited precision, and round the sum once.

    Args:
        x: An array of floats, at most 2**29, which are one sequence.
        backend: As for `vyre.run`. It needs f64.

    Returns:
        A scalar of NumPy, of the type of `x`: the float nearest to the sum, ties to even. Infinities of both signs, or
        a NaN, give NaN. A sum that is 0 is +0.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    array = contiguous(array_of(x)).reshape(-1)
    return _exact([array], of_kind(array, "f", "floats"), backend)


def exact_dot(x: object, y: object, /, *, backend: Backend = None) -> Array:
    """Add the exact products of two vectors as if with unlimited precision, and round the sum once.

    Args:
        x: An array with one axis, of f16, bf16 or f32, whose products are exact in f64.
        y: An array of the same type and length.
        backend: As for `vyre.run`. It needs f64.

    Returns:
        A scalar of NumPy, of the type of `x`, as for `exact_sum`.

    Raises:
        InvalidInput: The vectors do not fit each other, or an argument is of another kind.
    """
    left, right = vector(x), vector(y, "y")
    dtype = of_kind(left, "f", "floats")
    if dtype is f64:
        fix = "convert the vectors, or multiply them and use exact_sum, which rounds each product"
        raise InvalidInput("x", needed="an array of f16, bf16 or f32", got="one of f64", fix=fix)
    if type_of(right) is not dtype or right.size != left.size:
        needed, got = f"{left.size} elements of {dtype}", f"{right.size} of {type_of(right)}"
        raise InvalidInput("y", needed=needed, got=got, fix="pass two vectors of one type and length")
    return _exact([left, right], dtype, backend)


def _exact(arrays: Sequence[Array], dtype: DType, backend: Backend) -> Array:
    size = arrays[0].size
    if size > MOST:
        raise InvalidInput("x", needed=f"at most {MOST} elements", got=str(size), fix="split the array")
    number = 0.0
    if size:
        number = rounded(np.asarray(long_accumulator(arrays, dtype, backend)).tolist(), dtype)
    return delivered(beside(arrays[0], np.array(number).astype(dtype.numpy)), None)


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
    total = sum(cell << (32 * n) for n, cell in enumerate(cells[:CELLS]))
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


@lru_cache(maxsize=16)
def _accumulate(dtype: DType, factors: int) -> Program:
    """The cells of the long accumulator for the sum of the elements, or of their products."""
    accumulators = 3 if dtype is f64 else 2
    with program("exact_sum", LANES) as p:
        sources = [p.read(f"x{n}", dtype) for n in range(factors)]
        cells = p.write("cells", i64, CELLS + 3)
        lane, begin = p.local_id(0), p.let(p.workgroup_id(0) * BLOCK)
        end = p.let(least(begin + BLOCK, sources[0].length))

        def element(index: Value) -> Value:
            first, *others = (source[index].cast(f64) for source in sources)
            return first * others[0] if others else first

        top = _greatest(p, sources, element, begin, end)
        is_unusual = p.let(not_(top < 2.0**TOP))
        exponent = p.let((top.bitcast(u64) >> 52).cast(u32).bitcast(i32) - 1023)
        bounds = []
        for n in range(accumulators):
            # The least exponent of f64 is that of its least subnormal number.
            lowest = greatest(exponent - (FIRST + n * NEXT), constant(i32, -1074))
            bits = ((lowest + (52 + 1023)).bitcast(u32).cast(u64) << 52) | (1 << 51)
            bounds.append(p.let(bits.bitcast(f64)))

        sums = [p.var(0.0, f64) for _ in bounds]
        left_over = p.var(0, u32)
        with p.if_(not_(is_unusual)), p.range(begin, end, LANES) as row:
            rest = p.let(element(row + lane))
            for bound, total in zip(bounds, sums, strict=True):
                part = p.let((rest + bound) - bound)
                total.set(total + part)
                rest = p.let(rest - part)
            left_over.set(left_over | select(ne(rest, 0.0), constant(u32, 1), constant(u32, 0)))
        with p.if_(is_unusual | (left_over != 0)), p.range(begin, end, LANES) as row:
            rest = p.let(element(row + lane))
            for bound in bounds:
                part = p.let(select(is_unusual, constant(f64, 0.0), (rest + bound) - bound))
                rest = p.let(rest - part)
            with p.if_(ne(rest, 0.0)):
                _add(p, cells, rest)
        adding = _sums_of(accumulators)
        for value in by_halves(p, adding, tuple(total.get() for total in sums)):
            with p.if_((lane == 0) & ne(value, 0.0)):
                _add(p, cells, value)
    return p.build()


def _sums_of(number: int) -> Reduction:
    """The sums of so many accumulators."""
    add_all = lambda a, b: tuple(map(add, a, b))
    return Reduction("sums", (), (f64,) * number, (constant(f64, 0.0),) * number, lambda *_: (), add_all)


def _greatest(
    p: ProgramBuilder, sources: Sequence[Buffer], element: Callable[[Value], Value], begin: Value, end: Value
) -> Value:
    """The greatest magnitude in the block as f64: bits without the sign are ordered as magnitudes, and NaNs above."""
    source = sources[0].dtype if len(sources) == 1 else f64
    bits = source.unsigned
    lane, tops = p.local_id(0), p.workgroup("tops", bits, LANES)
    own = p.var(0, bits)
    with p.range(begin, end, LANES) as row:
        signed = sources[0][row + lane] if source is not f64 else element(row + lane)
        own.set(greatest(own.get(), signed.bitcast(bits) & (bits.highest >> 1)))
    tops[lane] = own
    half = LANES // 2
    while half:
        p.barrier()
        with p.if_(lane < half):
            tops[lane] = greatest(tops[lane], tops[lane + half])
        half //= 2
    p.barrier()
    found = tops[0].bitcast(source)
    return p.let(found if source is f64 else found.cast(f64))


def _add(p: ProgramBuilder, cells: Buffer, value: Value) -> None:
    """Add a float to the long accumulator: its 53 bits, shifted, are those of three cells."""
    bits = p.let(value.bitcast(u64))
    biased = p.let((bits >> 52).cast(u32) & 0x7FF)
    is_negative = p.let((bits >> 63) != 0)
    with p.if_(biased == 0x7FF):
        is_nan = (bits << 12) != 0
        which = select(is_nan, constant(u32, 2), select(is_negative, constant(u32, 1), constant(u32, 0)))
        cells.atomic_add(which + CELLS, 1)
    with p.else_():
        hidden = select(biased == 0, constant(u64, 0), constant(u64, 1 << 52))
        mantissa = p.let((bits & ((1 << 52) - 1)) | hidden)
        position = p.let(greatest(biased, constant(u32, 1)) - 1)
        shift, cell = p.let((position & 31).cast(u64)), p.let(position >> 5)
        low, high = p.let((mantissa & 0xFFFF_FFFF) << shift), p.let((mantissa >> 32) << shift)
        for n, digit in enumerate((low & 0xFFFF_FFFF, (low >> 32) + (high & 0xFFFF_FFFF), high >> 32)):
            signed = p.let(digit.bitcast(i64))
            cells.atomic_add(cell + n, select(is_negative, -signed, signed))
