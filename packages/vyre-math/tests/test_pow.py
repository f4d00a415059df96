"""pow: the special values of IEEE 754-2019, 9.2.1, exact results and middles, and samples against MPFR."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pow_pairs
import pytest
from pow_pairs import KINDS, Pairs, right, rounded

ROWS = (
    (nan, 0.0, 1.0), (inf, -0.0, 1.0), (1.0, nan, 1.0), (1.0, inf, 1.0), (-1.0, inf, 1.0), (-1.0, -inf, 1.0),
    (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0), (0.0, inf, 0.0),
    (0.0, -3.0, inf), (-0.0, -3.0, -inf), (-0.0, -2.0, inf), (-0.0, -0.5, inf), (0.0, -inf, inf),
    (0.5, inf, 0.0), (0.5, -inf, inf), (2.0, inf, inf), (2.0, -inf, 0.0), (-0.5, -inf, inf), (-2.0, inf, inf),
    (inf, 2.0, inf), (inf, -2.0, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf), (-inf, -3.0, -0.0), (-inf, 0.5, inf),
    (-8.0, 3.0, -512.0), (-8.0, 2.0, 64.0), (-8.0, 0.5, nan), (-8.0, 1 / 3, nan), (nan, 1.0, nan), (2.0, nan, nan),
    (-1.0, 2.0**24, 1.0), (-1.0, 2.0**24 - 1, -1.0), (-1.0, 3e38, 1.0), (2.0, -149.0, 2.0**-149), (2.0, -150.0, 0.0),
    (2.0, 128.0, inf), (-2.0, 129.0, -inf), (10.0, 10.0, 1e10), (9.0, 1.5, 27.0), (16.0, -0.75, 0.125),
)  # fmt: skip


@pytest.mark.parametrize("backend", ["reference", "reference-scalar"])
def test_special_values_have_their_results(results: Callable[..., Any], backend: str) -> None:
    x, y, expected = np.array(ROWS, np.float32).T.copy()
    found = results("pow", x, y, backend=backend).view(np.uint32)
    wanted = np.where(np.isnan(expected), np.uint32(0x7FC0_0000), expected.view(np.uint32))
    assert [(*row[:2], hex(v)) for row, v in zip(ROWS, found, strict=True)] == [
        (*row[:2], hex(v)) for row, v in zip(ROWS, wanted, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_powers_are_the_nearest(results: Callable[..., Any], kind: Callable[..., Pairs]) -> None:
    assert_right(results, kind(np.random.default_rng(7), 2**13))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_millions_of_powers_are_the_nearest(results: Callable[..., Any], kind: Callable[..., Pairs]) -> None:
    assert_right(results, kind(np.random.default_rng(8), 2**22))


def test_a_middle_between_two_numbers_goes_to_the_even_one(results: Callable[..., Any]) -> None:
    x = np.array([4097.0, 4099.0, 2.0**12 + 5, 257.0**2], np.float32)
    y = np.array([2.0, 2.0, 2.0, 1.5], np.float32)
    # 4097² = 2**24 + 2**13 + 1 lies between 2**24 + 2**13 and + 2; the last is 257³, a number of 25 bits.
    exact = [4097**2, 4099**2, 4101**2, 257**3]
    assert all(value.bit_length() == 25 and value % 2 == 1 for value in exact)
    wanted = [value - 1 if (value - 1) % 4 == 0 else value + 1 for value in exact]
    assert results("pow", x, y).view(np.float32).tolist() == wanted


def test_middles_go_to_the_even_one_whatever_the_exponent(results: Callable[..., Any]) -> None:
    """Powers of 25 bits, odd, times powers of two: the larger the exponent, the less is left for the last bits."""
    bases = [(odd, y) for y in range(2, 16) for odd in range(3, 2**13, 2) if (odd**y).bit_length() == 25]
    x, y, wanted = [], [], []
    for odd, power in bases:
        for shift in (-90 // power, -40 // power, 0, 40 // power, 90 // power):
            middle = odd**power
            even = middle - 1 if (middle - 1) % 4 == 0 else middle + 1
            x.append(odd * 2.0**shift)
            y.append(float(power))
            wanted.append(even * 2.0 ** (shift * power))
    assert len(bases) > 800
    found = results("pow", np.array(x, np.float32), np.array(y, np.float32)).view(np.float32)
    assert found.tolist() == wanted


def test_the_oracle_sees_middles_and_rounds_once() -> None:
    pairs = Pairs(np.array([4097.0, 3.0], np.float32), np.array([2.0, 2.0], np.float32))
    assert right(pairs).hard.tolist() == [0]
    assert rounded(2.0, -149.5) == 2.0**-149
    assert rounded(-2.0, 129.0) == -inf


def assert_right(results: Callable[..., Any], pairs: Pairs) -> None:
    found = results("pow", pairs.x, pairs.y).view(np.uint32)
    wrong = np.flatnonzero(found != pow_pairs.right(pairs).bits)
    assert wrong.size == 0, [(pairs.x[i], pairs.y[i], hex(found[i])) for i in wrong[:8]]
