"""How far two floats are apart, counted in floats."""

from __future__ import annotations

from vyre_foundation.dtype import DType


def ulps(dtype: DType, got: int, expected: int) -> int | None:
    """The number of steps from one pattern to the other; None where one of them is no number, or no float."""
    if not dtype.is_float:
        return None
    exponent = dtype.unsigned.highest >> 1 & ~_mantissa(dtype)
    magnitudes = [bits & dtype.unsigned.highest >> 1 for bits in (got, expected)]
    if any(magnitude > exponent for magnitude in magnitudes):
        return None
    sign = 1 << (dtype.bits - 1)
    a, b = (-m if bits & sign else m for m, bits in zip(magnitudes, (got, expected), strict=True))
    return abs(a - b)


def _mantissa(dtype: DType) -> int:
    assert dtype.format is not None
    return (1 << (dtype.format.precision - 1)) - 1
