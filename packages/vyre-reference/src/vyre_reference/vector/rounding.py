"""Rounding that NumPy does not have: to bf16, and to odd.

Rounding to odd takes, of the two neighbours of an inexact value, the one with an odd significand. It keeps the
knowledge that something was cut off, so that a second rounding to nearest, to at least two bits fewer, gives what one
rounding would have given (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vyre_reference.vector.registers import Values

F64 = npt.NDArray[np.float64]


def f32_to_bf16(x: Values) -> Values:
    """The bf16 nearest to an f32, ties to even, as the f32 that equals it. A carry into the exponent is right too."""
    bits = x.view(np.uint32)
    nearest = bits + (0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF_0000)
    return np.where(np.isnan(x), x, nearest.view(np.float32))


def f64_to_bf16(x: Values) -> Values:
    """The bf16 nearest to an f64: to f32 by rounding to odd, then to nearest."""
    single = x.astype(np.float32)
    error = x - single.astype(np.float64)
    return f32_to_bf16(to_odd(single, error, np.int32))


def integer_to_bf16(x: Values) -> Values:
    """The bf16 nearest to an integer: what is beyond 40 bits only counts as a sticky bit, and 40 bits fit an f64."""
    magnitude = x.astype(np.uint64)  # of a negative number, its two's complement
    magnitude = np.where(x < 0, -magnitude, magnitude)
    sticky = (magnitude & 0xFF_FFFF) != 0
    cut = (magnitude >> 24 | sticky) << 24
    wide = np.where(magnitude >> 40 != 0, cut, magnitude).astype(np.float64)
    return f64_to_bf16(np.where(x < 0, -wide, wide))


def to_odd(nearest: Values, error: Values, bits: type[np.signedinteger[Any]]) -> Values:
    """`nearest` + `error` rounded to odd, where `nearest` is that sum rounded to nearest and `error` what it misses.

    `bits` is the signed type of the width of `nearest`. An infinite `nearest` that stands for a finite sum becomes
    the greatest finite value, which is odd.
    """
    pattern = nearest.view(bits)
    is_moved = (np.abs(error) > 0) & (pattern & 1 == 0)
    is_inwards = is_moved & (np.signbit(error) != np.signbit(nearest))
    odd = pattern + is_moved
    odd -= is_inwards.astype(bits) << 1
    return odd.view(nearest.dtype)
