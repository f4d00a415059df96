# Made from the table; `VYRE_ACCEPT=1 pytest` of this package writes it anew.

from typing import TypeVar, overload

from vyre_foundation.build import Number, Operand, Value

_V = TypeVar("_V", bound=Value)

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

@overload
def abs(x: _V) -> _V: ...
@overload
def abs(x: Operand) -> Value:
    """Compute the absolute value of x; wraps at MIN."""

def abs_diff(x: Operand, y: Operand) -> Value:
    """Compute |x - y|, as the unsigned type."""

@overload
def add(x: _V, y: _V | Number) -> _V: ...
@overload
def add(x: Operand, y: Operand) -> Value:
    """Compute x + y."""

@overload
def add_sat(x: _V, y: _V | Number) -> _V: ...
@overload
def add_sat(x: Operand, y: Operand) -> Value:
    """Compute x + y, clamped to the type."""

@overload
def and_(x: _V, y: _V | Number) -> _V: ...
@overload
def and_(x: Operand, y: Operand) -> Value:
    """Compute bitwise and; logical on bool."""

@overload
def ceil(x: _V) -> _V: ...
@overload
def ceil(x: Operand) -> Value:
    """Compute the least integer not below x."""

@overload
def clz(x: _V) -> _V: ...
@overload
def clz(x: Operand) -> Value:
    """Compute the number of zero bits above the highest set bit; the width for 0."""

@overload
def copysign(x: _V, y: _V | Number) -> _V: ...
@overload
def copysign(x: Operand, y: Operand) -> Value:
    """Compute the magnitude of x with the sign of y; a NaN counts as positive."""

@overload
def ctz(x: _V) -> _V: ...
@overload
def ctz(x: Operand) -> Value:
    """Compute the number of zero bits below the lowest set bit; the width for 0."""

@overload
def div(x: _V, y: _V | Number) -> _V: ...
@overload
def div(x: Operand, y: Operand) -> Value:
    """Compute x / y; integers truncate, x / 0 = x, MIN / -1 = MIN."""

def eq(x: Operand, y: Operand) -> Value:
    """Compute x == y."""

@overload
def floor(x: _V) -> _V: ...
@overload
def floor(x: Operand) -> Value:
    """Compute the greatest integer not above x."""

@overload
def fma(x: _V, y: _V | Number, z: _V | Number) -> _V: ...
@overload
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

@overload
def max(x: _V, y: _V | Number) -> _V: ...
@overload
def max(x: Operand, y: Operand) -> Value:
    """Compute the greater of x and y; a NaN loses, -0 < +0."""

@overload
def min(x: _V, y: _V | Number) -> _V: ...
@overload
def min(x: Operand, y: Operand) -> Value:
    """Compute the lesser of x and y; a NaN loses, -0 < +0."""

@overload
def mul(x: _V, y: _V | Number) -> _V: ...
@overload
def mul(x: Operand, y: Operand) -> Value:
    """Compute x * y."""

@overload
def mul_high(x: _V, y: _V | Number) -> _V: ...
@overload
def mul_high(x: Operand, y: Operand) -> Value:
    """Compute the high half of the double-width product x * y."""

@overload
def mul_sat(x: _V, y: _V | Number) -> _V: ...
@overload
def mul_sat(x: Operand, y: Operand) -> Value:
    """Compute x * y, clamped to the type."""

def ne(x: Operand, y: Operand) -> Value:
    """Compute x != y."""

@overload
def neg(x: _V) -> _V: ...
@overload
def neg(x: Operand) -> Value:
    """Compute -x; wraps at MIN."""

@overload
def not_(x: _V) -> _V: ...
@overload
def not_(x: Operand) -> Value:
    """Compute x with every bit flipped; logical on bool."""

@overload
def or_(x: _V, y: _V | Number) -> _V: ...
@overload
def or_(x: Operand, y: Operand) -> Value:
    """Compute bitwise or; logical on bool."""

@overload
def popcount(x: _V) -> _V: ...
@overload
def popcount(x: Operand) -> Value:
    """Compute the number of set bits of x."""

@overload
def rem(x: _V, y: _V | Number) -> _V: ...
@overload
def rem(x: Operand, y: Operand) -> Value:
    """Compute x - (x / y) * y; x % 0 = 0, MIN % -1 = 0."""

@overload
def reverse_bits(x: _V) -> _V: ...
@overload
def reverse_bits(x: Operand) -> Value:
    """Compute x with its bits in reverse order."""

@overload
def rotl(x: _V, count: _V | Number) -> _V: ...
@overload
def rotl(x: Operand, count: Operand) -> Value:
    """Compute x with its bits rotated left by count modulo the width."""

@overload
def rotr(x: _V, count: _V | Number) -> _V: ...
@overload
def rotr(x: Operand, count: Operand) -> Value:
    """Compute x with its bits rotated right by count modulo the width."""

@overload
def round(x: _V) -> _V: ...
@overload
def round(x: Operand) -> Value:
    """Compute the integer nearest to x, ties to even."""

@overload
def shl(x: _V, count: _V | Number) -> _V: ...
@overload
def shl(x: Operand, count: Operand) -> Value:
    """Compute x shifted left by count modulo the width."""

@overload
def shr(x: _V, count: _V | Number) -> _V: ...
@overload
def shr(x: Operand, count: Operand) -> Value:
    """Compute x shifted right by count modulo the width; signed types keep the sign."""

@overload
def sign(x: _V) -> _V: ...
@overload
def sign(x: Operand) -> Value:
    """Compute -1, 1, or x where it is a zero or NaN."""

@overload
def sqrt(x: _V) -> _V: ...
@overload
def sqrt(x: Operand) -> Value:
    """Compute the square root of x, correctly rounded."""

@overload
def sub(x: _V, y: _V | Number) -> _V: ...
@overload
def sub(x: Operand, y: Operand) -> Value:
    """Compute x - y."""

@overload
def sub_sat(x: _V, y: _V | Number) -> _V: ...
@overload
def sub_sat(x: Operand, y: Operand) -> Value:
    """Compute x - y, clamped to the type."""

@overload
def trunc(x: _V) -> _V: ...
@overload
def trunc(x: Operand) -> Value:
    """Compute x without its fraction."""

@overload
def xor(x: _V, y: _V | Number) -> _V: ...
@overload
def xor(x: Operand, y: Operand) -> Value:
    """Compute bitwise exclusive or; logical on bool."""
