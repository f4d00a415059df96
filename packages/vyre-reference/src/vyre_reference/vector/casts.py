"""Conversions between any two types, and whether they lose nothing that was promised to fit."""

from __future__ import annotations

import numpy as np

from vyre_foundation.dtype import DType, bf16, bool_, f64
from vyre_reference.vector.registers import Bools, Values, register
from vyre_reference.vector.rounding import f32_to_bf16, f64_to_bf16, integer_to_bf16


def cast(source: DType, target: DType, x: Values) -> Values:
    """`x` of type `source` as `target`."""
    if target is bool_:
        return np.not_equal(x, 0)
    if target is bf16:
        return to_bf16(source, x)
    if target.is_integer and source.is_float:
        return saturated(target, x)
    if target.is_float and source.is_integer and target.bits == 16:
        return x.astype(np.float64).astype(register(target))  # every integer below the overflow of f16 is exact in f64
    return x.astype(register(target))


def to_bf16(source: DType, x: Values) -> Values:
    """Round values of any type to bf16, once."""
    if source.is_integer:
        return integer_to_bf16(x)
    return f64_to_bf16(x) if source is f64 else f32_to_bf16(x.astype(np.float32))


def saturated(target: DType, x: Values) -> Values:
    """Floats to integers: towards zero, the nearest end of the type outside of it, 0 for NaN."""
    whole = np.trunc(x.astype(np.float64))
    below, above = whole < float(target.lowest), whole >= float(target.highest + 1)
    inside = np.where(below | above | np.isnan(whole), 0.0, whole).astype(register(target))
    ends = np.where(below, register(target).type(target.lowest), register(target).type(target.highest))
    return np.where(below | above, ends, inside)


def fits(source: DType, target: DType, x: Values) -> Bools:
    """Where a cast neither wraps nor saturates."""
    if not target.is_integer or source is bool_:
        return np.ones(x.shape, np.bool_)
    if source.is_float:
        whole = np.trunc(x.astype(np.float64))
        return (whole >= float(target.lowest)) & (whole < float(target.highest + 1))
    return np.logical_and(x >= target.lowest, x <= target.highest)
