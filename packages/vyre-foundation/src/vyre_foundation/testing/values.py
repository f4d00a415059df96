"""Random bits of every type, mostly from the places where implementations differ."""

from __future__ import annotations

from functools import cache
from random import Random

from vyre_foundation.dtype import DType, Kind
from vyre_foundation.ir.expr import Literal
from vyre_foundation.ops.scalar import round_float, to_bits

_MODERATE = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 7.0, 10.0, 100.5, 127.5, 128.5, 255.5, 256.5, 1000.0)
_INTEGER_EDGES = tuple(2.0**n for n in (7, 8, 11, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64, 127))


@cache
def special_bits(dtype: DType) -> tuple[int, ...]:
    """The patterns of a type at and next to its boundaries, without repetition.

    Integers: around zero, both ends, and powers of two. Floats: both zeros, subnormals, the least and greatest normal
    numbers, one and its neighbours, ties, integers at the ends of the integer types, infinities, NaNs with payloads.
    """
    match dtype.kind:
        case Kind.BOOL:
            patterns = [0, 1]
        case Kind.FLOAT:
            patterns = _float_patterns(dtype)
        case _:
            top, width = 1 << dtype.bits, dtype.bits
            near = [0, 1, 2, 3, 5, 7, 8, 10, width - 1, width, width + 1, 2 * width]
            powers = [p for n in range(4, width) for p in ((1 << n) - 1, 1 << n)]
            middle = [top // 2 - 2, top // 2 - 1, top // 2, top // 2 + 1]
            patterns = [*near, *(top - p for p in near), *middle, *powers, top // 3, 2 * top // 3]
    return tuple(dict.fromkeys(p & ((1 << max(1, dtype.bits)) - 1) for p in patterns))


def _float_patterns(dtype: DType) -> list[int]:
    assert dtype.format is not None
    mantissa = dtype.format.precision - 1
    least_normal = 1 << mantissa
    infinity = dtype.nan_bits - (1 << (mantissa - 1))
    sign = 1 << (dtype.bits - 1)
    one = to_bits(dtype, 1.0)
    magnitudes = [0, 1, 2, 3, least_normal // 2, least_normal - 1, least_normal, least_normal + 1]
    magnitudes += [one - 1, one, one + 1, infinity - 1, infinity - 2, infinity - least_normal, infinity]
    for value in (*_MODERATE, *_INTEGER_EDGES):
        bits = to_bits(dtype, round_float(dtype, value))
        magnitudes += [bits, bits - 1] if value in _INTEGER_EDGES else [bits]
    nans = [dtype.nan_bits, dtype.nan_bits | 1, infinity + 1, (infinity << 1 | 1) & (sign - 1) | infinity, sign - 1]
    return [p for m in (*magnitudes, *nans) for p in (m, m | sign)]


def random_bits(rng: Random, dtype: DType) -> int:
    """A pattern of `dtype`: a special one, a small or moderate value, or any."""
    choice = rng.random()
    if choice < 0.4:
        return rng.choice(special_bits(dtype))
    if choice < 0.75 and dtype.kind is not Kind.BOOL:
        return _moderate_bits(rng, dtype)
    return rng.getrandbits(dtype.bits)


def _moderate_bits(rng: Random, dtype: DType) -> int:
    if dtype.is_float:
        value = rng.choice(
            (rng.uniform(-4, 4), rng.gauss(0, 100), float(rng.randint(-300, 300)), rng.randint(-40, 40) / 8)
        )
        return to_bits(dtype, round_float(dtype, value))
    return to_bits(dtype, rng.randint(max(dtype.lowest, -20), min(dtype.highest, 100)))


def random_literal(rng: Random, dtype: DType) -> Literal:
    """A literal. Its NaN is the canonical one: no other is observable."""
    bits = random_bits(rng, dtype)
    literal = Literal(dtype, bits)
    return literal if literal.value == literal.value else Literal(dtype, dtype.nan_bits)


def random_bytes(rng: Random, dtype: DType, count: int) -> bytes:
    """The contents of a buffer, with NaN payloads, and bools that are neither 0 nor 1."""
    if dtype.kind is Kind.BOOL:
        return bytes(rng.choice((0, 0, 1, 1, 2, 128, 255)) for _ in range(count))
    return b"".join(random_bits(rng, dtype).to_bytes(dtype.size, "little") for _ in range(count))
