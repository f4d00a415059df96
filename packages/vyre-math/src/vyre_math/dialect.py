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
from vyre_foundation.dialects import Composition, call
from vyre_foundation.ir import Expr
from vyre_math.binary32 import (
    exponential,
    hyperbolic,
    inverse,
    logarithm,
    polar,
    power,
    roots,
    trigonometric,
    wide_angle,
    wide_power,
)
from vyre_math.binary64 import (
    exponential as exponential64,
    hyperbolic as hyperbolic64,
    inverse as inverse64,
    logarithm as logarithm64,
    polar as polar64,
    power as power64,
    roots as roots64,
    trigonometric as trigonometric64,
)
from vyre_math.described import DESCRIPTIONS

Body = Callable[..., Value]


class Function(NamedTuple):
    """What one function computes, and how, for operands of each type.

    `bound`: stated for the error for f64, in units in the last place. For f32 it is 0.5.
    """

    summary: str
    binary32: Body
    binary64: Body
    bound: float


# fmt: off
BODIES: dict[str, tuple[Body, Body]] = {
    "exp":   (exponential.exp,   exponential64.exp),
    "exp2":  (exponential.exp2,  exponential64.exp2),
    "exp10": (exponential.exp10, exponential64.exp10),
    "expm1": (exponential.expm1, exponential64.expm1),
    "log":   (logarithm.log,     logarithm64.log),
    "log2":  (logarithm.log2,    logarithm64.log2),
    "log10": (logarithm.log10,   logarithm64.log10),
    "log1p": (logarithm.log1p,   logarithm64.log1p),
    "sin":   (trigonometric.sin, trigonometric64.sin),
    "cos":   (trigonometric.cos, trigonometric64.cos),
    "tan":   (trigonometric.tan, trigonometric64.tan),
    "asin":  (inverse.asin,      inverse64.asin),
    "acos":  (inverse.acos,      inverse64.acos),
    "atan":  (inverse.atan,      inverse64.atan),
    "sinh":  (hyperbolic.sinh,   hyperbolic64.sinh),
    "cosh":  (hyperbolic.cosh,   hyperbolic64.cosh),
    "tanh":  (hyperbolic.tanh,   hyperbolic64.tanh),
    "rsqrt": (roots.rsqrt,       roots64.rsqrt),
    "cbrt":  (roots.cbrt,        roots64.cbrt),
    "pow":   (power.pow,         power64.pow),
    "hypot": (polar.hypot,       polar64.hypot),
    "atan2": (polar.atan2,       polar64.atan2),
}
# fmt: on
FUNCTIONS = {
    name: Function(described.summary, *BODIES[name], described.bound) for name, described in DESCRIPTIONS.items()
}
WIDE: dict[str, Body] = {"pow_wide": wide_power.pow_wide, "atan2_wide": wide_angle.atan2_wide}
"""Slow functions of f32 with the results of those without `_wide`, which call them where f64 does not decide the
rounding."""


def rows() -> list[Composition]:
    """One composition for each function, and those that are hardly ever needed."""
    usual = [
        Composition(f"math.{name}", _signatures(function), _expansion(f"math.{name}", function), function.summary)
        for name, function in FUNCTIONS.items()
    ]
    wide = [
        Composition(
            f"math.{name}",
            {(f32, f32): f32},
            _of_f32(body),
            f"{FUNCTIONS[name[:-5]].summary}, in pairs of f64",
            rare=True,
        )
        for name, body in WIDE.items()
    ]
    return usual + wide


def _of_f32(body: Body) -> Callable[..., Expr]:
    return lambda *operands: body(*map(Value, operands)).expr


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
