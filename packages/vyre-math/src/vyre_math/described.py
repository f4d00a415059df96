"""The functions in words: what the rows of the dialect and ``help(vyre_math.exp)`` say."""

from __future__ import annotations

from typing import NamedTuple


class Description(NamedTuple):
    """What a function computes: its summary, where it is defined, and its results at the edges."""

    summary: str
    domain: str
    special: str
    """Results at zeros, infinities and poles."""
    bound: float
    """More than the error for f64, in units in the last place, wherever `tools/worst.py` has searched."""
    parameters: tuple[str, ...] = ("x",)


_D = Description
_XY = ("x", "y")
# fmt: off
DESCRIPTIONS = {
    "exp":   _D("e**x", "every x", "1 at ±0, 0 at -inf, inf at inf", 0.55),
    "exp2":  _D("2**x", "every x", "1 at ±0, 0 at -inf, inf at inf", 0.55),
    "exp10": _D("10**x", "every x", "1 at ±0, 0 at -inf, inf at inf", 0.55),
    "expm1": _D("e**x - 1", "every x", "±0 at ±0, -1 at -inf, inf at inf", 0.62),
    "log":   _D("the natural logarithm of x", "x >= 0", "-inf at ±0, +0 at 1, inf at inf, NaN below 0", 0.55),
    "log2":  _D("the logarithm of x to base 2", "x >= 0", "-inf at ±0, +0 at 1, inf at inf, NaN below 0", 0.56),
    "log10": _D("the logarithm of x to base 10", "x >= 0", "-inf at ±0, +0 at 1, inf at inf, NaN below 0", 0.56),
    "log1p": _D("the natural logarithm of 1 + x", "x >= -1", "±0 at ±0, -inf at -1, inf at inf, NaN below -1", 0.56),
    "sin":   _D("the sine of x in radians", "finite x", "±0 at ±0, NaN at ±inf", 0.6),
    "cos":   _D("the cosine of x in radians", "finite x", "1 at ±0, NaN at ±inf", 0.6),
    "tan":   _D("the tangent of x in radians", "finite x", "±0 at ±0, NaN at ±inf", 0.62),
    "asin":  _D("the arc sine of x, -pi/2 … pi/2", "-1 <= x <= 1", "±0 at ±0, NaN where abs(x) > 1", 0.6),
    "acos":  _D("the arc cosine of x, 0 … pi", "-1 <= x <= 1", "+0 at 1, NaN where abs(x) > 1", 0.6),
    "atan":  _D("the arc tangent of x, -pi/2 … pi/2", "every x", "±0 at ±0, ±pi/2 at ±inf", 0.6),
    "sinh":  _D("the hyperbolic sine of x", "every x", "±0 at ±0, ±inf at ±inf", 0.6),
    "cosh":  _D("the hyperbolic cosine of x", "every x", "1 at ±0, inf at ±inf", 0.55),
    "tanh":  _D("the hyperbolic tangent of x", "every x", "±0 at ±0, ±1 at ±inf", 0.6),
    "rsqrt": _D("1 / sqrt(x)", "x >= 0", "±inf at ±0, 0 at inf, NaN below 0", 0.51),
    "cbrt":  _D("the cube root of x", "every x", "±0 at ±0, ±inf at ±inf", 0.51),
    "pow":   _D("x**y", "x >= 0, or an integer y",
              "1 for y = ±0 and for x = 1, also beside NaN; "
              "NaN for x < 0 and finite y that is no integer", 0.7, _XY),
    "hypot": _D("sqrt(x² + y²)", "every x and y",
              "inf if an operand is ±inf, also beside NaN", 0.51, _XY),
    "atan2": _D("the angle of (x, y), -pi … pi", "every x and y",
              "±0 and ±pi at (±0, x) by the sign of x, also of zeros; "
              "multiples of pi/4 at infinities", 0.6, ("y", "x")),
}
# fmt: on


def docstring(name: str) -> str:
    """Give the documentation of the function called `name`."""
    described = DESCRIPTIONS[name]
    first, *others = described.parameters
    operands = [f"    {first}: A value{' or a number' if others else ''} of f32, f64, f16 or bf16."]
    operands += [f"    {other}: As `{first}`; a number takes the type of the value beside it." for other in others]
    return "\n".join(
        (
            f"Compute {described.summary}, correctly rounded for f32.",
            "",
            f"- Domain: {described.domain}.",
            f"- Special values: {described.special}.",
            "- Elsewhere the result is NaN only where an operand is.",
            "",
            "Error, in units in the last place:",
            "    f32: at most 0.5, to nearest with ties to even.",
            "    f16, bf16: below 0.5001, as the result for f32 is rounded once more.",
            f"    f64: below {described.bound}, measured.",
            "",
            "Args:",
            *operands,
            "",
            "Returns:",
            "    A value of the type of the operands, with the same bits on every backend.",
            "",
            "Raises:",
            "    SignatureMismatch: The operands are of other types, or of two.",
            "    BuildError: No operand is a value.",
            "",
            "Rule: IEEE 754-2019, 9.2.1; docs/math.md for the method and the proof.",
            "",
        )
    )
