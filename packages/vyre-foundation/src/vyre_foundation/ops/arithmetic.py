"""Arithmetic on integers (total, modulo 2**bits) and floats (IEEE 754-2019, one rounding to nearest even per op)."""

from __future__ import annotations

import math

from vyre_foundation.dtype import FLOATS, INTEGERS, NUMBERS, DType, bf16, f16, f32, f64, i8, i32, i64, u8, u16, u32, u64
from vyre_foundation.ops.definition import Laws, Op, Result, Tier, at
from vyre_foundation.ops.scalar import clamp, round_ratio

INF, NAN = math.inf, math.nan


def divide(dtype: DType, x: int | float, y: int | float) -> int | float:
    """IEEE division; integer division truncates towards zero with x / 0 == x (and MIN / -1 wraps to MIN)."""
    if not dtype.is_float:
        return truncated_quotient(int(x), int(y)) if y else x
    if y != 0:
        return x / y
    if x == 0 or x != x:
        return NAN
    return math.copysign(INF, x) * math.copysign(1.0, y)


def truncated_quotient(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def remainder(dtype: DType, x: int, y: int) -> int:
    """The remainder of `divide`, with the sign of x; x % 0 == 0."""
    return x - truncated_quotient(x, y) * y if y else 0


def minimum(dtype: DType, x: float, y: float) -> float:
    """The lesser; for floats IEEE minimumNumber: a NaN loses, -0 < +0."""
    if x != x:
        return y
    if y != y:
        return x
    if x == y:
        return x if math.copysign(1, x) < 0 else y
    return min(x, y)


def maximum(dtype: DType, x: float, y: float) -> float:
    """The greater; for floats IEEE maximumNumber: a NaN loses, -0 < +0."""
    if x != x:
        return y
    if y != y:
        return x
    if x == y:
        return y if math.copysign(1, x) < 0 else x
    return max(x, y)


def fused_multiply_add(dtype: DType, x: float, y: float, z: float) -> float:
    """x * y + z with one rounding."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z  # x * y is finite, even where it overflows as a double
    (a, a_divisor), (b, b_divisor), (c, c_divisor) = (value.as_integer_ratio() for value in (x, y, z))
    divisor = a_divisor * b_divisor
    if dividend := a * b * c_divisor + c * divisor:
        return round_ratio(dtype, dividend, divisor * c_divisor)
    # An exact zero takes its sign from the doubles: the product's sign is right even where it underflows.
    return math.copysign(0.0, x) * math.copysign(1.0, y) + z if z == 0 else 0.0


def square_root(dtype: DType, x: float) -> float:
    """The correctly rounded root; sqrt(-0) == -0, a negative operand gives NaN."""
    return NAN if x < 0 else math.sqrt(x)


def sign(dtype: DType, x: float) -> float:
    """-1, 1, or the operand itself where it is a zero or NaN."""
    return x if x == 0 or x != x else math.copysign(1.0, x)


def copy_sign(dtype: DType, x: float, y: float) -> float:
    """The magnitude of x with the sign of y. No NaN has an observable sign, so it counts as positive."""
    return math.copysign(x, y) if y == y else abs(x)


def can_divide(dtype: DType, x: int, y: int) -> bool:
    return y != 0 and not (y == -1 and x == dtype.lowest)


_COMMUTES = Laws(commutative=True)
_SAME, _UNSIGNED = Result.SAME, Result.UNSIGNED

# fmt: off
ADD = Op("add", 1, 2, NUMBERS, _SAME, lambda t, x, y: x + y, "x + y",
         laws=Laws(commutative=True, associative=True, identity=0), float_laws=Laws(commutative=True, identity=-0.0),
         witnesses=at(u32, (0xFFFF_FFFF, 1, 0), (1, 2, 3)) + at(i8, (127, 1, -128), (-128, -1, 127))
         + at(u64, (2**64 - 1, 2, 1)) + at(f32, (16777216.0, 1.0, 16777216.0), (INF, -INF, NAN), (-0.0, 0.0, 0.0))
         + at(f16, (2048.0, 1.0, 2048.0), (65504.0, 16.0, INF)) + at(bf16, (256.0, 1.0, 256.0)) + at(f64, (0.1, 0.2, 0.30000000000000004)))
SUB = Op("sub", 2, 2, NUMBERS, _SAME, lambda t, x, y: x - y, "x - y",
         laws=Laws(identity=0, self_inverse=True), float_laws=Laws(identity=0.0),
         witnesses=at(u32, (0, 1, 0xFFFF_FFFF)) + at(i32, (-2**31, 1, 2**31 - 1)) + at(f32, (INF, INF, NAN), (0.0, 0.0, 0.0)))
MUL = Op("mul", 3, 2, NUMBERS, _SAME, lambda t, x, y: x * y, "x * y",
         laws=Laws(commutative=True, associative=True, identity=1, absorbing=0), float_laws=Laws(commutative=True, identity=1.0),
         witnesses=at(u16, (65535, 65535, 1)) + at(i32, (-2**31, -1, -2**31), (65536, 65536, 0)) + at(u64, (2**63, 2, 0))
         + at(f32, (INF, 0.0, NAN), (1e-30, 1e-30, 0.0), (-1e-45, 0.5, -0.0)))
DIV = Op("div", 4, 2, NUMBERS, _SAME, divide, "x / y; integers truncate, x / 0 = x, MIN / -1 = MIN",
         laws=Laws(identity=1), float_laws=Laws(identity=1.0),
         witnesses=at(u32, (7, 0, 7), (7, 2, 3)) + at(i32, (-7, 2, -3), (-2**31, -1, -2**31), (5, 0, 5), (-5, 0, -5))
         + at(f32, (1.0, 0.0, INF), (1.0, -0.0, -INF), (0.0, 0.0, NAN), (1.0, 3.0, 0.3333333432674408)))
REM = Op("rem", 5, 2, INTEGERS, _SAME, remainder, "x - (x / y) * y; x % 0 = 0, MIN % -1 = 0",
         laws=Laws(absorbing=0, self_inverse=True), witnesses=at(u32, (7, 0, 0), (7, 4, 3)) + at(i32, (-7, 2, -1), (7, -2, 1), (-2**31, -1, 0), (-5, 0, 0)))
NEG = Op("neg", 6, 1, NUMBERS, _SAME, lambda t, x: -x, "-x; wraps at MIN",
         laws=Laws(involution=True), float_laws=Laws(involution=True),
         witnesses=at(i32, (-2**31, -2**31), (5, -5)) + at(u8, (1, 255)) + at(f32, (0.0, -0.0), (INF, -INF)))
ABS = Op("abs", 7, 1, NUMBERS, _SAME, lambda t, x: abs(x), "the absolute value of x; wraps at MIN",
         witnesses=at(i32, (-2**31, -2**31), (-5, 5)) + at(u8, (200, 200)) + at(f32, (-0.0, 0.0), (-INF, INF)))
ABS_DIFF = Op("abs_diff", 8, 2, INTEGERS, _UNSIGNED, lambda t, x, y: abs(x - y), "|x - y|, as the unsigned type",
         laws=_COMMUTES, witnesses=at(i32, (-2**31, 2**31 - 1, 2**32 - 1), (3, 5, 2)) + at(u8, (0, 255, 255)))
MUL_HIGH = Op("mul_high", 9, 2, INTEGERS, _SAME, lambda t, x, y: (x * y) >> t.bits, "the high half of the double-width product x * y",
         laws=Laws(commutative=True, absorbing=0), witnesses=at(u32, (2**32 - 1, 2**32 - 1, 2**32 - 2)) + at(i32, (-1, 1, -1), (-2**31, -2**31, 2**30))
         + at(u64, (2**63, 2, 1)) + at(i64, (-2**63, 2, -1)) + at(u8, (16, 16, 1)))
ADD_SAT = Op("add_sat", 10, 2, INTEGERS, _SAME, lambda t, x, y: clamp(t, x + y), "x + y, clamped to the type",
         laws=Laws(commutative=True, identity=0), witnesses=at(u8, (250, 10, 255)) + at(i8, (100, 100, 127), (-100, -100, -128)))
SUB_SAT = Op("sub_sat", 11, 2, INTEGERS, _SAME, lambda t, x, y: clamp(t, x - y), "x - y, clamped to the type",
         laws=Laws(identity=0, self_inverse=True), witnesses=at(u8, (1, 2, 0)) + at(i8, (-100, 100, -128), (0, -128, 127)))
MUL_SAT = Op("mul_sat", 12, 2, INTEGERS, _SAME, lambda t, x, y: clamp(t, x * y), "x * y, clamped to the type",
         laws=Laws(commutative=True, identity=1, absorbing=0), witnesses=at(u8, (16, 16, 255)) + at(i8, (-128, -1, 127), (16, -16, -128)))
MIN = Op("min", 13, 2, NUMBERS, _SAME, minimum, "the lesser of x and y; a NaN loses, -0 < +0",
         laws=Laws(commutative=True, associative=True, idempotent=True, identity="highest", absorbing="lowest"),
         float_laws=Laws(commutative=True, associative=True, idempotent=True, identity=NAN),
         witnesses=at(i32, (-1, 1, -1)) + at(u32, (2**32 - 1, 1, 1)) + at(f32, (NAN, 1.0, 1.0), (0.0, -0.0, -0.0), (-0.0, 0.0, -0.0), (NAN, NAN, NAN)))
MAX = Op("max", 14, 2, NUMBERS, _SAME, maximum, "the greater of x and y; a NaN loses, -0 < +0",
         laws=Laws(commutative=True, associative=True, idempotent=True, identity="lowest", absorbing="highest"),
         float_laws=Laws(commutative=True, associative=True, idempotent=True, identity=NAN),
         witnesses=at(i32, (-1, 1, 1)) + at(u32, (2**32 - 1, 1, 2**32 - 1)) + at(f32, (1.0, NAN, 1.0), (0.0, -0.0, 0.0), (-0.0, 0.0, 0.0)))
SQRT = Op("sqrt", 15, 1, FLOATS, _SAME, square_root, "the square root of x, correctly rounded",
         witnesses=at(f32, (-0.0, -0.0), (-1.0, NAN), (2.0, 1.4142135381698608), (INF, INF)) + at(f16, (2.0, 1.4140625)) + at(f64, (2.0, 1.4142135623730951)))
FMA = Op("fma", 16, 3, (f32, f64), _SAME, fused_multiply_add, "x * y + z with one rounding",
         witnesses=at(f32, (1.0000001192092896, 1.0000001192092896, -1.000000238418579, 1.4210854715202004e-14), (INF, 0.0, 1.0, NAN), (-1.0, 0.0, 0.0, 0.0), (-1.0, 0.0, -0.0, -0.0))
         + at(f64, (1.0000000000000002, 1.0000000000000002, -1.0000000000000004, 4.930380657631324e-32), (1e300, -1e300, 0.0, -INF), (1e300, 1e300, -INF, -INF)))
SIGN = Op("sign", 17, 1, FLOATS, _SAME, sign, "-1, 1, or x where it is a zero or NaN",
         witnesses=at(f32, (-3.0, -1.0), (-0.0, -0.0), (0.0, 0.0), (NAN, NAN), (INF, 1.0)))
COPYSIGN = Op("copysign", 18, 2, FLOATS, _SAME, copy_sign, "the magnitude of x with the sign of y; a NaN counts as positive",
         witnesses=at(f32, (1.0, -0.0, -1.0), (-INF, 2.0, INF), (-0.0, 1.0, 0.0), (-1.0, NAN, 1.0)))

RAW_DIV = Op("raw_div", 130, 2, INTEGERS, _SAME, divide, "x / y where y != 0 and the quotient fits", tier=Tier.RAW, precondition=can_divide,
         witnesses=at(i32, (-7, 2, -3)) + at(u32, (7, 2, 3)))
RAW_REM = Op("raw_rem", 131, 2, INTEGERS, _SAME, remainder, "x % y where y != 0 and the quotient fits", tier=Tier.RAW, precondition=can_divide,
         witnesses=at(i32, (-7, 2, -1)) + at(u32, (7, 4, 3)))
# fmt: on

ROWS = (
    *(ADD, SUB, MUL, DIV, REM, NEG, ABS, ABS_DIFF, MUL_HIGH, ADD_SAT, SUB_SAT, MUL_SAT, MIN, MAX),
    *(SQRT, FMA, SIGN, COPYSIGN, RAW_DIV, RAW_REM),
)
