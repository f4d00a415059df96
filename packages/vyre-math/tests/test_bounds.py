"""The bounds that are derived for pow and atan2 of f32, against what the compositions rely on and what samples show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bounds
import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr
from mpmath import mpf

from vyre_math.binary32 import polar, power, wide_power

ROUNDED = 2.0**-52
"""More than an end of the interval is off when it is computed."""


@pytest.fixture(scope="module")
def derived() -> dict[str, mpf]:
    return bounds.bounds()


def test_the_intervals_contain_the_value(derived: dict[str, mpf]) -> None:
    assert derived["pow"] + ROUNDED < power.MARGIN
    assert derived["atan2"] + ROUNDED < polar.MARGIN


def test_an_exact_power_is_found_to_be_exact(derived: dict[str, mpf]) -> None:
    """The pair is up to sqrt(2) when its low part is compared with `EXACT`."""
    assert derived["pow_wide"] * 1.5 < wide_power.EXACT


def test_the_wide_paths_are_nearer_than_the_nearest_results(derived: dict[str, mpf]) -> None:
    """`docs/math.md`: no angle is nearer than 2**-90 to a midpoint, and no known power is nearer than 2**-98."""
    assert derived["atan2_wide"] < 2.0**-90
    assert derived["pow_wide"] + wide_power.EXACT < 2.0**-98


def test_a_polynomial_is_bounded_on_all_of_its_interval() -> None:
    """x² - x has its least value, -1/4, between the ends."""
    worst = bounds.greatest([mpf(0), mpf(-1), mpf(1)], mpf(0), mpf(1))
    assert 0.25 <= worst < 0.2503


def test_samples_keep_the_bounds_of_the_intervals(results: Callable[..., Any]) -> None:
    """A pair whose interval does not contain its value would be decided by chance: none is wrong beside a midpoint."""
    random = np.random.default_rng(4)
    x = np.exp(random.uniform(-60, 60, 4000)).astype(np.float32)
    y = (random.uniform(-150, 128, x.size) / np.log2(x.astype(np.float64))).astype(np.float32)
    with gmpy2.context(precision=120, emin=-5000, emax=5000):
        wide = results("pow_wide", x, y).view(np.float32)
        exact = [mpfr(float(a)) ** mpfr(float(b)) for a, b in zip(x, y, strict=True)]
        assert all(
            abs(v - float(w)) <= gmpy2.exp2(max(int(gmpy2.get_exp(v)) - 25, -150))
            for v, w in zip(exact, wide, strict=True)
        )
