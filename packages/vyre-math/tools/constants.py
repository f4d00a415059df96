"""Prints `vyre_math/constants.py`: every number of the dialect, from its definition.

    python packages/vyre-math/tools/constants.py > packages/vyre-math/src/vyre_math/constants.py

A constant that must be more exact than f64 is a sum of two: the high part has so few bits that its product with the
multiplier is exact, the low part is the rest. Polynomials are the best ones on their interval (`remez.py`); the comment
behind each is log2 of its greatest error, relative to the function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import mpmath
from mpmath import mpf

sys.path.insert(0, str(Path(__file__).parent))
from remez import PRECISION, fit

HEAD = '''"""The numbers of the dialect, printed by `tools/constants.py`. Do not edit: a test prints them again."""

from __future__ import annotations
'''
HIGH_BITS = 33
"""Of the high part of a constant that is multiplied by an exponent, which has up to 11 bits and less than 20."""
EXACT_BITS = 29
"""Of a constant whose product with an f32 is exact in f64."""
SLACK = mpf("1.001")
"""How much wider than needed an interval is: rounding may reduce an argument to just beyond the end."""
WIDER = 1 + mpf(2) ** -5
"""The same where a third of an f32's digits has not been looked at when it is reduced."""
NEAR_ZERO = mpf(2) ** -70
POW_BITS = 42
"""Of each exact part of what `pow` multiplies by an exponent of 2, or adds to that."""
POW_CENTER = mpf(361) / 256
"""Near sqrt(2), of so few bits that its sum with an f32 is exact."""
POW_WIDEST = mpf("0.0884")
"""The greatest quotient of `pow`."""
POW_LOG_TERMS = 8, 8
"""Terms of the logarithm of `pow` beyond the linear one: in pairs of f64, and in f64."""
POW_EXP_TERMS = 12, 10
"""Terms of its exponential, beyond 1 + z."""
ATAN2_TERMS = 9, 11
"""Terms of the arc tangent of `atan2` beyond the linear one."""
TANGENTS = mpf(11) / 32, mpf(23) / 32
"""Of the directions from which `atan2` turns back, of so few bits that what is turned stays exact."""


def main() -> None:
    mpmath.mp.prec = PRECISION
    sys.stdout.write("\n".join((HEAD, *_lines(), "")))


def _lines() -> Iterator[str]:
    ln2, log10_2 = mpmath.log(2), mpmath.log10(2)
    yield "# fmt: off"
    yield from _split("LN_2", ln2)
    yield from _split("LOG10_2", log10_2)
    yield _pair("LN_2", ln2)
    yield _pair("LOG10_2", log10_2)
    yield _pair("LN_10_PAIR", mpmath.log(10))
    yield _pair("LOG2_E_PAIR", 1 / ln2)
    yield _pair("LOG10_E_PAIR", 1 / mpmath.log(10))
    yield _pair("PI_PAIR", mpmath.pi)
    yield _pair("HALF_PI_PAIR", mpmath.pi / 2)
    yield _pair("TWO_LOG2_E", 2 / ln2)
    yield _pair("MINUS_SIXTH", -mpf(1) / 6)
    yield _pair("TWO_LOG2_E_3", 2 / ln2 / 3)
    yield f"LN_10 = {float(mpmath.log(10))!r}"
    yield f"LOG2_E = {float(1 / ln2)!r}"
    yield f"LOG2_10 = {float(1 / log10_2)!r}"
    yield f"LOG10_E = {float(1 / mpmath.log(10))!r}"
    yield f"PI = {float(mpmath.pi)!r}"
    yield f"QUARTER_PI = {float(mpmath.pi / 4)!r}"
    yield f"HALF_PI = {float(mpmath.pi / 2)!r}"
    yield f"TAN_EIGHTH_PI = {float(mpmath.tan(mpmath.pi / 8))!r}"
    yield f"TWO_PI = {float(2 * mpmath.pi)!r}"
    yield from _periods()
    yield "TWO_OVER_PI_64 = ("
    yield from (f"    {word:#018x}," for word in _two_over_pi(55, 20, 64))
    yield ")"
    yield '"""55 zero bits, then those digits in words of 64 bits."""'
    yield from _arctangents()
    yield from _pow(ln2)
    yield from _directions()
    yield from _polynomials(ln2)
    yield "# fmt: on"


def _split(name: str, value: mpf) -> Iterator[str]:
    unit = mpf(2) ** (int(mpmath.floor(mpmath.log(value, 2))) + 1 - HIGH_BITS)
    high = mpmath.floor(value / unit) * unit
    yield f"{name}_HIGH = {float(high)!r}"
    yield f"{name}_LOW = {float(value - high)!r}"


def _pair(name: str, value: mpf) -> str:
    high = float(value)
    return f"{name} = ({high!r}, {float(value - mpf(high))!r})"


