"""Every op on integers and bools, in NumPy's wrapping arithmetic; an implementation beside the op table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from vyre_foundation.dtype import DType
from vyre_reference.vector.registers import Bools, Values

Function = Callable[..., Values]


def unsigned(t: DType, x: Values) -> Values:
    """The same bits as the unsigned type."""
    return x.view(t.unsigned.numpy)


def signed_as(t: DType, x: Values) -> Values:
    """The same bits as the type `t`."""
    return x.view(t.numpy)


# ── division: no operand of NumPy's own is ever 0, or -1 ──


def divide(t: DType, x: Values, y: Values) -> Values:
    one = y.dtype.type(1)
    if not t.is_signed:
        return np.floor_divide(x, np.where(y == 0, one, y))
    by_minus_one = y == -1
    safe = np.where((y == 0) | by_minus_one, one, y)
    floor = np.floor_divide(x, safe)
    towards_zero = floor + ((floor * safe != x) & ((x < 0) != (safe < 0)))
    return np.where(by_minus_one, -x, towards_zero)


def remainder(t: DType, x: Values, y: Values) -> Values:
    return np.where(y == 0, x.dtype.type(0), x - divide(t, x, y) * y)


def can_divide(t: DType, x: Values, y: Values) -> Bools:
    divides: Bools = y != 0
    return divides & ~((y == -1) & (x == t.lowest)) if t.is_signed else divides


# ── more bits than the type has ──


def mul_high(t: DType, x: Values, y: Values) -> Values:
    if t.bits < 64:
        wide = np.int64 if t.is_signed else np.uint64
        return (x.astype(wide) * y.astype(wide) >> wide(t.bits)).astype(t.numpy)
    high = _mul_high_u64(unsigned(t, x), unsigned(t, y))
    if not t.is_signed:
        return high
    zero = np.int64(0)
    correction = np.where(x < 0, y, zero) + np.where(y < 0, x, zero)
    return np.subtract(high.view(np.int64), correction)


def _mul_high_u64(x: Values, y: Values) -> Values:
    """From the four products of 32-bit halves."""
    half, low = np.uint64(32), np.uint64(0xFFFF_FFFF)
    x1, x0, y1, y0 = x >> half, x & low, y >> half, y & low
    middle = x1 * y0 + (x0 * y0 >> half)
    other = x0 * y1 + (middle & low)
    return np.add(x1 * y1, (middle >> half) + (other >> half))


def abs_diff(t: DType, x: Values, y: Values) -> Values:
    ux, uy = unsigned(t, x), unsigned(t, y)
    return np.where(x > y, ux - uy, uy - ux)


def add_sat(t: DType, x: Values, y: Values) -> Values:
    wrapped = x + y
    overflows = ((x ^ wrapped) & (y ^ wrapped)) < 0 if t.is_signed else wrapped < x
    return np.where(overflows, _limit(t, x), wrapped)


def sub_sat(t: DType, x: Values, y: Values) -> Values:
    wrapped = x - y
    if not t.is_signed:
        return np.where(x < y, x.dtype.type(0), wrapped)
    return np.where(((x ^ y) & (x ^ wrapped)) < 0, _limit(t, x), wrapped)


def mul_sat(t: DType, x: Values, y: Values) -> Values:
    low, high = x * y, mul_high(t, x, y)
    fits = high == (low >> (t.bits - 1)) if t.is_signed else high == 0
    return np.where(fits, low, _limit(t, x ^ y))


def _limit(t: DType, sign: Values) -> Values:
    """The end of the type on the side that the sign bit of `sign` tells."""
    highest, lowest = sign.dtype.type(t.highest), sign.dtype.type(t.lowest)
    return np.where(sign < 0, lowest, highest) if t.is_signed else highest


# ── bits ──


def shift_left(t: DType, x: Values, n: Values) -> Values:
    return np.left_shift(x, n & (t.bits - 1))


def shift_right(t: DType, x: Values, n: Values) -> Values:
    return np.right_shift(x, n & (t.bits - 1))


def rotate_left(t: DType, x: Values, n: Values) -> Values:
    u, left = unsigned(t, x), unsigned(t, n) & (t.bits - 1)
    right = -left & (t.bits - 1)
    return signed_as(t, u << left | u >> right)


def rotate_right(t: DType, x: Values, n: Values) -> Values:
    return rotate_left(t, x, -n)


def counts_below_width(t: DType, x: Values, n: Values) -> Bools:
    return np.logical_and(n >= 0, n < t.bits)


def popcount(t: DType, x: Values) -> Values:
    return np.bitwise_count(unsigned(t, x)).astype(t.numpy)


def leading_zeros(t: DType, x: Values) -> Values:
    """The width less the position of the highest bit: smear that bit downwards and count."""
    smeared = unsigned(t, x)
    distance = 1
    while distance < t.bits:
        smeared = smeared | smeared >> distance
        distance *= 2
    return popcount(t, ~smeared)


def trailing_zeros(t: DType, x: Values) -> Values:
    """The bits below the lowest set one."""
    u = unsigned(t, x)
    return popcount(t, ~u & (u - 1))


def reverse_bits(t: DType, x: Values) -> Values:
    """Reverse the bits by swapping neighbours, then pairs, then nibbles, and so on."""
    u = unsigned(t, x)
    distance = 1
    while distance < t.bits:
        ones = (1 << distance) - 1
        low = u.dtype.type(sum(ones << place for place in range(0, t.bits, 2 * distance)))
        u = (u & low) << distance | u >> distance & low
        distance *= 2
    return signed_as(t, u)


# fmt: off
FUNCTIONS: Mapping[str, Function] = {
    "add":      lambda t, x, y: x + y,
    "sub":      lambda t, x, y: x - y,
    "mul":      lambda t, x, y: x * y,
    "div":      divide,
    "rem":      remainder,
    "neg":      lambda t, x: np.negative(x),
    "abs":      lambda t, x: np.abs(x),
    "abs_diff": abs_diff,
    "mul_high": mul_high,
    "add_sat":  add_sat,
    "sub_sat":  sub_sat,
    "mul_sat":  mul_sat,
    "min":      lambda t, x, y: np.minimum(x, y),
    "max":      lambda t, x, y: np.maximum(x, y),
    "and":      lambda t, x, y: x & y,
    "or":       lambda t, x, y: x | y,
    "xor":      lambda t, x, y: x ^ y,
    "not":      lambda t, x: ~x,
    "shl":      shift_left,
    "shr":      shift_right,
    "rotl":     rotate_left,
    "rotr":     rotate_right,
    "popcount": popcount,
    "clz":      leading_zeros,
    "ctz":      trailing_zeros,
    "reverse_bits": reverse_bits,
    "eq":       lambda t, x, y: x == y,
    "ne":       lambda t, x, y: x != y,
    "lt":       lambda t, x, y: x < y,
    "le":       lambda t, x, y: x <= y,
    "gt":       lambda t, x, y: x > y,
    "ge":       lambda t, x, y: x >= y,
    "raw_div":  divide,
    "raw_rem":  remainder,
    "raw_shl":  shift_left,
    "raw_shr":  shift_right,
}
# fmt: on

PRECONDITIONS: Mapping[str, Callable[..., Bools]] = {
    "raw_div": can_divide,
    "raw_rem": can_divide,
    "raw_shl": counts_below_width,
    "raw_shr": counts_below_width,
}
"""Where a raw op has a meaning."""
