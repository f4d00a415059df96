"""Conversions between all types: total, with one rounding.

`x` is in the register for its type `source`, the result in the register for `dtype`.
"""

from __future__ import annotations

from vyre_driver.legalization.forms import half, narrow
from vyre_driver.legalization.forms.odd import narrowed_to_odd
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.dtype import DType, bool_, f16, f32, f64, u32, u64


def convert(source: DType, dtype: DType, x: ExprTerm) -> ExprTerm:
    """`x` converted from `source` to `dtype` as `ops.scalar.cast` defines it."""
    register = x.forms.carrier(dtype)
    if dtype is bool_:
        return x if source is bool_ else x.differs(0)
    if source is bool_:
        return x.cast(register)
    native = x.dtype is source and register is dtype and (source, dtype) in x.forms.target.casts
    if native and not (source.is_float and dtype.is_integer):
        return x.cast(dtype)
    return _converted(source, dtype, x.forms.widened(x)).cast(register)


def _converted(source: DType, dtype: DType, x: ExprTerm) -> ExprTerm:
    """The same between registers of at least 32 bits."""
    if not dtype.is_float:
        return _float_to_integer(dtype, x) if source.is_float else _integer_to_integer(dtype, x)
    if dtype in (f32, f64):
        return x.cast(dtype)
    if source.is_float:
        return half.rounded(dtype, narrowed_to_odd(x) if x.dtype is f64 else x)
    if source.bits <= 8:
        return x.cast(f32)
    if source.bits <= 16:
        return half.rounded(dtype, x.cast(f32))
    if not source.is_signed:
        return _magnitude_to_single(dtype, x)
    size = abs(x).bits(x.dtype.unsigned)  # the pattern of the least integer is its magnitude
    single = _magnitude_to_single(dtype, size)
    return (x < 0).where(-single, single)


def _integer_to_integer(dtype: DType, x: ExprTerm) -> ExprTerm:
    """Truncate or extend; nothing to wrap where the whole range of x fits."""
    fits = dtype.lowest <= x.range.low and x.range.high <= dtype.highest
    wide = x.cast(x.forms.wide(dtype))
    return wide if fits or wide.dtype is dtype else narrow.wrapped(dtype, wide)


def _float_to_integer(dtype: DType, x: ExprTerm) -> ExprTerm:
    """Only a number within the bounds is converted; NaN gives 0, the rest the nearest value of `dtype`.

    The bounds are powers of two or 0, so that every float type holds them; -0.5 may count as below 0, it gives 0.
    """
    low, high = float(dtype.lowest), float(dtype.highest + 1)
    whole = ((x >= low) & (x < high)).where(x, 0.0).cast(x.forms.wide(dtype))
    above = whole if dtype.lowest == 0 else (x < low).where(dtype.lowest, whole)
    return (x >= high).where(dtype.highest, above)


def _magnitude_to_single(dtype: DType, size: ExprTerm) -> ExprTerm:
    """An unsigned integer, cut to 24 bits, which f32 holds exactly: f16 overflows before, bf16 keeps a sticky bit."""
    if dtype is f16:
        return half.rounded(dtype, _low_word(size.op("min", 1 << 17)).cast(f32))
    scale = size.number(1.0, f32)
    for limit, shift in ((48, 24), (32, 16), (24, 8)):
        if limit < size.dtype.bits:
            large = size >= 1 << limit
            sticky = (size & ((1 << shift) - 1)).differs(0).where(size.number(1), 0)
            size = large.where((size >> shift) | sticky, size)
            scale = large.where(scale * float(1 << shift), scale)
        if limit == 32:
            size = _low_word(size)
    return half.rounded(dtype, size.cast(f32) * scale)


def _low_word(size: ExprTerm) -> ExprTerm:
    return size.cast(u32) if size.dtype is u64 else size


def reinterpret(source: DType, dtype: DType, x: ExprTerm, *, may_be_nan: bool) -> ExprTerm:
    """The bits of `x` as `dtype`, which has the width of `source`; NaN shows its canonical pattern."""
    if source is dtype or source is bool_:
        return x
    forms = x.forms
    bits = _pattern(source, forms.widened(x), may_be_nan=may_be_nan)
    if dtype.bits >= 32:
        return bits.bits(dtype)
    value = half.value(dtype, bits) if dtype.is_float else narrow.wrapped(dtype, bits)
    return value.cast(forms.carrier(dtype))


def _pattern(source: DType, x: ExprTerm, *, may_be_nan: bool) -> ExprTerm:
    """The bits of a value as an unsigned integer, in the register for it."""
    if source.bits < 32:
        return half.pattern(source, x) if source.is_float else narrow.pattern(source, x)
    bits = x.bits(source.unsigned)
    return x.differs(x).where(source.nan_bits, bits) if source.is_float and may_be_nan else bits