def _periods() -> Iterator[str]:
    """The digits of 1 / pi for four ranges of arguments, which begin at 0, 2**52, 2**80 and 2**108."""
    yield "PERIODS = ("
    for least in (24, 52, 80, 108):
        # A number with 24 bits, from 2**least on, has whole products with digits that are further in front.
        place = 22 - least
        rest = mpmath.frac(mpmath.ldexp(1 / mpmath.pi, -place - 1))
        first = mpmath.floor(mpmath.ldexp(rest, EXACT_BITS))
        rest = mpmath.ldexp(rest, EXACT_BITS) - first
        second = mpmath.floor(mpmath.ldexp(rest, EXACT_BITS))
        rest = mpmath.ldexp(rest, EXACT_BITS) - second
        digits = zip((first, second, rest), range(1, 4), strict=True)
        parts = [float(mpmath.ldexp(part, place + 1 - EXACT_BITS * min(n, 2))) for part, n in digits]
        yield f"    ({', '.join(map(repr, parts))}),"
    yield ")"
    yield '"""For each range of arguments, digits of 1 / pi: 29, the next 29, and what is left."""'


def _two_over_pi(zeros: int, words: int, width: int) -> list[int]:
    """So many zero bits, then the binary digits of 2 / pi, cut into words, the first digits first."""
    total = words * width
    with mpmath.workprec(total + 64):
        digits = int(mpmath.floor(2 / mpmath.pi * mpf(2) ** (total - zeros)))
    return [digits >> shift & ((1 << width) - 1) for shift in range(total - width, -1, -width)]


def _arctangents() -> Iterator[str]:
    """tan(k pi / 8) in f64, the arctangent of exactly that number in two parts, and the bounds half-way between."""
    tangents = [mpf(float(mpmath.tan(k * mpmath.pi / 8))) for k in range(4)]
    angles = [*map(mpmath.atan, tangents), mpmath.pi / 2]
    yield from _tuple("EIGHTH_TAN", [float(t) for t in tangents])
    yield from _tuple("EIGHTH_BOUND", [float(mpmath.tan((2 * k + 1) * mpmath.pi / 16)) for k in range(4)])
    yield from _tuple("EIGHTH_HIGH", [float(a) for a in angles])
    yield from _tuple("EIGHTH_LOW", [float(a - mpf(float(a))) for a in angles])


def _pow(ln2: mpf) -> Iterator[str]:
    """The logarithms of 2 and of `POW_CENTER`: to base 2 in two parts, and natural ones in three, of which the first
    two are multiples of small units."""
    yield f"POW_CENTER = {float(POW_CENTER)!r}"
    yield _pair("POW_TURN", mpmath.log(POW_CENTER, 2))
    for name, value in (("POW_LN_2", ln2), ("POW_LN_CENTER", mpmath.log(POW_CENTER))):
        first, second = (mpmath.ldexp(mpmath.nint(mpmath.ldexp(value, n * POW_BITS)), -n * POW_BITS) for n in (1, 2))
        yield f"{name} = ({float(first)!r}, {float(second - first)!r}, {float(value - second)!r})"
    yield from _series("POW_LOG_SERIES", [mpf(2) / (2 * k + 3) for k in range(sum(POW_LOG_TERMS))], POW_LOG_TERMS[0])
    factorials = [1 / mpmath.factorial(k + 2) for k in range(sum(POW_EXP_TERMS))]
    yield from _series("POW_EXP_SERIES", factorials, POW_EXP_TERMS[0])
    odd = [(-1) ** (k + 1) / mpf(2 * k + 3) for k in range(sum(ATAN2_TERMS))]
    yield from _series("ATAN2_SERIES", odd, ATAN2_TERMS[0])


def _series(name: str, values: Sequence[mpf], pairs: int) -> Iterator[str]:
    """The coefficients of a series: the first `pairs` of them in two parts."""
    yield f"{name} = ("
    yield from (f"    ({float(v)!r}, {float(v - mpf(float(v)))!r})," for v in values[:pairs])
    yield ")"
    yield from _tuple(f"{name}_REST", [float(v) for v in values[pairs:]])


def _directions() -> Iterator[str]:
    """The tangents of `atan2`, their angles in two parts, and the bounds half-way between."""
    angles = [mpf(0), *map(mpmath.atan, TANGENTS)]
    yield from _tuple("ATAN2_TAN", [float(t) for t in TANGENTS])
    yield from _tuple("ATAN2_BOUND", [float(mpmath.tan((a + b) / 2)) for a, b in pairwise(angles)])
    yield from _tuple("ATAN2_HIGH", [float(a) for a in angles[1:]])
    yield from _tuple("ATAN2_LOW", [float(a - mpf(float(a))) for a in angles[1:]])


