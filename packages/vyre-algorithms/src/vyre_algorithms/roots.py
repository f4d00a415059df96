"""Roots of unity, rounded from twice the precision of f64.

Pairs of f64 hold that precision: every operation is one of IEEE 754, so the tables are the same everywhere.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from vyre_foundation import DType
from vyre_foundation.dtype import f32, u64

Doubles = npt.NDArray[np.float64]
Pair = tuple[Doubles, Doubles]
Table = npt.NDArray[Any]
TERMS = 14
"""Terms of each series: the first that is left out is below 2**-110 up to an angle of π/4."""
SPLIT = 2.0**27 + 1
ARC = 1 << 14
"""Numbers that are computed together: as many as stay in a cache."""


def memory_of(dtype: DType) -> DType:
    """The type of the elements of buffers for numbers whose parts are of a type.

    A number of two f32 is an element of u64, whose low word is the real part: neighbours access neighbours.
    """
    return u64 if dtype is f32 else dtype


@lru_cache(maxsize=8)
def root_table(length: int, dtype: DType) -> Table:
    """The parts of ``exp(−2πj n / length)`` for each n."""
    return _roots(np.arange(length), length, dtype)


@lru_cache(maxsize=8)
def quarter_root_table(length: int, dtype: DType) -> Table:
    """The elements of `root_table` of the first quarter of the circle."""
    return _roots(np.arange(length // 4 + 1), length, dtype)


@lru_cache(maxsize=8)
def chirp_table(length: int, dtype: DType) -> Table:
    """The parts of ``exp(−πj n² / length)`` for each n."""
    n = np.arange(length)
    return _roots(n * n % (2 * length), 2 * length, dtype)


def _roots(numbers: npt.NDArray[np.int64], length: int, dtype: DType) -> Table:
    octant, rest = np.divmod(8 * numbers, length)
    rest = np.where(octant & 1, length - rest, rest)
    is_wanted = np.zeros(length + 1, np.bool_)
    is_wanted[rest] = True
    where = (np.cumsum(is_wanted) - 1)[rest]
    wanted = np.flatnonzero(is_wanted)
    cosine, sine = (part[where] for part in _circle(wanted.astype(np.float64), float(length)))
    is_swapped = ((octant + 1) // 2) & 1 == 1
    x, y = np.where(is_swapped, sine, cosine), np.where(is_swapped, cosine, sine)
    found = np.empty((numbers.size, 2), dtype.numpy)
    found[:, 0] = np.where((octant >= 2) & (octant < 6), -x, x)
    found[:, 1] = np.where(octant < 4, -y, y)
    return found.reshape(-1).view(memory_of(dtype).numpy)


def _circle(numerator: Doubles, denominator: float) -> Pair:
    """The cosine and the sine of ``π/4 · numerator / denominator``, for ratios from 0 to 1."""
    arcs = [_arc(numerator[first : first + ARC], denominator) for first in range(0, numerator.size, ARC)]
    cosine, sine = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
    return cosine, sine


def _arc(numerator: Doubles, denominator: float) -> Pair:
    high = numerator / denominator
    product, error = _product_of(high, np.full_like(high, denominator))
    ratio = high, ((numerator - product) - error) / denominator
    pi = 3.141592653589793, 1.2246467991473532e-16
    angle = _times(ratio, (np.full_like(high, pi[0] / 4), np.full_like(high, pi[1] / 4)))
    square = _times(angle, angle)
    cosine, sine = (_series(square, first) for first in (0, 1))
    return cosine[0], _times(angle, sine)[0]


def _series(square: Pair, first: int) -> Pair:
    """The sum of ``(−square)**n / (2n + first)!``."""
    total = np.zeros_like(square[0]), np.zeros_like(square[0])
    for n in reversed(range(TERMS)):
        factor = Fraction((-1) ** n, math.factorial(2 * n + first))
        high = float(factor)
        constant = np.full_like(square[0], high), np.full_like(square[0], float(factor - Fraction(high)))
        total = _plus(constant, _times(total, square))
    return total


def _product_of(a: Doubles, b: Doubles) -> Pair:
    """The product and its rounding error (Dekker)."""
    high = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Doubles) -> Pair:
    scaled = SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def _times(a: Pair, b: Pair) -> Pair:
    high, low = _product_of(a[0], b[0])
    low = low + (a[0] * b[1] + a[1] * b[0])
    total = high + low
    return total, low - (total - high)


def _plus(a: Pair, b: Pair) -> Pair:
    high = a[0] + b[0]
    back = high - a[0]
    low = ((a[0] - (high - back)) + (b[0] - back)) + (a[1] + b[1])
    total = high + low
    return total, low - (total - high)
