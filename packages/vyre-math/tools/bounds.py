"""The bounds of the errors of pow and atan2 of f32, from the numbers that the compositions are made of.

    python packages/vyre-math/tools/bounds.py

Each function follows one composition, step by step; `docs/math.md` says what the steps are. `U` is half a unit in the
last place of 1 for f64: a result that is rounded is off by at most U of its size. The difference between a function and
a polynomial is a series; its greatest value is bounded on pieces of the interval, with the slope on each. All numbers
have 200 bits, and every bound is rounded up by more than those are off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mpf

sys.path.insert(0, str(Path(__file__).parent))
from constants import POW_CENTER, TANGENTS

from vyre_math import constants as c
from vyre_math.binary32 import power

U = mpf(2) ** -53
TERMS = 60
"""Of a series; what is left of it is below 2**-150 on all intervals here."""
PIECES = 4000
MOST_POWER = mpf(151)
"""Beyond this exponent to base 2, every result of pow is 0 or infinite, and the nearest f64 says which."""
PRODUCT = 8 * U**2
"""Of `pairs.product`: one term is left out and four are rounded, all of them below 3 U."""
QUOTIENT = 2 * U**2
"""Of `pairs.quotient` of two f64."""


def polynomial(series: Sequence[mpf], x: mpf) -> mpf:
    """``c[0] + c[1] x + …``, by Horner's rule."""
    return reduce(lambda total, a: total * x + a, reversed(series), mpf(0))


def greatest(series: Sequence[mpf], low: mpf, high: mpf, weight: Callable[[mpf], mpf] = lambda x: mpf(1)) -> mpf:
    """More than ``|weight(x) (c[0] + c[1] x + …)|`` for x between low and high, where the weight grows with |x|."""
    width = (high - low) / PIECES
    slopes = [k * abs(a) for k, a in enumerate(series) if k]
    worst = mpf(0)
    for n in range(PIECES):
        middle, end = low + width * (n + mpf(1) / 2), max(abs(low + width * n), abs(low + width * (n + 1)))
        value, slope = abs(polynomial(series, middle)), polynomial(slopes, end)
        worst = max(worst, (value + slope * width / 2) * weight(end))
    return worst * (1 + mpf(2) ** -60)


def difference(series: Callable[[int], mpf], coefficients: Sequence[float]) -> list[mpf]:
    """The series of a function less a polynomial."""
    padded = [*map(mpf, coefficients), *[mpf(0)] * (TERMS - len(coefficients))]
    return [series(k) - padded[k] for k in range(TERMS)]


def in_pairs(x: mpf, ratio: mpf, pairs: int, rest: Sequence[float], first: mpf) -> mpf:
    """The error of `polynomial.of_pairs`, of its value: for operands up to x, where a product is at most `ratio` times
    the coefficient that it is added to, which is the larger one.

    The low part of a sum is below 2**-50 of it. A product leaves out one term and rounds two times, a sum three times.
    The terms in f64 are off by less than 4 U of their first.
    """
    low = mpf(2) ** -50
    product = ((low * U) + 2 * U * (low + 2 * U)) * ratio
    total = 3 * U * ((low + 2 * U) * ratio + 2 * U)
    return (product + total) / (1 - ratio) ** 2 + 4 * U * abs(mpf(rest[0])) * x**pairs / first / (1 - ratio)


# ── pow ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def widest_quotient() -> mpf:
    """The greatest ``|m - c| / (m + c)`` of pow."""
    least, turn, end = (mpf(float(np.uint64(power.ROOT + n * power.HALF).view(np.float64))) for n in range(3))
    pairs = (least, mpf(1)), (turn, mpf(1)), (turn, POW_CENTER), (end, POW_CENTER)
    return max(abs(m - center) / (m + center) for m, center in pairs)


def logarithm() -> mpf:
    """The error of `power.logarithm`, of its value."""
    s, slope = widest_quotient(), 2 / mpmath.log(2)
    w = s**2
    series = difference(lambda k: slope / (2 * k + 3), c.POW_LOG2)
    fitted = greatest(series, mpf(0), w, lambda x: x) / slope
    # The polynomial is off by less than 8 U: its operand by 3 U, itself by five sums.
    linear = abs(mpf(c.TWO_LOG2_E[0]) - slope) / slope + fitted + 8 * U * w + U
    part = U + linear + U  # the quotient, the slope, their product
    share = s * slope * (1 + w)
    center = mpmath.log(POW_CENTER, 2)
    exponents = [
        part,  # e = 0 around 1: nothing is added
        part * share / (center - share) + U,  # e = 0 around c
        part * share / (1 - share) + U,
        (part * share + (1 - center) * U) / (1 - center - share) + U,  # e = -1 around c, where e + log2 c is rounded
        (part * share + (1 + center) * U) / (1 + center - share) + U,
    ]
    return max(exponents)


