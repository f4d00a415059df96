"""Integer arithmetic: signed types wrap through the unsigned type of the same width, which C defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vyre_driver.legalization.forms.sign import flipped, magnitude
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_foundation.dtype import u32, u64


def through_unsigned(op: str, *operands: ExprTerm) -> ExprTerm:
    """x + y  →  signed(unsigned(x) + unsigned(y)): the low bits of a wrapping op do not depend on the sign."""
    signed = operands[0].dtype
    first, *others = [x.bits(signed.unsigned) for x in operands]
    return first.op(op, *others).bits(signed)


def add(x: ExprTerm, y: ExprTerm) -> ExprTerm | None:
    """Signed addition wraps through the unsigned type; the unsigned one has no decomposition."""
    return through_unsigned("add", x, y) if x.dtype.is_signed else None


def sub(x: ExprTerm, y: ExprTerm) -> ExprTerm | None:
    """Signed subtraction wraps through the unsigned type; the unsigned one has no decomposition."""
    return through_unsigned("sub", x, y) if x.dtype.is_signed else None


def mul(x: ExprTerm, y: ExprTerm) -> ExprTerm | None:
    """Signed multiplication wraps through the unsigned type; the unsigned one has no decomposition."""
    return through_unsigned("mul", x, y) if x.dtype.is_signed else None


def neg(x: ExprTerm) -> ExprTerm:
    """-x  →  0 - x, modulo the width; the sign of a float is a bit."""
    return flipped(x) if x.dtype.is_float else x.number(0) - x


def absolute(x: ExprTerm) -> ExprTerm:
    """The magnitude of a number; that of the least signed integer wraps to itself."""
    if x.dtype.is_float:
        return magnitude(x)
    return (x < 0).where(-x, x) if x.dtype.is_signed else x


def bitwise_and(x: ExprTerm, y: ExprTerm) -> ExprTerm | None:
    """Conjunction of signed types through the unsigned type."""
    return through_unsigned("and", x, y) if x.dtype.is_signed else None


def bitwise_or(x: ExprTerm, y: ExprTerm) -> ExprTerm | None:
    """Disjunction of signed types through the unsigned type."""
    return through_unsigned("or", x, y) if x.dtype.is_signed else None


def bitwise_xor(x: ExprTerm, y: ExprTerm) -> ExprTerm | None:
    """x ^ y  →  x != y on bool."""
    if x.dtype.is_integer:
        return through_unsigned("xor", x, y) if x.dtype.is_signed else None
    return x.differs(y)


def bitwise_not(x: ExprTerm) -> ExprTerm | None:
    """~x  →  x ^ 11…1, on bool too."""
    return x ^ x.number(-1 if x.dtype.is_signed else x.dtype.highest)


def abs_diff(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """|x - y|  →  x < y ? y - x : x - y, where only the comparison knows the sign."""
    a, b = x.bits(x.dtype.unsigned), y.bits(x.dtype.unsigned)
    return (x < y).where(b - a, a - b)


def mul_high(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """The high half: of a double-width product where there is one, else from products of halves."""
    if x.dtype.bits == 32 and u64 in x.forms.target.arithmetic:
        product = x.cast(u64) * y.cast(u64)
        return (product >> 32).cast(u32).bits(x.dtype)
    if x.dtype.is_signed:
        return _signed_mul_high(x, y)
    return _unsigned_mul_high(x, y)


def _signed_mul_high(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """high(x·y) = unsigned high - (x < 0 ? y : 0) - (y < 0 ? x : 0), modulo the width."""
    a, b = x.bits(x.dtype.unsigned), y.bits(x.dtype.unsigned)
    high = a.op("mul_high", b)
    return (high - (x < 0).where(b, 0) - (y < 0).where(a, 0)).bits(x.dtype)


def _unsigned_mul_high(x: ExprTerm, y: ExprTerm) -> ExprTerm:
    """With x = a·h + b, y = c·h + d, h = 2**(bits/2): no sum of the partial products overflows."""
    half = x.dtype.bits // 2
    low = (1 << half) - 1
    a, b, c, d = x >> half, x & low, y >> half, y & low
    low_product = b * d
    middle = a * d + (low_product >> half)
    other = b * c + (middle & low)
    return a * c + (middle >> half) + (other >> half)


RULES: Mapping[str, Callable[..., ExprTerm | None]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "neg": neg,
    "abs": absolute,
    "and": bitwise_and,
    "or": bitwise_or,
    "xor": bitwise_xor,
    "not": bitwise_not,
    "abs_diff": abs_diff,
    "mul_high": mul_high,
}
