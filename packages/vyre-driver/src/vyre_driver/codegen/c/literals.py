"""Constants as text: exact in every bit."""

from __future__ import annotations

import math

from vyre_driver.codegen.dialect import CDialect
from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ir.expr import Literal

_MASKS = 1 << 16
"""From here on an unsigned number is more likely a mask, and easier to read in hexadecimal."""


def spell(dialect: CDialect, constant: Literal) -> str:
    """The text of a constant; negative numbers are in brackets.

    Integers are decimal, great unsigned ones hexadecimal. Floats are decimal where that is short and exact, else
    hexadecimal; NaN, infinities, and types that the dialect has no literals for are bitcasts of their bits.
    """
    dtype = constant.dtype
    template = dialect.literals[dtype]
    if dtype is bool_ or dtype.is_integer:
        return _integer(template, dtype, int(constant.value))
    value = float(constant.value)
    if not template or not math.isfinite(value):
        return dialect.bitcasts[dtype.unsigned, dtype].format(spell(dialect, Literal(dtype.unsigned, constant.bits)))
    text = template.format(_number(abs(value)))
    return f"(-{text})" if math.copysign(1.0, value) < 0 else text


def spell_element(dialect: CDialect, constant: Literal) -> str:
    """As `spell`, for the table of a constant buffer: C takes no bitcast there, but quotients, also those of zero.

    The NaN is some NaN, as no payload can be observed.
    """
    template = dialect.literals[constant.dtype]
    if not constant.dtype.is_float or not template or math.isfinite(value := float(constant.value)):
        return spell(dialect, constant)
    zero, one = template.format("0.0"), template.format("1.0")
    if math.isnan(value):
        return f"({zero} / {zero})"
    return f"({one} / {zero})" if value > 0 else f"(-{one} / {zero})"


def _integer(template: str, dtype: DType, value: int) -> str:
    """The least value has no literal, as its magnitude is not a value of the type."""
    if value >= 0:
        return template.format(hex(value) if value >= _MASKS and not dtype.is_signed else value)
    if value == dtype.lowest:
        return f"(-{template.format(dtype.highest)} - {template.format(1)})"
    return f"(-{template.format(-value)})"


def _number(value: float) -> str:
    """Small multiples of 1/8 in decimal, as every C compiler reads them exactly."""
    if value < 2**20 and value * 8 == int(value * 8):
        return repr(value)
    mantissa, exponent = value.hex().split("p")
    mantissa = mantissa.rstrip("0") if "." in mantissa else mantissa
    return f"{mantissa.rstrip('.')}p{exponent}"
