"""Buckets: operands by what is remarkable about them, made from the type alone.

A pool is the patterns of one kind of value: zeros, edges, subnormals. The bucket of a pool crosses it with itself and
lets it meet other values in each place of the operands. Relations between operands are buckets, too: equal, opposite,
nearly cancelling. Each bucket is a cell of its own, so that a report says which values go wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from random import Random

from vyre_conform.cases.values import near_rows, pack_bits
from vyre_foundation.dtype import DType, Kind
from vyre_foundation.ops.scalar import round_float, to_bits
from vyre_foundation.testing.values import random_bits, special_bits

Pattern = int
Row = tuple[Pattern, ...]
Pool = Callable[[DType], list[Pattern]]

CROSSED = 64
"""Rows of one bucket in which all operands are of its pool."""
MET = 16
"""Rows of one bucket and place in which one operand is of its pool."""
DRAWN = 128
"""Rows of the random bucket."""


def buckets_of(dtype: DType, arity: int) -> tuple[str, ...]:
    """The names of the buckets that operands of a type have."""
    pools = [name for name in POOLS if pool_of(name, dtype)]
    return (*pools, *(RELATIONS if arity > 1 and dtype.kind is not Kind.BOOL else ()), "random")


def rows_of(bucket: str, dtypes: Sequence[DType], rng: Random) -> list[Row]:
    """The rows of a bucket for operands of these types; pools and relations are those of the first."""
    if bucket == "random":
        return [tuple(rng.getrandbits(t.bits) for t in dtypes) for _ in range(DRAWN)]
    if bucket in RELATIONS:
        return RELATIONS[bucket](dtypes[0], len(dtypes), rng)
    return _met([pool_of(bucket, dtype) for dtype in dtypes], dtypes, rng)


@cache
def pool_of(name: str, dtype: DType) -> tuple[Pattern, ...]:
    """The patterns of a pool; cached, because every case asks for them."""
    return tuple(POOLS[name](dtype))


def _met(pools: Sequence[Sequence[Pattern]], dtypes: Sequence[DType], rng: Random) -> list[Row]:
    """The pool with itself in all places, then in each place among special and random values."""
    if len(dtypes) == 1:
        return [(bits,) for bits in pools[0]]
    filled = [pool or (0,) for pool in pools]
    numbers = range(prod(map(len, filled)))
    rows = [_crossed(filled, n) for n in (numbers if len(numbers) <= CROSSED else rng.sample(numbers, CROSSED))]
    for place, pool in enumerate(pools):
        for _ in range(MET if pool else 0):
            row = [random_bits(rng, dtype) for dtype in dtypes]
            row[place] = rng.choice(pool)
            rows.append(tuple(row))
    return rows


def _crossed(pools: Sequence[Sequence[Pattern]], number: int) -> Row:
    """The row of a number in the product of pools, which may have millions."""
    row: list[Pattern] = []
    for pool in reversed(pools):
        number, place = divmod(number, len(pool))
        row.append(pool[place])
    return tuple(reversed(row))


# ── pools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _signs(dtype: DType, magnitudes: Sequence[Pattern]) -> list[Pattern]:
    sign = 1 << (dtype.bits - 1)
    return [p for m in magnitudes for p in (m, m | sign)]


def _floats(dtype: DType, values: Sequence[float]) -> list[Pattern]:
    return list(dict.fromkeys(to_bits(dtype, round_float(dtype, v)) for v in values))


def _zeros(dtype: DType) -> list[Pattern]:
    return _signs(dtype, [0]) if dtype.is_float else [0]


def _ones(dtype: DType) -> list[Pattern]:
    return _signs(dtype, [to_bits(dtype, 1.0)]) if dtype.is_float else list({1, (1 << dtype.bits) - 1})


def _edges(dtype: DType) -> list[Pattern]:
    """Both ends of the type, and their neighbours; of floats both ends of the normal numbers."""
    if dtype.kind is Kind.BOOL:
        return []
    if not dtype.is_float:
        top = 1 << dtype.bits
        return [0, 1, top // 2 - 2, top // 2 - 1, top // 2, top // 2 + 1, top - 2, top - 1]
    least, infinity = _least_normal(dtype), _infinity(dtype)
    return _signs(dtype, [least, least + 1, infinity - 1, infinity - 2])


def _powers(dtype: DType) -> list[Pattern]:
    """Powers of two; of integers what lies below them, too."""
    if dtype.kind is Kind.BOOL:
        return []
    if dtype.is_float:
        assert dtype.format is not None
        _, low, high = dtype.format
        step = max(1, (high - low) // 24)
        return _signs(dtype, [to_bits(dtype, 2.0**e) for e in range(low, high + 1, step)])
    return [p for n in range(1, dtype.bits) for p in ((1 << n) - 1, 1 << n)]


def _small(dtype: DType) -> list[Pattern]:
    if dtype.kind is Kind.BOOL:
        return []
    if dtype.is_float:
        return _floats(dtype, [sign * n / 4 for n in range(1, 17) for sign in (1, -1)])
    return [n & ((1 << dtype.bits) - 1) for n in range(-12 if dtype.is_signed else 0, 16)]


def _counts(dtype: DType) -> list[Pattern]:
    """Around the widths at which shift counts wrap."""
    if not dtype.is_integer:
        return []
    near = [0, 1, dtype.bits - 1, dtype.bits, dtype.bits + 1, 2 * dtype.bits - 1, 2 * dtype.bits, 3 * dtype.bits + 2]
    return [n & ((1 << dtype.bits) - 1) for n in (*near, *(-n for n in near[1:]))]


def _subnormal(dtype: DType) -> list[Pattern]:
    if not dtype.is_float:
        return []
    least = _least_normal(dtype)
    return _signs(dtype, sorted({1, 2, 3, least // 2, least // 2 + 1, least - 2, least - 1}))


def _infinite(dtype: DType) -> list[Pattern]:
    return _signs(dtype, [_infinity(dtype)]) if dtype.is_float else []


def _nans(dtype: DType) -> list[Pattern]:
    """Quiet and signalling, with payloads."""
    if not dtype.is_float:
        return []
    most = (1 << (dtype.bits - 1)) - 1
    return _signs(dtype, [dtype.nan_bits, dtype.nan_bits | 1, _infinity(dtype) + 1, dtype.nan_bits - 1, most])


def _halves(dtype: DType) -> list[Pattern]:
    """Ties between integers, their neighbours, and integers that are ties of narrower floats."""
    if not dtype.is_float:
        return []
    ties = [to_bits(dtype, round_float(dtype, n + 0.5)) for n in (0, 1, 2, 3, 6, 7, 100, 127)]
    return _signs(dtype, [p for t in ties for p in (t - 1, t, t + 1)])


def _limits(dtype: DType) -> list[Pattern]:
    """Floats at the ends of the integer types, where casts saturate."""
    if not dtype.is_float:
        return []
    at = [to_bits(dtype, round_float(dtype, 2.0**n)) for n in (7, 8, 15, 16, 31, 32, 63, 64)]
    return _signs(dtype, [p for t in at for p in (t - 1, t, t + 1)])


def _ties(dtype: DType) -> list[Pattern]:
    """Half way between neighbours of a narrower float, and just beside."""
    if dtype.bits < 32:
        return []
    found = []
    for precision in (8, 11, 24, 53):
        least = 1 << (precision - 1)  # the least integer that takes all bits of the significand
        for whole in (least, least + 1, 3 * least // 2, 2 * least - 1):
            for value in (2 * whole + 1, 4 * whole + 1, 4 * whole + 3, 4 * whole + 2, 2 * whole):
                if dtype.is_float:
                    found += _floats(dtype, [float(value), -value * 2.0**-40])
                elif value <= dtype.highest:
                    found += [to_bits(dtype, value), to_bits(dtype, dtype.highest - value)]
            if dtype.is_integer:
                found += _high_ties(dtype, whole, dtype.bits - dtype.is_signed - precision)
    return found


def _high_ties(dtype: DType, whole: int, shift: int) -> list[Pattern]:
    """Ties at the upper end of an integer type, alone and with one more bit that decides, far below or just below."""
    if shift < 10:
        return []
    tie = (2 * whole + 1) << (shift - 1)
    decided = [tie + (1 << bit) for bit in (0, shift // 2, shift - 8, shift - 2)]
    return [to_bits(dtype, value) for value in (tie, tie - 1, *decided)]


def _least_normal(dtype: DType) -> Pattern:
    assert dtype.format is not None
    return 1 << (dtype.format.precision - 1)


def _infinity(dtype: DType) -> Pattern:
    assert dtype.format is not None
    return dtype.nan_bits - (1 << (dtype.format.precision - 2))


POOLS: Mapping[str, Pool] = {
    "zeros": _zeros,
    "ones": _ones,
    "edges": _edges,
    "powers": _powers,
    "small": _small,
    "counts": _counts,
    "subnormal": _subnormal,
    "infinite": _infinite,
    "nan": _nans,
    "halves": _halves,
    "limits": _limits,
    "ties": _ties,
    "special": lambda dtype: list(special_bits(dtype)),
}
"""Patterns of a type by name; a type without such values has an empty pool."""


# ── relations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _equal(dtype: DType, arity: int, rng: Random) -> list[Row]:
    return [(bits,) * arity for bits in (*special_bits(dtype)[:48], *(rng.getrandbits(dtype.bits) for _ in range(16)))]


def _opposite(dtype: DType, arity: int, rng: Random) -> list[Row]:
    """A value and its negation, then its complement."""
    top = (1 << dtype.bits) - 1
    rows = []
    for bits in (*rng.sample(special_bits(dtype), 24), *(rng.getrandbits(dtype.bits) for _ in range(8))):
        negated = bits ^ 1 << (dtype.bits - 1) if dtype.is_float else -bits & top
        rows += [(bits, negated, bits)[:arity], (bits, bits ^ top, negated)[:arity]]
    return rows


def _near(dtype: DType, arity: int, rng: Random) -> list[Row]:
    """Operands that nearly cancel: what tells one rounding from two. Of integers neighbours."""
    if dtype.is_float:
        return near_rows(dtype, arity, rng)
    top = (1 << dtype.bits) - 1
    values = [random_bits(rng, dtype) for _ in range(48)]
    return [(bits, bits + rng.choice((-2, -1, 1, 2)) & top, bits + 1 & top)[:arity] for bits in values]


RELATIONS: Mapping[str, Callable[[DType, int, Random], list[Row]]] = {
    "equal": _equal,
    "opposite": _opposite,
    "near": _near,
}


def pack_rows(dtypes: Sequence[DType], rows: Sequence[Row]) -> list[bytes]:
    """One buffer for each operand."""
    return [pack_bits(dtype, column) for dtype, column in zip(dtypes, zip(*rows, strict=True), strict=True)]
