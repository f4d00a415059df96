"""Interval arithmetic: for each op on integers, bounds of its mathematical result from bounds of its operands.

A rule works on unbounded integers and may give more than the type holds; `apply` then knows nothing, because the result
wraps. Soundness is all that counts here: an op without a rule gives the whole type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import product

from vyre_foundation.dtype import DType
from vyre_foundation.ops import Op
from vyre_foundation.ops.arithmetic import truncated_quotient
from vyre_foundation.ops.scalar import clamp
from vyre_foundation.validate.facts import Interval

Rule = Callable[..., tuple[int, int]]
"""From the operand type and the bounds of the operands to bounds of the result."""


@cache
def whole(dtype: DType) -> Interval:
    """Every value of an integer type, or 0 … 1 for bool."""
    return Interval(dtype.lowest, dtype.highest)


def fitting(dtype: DType, low: int, high: int) -> Interval:
    """The interval if the type holds all of it: else the values wrap, and may be anything."""
    return Interval(low, high) if dtype.lowest <= low and high <= dtype.highest else whole(dtype)


def hull(a: Interval, b: Interval) -> Interval:
    """The least interval that holds both."""
    return Interval(min(a.low, b.low), max(a.high, b.high))


def apply(op: Op, operand: DType, *operands: Interval) -> Interval:
    """Bounds of `op` over operands of an integer type."""
    result = op.results[operand]
    first = operands[0]
    if first.low == first.high and all(low == high for low, high in operands):
        value = int(op.evaluate(operand, *[low for low, _ in operands]))
        return Interval(value, value)
    rule = RULES.get(op.id)
    return whole(result) if rule is None else fitting(result, *rule(operand, *operands))


def corners(function: Callable[[int, int], int], x: Interval, y: Interval) -> tuple[int, int]:
    """Bounds of a function that is monotone in each operand."""
    values = [function(a, b) for a, b in product(x, y)]
    return min(values), max(values)


def saturating(function: Callable[[int, int], int]) -> Rule:
    def rule(dtype: DType, x: Interval, y: Interval) -> tuple[int, int]:
        low, high = corners(function, x, y)
        return clamp(dtype, low), clamp(dtype, high)

    return rule


def divide(dtype: DType, x: Interval, y: Interval) -> tuple[int, int]:
    """Divisors below, at and above zero apart: the quotient is monotone on each side, and x / 0 = x."""
    parts: list[tuple[int, int]] = []
    if y.low < 0:
        parts.append(corners(truncated_quotient, x, Interval(y.low, min(y.high, -1))))
    if y.low <= 0 <= y.high:
        parts.append(x)
    if y.high > 0:
        parts.append(corners(truncated_quotient, x, Interval(max(y.low, 1), y.high)))
    return min(low for low, _ in parts), max(high for _, high in parts)


def remainder(dtype: DType, x: Interval, y: Interval) -> tuple[int, int]:
    """Nearer to zero than both operands, with the sign of x."""
    if x.low >= 0 and x.high < y.low:
        return x
    most = max(abs(y.low), abs(y.high), 1) - 1
    return (max(x.low, -most) if x.low < 0 else 0), (min(x.high, most) if x.high > 0 else 0)


def absolute(dtype: DType, x: Interval) -> tuple[int, int]:
    low, high = sorted((abs(x.low), abs(x.high)))
    return (0 if x.low <= 0 <= x.high else low), high


def absolute_difference(dtype: DType, x: Interval, y: Interval) -> tuple[int, int]:
    return max(0, x.low - y.high, y.low - x.high), max(x.high - y.low, y.high - x.low)


def bit_and(dtype: DType, x: Interval, y: Interval) -> tuple[int, int]:
    """Not above an operand that is not negative."""
    tops = [z.high for z in (x, y) if z.low >= 0]
    return (0, min(tops)) if tops else whole(dtype)


def bit_or(dtype: DType, x: Interval, y: Interval) -> tuple[int, int]:
    if x.low < 0 or y.low < 0:
        return whole(dtype)
    return max(x.low, y.low), ones(max(x.high, y.high))


def bit_xor(dtype: DType, x: Interval, y: Interval) -> tuple[int, int]:
    return (0, ones(max(x.high, y.high))) if x.low >= 0 and y.low >= 0 else whole(dtype)


def ones(value: int) -> int:
    """The greatest number with as many bits as `value`."""
    return (1 << value.bit_length()) - 1


def counts(dtype: DType, n: Interval) -> Interval:
    """Shift counts as they are used, modulo the width."""
    return n if n.low >= 0 and n.high < dtype.bits else Interval(0, dtype.bits - 1)


def shift_left(dtype: DType, x: Interval, n: Interval) -> tuple[int, int]:
    return corners(lambda a, b: a << b, x, counts(dtype, n))


def shift_right(dtype: DType, x: Interval, n: Interval) -> tuple[int, int]:
    return corners(lambda a, b: a >> b, x, counts(dtype, n))


def leading_zeros(dtype: DType, x: Interval) -> tuple[int, int]:
    return (dtype.bits - x.high.bit_length(), dtype.bits - x.low.bit_length()) if x.low >= 0 else (0, dtype.bits)


def set_bits(dtype: DType, x: Interval) -> tuple[int, int]:
    return (1 if x.low > 0 or x.high < 0 else 0), (x.high.bit_length() if x.low >= 0 else dtype.bits)


# fmt: off
RULES: Mapping[str, Rule] = {
    "add":      lambda t, x, y: (x.low + y.low, x.high + y.high),
    "sub":      lambda t, x, y: (x.low - y.high, x.high - y.low),
    "mul":      lambda t, x, y: corners(int.__mul__, x, y),
    "mul_high": lambda t, x, y: corners(lambda a, b: (a * b) >> t.bits, x, y),
    "neg":      lambda t, x: (-x.high, -x.low),
    "abs":      absolute,
    "abs_diff": absolute_difference,
    "div":      divide,
    "rem":      remainder,
    "raw_div":  divide,
    "raw_rem":  remainder,
    "add_sat":  saturating(int.__add__),
    "sub_sat":  saturating(int.__sub__),
    "mul_sat":  saturating(int.__mul__),
    "min":      lambda t, x, y: (min(x.low, y.low), min(x.high, y.high)),
    "max":      lambda t, x, y: (max(x.low, y.low), max(x.high, y.high)),
    "and":      bit_and,
    "or":       bit_or,
    "xor":      bit_xor,
    "not":      lambda t, x: (t.lowest + t.highest - x.high, t.lowest + t.highest - x.low),
    "shl":      shift_left,
    "shr":      shift_right,
    "raw_shl":  shift_left,
    "raw_shr":  shift_right,
    "popcount": set_bits,
    "clz":      leading_zeros,
    "ctz":      lambda t, x: (0, t.bits),
}
# fmt: on


def _certain(holds: bool, fails: bool) -> Interval:
    return Interval(int(holds), int(not fails))


COMPARED: Mapping[str, Callable[[Interval, Interval], Interval]] = {
    "lt": lambda a, b: _certain(a.high < b.low, a.low >= b.high),
    "le": lambda a, b: _certain(a.high <= b.low, a.low > b.high),
    "gt": lambda a, b: _certain(a.low > b.high, a.high <= b.low),
    "ge": lambda a, b: _certain(a.low >= b.high, a.high < b.low),
    "eq": lambda a, b: _certain(a.low == a.high == b.low == b.high, a.high < b.low or b.high < a.low),
    "ne": lambda a, b: _certain(a.high < b.low or b.high < a.low, a.low == a.high == b.low == b.high),
}
"""What a comparison of two integers can be, from the bounds of both: 0 … 1, or what it certainly is."""