def fast_power() -> mpf:
    """The error of the f64 in front of the rounding of `pow`, of its value."""
    ln2 = mpmath.log(2)
    exponent = MOST_POWER * (logarithm() + U) * ln2
    half = mpf(1) / 2
    fitted = greatest(difference(lambda k: ln2 ** (k + 1) / mpmath.factorial(k + 1), c.POW_EXP2), -half, half, abs)
    # The polynomial is off by less than 6 U of its first term, the sum by U.
    exponential = (fitted + 6 * U * ln2 * half + U * mpmath.sqrt(2)) * mpmath.sqrt(2)
    return mpmath.expm1(exponent) + exponential * 2


def wide_exponent() -> mpf:
    """The error of `wide_power.exponent`: the terms that cancel are added exactly, so the cubic one counts."""
    s = widest_quotient()
    w = s**2
    ratio = w * mpf(3) / 5 * 2
    terms = len(c.POW_LOG_SERIES) + len(c.POW_LOG_SERIES_REST)
    series = in_pairs(w, ratio, len(c.POW_LOG_SERIES), c.POW_LOG_SERIES_REST, mpf(2) / 3)
    series += w**terms / (2 * terms + 3) * 3 / (1 - w)
    cubic = series + 3 * PRODUCT + 3 * U**2  # s², s s², the product of both; s itself
    largest = MOST_POWER * mpmath.log(2)
    share = s * 2 / mpmath.log(2) / (mpmath.log(POW_CENTER, 2) - s * 2 / mpmath.log(2))
    rest = 8 * U * mpf(2) ** -53 + U * largest * w  # sums of low parts; y times the low part of the cubic term
    return largest * max(share, 1) * w / 3 * (1 + w) * cubic + rest * U


def wide_power_error() -> mpf:
    """The error of the pair in front of the rounding of `pow_wide`, of its value."""
    z = mpmath.log(2) / 2 * (1 + mpf(2) ** -20)
    terms = len(c.POW_EXP_SERIES) + len(c.POW_EXP_SERIES_REST)
    series = in_pairs(z, z / 3 * 2, len(c.POW_EXP_SERIES), c.POW_EXP_SERIES_REST, mpf(1) / 2)
    series += 2 * z**terms / mpmath.factorial(terms + 2) / (1 - z)
    beyond = z**2 * mpmath.exp(z) / 2 * (series + 2 * PRODUCT)
    sums = 4 * U**2 * mpmath.exp(z)
    return (mpmath.expm1(wide_exponent()) * mpmath.exp(z) + beyond + sums) * mpmath.exp(z)


# ── atan2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def widest_slope() -> mpf:
    """The greatest quotient that is left when a point has been turned back."""
    tangents, bounds = [mpf(0), *TANGENTS], [mpf(0), *map(mpf, c.ATAN2_BOUND), mpf(1)]
    sides = zip(tangents, bounds[:-1], bounds[1:], strict=True)
    return max(abs(b - t) / (1 + t * b) for t, low, high in sides for b in (low, high))


def fast_angle() -> mpf:
    """The error of the f64 in front of the rounding of `atan2`, of its value."""
    s = widest_slope()
    series = difference(lambda k: mpf(-1) ** (k + 1) / (2 * k + 3), c.ATAN2)
    fitted = greatest(series, mpf(0), s**2, lambda x: x)
    # The polynomial is off by less than 8 U, and of the size of a third.
    part = U + fitted + 8 * U * s**2 / 3 + U
    turned = [part]
    for tangent, high, bound in zip(TANGENTS, c.ATAN2_HIGH, c.ATAN2_BOUND, strict=True):
        constant = abs(mpmath.atan(tangent) - mpf(high))
        turned.append((part * s + constant) / mpmath.atan(mpf(bound)) + U)
    quadrants = [(mpf(c.HALF_PI), mpmath.pi / 2, mpmath.pi / 4), (mpf(c.PI), mpmath.pi, mpmath.pi * 3 / 4)]
    added = [max(turned) + abs(near - exact) / least + U for near, exact, least in quadrants]
    return max(*turned, *added) * (1 + mpf(2) ** -40)


def wide_angle_error() -> mpf:
    """The error of the pair in front of the rounding of `atan2_wide`, of its value."""
    s = widest_slope()
    w = s**2
    terms = len(c.ATAN2_SERIES) + len(c.ATAN2_SERIES_REST)
    series = in_pairs(w, w * 3 / 5 * 2, len(c.ATAN2_SERIES), c.ATAN2_SERIES_REST, mpf(1) / 3)
    series += w**terms / (2 * terms + 3) * 3
    part = QUOTIENT + w / 3 * (series + 3 * PRODUCT) + 6 * U**2
    # What is turned back is at least half of the larger part, and so is what it is added to.
    turned = 2 * part + 2 * U**2 * 4 + 6 * U**2
    return 2 * turned + 2 * U**2 * 4 + 6 * U**2


def main() -> None:
    mpmath.mp.prec = 200
    for name, bound in bounds().items():
        sys.stdout.write(f"{name}: 2**{float(mpmath.log(bound, 2)):.2f}\n")


def bounds() -> dict[str, mpf]:
    with mpmath.workprec(200):
        return {
            "pow": fast_power(),
            "pow_wide": wide_power_error(),
            "atan2": fast_angle(),
            "atan2_wide": wide_angle_error(),
        }


if __name__ == "__main__":
    main()
