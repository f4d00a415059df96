"""The functions in words: what the rows of the dialect and ``help(vyre_math.exp)`` say."""

from __future__ import annotations

from typing import NamedTuple


class Description(NamedTuple):
    """`special` are results at zeros, infinities and poles. `bound`: more than the error for f64, in units in the last
    place, wherever `tools/worst.py` has searched."""

    summary: str
    special: str
    bound: float


# fmt: off
DESCRIPTIONS = {
    "exp":   Description("e**x",                       "1 at ±0, 0 at -inf, inf at inf",                         0.55),
    "exp2":  Description("2**x",                       "1 at ±0, 0 at -inf, inf at inf",                         0.55),
    "exp10": Description("10**x",                      "1 at ±0, 0 at -inf, inf at inf",                         0.55),
    "expm1": Description("e**x - 1",                   "±0 at ±0, -1 at -inf, inf at inf",                       0.62),
    "log":   Description("natural logarithm",          "-inf at ±0, +0 at 1, inf at inf, NaN below 0",           0.55),
    "log2":  Description("logarithm to base 2",        "-inf at ±0, +0 at 1, inf at inf, NaN below 0",           0.56),
    "log10": Description("logarithm to base 10",       "-inf at ±0, +0 at 1, inf at inf, NaN below 0",           0.56),
    "log1p": Description("natural logarithm of 1 + x", "±0 at ±0, -inf at -1, inf at inf, NaN below -1",         0.56),
    "sin":   Description("sine of x in radians",       "±0 at ±0, NaN at ±inf",                                  0.6),
    "cos":   Description("cosine of x in radians",     "1 at ±0, NaN at ±inf",                                   0.6),
    "tan":   Description("tangent of x in radians",    "±0 at ±0, NaN at ±inf",                                  0.62),
    "asin":  Description("arc sine, -pi/2 … pi/2",     "±0 at ±0, NaN where abs(x) > 1",                         0.6),
    "acos":  Description("arc cosine, 0 … pi",         "+0 at 1, NaN where abs(x) > 1",                          0.6),
    "atan":  Description("arc tangent, -pi/2 … pi/2",  "±0 at ±0, ±pi/2 at ±inf",                                0.6),
    "sinh":  Description("hyperbolic sine",            "±0 at ±0, ±inf at ±inf",                                 0.6),
    "cosh":  Description("hyperbolic cosine",          "1 at ±0, inf at ±inf",                                   0.55),
    "tanh":  Description("hyperbolic tangent",         "±0 at ±0, ±1 at ±inf",                                   0.6),
    "rsqrt": Description("1 / sqrt(x)",                "±inf at ±0, 0 at inf, NaN below 0",                      0.51),
    "cbrt":  Description("cube root",                  "±0 at ±0, ±inf at ±inf",                                 0.51),
    "pow":   Description("x**y",                       "1 for y = ±0 and for x = 1, also beside NaN; "
                                                       "NaN for x < 0 and finite y that is no integer",          0.7),
    "hypot": Description("sqrt(x² + y²)",              "inf if an operand is ±inf, also beside NaN",             0.51),
    "atan2": Description("angle of (x, y), -pi … pi",  "±0 and ±pi at (±0, x) by the sign of x, also of zeros; "
                                                       "multiples of pi/4 at infinities",                        0.6),
}
# fmt: on
_TYPES = "f32, f64, f16 or bf16"


def docstring(name: str, parameters: list[str]) -> str:
    """The documentation of the function `name` with these parameters."""
    described = DESCRIPTIONS[name]
    if len(parameters) == 1:
        operands = f"`{parameters[0]}`, a value of {_TYPES}"
    else:
        operands = f"`{parameters[0]}` and `{parameters[1]}`, values of one type, {_TYPES}; one of them may be a number"
    first, _, rest = described.summary.partition(" ")
    summary = f"{first.capitalize()} {rest}" if first.isalpha() else described.summary
    return f"""{summary}.

    Parameters: {operands}.
    Returns: a value of that type, the same bits on every backend. f32: correctly rounded, to nearest with ties to even.
    f16 and bf16: the result for f32, rounded to the type. f64: off by less than {described.bound} units in the last
    place.
    Special values: {described.special}.
    A result is NaN elsewhere only where an operand is.
    Raises: `SignatureMismatch` for operands of other types; `BuildError` if no operand is a value.
    Rule: IEEE 754-2019, 9.2.1; for the accuracy docs/math.md.
    """
