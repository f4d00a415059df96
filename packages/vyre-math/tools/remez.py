"""The best polynomial of a degree, by Remez's exchange, with its coefficients rounded to f64.

Minimises the greatest ``|weight(x) * (f(x) - p(x))|`` over an interval. Leading terms that are known are no part of p:
fit ``(f(x) - 1 - x) / x**2`` with the weight ``x**2``, say, and rounding the coefficients costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce

import mpmath
from mpmath import mpf

Function = Callable[[mpf], mpf]
PRECISION = 200
"""Bits of all computations."""
MAX_EXCHANGES = 30
LEVEL = 1 + mpf(2) ** -10
"""How equal the extremes of the error must be."""


def fit(f: Function, low: mpf, high: mpf, degree: int, weight: Function) -> tuple[list[float], float]:
    """Coefficients from the constant up, and log2 of the greatest weighted error that they have as f64."""
    with mpmath.workprec(PRECISION):
        f, weight = cache(f), cache(weight)  # most points are those of the exchange before
        coefficients = [float(c) for c in _exchange(f, mpf(low), mpf(high), degree, weight)]
        error = _error(f, coefficients, weight)
        worst = max(abs(error(x)) for x in _chebyshev(mpf(low), mpf(high), 1000))
        return coefficients, float(mpmath.log(worst, 2))


def _exchange(f: Function, low: mpf, high: mpf, degree: int, weight: Function) -> list[mpf]:
    """Solve for equal errors of alternating sign at degree + 2 points, move the points to the extremes, repeat."""
    points = _chebyshev(low, high, degree + 2)
    dense = [low, *_chebyshev(low, high, 40 * (degree + 2)), high]
    for _ in range(MAX_EXCHANGES):
        *coefficients, level = _solve(f, points, degree, weight)
        points, worst = _extremes(_error(f, coefficients, weight), dense, degree + 2)
        if worst <= abs(level) * LEVEL:
            return coefficients
    raise ArithmeticError(f"no equal extremes after {MAX_EXCHANGES} exchanges. Fix: another degree or interval")


def _solve(f: Function, points: Sequence[mpf], degree: int, weight: Function) -> list[mpf]:
    size = degree + 2
    rows, right = mpmath.matrix(size, size), mpmath.matrix(size, 1)
    for i, x in enumerate(points):
        for power in range(degree + 1):
            rows[i, power] = weight(x) * x**power
        rows[i, degree + 1] = (-1) ** i
        right[i] = weight(x) * f(x)
    return list(mpmath.lu_solve(rows, right))


def _error(f: Function, coefficients: Sequence[mpf], weight: Function) -> Function:
    descending = [mpf(c) for c in reversed(coefficients)]
    return lambda x: weight(x) * (f(x) - reduce(lambda total, c: total * x + c, descending))


def _extremes(error: Function, points: Sequence[mpf], count: int) -> tuple[list[mpf], mpf]:
    """Where the error is greatest between its changes of sign, and the greatest of all."""
    runs: list[tuple[mpf, mpf]] = []
    for x in points:
        value = error(x)
        if not runs or (runs[-1][1] > 0) != (value > 0):
            runs.append((x, value))
        elif abs(value) > abs(runs[-1][1]):
            runs[-1] = x, value
    while len(runs) > count:
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    if len(runs) < count:
        raise ArithmeticError(f"the error alternates {len(runs)} times, expected {count}. Fix: a lower degree")
    return [x for x, _ in runs], max(abs(value) for _, value in runs)


def _chebyshev(low: mpf, high: mpf, count: int) -> list[mpf]:
    """Points from low to high, denser at the ends; a little aside, so that none is the middle itself."""
    angles = [mpmath.pi * (2 * k + 1) / (2 * count) + mpf(2) ** -20 / count for k in reversed(range(count))]
    return [(low + high) / 2 + (high - low) / 2 * mpmath.cos(angle) for angle in angles]
