"""The scalar types: one row each, and nothing about a type is stated elsewhere.

Every type computes on every backend. In memory a value is little-endian and takes its natural size; `bool` takes one
byte that is 0 or 1 (any other byte loads as true).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vyre_foundation.cached import cached_property
from vyre_foundation.errors import TypeMismatch


class Kind(Enum):
    """What the bits of a type mean."""

    __hash__ = object.__hash__  # members are single objects; `Enum` would hash their names in Python

    BOOL = "bool"
    UNSIGNED = "unsigned"
    SIGNED = "signed"
    FLOAT = "float"


class FloatFormat(NamedTuple):
    """An IEEE 754 binary interchange format (or bfloat16), as its standard parameters.

    `precision` counts the leading bit; a finite value is at most ``(2 - 2**(1-precision)) * 2**emax``.
    """

    precision: int
    emin: int
    emax: int


class DType:
    """One scalar type. Instances are the module constants; compare them with ``is``."""

    name: str
    kind: Kind
    bits: int
    tag: int
    format: FloatFormat | None
    size: int
    """Bytes of one element in memory."""
    is_float: bool
    is_integer: bool
    is_signed: bool
    lowest: int
    """The least value of an integer type (0 for bool)."""
    highest: int
    """The greatest value of an integer type (1 for bool)."""

    def __init__(self, name: str, kind: Kind, bits: int, tag: int, format: FloatFormat | None = None) -> None:
        self.name, self.kind, self.bits, self.tag, self.format = name, kind, bits, tag, format
        self.size = max(1, bits // 8)
        self.is_float = kind is Kind.FLOAT
        self.is_integer = kind in (Kind.SIGNED, Kind.UNSIGNED)
        self.is_signed = kind is Kind.SIGNED
        self.lowest = -(1 << (bits - 1)) if self.is_signed else 0
        self.highest = (1 << (bits - 1)) - 1 if self.is_signed else (1 << bits) - 1

    def __repr__(self) -> str:
        return self.name

    if TYPE_CHECKING:

        def __call__(self, x: Any, /) -> Any:
            """Give a value of this type: ``u32(1)`` of a number, ``u32(x)`` converts a value as `Value.cast` does."""

    else:  # type checkers must not see these: they refuse both by themselves
        __iter__ = None  # without this, Python would iterate by calling `__getitem__`

        def __getitem__(self, axes):
            name = "bool_" if self.kind is Kind.BOOL else self.name
            raise TypeMismatch(f"the type {name} has no axes", fix=f"write vy.Array[vy.{name}, 'n'] for an array")

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype, (self.name,)

    @cached_property
    def nan_bits(self) -> int:
        """The one NaN of a float type that may become visible as bits."""
        assert self.format is not None
        precision = self.format.precision
        exponent_and_quiet_bit = (1 << (self.bits - precision + 1)) - 1
        return exponent_and_quiet_bit << (precision - 2)

    @cached_property
    def unsigned(self) -> DType:
        """The unsigned integer type of the same width (itself if it is one)."""
        return _BY_NAME[f"u{max(8, self.bits)}"]

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type that holds this type on the host."""
        if self.name == "bf16":
            import ml_dtypes

            bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return bfloat16
        return np.dtype(_NUMPY_NAMES[self.name])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The same as `numpy`, where NumPy looks for it: ``numpy.zeros(3, vyre.f32)`` has 32-bit floats."""
        return self.numpy


# fmt: off
bool_ = DType("bool", Kind.BOOL,      1, 1)
u8    = DType("u8",   Kind.UNSIGNED,  8, 2)
u16   = DType("u16",  Kind.UNSIGNED, 16, 3)
u32   = DType("u32",  Kind.UNSIGNED, 32, 4)
u64   = DType("u64",  Kind.UNSIGNED, 64, 5)
i8    = DType("i8",   Kind.SIGNED,    8, 6)
i16   = DType("i16",  Kind.SIGNED,   16, 7)
i32   = DType("i32",  Kind.SIGNED,   32, 8)
i64   = DType("i64",  Kind.SIGNED,   64, 9)
f16   = DType("f16",  Kind.FLOAT,    16, 10, FloatFormat(11,   -14,   15))
bf16  = DType("bf16", Kind.FLOAT,    16, 11, FloatFormat( 8,  -126,  127))
f32   = DType("f32",  Kind.FLOAT,    32, 12, FloatFormat(24,  -126,  127))
f64   = DType("f64",  Kind.FLOAT,    64, 13, FloatFormat(53, -1022, 1023))
# fmt: on

UNSIGNED = (u8, u16, u32, u64)
SIGNED = (i8, i16, i32, i64)
INTEGERS = UNSIGNED + SIGNED
FLOATS = (f16, bf16, f32, f64)
NUMBERS = INTEGERS + FLOATS
DTYPES = (bool_, *NUMBERS)

_BY_NAME = MappingProxyType({t.name: t for t in DTYPES})
_BY_TAG = MappingProxyType({t.tag: t for t in DTYPES})
# fmt: off
_NUMPY_NAMES = {
    "bool": "?",
    "u8": "<u1", "u16": "<u2", "u32": "<u4", "u64": "<u8",
    "i8": "<i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
    "f16": "<f2", "f32": "<f4", "f64": "<f8",
}
# fmt: on


def dtype(name: str) -> DType:
    """The type called `name` (KeyError if there is none)."""
    return _BY_NAME[name]


def dtype_of_tag(tag: int) -> DType:
    """The type whose wire tag is `tag` (KeyError if there is none)."""
    return _BY_TAG[tag]


def widest(dtypes: Iterable[DType]) -> DType:
    """The type that remedies convert mixed values to: a float if there is one, then the largest, then a signed one."""
    return max(dtypes, key=lambda dtype: (dtype.is_float, dtype.size, dtype.is_signed))
