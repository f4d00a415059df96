"""The rows of the dialect `math`: what the entry point announces.

Each function is one for f32. For f16 and bf16 its result is rounded once more, to their type: the same bits everywhere
too, and off by one unit in the last place where the first rounding falls on a middle between two of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from vyre_foundation import DType, Value, bf16, f16, f32
from vyre_foundation.dialect import Composition, call
from vyre_foundation.ir import Expr
from vyre_math import exponential, hyperbolic, inverse, logarithm, power, roots, trigonometric

Function = Callable[..., Value]

FUNCTIONS: dict[str, tuple[Function, str]] = {
    "exp": (exponential.exp, "e**x"),
    "exp2": (exponential.exp2, "2**x"),
    "exp10": (exponential.exp10, "10**x"),
    "expm1": (exponential.expm1, "e**x - 1"),
    "log": (logarithm.log, "natural logarithm"),
    "log2": (logarithm.log2, "logarithm to base 2"),
    "log10": (logarithm.log10, "logarithm to base 10"),
    "log1p": (logarithm.log1p, "natural logarithm of 1 + x"),
    "sin": (trigonometric.sin, "sine of x in radians"),
    "cos": (trigonometric.cos, "cosine of x in radians"),
    "tan": (trigonometric.tan, "tangent of x in radians"),
    "asin": (inverse.asin, "arc sine, -pi/2 … pi/2"),
    "acos": (inverse.acos, "arc cosine, 0 … pi"),
    "atan": (inverse.atan, "arc tangent, -pi/2 … pi/2"),
    "sinh": (hyperbolic.sinh, "hyperbolic sine"),
    "cosh": (hyperbolic.cosh, "hyperbolic cosine"),
    "tanh": (hyperbolic.tanh, "hyperbolic tangent"),
    "rsqrt": (roots.rsqrt, "1 / sqrt(x)"),
    "cbrt": (roots.cbrt, "cube root"),
    "pow": (power.pow, "x**y"),
}
"""Name -> the function of f32, and what it computes."""


def rows() -> list[Composition]:
    """One composition for each function."""
    return [
        Composition(f"math.{name}", _signatures(function), _expansion(f"math.{name}", function), summary)
        for name, (function, summary) in FUNCTIONS.items()
    ]


def _signatures(function: Function) -> dict[tuple[DType, ...], DType]:
    arity = len(signature(function).parameters)
    return {(t,) * arity: t for t in (f32, f16, bf16)}


def _expansion(id: str, function: Function) -> Callable[..., Expr]:
    def expand(*operands: Expr) -> Expr:
        values = [Value(x) for x in operands]
        dtype = values[0].dtype
        if dtype is f32:
            return function(*values).expr
        return Value(call(id, *(x.cast(f32).expr for x in values))).cast(dtype).expr

    return expand
