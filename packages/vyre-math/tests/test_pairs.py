"""Functions of two numbers: special values by IEEE 754-2019, 9.2.1, exact results and middles, samples against MPFR."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, pi
from typing import Any

import numpy as np
import pytest
from pairs_of import BINARY, Pairs, from_midpoint, right, rounded

POW = (
    (nan, 0.0, 1.0), (inf, -0.0, 1.0), (1.0, nan, 1.0), (1.0, inf, 1.0), (-1.0, inf, 1.0), (-1.0, -inf, 1.0),
    (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0), (0.0, inf, 0.0),
    (0.0, -3.0, inf), (-0.0, -3.0, -inf), (-0.0, -2.0, inf), (-0.0, -0.5, inf), (0.0, -inf, inf),
    (0.5, inf, 0.0), (0.5, -inf, inf), (2.0, inf, inf), (2.0, -inf, 0.0), (-0.5, -inf, inf), (-2.0, inf, inf),
    (inf, 2.0, inf), (inf, -2.0, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf), (-inf, -3.0, -0.0), (-inf, 0.5, inf),
    (-8.0, 3.0, -512.0), (-8.0, 2.0, 64.0), (-8.0, 0.5, nan), (-8.0, 1 / 3, nan), (nan, 1.0, nan), (2.0, nan, nan),
    (-1.0, 2.0**24, 1.0), (-1.0, 2.0**24 - 1, -1.0), (-1.0, 3e38, 1.0), (2.0, -149.0, 2.0**-149), (2.0, -150.0, 0.0),
    (2.0, 128.0, inf), (-2.0, 129.0, -inf), (10.0, 10.0, 1e10), (9.0, 1.5, 27.0), (16.0, -0.75, 0.125),
)  # fmt: skip


HYPOT = (
    (3.0, 4.0, 5.0), (-3.0, 4.0, 5.0), (0.0, -0.0, 0.0), (-0.0, -2.0, 2.0), (inf, nan, inf), (nan, -inf, inf),
    (nan, 1.0, nan), (0.0, nan, nan), (-inf, 1.0, inf), (3e38, 3e38, inf), (2.0**-149, 0.0, 2.0**-149),
    (3 * 2.0**-149, 4 * 2.0**-149, 5 * 2.0**-149), (2.0**127, 2.0**-149, 2.0**127),
)  # fmt: skip
ATAN2 = (
    (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, pi), (-0.0, -0.0, -pi), (0.0, 1.0, 0.0), (-0.0, -1.0, -pi),
    (1.0, 0.0, pi / 2), (-1.0, -0.0, -pi / 2), (1.0, 1.0, pi / 4), (-2.0, -2.0, -3 * pi / 4),
    (inf, inf, pi / 4), (-inf, inf, -pi / 4), (inf, -inf, 3 * pi / 4), (-inf, -inf, -3 * pi / 4),
    (1.0, inf, 0.0), (-1.0, inf, -0.0), (1.0, -inf, pi), (-1.0, -inf, -pi), (inf, 3.0, pi / 2), (-inf, -3.0, -pi / 2),
    (nan, 1.0, nan), (1.0, nan, nan), (nan, inf, nan), (inf, nan, nan), (nan, 0.0, nan),
    (2.0**-149, 1.0, 2.0**-149), (2.0**-149, 4.0, 0.0), (-(2.0**-149), 2.0**127, -0.0),
)  # fmt: skip


@pytest.mark.parametrize("backend", ["reference", "reference-scalar"])
@pytest.mark.parametrize(("name", "rows"), [("pow", POW), ("hypot", HYPOT), ("atan2", ATAN2)])
def test_special_values_have_their_results(
    results: Callable[..., Any], name: str, rows: tuple[tuple[float, float, float], ...], backend: str
) -> None:
    x, y, expected = np.array(rows, np.float32).T.copy()
    found = results(name, x, y, backend=backend).view(np.uint32)
    wanted = np.where(np.isnan(expected), np.uint32(0x7FC0_0000), expected.view(np.uint32))
    assert [(*row[:2], hex(v)) for row, v in zip(rows, found, strict=True)] == [
        (*row[:2], hex(v)) for row, v in zip(rows, wanted, strict=True)
    ]


HARD_POWERS = (
    (0x1D24DB42, 0x3F8A84FB), (0x02D512F8, 0x3F826C72), (0x177A7F93, 0x3F952C20), (0x784AE361, 0x3F8FBB8E),
    (0x0FE629F4, 0x3F8DDBA9), (0x303B3EB9, 0x3F801404), (0x041748BC, 0x3F8118BC), (0x3996658B, 0x3F85CDE8),
    (0x0A1E6831, 0x3F99339A), (0x3F60921E, 0x3F93778C), (0x46E605BA, 0x3F983B6F), (0x42CD9AE3, 0x3F829E64),
    (0x1DC4D5EF, 0x3F8F3C1D), (0x511F259C, 0x3F8EE10D), (0x36949B43, 0x3F842CA7), (0x4BA0E4FB, 0x3F867CB9),
    (0x474014DF, 0x3F96C609), (0x0C84C65E, 0x3F82FBEF), (0x36933F38, 0x3F8BB630), (0x5FFF4F04, 0x3F8B84E5),
    (0x701EFDDF, 0x3F8B7DB4), (0x4062EA64, 0x3FE8FC7F),
)  # fmt: skip
"""The last is nearer than 2**-69 to a midpoint of two f32, the others, from the list that CORE-MATH publishes
(`powf.wc`), than 2**-71."""
HARD_ANGLES = (
    (0x40400003, 0x4B000003), (0x403FFFFD, 0x4AFFFFFA), (0x4007C934, 0x4A89B82E), (0x4B9F74FA, 0x44BF43E9),
    (0x3EDC3A46, 0xCB4E7B03), (0x4B4E7B03, 0x3E5C3A46), (0x412F9928, 0xCA04F1F4), (0x4B412623, 0x444B6286),
    (0x48042F44, 0x4B7169EF), (0x4A642654, 0xCB005925), (0x4210001B, 0x4B000024), (0x420FFFE5, 0x4AFFFFB8),
    (0x4B49A00B, 0xC7AB25D8),
)  # fmt: skip
"""The nearest of all pairs, from `tools/hard_angles.py`: the first two have 2**-89.15, the others less than 2**-74."""


def test_the_wide_paths_decide_powers_next_to_midpoints(results: Callable[..., Any]) -> None:
    check_hard(results, "pow", HARD_POWERS, 2.0**-69)


def test_the_wide_paths_decide_angles_next_to_midpoints(results: Callable[..., Any]) -> None:
    check_hard(results, "atan2", HARD_ANGLES, 2.0**-74)


def check_hard(results: Callable[..., Any], name: str, rows: tuple[tuple[int, int], ...], nearness: float) -> None:
    """Both evaluators give what MPFR does, for pairs that are as near to a midpoint as stated."""
    x, y = np.array(rows, np.uint32).T.copy().view(np.float32)
    assert all(from_midpoint(name, float(a), float(b)) < nearness for a, b in zip(x, y, strict=True))
    wanted = np.array([rounded(name, float(a), float(b)) for a, b in zip(x, y, strict=True)], np.float32)
    for backend in ("reference", "reference-scalar"):
        for op in (name, f"{name}_wide"):
            assert results(op, x, y, backend=backend).view(np.float32).tolist() == wanted.tolist()


CASES = [pytest.param(name, kind, id=f"{name}-{kind.__name__}") for name in BINARY for kind in BINARY[name].kinds]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_results_are_the_nearest(results: Callable[..., Any], name: str, kind: Callable[..., Pairs]) -> None:
    assert_right(results, name, kind(np.random.default_rng(7), 2**13))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_millions_of_results_are_the_nearest(
    results: Callable[..., Any], name: str, kind: Callable[..., Pairs]
) -> None:
    assert_right(results, name, kind(np.random.default_rng(8), 2**22))


def test_a_length_that_is_a_middle_goes_to_the_even_one(results: Callable[..., Any]) -> None:
    """p² + q² is the largest side of the triangle with the others p² - q² and 2 p q."""
    pairs = [(p, q) for q in range(64, 2600, 2) for p in range(4097, 4300, 2) if (p * p + q * q).bit_length() == 25]
    fits = [(p * p - q * q, 2 * p * q, p * p + q * q) for p, q in pairs]
    rows = [row for row in fits if row[0] == np.float32(row[0]) and row[1] == np.float32(row[1])]
    assert len(rows) > 1000
    x, y, length = np.array(rows, np.int64).T
    even = np.where((length - 1) % 4 == 0, length - 1, length + 1)
    assert results("hypot", x.astype(np.float32), y.astype(np.float32)).view(np.float32).tolist() == even.tolist()


def test_the_least_part_decides_beside_a_middle(results: Callable[..., Any]) -> None:
    """A rest of one in 2**70 of the square: x² + y² next to the square of a number of 25 bits."""
    middles = [2**24 + 2 * n + 1 for n in range(4000)]
    x = np.array([m - 1 for m in middles], np.float32)
    below = np.array([np.sqrt(np.longdouble(2 * m - 1)) for m in middles]).astype(np.float32)
    for y in (below, np.nextafter(below, np.float32(0)), np.nextafter(below, np.float32(inf))):
        assert_right(results, "hypot", Pairs(x, y))


def test_small_angles_lie_below_their_tangents(results: Callable[..., Any]) -> None:
    """Quotients that are middles of subnormal numbers: the angle is below, by less than f64 can say."""
    odd = np.arange(1, 2**12, 2)
    y, x = (odd * 2.0**-149).astype(np.float32), np.full(odd.size, 2.0, np.float32)
    assert results("atan2", y, x).view(np.uint32).tolist() == (odd // 2).tolist()


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


def test_pow_at_the_ends_of_what_its_logarithm_takes(results: Callable[..., Any]) -> None:
    """The least base of a binade of the composition, the first that is divided by 361/256, and their neighbours, with
    results all over f32."""
    ends = np.array([0x3FEAE98000000000, 0x3FF2E98000000000], np.uint64).view(np.float64)
    around = np.arange(-40, 41, dtype=np.int32)
    x = np.concatenate(
        [(np.float32(end * 2.0**e).view(np.int32) + around) for end in ends for e in (-60, -1, 0, 1, 60)]
    )
    bases = np.repeat(x.view(np.float32), 64)
    logarithms = np.tile(np.linspace(-104, 89, 64), x.size)
    assert_right(results, "pow", Pairs(bases, (logarithms / np.log(bases.astype(np.float64))).astype(np.float32)))


def test_a_pow_beyond_all_limits_is_zero_or_infinite(results: Callable[..., Any]) -> None:
    x = np.array([1 - 2.0**-24, 1 + 2.0**-23, 0.25, 0.5, 1.3, 1.5, 2.0, 2.0**-149, 3.4028234663852886e38], np.float32)
    y = np.array([3.4028234663852886e38, 2.0**33, 2.0**32, 2.0**20, 4097.0, 301.0], np.float32)
    bases, exponents = np.repeat(x, y.size), np.tile(y, x.size)
    far = np.abs(exponents * np.log(bases.astype(np.float64))) > 110
    assert far.sum() > 40
    grown = results("pow", bases[far], exponents[far]).view(np.float32)
    assert grown.tolist() == np.where(bases[far] > 1, inf, 0.0).tolist()
    shrunk = results("pow", bases[far], -exponents[far]).view(np.float32)
    assert shrunk.tolist() == np.where(bases[far] > 1, 0.0, inf).tolist()


def test_the_oracle_sees_middles_and_rounds_once() -> None:
    pairs = Pairs(np.array([4097.0, 3.0], np.float32), np.array([2.0, 2.0], np.float32))
    assert right("pow", pairs).hard.tolist() == [0]
    assert rounded("pow", 2.0, -149.5) == 2.0**-149
    assert rounded("pow", -2.0, 129.0) == -inf
    assert rounded("atan2", 2.0**-149, 2.0) == 0.0


def assert_right(results: Callable[..., Any], name: str, pairs: Pairs) -> None:
    found = results(name, *pairs).view(np.uint32)
    wrong = np.flatnonzero(found != right(name, pairs).bits)
    assert wrong.size == 0, [(pairs.x[i], pairs.y[i], hex(found[i])) for i in wrong[:8]]
