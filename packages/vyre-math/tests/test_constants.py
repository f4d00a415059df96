"""The numbers are those that their definitions give."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import constants
import mpmath
import pytest
import remez
from mpmath import mpf

import vyre_math.constants


def test_the_tool_prints_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    constants.main()
    assert capsys.readouterr().out == Path(vyre_math.constants.__file__).read_text()


@pytest.mark.parametrize(("name", "logarithm"), [("LN_2", mpmath.log), ("LOG10_2", mpmath.log10)])
def test_high_parts_have_few_bits_and_low_parts_the_rest(name: str, logarithm: Callable[[int], mpf]) -> None:
    high, low = getattr(vyre_math.constants, f"{name}_HIGH"), getattr(vyre_math.constants, f"{name}_LOW")
    assert Fraction(high).numerator.bit_length() <= constants.HIGH_BITS
    with mpmath.workprec(200):
        assert abs(mpf(high) + mpf(low) - logarithm(2)) < mpf(2) ** -86


def test_the_best_polynomial_of_degree_1_for_a_square() -> None:
    coefficients, error = remez.fit(lambda x: x**2, mpf(0), mpf(1), 1, lambda x: mpf(1))
    assert coefficients == pytest.approx([-0.125, 1.0], abs=1e-4)
    assert error == pytest.approx(-3, abs=1e-3)


def test_a_degree_that_leaves_no_error_is_refused() -> None:
    with pytest.raises(ArithmeticError, match="Fix: "):
        remez.fit(lambda x: x, mpf(0), mpf(1), 3, lambda x: mpf(1))
