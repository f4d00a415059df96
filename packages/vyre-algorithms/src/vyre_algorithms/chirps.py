"""Chirps, with which rows of a length that has a large prime factor are convolved (Bluestein)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from vyre_algorithms.butterflies import Number, butterflies, passes_of
from vyre_algorithms.roots import Pair, Table, chirp_table, memory_of, root_table
from vyre_foundation import DType
from vyre_foundation.dtype import f64

POWERS = 1024
"""Up to this length a convolution has that of a power of two, whose passes are one launch."""


def wide_of(length: int) -> int:
    """The least length of a convolution: a power of two, or above `POWERS` one times 3, 5, 9 or 15."""
    least = 2 * length - 1
    odds = (1,) if least <= POWERS else (1, 3, 5, 9, 15)
    return min(odd << (-(-least // odd) - 1).bit_length() for odd in odds)


@lru_cache(maxsize=8)
def kernel_table(length: int, dtype: DType) -> Table:
    """The transform of the conjugate chirp, which goes from element 0 to both sides, divided by its length.

    It is computed in f64 and rounded once more.
    """
    wide = wide_of(length)
    real, imaginary = np.zeros((2, wide))
    real[:length], imaginary[:length] = (chirp_table(length, f64).reshape(-1, 2) * (1, -1)).T
    for part in (real, imaginary):
        part[wide - length + 1 :] = part[length - 1 : 0 : -1]
    found = np.stack(transformed((real, imaginary)), 1) / wide
    return found.astype(dtype.numpy).reshape(-1).view(memory_of(dtype).numpy)


class _Host:
    """Arrays have names already."""

    def let(self, value: Any, /) -> Any:
        return value


def transformed(parts: Pair) -> Pair:
    """The transform of numbers of the host, by the operations of programs in their order."""
    passes, stride = passes_of(parts[0].size), 1
    assert passes is not None
    for radices in passes:
        parts = _pass(parts, stride, radices)
        stride *= math.prod(radices)
    return parts


def _pass(parts: Pair, stride: int, radices: tuple[int, ...]) -> Pair:
    length, radix = parts[0].size, math.prod(radices)
    roots, step = root_table(length, f64).reshape(-1, 2).T, length // radix
    at = np.arange(step)
    n = at // stride * stride

    def load(m: int) -> Number:
        part = slice(m * step, (m + 1) * step)
        return parts[0][part], parts[1][part]

    def root(exponents: Any) -> Number:
        return roots[0][exponents], roots[1][exponents]

    found = np.empty((2, length))
    for m, number in butterflies(_Host(), load, root, n, step, radices, is_inverse=False):
        found[:, at - n + n * radix + m * stride] = number
    return found[0], found[1]
