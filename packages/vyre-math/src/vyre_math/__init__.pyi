# Made from the table; `VYRE_ACCEPT=1 pytest` of this package writes it anew.

# ruff: noqa: RUF022

from vyre_foundation.build import Operand, Value

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

def acos(x: Operand) -> Value:
    """Compute the arc cosine of x, 0 … pi, correctly rounded for f32."""

def asin(x: Operand) -> Value:
    """Compute the arc sine of x, -pi/2 … pi/2, correctly rounded for f32."""

def atan(x: Operand) -> Value:
    """Compute the arc tangent of x, -pi/2 … pi/2, correctly rounded for f32."""

def atan2(y: Operand, x: Operand) -> Value:
    """Compute the angle of (x, y), -pi … pi, correctly rounded for f32."""

def cbrt(x: Operand) -> Value:
    """Compute the cube root of x, correctly rounded for f32."""

def cos(x: Operand) -> Value:
    """Compute the cosine of x in radians, correctly rounded for f32."""

def cosh(x: Operand) -> Value:
    """Compute the hyperbolic cosine of x, correctly rounded for f32."""

def exp(x: Operand) -> Value:
    """Compute e**x, correctly rounded for f32."""

def exp10(x: Operand) -> Value:
    """Compute 10**x, correctly rounded for f32."""

def exp2(x: Operand) -> Value:
    """Compute 2**x, correctly rounded for f32."""

def expm1(x: Operand) -> Value:
    """Compute e**x - 1, correctly rounded for f32."""

def hypot(x: Operand, y: Operand) -> Value:
    """Compute sqrt(x² + y²), correctly rounded for f32."""

def log(x: Operand) -> Value:
    """Compute the natural logarithm of x, correctly rounded for f32."""

def log10(x: Operand) -> Value:
    """Compute the logarithm of x to base 10, correctly rounded for f32."""

def log1p(x: Operand) -> Value:
    """Compute the natural logarithm of 1 + x, correctly rounded for f32."""

def log2(x: Operand) -> Value:
    """Compute the logarithm of x to base 2, correctly rounded for f32."""

def pow(x: Operand, y: Operand) -> Value:
    """Compute x**y, correctly rounded for f32."""

def rsqrt(x: Operand) -> Value:
    """Compute 1 / sqrt(x), correctly rounded for f32."""

def sin(x: Operand) -> Value:
    """Compute the sine of x in radians, correctly rounded for f32."""

def sinh(x: Operand) -> Value:
    """Compute the hyperbolic sine of x, correctly rounded for f32."""

def tan(x: Operand) -> Value:
    """Compute the tangent of x in radians, correctly rounded for f32."""

def tanh(x: Operand) -> Value:
    """Compute the hyperbolic tangent of x, correctly rounded for f32."""