def _polynomials(ln2: mpf) -> Iterator[str]:
    half = ln2 / 2 * SLACK
    yield from _fitted("EXP", _beyond_linear, -half, half, 9, lambda x: x**2)
    quarter = (mpmath.pi / 4 * SLACK) ** 2
    eighth_turn, quarter_turn = ((mpmath.pi / n * WIDER) ** 2 for n in (4, 2))
    sine, artanh, arctan = map(_beyond_linear_of, (mpmath.sin, mpmath.atanh, mpmath.atan))
    yield from _fitted("SIN", sine, NEAR_ZERO, eighth_turn, 5, lambda u: u)
    beyond_square = _even(lambda x: (mpmath.cos(x) - 1 + x**2 / 2) / x**4)
    yield from _fitted("COS", beyond_square, NEAR_ZERO, eighth_turn, 5, lambda u: u**2)
    yield from _fitted("SIN_HALF_TURN", sine, NEAR_ZERO, quarter_turn, 7, lambda u: u)
    fraction = ((mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1) * SLACK) ** 2
    yield from _fitted("ATANH", artanh, NEAR_ZERO, fraction, 7, lambda u: u)
    yield from _fitted("EXP_64", _beyond_square_of_exp, -half, half, 9, lambda x: x**3)
    yield from _fitted("SIN_64", _even(_beyond_cube_of_sin), NEAR_ZERO, quarter, 6, lambda u: u**2)
    yield from _fitted("COS_64", beyond_square, NEAR_ZERO, quarter, 7, lambda u: u**2)
    yield from _fitted("ATANH_64", artanh, NEAR_ZERO, fraction, 8, lambda u: u)
    yield from _fitted("POW_LOG", _even(lambda x: _beyond_cube(x) * 2 / ln2), NEAR_ZERO, fraction, 7, lambda u: u**2)
    yield from _fitted("POW_LOG2", lambda u: artanh(u) * 2 / ln2, NEAR_ZERO, (POW_WIDEST * SLACK) ** 2, 5, lambda u: u)
    yield from _fitted("POW_EXP2", _beyond_one_of_exp2, -SLACK / 2, SLACK / 2, 9, abs)
    sixteenth = (mpmath.tan(mpmath.pi / 16) * SLACK) ** 2
    eighth = (mpmath.tan(mpmath.pi / 8) * SLACK) ** 2
    yield from _fitted("ATAN", arctan, NEAR_ZERO, eighth, 11, lambda u: u)
    yield from _fitted("ASIN", _beyond_linear_of(mpmath.asin), NEAR_ZERO, mpf("0.25"), 13, lambda u: u)
    turned = (TANGENTS[0] / (1 + mpmath.sqrt(1 + TANGENTS[0] ** 2)) * SLACK) ** 2
    yield from _fitted("ATAN2", arctan, NEAR_ZERO, turned, 7, lambda u: u)
    yield from _fitted("ATAN_64", arctan, NEAR_ZERO, sixteenth, 9, lambda u: u)


def _beyond_linear(x: mpf) -> mpf:
    """(e**x - 1 - x) / x**2, which has a limit at 0."""
    return (mpmath.expm1(x) - x) / x**2 if x else mpf("0.5")


def _beyond_linear_of(f: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """(f(x) / x - 1) / x², as a function of x²."""
    return _even(lambda x: (f(x) / x - 1) / x**2)


def _beyond_square_of_exp(x: mpf) -> mpf:
    """(e**x - 1 - x - x²/2) / x³."""
    return (mpmath.expm1(x) - x - x**2 / 2) / x**3 if x else mpf(1) / 6


def _beyond_cube(x: mpf) -> mpf:
    """(atanh x / x - 1 - x²/3) / x**4."""
    return (mpmath.atanh(x) / x - 1 - x**2 / 3) / x**4


def _beyond_cube_of_sin(x: mpf) -> mpf:
    """(sin x / x - 1 + x²/6) / x**4."""
    return (mpmath.sin(x) / x - 1 + x**2 / 6) / x**4


def _beyond_one_of_exp2(x: mpf) -> mpf:
    """(2**x - 1) / x."""
    return mpmath.expm1(x * mpmath.log(2)) / x if x else mpmath.log(2)


def _even(f: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """An even function as a function of the square."""
    return lambda u: f(mpmath.sqrt(u))


def _fitted(
    name: str, f: Callable[[mpf], mpf], low: mpf, high: mpf, degree: int, weight: Callable[[mpf], mpf]
) -> Iterator[str]:
    coefficients, error = fit(f, low, high, degree, weight)
    yield from _tuple(name, coefficients, f"  # {error:.1f}")


def _tuple(name: str, values: Sequence[float], comment: str = "") -> Iterator[str]:
    yield f"{name} = ({comment}"
    yield from (f"    {value!r}," for value in values)
    yield ")"


if __name__ == "__main__":
    main()
