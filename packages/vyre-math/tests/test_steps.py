"""The steps that compositions of f32 share, each alone: polynomials, sums of two f64, the rounding back to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest
from gmpy2 import mpfr

from vyre_driver import acquire
from vyre_foundation import Value, f64, program
from vyre_math.binary32.wide_angle import arctangent
from vyre_math.binary32.wide_power import exponential, three_parts
from vyre_math.pairs import Pair, rounded_to_odd
from vyre_math.polynomial import by_twos, horner

F64: TypeAlias = npt.NDArray[np.float64]
STEP = 2.0**-52
"""Of a f64 between 1 and 2."""


def computed(step: Callable[..., Sequence[Value]], *operands: Sequence[float]) -> list[F64]:
    """The results of `step` at each row of the operands, on the vectorised evaluator."""
    with program("step", 64) as p:
        first, *others = (f"x{n}" for n in range(len(operands)))
        sources = [p.read(first, f64)]
        sources += [p.read(other, f64, like=sources[0]) for other in others]
        i = p.global_id(0)
        for n, value in enumerate(step(*(source[i] for source in sources))):
            p.write(f"out{n}", f64, like=sources[0])[i] = value
    outputs = acquire("reference").dispatch(p.build(), [np.array(x, np.float64) for x in operands])
    return [np.frombuffer(output, np.float64) for output in outputs]


@pytest.mark.parametrize("count", range(3, 9))
def test_by_twos_is_the_polynomial(count: int) -> None:
    coefficients = [float(c) for c in (3, -5, 7, 11, -13, 17, 19, -23)[:count]]
    xs = [-3.0, -1.0, 0.0, 1.0, 2.0, 10.0]
    exact = [float(sum(int(c) * int(x) ** n for n, c in enumerate(coefficients))) for x in xs]
    (found,) = computed(lambda x: [by_twos(coefficients, x, x * x)], xs)
    assert found.tolist() == exact


def test_by_twos_rounds_a_step_once() -> None:
    """(1 + 2**-30)² - (1 + 2**-29) is 2**-60, if the square is not rounded before; horner's scheme says 0."""
    x = 1.0 + 2.0**-30
    coefficients = [-(1.0 + 2.0**-29), x, 0.0]
    once, twice = computed(lambda x: [by_twos(coefficients, x, x * x), horner(coefficients, x)], [x])
    assert once.tolist() == [2.0**-60]
    assert twice.tolist() == [0.0]


def test_an_arc_tangent_in_pairs_has_a_hundred_bits() -> None:
    random = np.random.default_rng(1)
    highs = random.uniform(-0.168, 0.168, 2000) * 2.0 ** -random.integers(0, 12, 2000)
    lows = highs * random.uniform(-1, 1, 2000) * 2.0**-54
    found = computed(lambda high, low: arctangent(Pair(high, low)), list(highs), list(lows))
    with gmpy2.context(precision=300):
        for high, low, z, z_low in zip(highs, lows, *found, strict=True):
            exact = gmpy2.atan(mpfr(float(high)) + mpfr(float(low)))
            assert abs((mpfr(float(z)) + mpfr(float(z_low))) / exact - 1) < 2.0**-100


def test_an_exponential_in_pairs_has_a_hundred_bits() -> None:
    random = np.random.default_rng(2)
    highs = random.uniform(-0.3466, 0.3466, 2000)
    lows = highs * random.uniform(-1, 1, 2000) * 2.0**-54
    found = computed(lambda high, low: exponential(Pair(high, low)), list(highs), list(lows))
    with gmpy2.context(precision=300):
        for high, low, z, z_low in zip(highs, lows, *found, strict=True):
            exact = gmpy2.exp(mpfr(float(high)) + mpfr(float(low)))
            assert abs((mpfr(float(z)) + mpfr(float(z_low))) / exact - 1) < 2.0**-101


def test_a_quotient_in_three_parts_has_150_bits() -> None:
    random = np.random.default_rng(3)
    above, below = random.integers(-(2**20), 2**20, 2000), random.integers(2**23, 2**25, 2000)
    found = computed(lambda a, b: three_parts(a, b), list(above), list(below))
    for a, b, *parts in zip(above, below, *found, strict=True):
        exact = Fraction(int(a), int(b))
        assert abs(sum(map(Fraction, parts)) - exact) <= abs(exact) / 2**150


@pytest.mark.parametrize(
    ("high", "low", "expected"),
    [
        (1.0, 0.0, 1.0),
        (1.0 + STEP, 0.0, 1.0 + STEP),
        (1.0, 2.0**-80, 1.0 + STEP),
        (1.0, -(2.0**-80), 1.0 - STEP / 2),
        (1.0 + STEP, 2.0**-80, 1.0 + STEP),
        (1.0 + STEP, -(2.0**-80), 1.0 + STEP),
        (1.0 + 2 * STEP, -(2.0**-80), 1.0 + STEP),
        (1.0 + 2 * STEP, STEP / 2, 1.0 + 3 * STEP),
        (0.0, 0.0, 0.0),
    ],
)
def test_to_odd_is_truncated_with_its_last_bit_set(high: float, low: float, expected: float) -> None:
    (found,) = computed(lambda *parts: [rounded_to_odd(Pair(*parts))], [high], [low])
    assert found.tolist() == [expected]


def test_rounding_to_odd_first_does_not_move_a_result_off_a_middle() -> None:
    """A number just beside the middle of two f32: f64 would be the middle, and go to the even one."""
    middle, tiny = 1.0 + 2.0**-24, 2.0**-90
    (found,) = computed(lambda *parts: [rounded_to_odd(Pair(*parts))], [middle, middle, middle], [tiny, 0.0, -tiny])
    assert found.astype(np.float32).tolist() == [1.0 + 2.0**-23, 1.0, 1.0]
