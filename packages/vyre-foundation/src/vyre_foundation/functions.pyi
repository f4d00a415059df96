# Made from the table; `VYRE_ACCEPT=1 pytest` of this package writes it anew.

from vyre_foundation.build import Operand, Value

__all__ = [
    "abs",
    "abs_diff",
    "add",
    "add_sat",
    "and_",
    "ceil",
    "clz",
    "copysign",
    "ctz",
    "div",
    "eq",
    "floor",
    "fma",
    "ge",
    "gt",
    "is_finite",
    "is_inf",
    "is_nan",
    "le",
    "lt",
    "max",
    "min",
    "mul",
    "mul_high",
    "mul_sat",
    "ne",
    "neg",
    "not_",
    "or_",
    "popcount",
    "rem",
    "reverse_bits",
    "rotl",
    "rotr",
    "round",
    "shl",
    "shr",
    "sign",
    "sqrt",
    "sub",
    "sub_sat",
    "trunc",
    "xor",
]

def abs(x: Operand) -> Value:
    """Compute the absolute value of x; wraps at MIN."""

def abs_diff(x: Operand, y: Operand) -> Value:
    """Compute |x - y|, as the unsigned type."""

def add(x: Operand, y: Operand) -> Value:
    """Compute x + y."""

def add_sat(x: Operand, y: Operand) -> Value:
    """Compute x + y, clamped to the type."""

def and_(x: Operand, y: Operand) -> Value:
    """Compute bitwise and; logical on bool."""

def ceil(x: Operand) -> Value:
    """Compute the least integer not below x."""

def clz(x: Operand) -> Value:
    """Compute the number of zero bits above the highest set bit; the width for 0."""

def copysign(x: Operand, y: Operand) -> Value:
    """Compute the magnitude of x with the sign of y; a NaN counts as positive."""

def ctz(x: Operand) -> Value:
    """Compute the number of zero bits below the lowest set bit; the width for 0."""

def div(x: Operand, y: Operand) -> Value:
    """Compute x / y; integers truncate, x / 0 = x, MIN / -1 = MIN."""

def eq(x: Operand, y: Operand) -> Value:
    """Compute x == y."""

def floor(x: Operand) -> Value:
    """Compute the greatest integer not above x."""

def fma(x: Operand, y: Operand, z: Operand) -> Value:
    """Compute x * y + z with one rounding."""

def ge(x: Operand, y: Operand) -> Value:
    """Compute x >= y."""

def gt(x: Operand, y: Operand) -> Value:
    """Compute x > y."""

def is_finite(x: Operand) -> Value:
    """Compute whether x is neither infinite nor NaN."""

def is_inf(x: Operand) -> Value:
    """Compute whether x is an infinity."""

def is_nan(x: Operand) -> Value:
    """Compute whether x is a NaN."""

def le(x: Operand, y: Operand) -> Value:
    """Compute x <= y."""

def lt(x: Operand, y: Operand) -> Value:
    """Compute x < y."""

def max(x: Operand, y: Operand) -> Value:
    """Compute the greater of x and y; a NaN loses, -0 < +0."""

def min(x: Operand, y: Operand) -> Value:
    """Compute the lesser of x and y; a NaN loses, -0 < +0."""

def mul(x: Operand, y: Operand) -> Value:
    """Compute x * y."""

def mul_high(x: Operand, y: Operand) -> Value:
    """Compute the high half of the double-width product x * y."""

def mul_sat(x: Operand, y: Operand) -> Value:
    """Compute x * y, clamped to the type."""

def ne(x: Operand, y: Operand) -> Value:
    """Compute x != y."""

def neg(x: Operand) -> Value:
    """Compute -x; wraps at MIN."""

def not_(x: Operand) -> Value:
    """Compute x with every bit flipped; logical on bool."""

def or_(x: Operand, y: Operand) -> Value:
    """Compute bitwise or; logical on bool."""

def popcount(x: Operand) -> Value:
    """Compute the number of set bits of x."""

def rem(x: Operand, y: Operand) -> Value:
    """Compute x - (x / y) * y; x % 0 = 0, MIN % -1 = 0."""

def reverse_bits(x: Operand) -> Value:
    """Compute x with its bits in reverse order."""

def rotl(x: Operand, count: Operand) -> Value:
    """Compute x with its bits rotated left by count modulo the width."""

def rotr(x: Operand, count: Operand) -> Value:
    """Compute x with its bits rotated right by count modulo the width."""

def round(x: Operand) -> Value:
    """Compute the integer nearest to x, ties to even."""

def shl(x: Operand, count: Operand) -> Value:
    """Compute x shifted left by count modulo the width."""

def shr(x: Operand, count: Operand) -> Value:
    """Compute x shifted right by count modulo the width; signed types keep the sign."""

def sign(x: Operand) -> Value:
    """Compute -1, 1, or x where it is a zero or NaN."""

def sqrt(x: Operand) -> Value:
    """Compute the square root of x, correctly rounded."""

def sub(x: Operand, y: Operand) -> Value:
    """Compute x - y."""

def sub_sat(x: Operand, y: Operand) -> Value:
    """Compute x - y, clamped to the type."""

def trunc(x: Operand) -> Value:
    """Compute x without its fraction."""

def xor(x: Operand, y: Operand) -> Value:
    """Compute bitwise exclusive or; logical on bool."""
