"""The rows of the dialect `math`: what the entry point announces.

Each function has a composition for f32 and one for f64. For f16 and bf16 the result for f32 is rounded once more, to
their type: the same bits everywhere too, and off by one unit in the last place where the first rounding falls on a
middle between two of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import NamedTuple

from vyre_foundation import DType, Value, bf16, f16, f32, f64
from vyre_foundation.dialect import Composition, call
from vyre_foundation.ir import Expr
from vyre_math.binary32 import exponential, hyperbolic, inverse, logarithm, polar, power, roots, trigonometric
from vyre_math.binary64 import exponential as exponential64
from vyre_math.binary64 import hyperbolic as hyperbolic64
from vyre_math.binary64 import inverse as inverse64
from vyre_math.binary64 import logarithm as logarithm64
from vyre_math.binary64 import polar as polar64
from vyre_math.binary64 import power as power64
from vyre_math.binary64 import roots as roots64
from vyre_math.binary64 import trigonometric as trigonometric64

Body = Callable[..., Value]


class Function(NamedTuple):
    """What one function computes, and how, for operands of each type.

    `bound`: stated for the error for f64, in units in the last place; samples against MPFR keep it. For f32 it is 0.5.
    """

    summary: str
    binary32: Body
    binary64: Body
    bound: float


# fmt: off
FUNCTIONS: dict[str, Function] = {
    "exp":   Function("e**x",                       exponential.exp,   exponential64.exp, 0.8),
    "exp2":  Function("2**x",                       exponential.exp2,  exponential64.exp2, 0.8),
    "exp10": Function("10**x",                      exponential.exp10, exponential64.exp10, 0.8),
    "expm1": Function("e**x - 1",                   exponential.expm1, exponential64.expm1, 0.8),
    "log":   Function("natural logarithm",          logarithm.log,     logarithm64.log, 0.6),
    "log2":  Function("logarithm to base 2",        logarithm.log2,    logarithm64.log2, 0.6),
    "log10": Function("logarithm to base 10",       logarithm.log10,   logarithm64.log10, 0.6),
    "log1p": Function("natural logarithm of 1 + x", logarithm.log1p,   logarithm64.log1p, 0.6),
    "sin":   Function("sine of x in radians",       trigonometric.sin, trigonometric64.sin, 0.9),
    "cos":   Function("cosine of x in radians",     trigonometric.cos, trigonometric64.cos, 0.9),
    "tan":   Function("tangent of x in radians",    trigonometric.tan, trigonometric64.tan, 0.9),
    "asin":  Function("arc sine, -pi/2 … pi/2",     inverse.asin,      inverse64.asin, 0.6),
    "acos":  Function("arc cosine, 0 … pi",         inverse.acos,      inverse64.acos, 0.6),
    "atan":  Function("arc tangent, -pi/2 … pi/2",  inverse.atan,      inverse64.atan, 0.6),
    "sinh":  Function("hyperbolic sine",            hyperbolic.sinh,   hyperbolic64.sinh, 0.8),
    "cosh":  Function("hyperbolic cosine",          hyperbolic.cosh,   hyperbolic64.cosh, 0.8),
    "tanh":  Function("hyperbolic tangent",         hyperbolic.tanh,   hyperbolic64.tanh, 0.8),
    "rsqrt": Function("1 / sqrt(x)",                roots.rsqrt,       roots64.rsqrt, 0.51),
    "cbrt":  Function("cube root",                  roots.cbrt,        roots64.cbrt, 0.51),
    "pow":   Function("x**y",                       power.pow,         power64.pow, 0.7),
    "hypot": Function("sqrt(x² + y²)",              polar.hypot,       polar64.hypot, 0.76),
    "atan2": Function("angle of (x, y), -pi … pi",  polar.atan2,       polar64.atan2, 0.6),
}
# fmt: on


def rows() -> list[Composition]:
    """One composition for each function."""
    return [
        Composition(f"math.{name}", _signatures(function), _expansion(f"math.{name}", function), function.summary)
        for name, function in FUNCTIONS.items()
    ]


def _signatures(function: Function) -> dict[tuple[DType, ...], DType]:
    arity = len(signature(function.binary32).parameters)
    return {(t,) * arity: t for t in (f32, f64, f16, bf16)}


def _expansion(id: str, function: Function) -> Callable[..., Expr]:
    bodies = {f32: function.binary32, f64: function.binary64}

    def expand(*operands: Expr) -> Expr:
        values = [Value(x) for x in operands]
        dtype = values[0].dtype
        if dtype in bodies:
            return bodies[dtype](*values).expr
        return Value(call(id, *(x.cast(f32).expr for x in values))).cast(dtype).expr

    return expand
