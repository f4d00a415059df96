# Made from the table; `VYRE_ACCEPT=1 pytest` of this package writes it anew.

# ruff: noqa: RUF022

from typing import TypeVar, overload

from vyre_foundation.build import Number, Operand, Value

_V = TypeVar("_V", bound=Value)

__version__: str

__all__ = [
    "acos",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "cos",
    "cosh",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "pow",
    "rsqrt",
    "sin",
    "sinh",
    "tan",
    "tanh",
]

@overload
def acos(x: _V) -> _V: ...
@overload
def acos(x: Operand) -> Value:
    """Compute the arc cosine of x, 0 … pi, correctly rounded for f32."""

@overload
def asin(x: _V) -> _V: ...
@overload
def asin(x: Operand) -> Value:
    """Compute the arc sine of x, -pi/2 … pi/2, correctly rounded for f32."""

@overload
def atan(x: _V) -> _V: ...
@overload
def atan(x: Operand) -> Value:
    """Compute the arc tangent of x, -pi/2 … pi/2, correctly rounded for f32."""

@overload
def atan2(y: _V, x: _V | Number) -> _V: ...
@overload
def atan2(y: Operand, x: Operand) -> Value:
    """Compute the angle of (x, y), -pi … pi, correctly rounded for f32."""

@overload
def cbrt(x: _V) -> _V: ...
@overload
def cbrt(x: Operand) -> Value:
    """Compute the cube root of x, correctly rounded for f32."""

@overload
def cos(x: _V) -> _V: ...
@overload
def cos(x: Operand) -> Value:
    """Compute the cosine of x in radians, correctly rounded for f32."""

@overload
def cosh(x: _V) -> _V: ...
@overload
def cosh(x: Operand) -> Value:
    """Compute the hyperbolic cosine of x, correctly rounded for f32."""

@overload
def exp(x: _V) -> _V: ...
@overload
def exp(x: Operand) -> Value:
    """Compute e**x, correctly rounded for f32."""

@overload
def exp10(x: _V) -> _V: ...
@overload
def exp10(x: Operand) -> Value:
    """Compute 10**x, correctly rounded for f32."""

@overload
def exp2(x: _V) -> _V: ...
@overload
def exp2(x: Operand) -> Value:
    """Compute 2**x, correctly rounded for f32."""

@overload
def expm1(x: _V) -> _V: ...
@overload
def expm1(x: Operand) -> Value:
    """Compute e**x - 1, correctly rounded for f32."""

@overload
def hypot(x: _V, y: _V | Number) -> _V: ...
@overload
def hypot(x: Operand, y: Operand) -> Value:
    """Compute sqrt(x² + y²), correctly rounded for f32."""

@overload
def log(x: _V) -> _V: ...
@overload
def log(x: Operand) -> Value:
    """Compute the natural logarithm of x, correctly rounded for f32."""

@overload
def log10(x: _V) -> _V: ...
@overload
def log10(x: Operand) -> Value:
    """Compute the logarithm of x to base 10, correctly rounded for f32."""

@overload
def log1p(x: _V) -> _V: ...
@overload
def log1p(x: Operand) -> Value:
    """Compute the natural logarithm of 1 + x, correctly rounded for f32."""

@overload
def log2(x: _V) -> _V: ...
@overload
def log2(x: Operand) -> Value:
    """Compute the logarithm of x to base 2, correctly rounded for f32."""

@overload
def pow(x: _V, y: _V | Number) -> _V: ...
@overload
def pow(x: Operand, y: Operand) -> Value:
    """Compute x**y, correctly rounded for f32."""

@overload
def rsqrt(x: _V) -> _V: ...
@overload
def rsqrt(x: Operand) -> Value:
    """Compute 1 / sqrt(x), correctly rounded for f32."""

@overload
def sin(x: _V) -> _V: ...
@overload
def sin(x: Operand) -> Value:
    """Compute the sine of x in radians, correctly rounded for f32."""

@overload
def sinh(x: _V) -> _V: ...
@overload
def sinh(x: Operand) -> Value:
    """Compute the hyperbolic sine of x, correctly rounded for f32."""

@overload
def tan(x: _V) -> _V: ...
@overload
def tan(x: Operand) -> Value:
    """Compute the tangent of x in radians, correctly rounded for f32."""

@overload
def tanh(x: _V) -> _V: ...
@overload
def tanh(x: Operand) -> Value:
    """Compute the hyperbolic tangent of x, correctly rounded for f32."""
