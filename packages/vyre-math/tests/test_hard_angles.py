"""The search for the angle nearest to a midpoint: its arithmetic against exact fractions, and its record."""

from __future__ import annotations

import json
import math
import shutil
from fractions import Fraction
from pathlib import Path

import gmpy2
import hard_angles
import pytest
from hard_angles import BLOCK, Hard
from pairs_of import from_midpoint

EVIDENCE = Path(__file__).parents[3] / "evidence" / "math" / "atan2.distance.json"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    return hard_angles.build(tmp_path_factory.mktemp("hard"))


PLACES = [(-26, 5), (-13, 4711), (-1, 17), (0, 4673), (0, 8000), (1, 0), (1, 4675)]


@pytest.mark.parametrize(("exponent", "block"), PLACES)
def test_every_middle_gets_the_nearest_fraction(program: Path, exponent: int, block: int) -> None:
    """Around pi/2 and before pi, too."""
    middles, least, found = hard_angles.searched(program, exponent, range(block, block + 1), listed=0)
    assert middles == len(found) <= BLOCK
    assert least == min(one.distance for one in found)
    with gmpy2.context(precision=250):
        for one in found[::41]:
            slope = Fraction(*abs(gmpy2.tan(gmpy2.mpfr(one.z))).as_integer_ratio())
            slope /= Fraction(2) ** math.floor(math.log2(slope))
            nearest = slope.limit_denominator(2**24 - 1)
            assert abs(Fraction(one.p, one.q) - slope) == abs(nearest - slope)
            relative = abs(nearest / slope - 1) * Fraction(float(abs(gmpy2.sin(2 * gmpy2.mpfr(one.z))) / 2 / one.z))
            assert one.distance == pytest.approx(math.log2(relative), abs=1e-4)


def test_a_fraction_is_the_slope_of_a_pair() -> None:
    assert Hard(0.64, 3, 2, -1.0).pair == (1.5, 2.0)
    assert Hard(1.25, 3, 2, -1.0).pair == (3.0, 1.0)
    assert Hard(2.5, 3, 2, -1.0).pair == (1.5, -2.0)


@pytest.mark.skipif(not EVIDENCE.exists(), reason="evidence is in the repository only")
def test_the_record_has_all_middles_and_true_distances() -> None:
    record = json.loads(EVIDENCE.read_text())
    most = int(gmpy2.const_pi() * 2**23)
    assert record["middles"] == (hard_angles.LAST - hard_angles.FIRST) * 2**23 + (most - 2**24 + 1) // 2
    assert record["least"] == min(record["least_of_binade"].values())
    for z, p, q, distance in record["hard"][:20]:
        y, x = Hard(float.fromhex(z), p, q, distance).pair
        assert from_midpoint("atan2", y, x) == pytest.approx(2.0**distance, rel=1e-3)
