"""Elementary functions with the same bits on every backend: correctly rounded for f32.

    from vyre_math import exp, sin

    out[i] = exp(x[i]) * sin(x[i])

Each is a call of an op of the dialect `math`, a composition of exact operations of the language, in f64 and integers.
So a device needs f64 to run them. Operands are values of f32, f64, f16 or bf16; angles are in radians.
"""

from __future__ import annotations

from vyre_foundation import Value, call
from vyre_foundation.build import Operand
from vyre_math.described import DESCRIPTIONS, docstring

__version__ = "0.1.0"


# fmt: off
def exp(x: Operand) -> Value: return call("math.exp", x)
def exp2(x: Operand) -> Value: return call("math.exp2", x)
def exp10(x: Operand) -> Value: return call("math.exp10", x)
def expm1(x: Operand) -> Value: return call("math.expm1", x)
def log(x: Operand) -> Value: return call("math.log", x)
def log2(x: Operand) -> Value: return call("math.log2", x)
def log10(x: Operand) -> Value: return call("math.log10", x)
def log1p(x: Operand) -> Value: return call("math.log1p", x)
def sin(x: Operand) -> Value: return call("math.sin", x)
def cos(x: Operand) -> Value: return call("math.cos", x)
def tan(x: Operand) -> Value: return call("math.tan", x)
def asin(x: Operand) -> Value: return call("math.asin", x)
def acos(x: Operand) -> Value: return call("math.acos", x)
def atan(x: Operand) -> Value: return call("math.atan", x)
def sinh(x: Operand) -> Value: return call("math.sinh", x)
def cosh(x: Operand) -> Value: return call("math.cosh", x)
def tanh(x: Operand) -> Value: return call("math.tanh", x)
def rsqrt(x: Operand) -> Value: return call("math.rsqrt", x)
def cbrt(x: Operand) -> Value: return call("math.cbrt", x)
def pow(x: Operand, y: Operand) -> Value: return call("math.pow", x, y)
def hypot(x: Operand, y: Operand) -> Value: return call("math.hypot", x, y)
def atan2(y: Operand, x: Operand) -> Value: return call("math.atan2", y, x)
# fmt: on

__all__ = [
    "acos", "asin", "atan", "atan2", "cbrt", "cos", "cosh", "exp", "exp2", "exp10", "expm1", "hypot", "log", "log1p",
    "log2", "log10", "pow", "rsqrt", "sin", "sinh", "tan", "tanh",
]  # fmt: skip

for _name in DESCRIPTIONS:
    _function = globals()[_name]
    _function.__doc__ = docstring(
        _name, [parameter for parameter in _function.__annotations__ if parameter != "return"]
    )
