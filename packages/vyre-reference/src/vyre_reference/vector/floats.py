"""Every op on floats. NumPy's + - × ÷ √ are IEEE operations of the array's own type; nothing else of it rounds here.

f16 is computed by NumPy in f32 and rounded once; bf16 is held in f32 and rounded here. Both are right for these five
operations, because 24 >= 2 × 11 + 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from vyre_foundation.dtype import DType, bf16, f32
from vyre_reference.vector.fma import fma_f32, fma_f64
from vyre_reference.vector.registers import Values
from vyre_reference.vector.rounding import f32_to_bf16

Function = Callable[..., Values]


def rounded(function: Function) -> Function:
    """An op whose result must be rounded to bf16, which the f32 that holds it is not."""
    return lambda t, *operands: f32_to_bf16(function(t, *operands)) if t is bf16 else function(t, *operands)


def minimum(t: DType, x: Values, y: Values) -> Values:
    """Of two equal operands that are zeros, the negative one."""
    return np.where((x < y) | np.isnan(y) | ((x == y) & np.signbit(x)), x, y)


def maximum(t: DType, x: Values, y: Values) -> Values:
    """Of two equal operands that are zeros, the positive one."""
    return np.where((x > y) | np.isnan(y) | ((x == y) & ~np.signbit(x)), x, y)


def sign(t: DType, x: Values) -> Values:
    return np.where((x == 0) | np.isnan(x), x, np.copysign(x.dtype.type(1), x))


def copy_sign(t: DType, x: Values, y: Values) -> Values:
    return np.where(np.isnan(y), np.abs(x), np.copysign(x, y))


def fused_multiply_add(t: DType, x: Values, y: Values, z: Values) -> Values:
    return fma_f32(x, y, z) if t is f32 else fma_f64(x, y, z)


# fmt: off
FUNCTIONS: Mapping[str, Function] = {
    "add":       rounded(lambda t, x, y: x + y),
    "sub":       rounded(lambda t, x, y: x - y),
    "mul":       rounded(lambda t, x, y: x * y),
    "div":       rounded(lambda t, x, y: x / y),
    "sqrt":      rounded(lambda t, x: np.sqrt(x)),
    "fma":       fused_multiply_add,
    "neg":       lambda t, x: -x,
    "abs":       lambda t, x: np.abs(x),
    "min":       minimum,
    "max":       maximum,
    "sign":      sign,
    "copysign":  copy_sign,
    "floor":     lambda t, x: np.floor(x),
    "ceil":      lambda t, x: np.ceil(x),
    "trunc":     lambda t, x: np.trunc(x),
    "round":     lambda t, x: np.rint(x),
    "eq":        lambda t, x, y: x == y,
    "ne":        lambda t, x, y: x != y,
    "lt":        lambda t, x, y: x < y,
    "le":        lambda t, x, y: x <= y,
    "gt":        lambda t, x, y: x > y,
    "ge":        lambda t, x, y: x >= y,
    "is_nan":    lambda t, x: np.isnan(x),
    "is_inf":    lambda t, x: np.isinf(x),
    "is_finite": lambda t, x: np.isfinite(x),
}
# fmt: on
