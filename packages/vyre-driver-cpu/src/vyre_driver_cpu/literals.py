"""Constants as operands of LLVM IR: exact in every bit."""

from __future__ import annotations

import struct

from vyre_foundation.dtype import bool_, f16, f32, f64
from vyre_foundation.ir.expr import Literal

_F32_FRACTION, _F64_FRACTION = 23, 52
_NOT_FINITE = 0x7FF


def operand_of(constant: Literal) -> str:
    """The text of a constant. Floats are their bits in hexadecimal: LLVM writes those of f32 as a double's."""
    dtype, bits = constant.dtype, constant.bits
    if dtype is bool_:
        return "true" if bits else "false"
    if dtype is f16:
        return f"0xH{bits:04X}"
    if dtype is f32:
        return f"0x{_as_double(bits):016X}"
    if dtype is f64:
        return f"0x{bits:016X}"
    return str(int(constant.value))


def _as_double(bits: int) -> int:
    """The bits of the double that has the value of an f32; a NaN keeps its sign and the bits of its payload."""
    if (bits >> _F32_FRACTION) & 0xFF == 0xFF:
        fraction = (bits & ((1 << _F32_FRACTION) - 1)) << (_F64_FRACTION - _F32_FRACTION)
        return (bits >> 31) << 63 | _NOT_FINITE << _F64_FRACTION | fraction
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    (double,) = struct.unpack("<Q", struct.pack("<d", value))
    return int(double)
