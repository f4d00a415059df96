"""Bit patterns on which a device's ops are tried: boundaries first, then some without a pattern, always the same."""

from __future__ import annotations

from functools import cache

from vyre_foundation.dtype import DType
from vyre_foundation.ops.scalar import to_bits

CASES = 128
"""Patterns of each type, except of those that have fewer."""


@cache
def patterns(t: DType) -> tuple[int, ...]:
    """`CASES` bit patterns of a type; a NaN among them may have any payload."""
    found = list(dict.fromkeys(_integer_edges(t) if t.format is None else _float_edges(t)))
    word = 0x9E37_79B9_7F4A_7C15
    while len(found) < CASES:
        word = (word * 6364136223846793005 + 1442695040888963407) % 2**64
        bits = (word >> 7) & ((1 << t.bits) - 1)
        found.append(_near_one(t, bits, word % 16) if t.format is not None and len(found) % 2 else bits)
    return tuple(found)


def _integer_edges(t: DType) -> list[int]:
    top, mask = 1 << (t.bits - 1), (1 << t.bits) - 1
    return [0, 1, 2, 3, top - 1, top, top + 1, mask - 1, mask, *(1 << n for n in range(2, t.bits, 5))]


def _float_edges(t: DType) -> list[int]:
    """Zeros, subnormals, ends of the normal numbers, neighbours of 1, ties of rounding, infinities, NaN."""
    assert t.format is not None
    least, one, infinity = 1 << (t.format.precision - 1), to_bits(t, 1.0), to_bits(t, float("inf"))
    edges = [0, 1, 2, least // 2, least - 1, least, least + 1, one - 1, one, one + 1, one + least // 2]
    edges += [infinity - 1, infinity, t.nan_bits, *(to_bits(t, value) for value in (0.5, 1.5, 2.5, 3.0))]
    return edges + [pattern | 1 << (t.bits - 1) for pattern in edges]


def _near_one(t: DType, bits: int, exponent: int) -> int:
    """The bits with an exponent of -8 … 7, so that sums and products stay in range."""
    assert t.format is not None
    fraction = t.format.precision - 1
    biased = (to_bits(t, 1.0) >> fraction) + exponent - 8
    return bits & ((1 << fraction) - 1) | bits & 1 << (t.bits - 1) | biased << fraction
