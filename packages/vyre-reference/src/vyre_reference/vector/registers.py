"""How values are held while they are computed with, and how they become bits.

A value is a NumPy array with one element for each active lane, or a NumPy scalar where all lanes agree. Its NumPy type
is the type itself; a bf16, which NumPy does not know, is held as the f32 that equals it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np

from vyre_foundation.dtype import DType, bf16, bool_, f32

Values: TypeAlias = Any
"""A NumPy array with an element for each active lane, or a NumPy scalar (`ndim` is 0). The two have one interface, for
which NumPy's type hints have no name."""

Bools: TypeAlias = Any
"""`Values` of NumPy's bool."""


@cache
def register(dtype: DType) -> np.dtype[Any]:
    """The NumPy type of values of `dtype` in registers."""
    return np.dtype((f32 if dtype is bf16 else dtype).numpy)


@cache
def stored(dtype: DType) -> np.dtype[Any]:
    """The NumPy type of elements of `dtype` in memory."""
    return np.dtype({"bool": "<u1", "bf16": "<u2"}.get(dtype.name, dtype.numpy))


def decode(dtype: DType, raw: Values) -> Values:
    """Values from memory."""
    if dtype is bool_:
        return raw != 0
    if dtype is bf16:
        return (raw.astype(np.uint32) << 16).view(np.float32)
    return raw


def encode(dtype: DType, values: Values) -> Values:
    """Memory from values; every NaN becomes the canonical one."""
    if dtype is bool_:
        return values.view(np.uint8)
    if not dtype.is_float:
        return values
    raw = (values.view(np.uint32) >> 16).astype(np.uint16) if dtype is bf16 else values
    nan = np.isnan(values)
    return np.where(nan, canonical_nan(dtype), raw) if nan.any() else raw


def bitcast(source: DType, target: DType, values: Values) -> Values:
    """The bits that memory would hold, read as another type of the same width."""
    return decode(target, encode(source, values).view(stored(target)))


@cache
def canonical_nan(dtype: DType) -> Values:
    """The one NaN that may become visible, as memory holds it."""
    return _element(dtype, dtype.nan_bits)


@cache
def literal(dtype: DType, bits: int) -> Values:
    """The scalar whose bits in memory are `bits`."""
    return decode(dtype, _element(dtype, bits))


def _element(dtype: DType, bits: int) -> Values:
    return np.frombuffer(bits.to_bytes(dtype.size, "little"), stored(dtype))[0]
