"""Elementary functions where rounding is hardest: pairs next to midpoints of two f32, exact powers, and arguments of
f64 to which a search for large errors leads."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "packages" / "vyre-math" / "tools"))
import hard_angles
import pairs_of
import worst
from pairs_of import Pairs

from vyre_driver import acquire
from vyre_driver.registry.backends import availability
from vyre_math.dialect import FUNCTIONS

BACKENDS = ("reference", "cpu", "opencl", "opencl-intel")


@pytest.fixture(scope="module")
def backends() -> list[Any]:
    """The reference, and the other backends that are available here."""
    return [acquire(name) for name in BACKENDS if availability(name).is_available]


def check(name: str, pairs: Pairs, backends: list[Any]) -> None:
    wanted = pairs_of.right(name, pairs).bits
    for backend in backends:
        found = np.frombuffer(backend.dispatch(pairs_of.kernel(name), list(pairs))[0], np.uint32)
        wrong = np.flatnonzero(found != wanted)
        assert wrong.size == 0, [(pairs.x[i].hex(), pairs.y[i].hex(), hex(found[i]), hex(wanted[i])) for i in wrong[:4]]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_angles_next_to_midpoints(attacks: Any, backends: list[Any], tmp_path: Path) -> None:
    """The nearest pairs of blocks of midpoints, in all binades."""
    random, program = np.random.default_rng((attacks.seed, 1)), hard_angles.build(tmp_path)
    found: list[tuple[float, float]] = []
    for _ in range(attacks.count(8)):
        exponent = int(random.integers(hard_angles.FIRST + 4, hard_angles.LAST + 1))
        start = int(random.integers(len(hard_angles.blocks_of(exponent)) - 4))
        _, _, hard = hard_angles.searched(program, exponent, range(start, start + 4), listed=54)
        found += [one.pair for one in hard]
    y, x = np.array(found, np.float32).T.copy()
    assert y.size > 50
    check("atan2", Pairs(y, x), backends)
    check("atan2", Pairs(-y, x), backends)


def test_powers_next_to_midpoints(attacks: Any, backends: list[Any]) -> None:
    """Of many bases to a few exponents, those whose powers come nearest to a midpoint."""
    random = np.random.default_rng((attacks.seed, 2))
    bases, exponents = [], []
    for _ in range(attacks.count(5)):
        x = np.exp(random.uniform(-80, 80, 2**18)).astype(np.float32)
        y = np.float32(random.uniform(-90, 90) / 80)
        with np.errstate(all="ignore"):
            power = np.power(x.astype(np.longdouble), np.longdouble(y))
            _, exponent = np.frexp(power)
            place = np.ldexp(power, 24 - np.maximum(exponent, -125))
        nearest = np.argsort(np.abs(place - np.floor(place) - 0.5))[:200]
        bases.append(x[nearest])
        exponents.append(np.full(nearest.size, y))
    check("pow", Pairs(np.concatenate(bases), np.concatenate(exponents)), backends)


def test_exact_powers_and_their_neighbours(attacks: Any, backends: list[Any]) -> None:
    """Powers that are f32, or midpoints, of all exponents that have any: whole ones and those with a root."""
    random, count = np.random.default_rng((attacks.seed, 3)), attacks.count(40_000)
    root = random.integers(1, 2 ** random.integers(1, 13, count))
    halvings = random.integers(0, 4, count)
    x = (root.astype(np.float64) ** (2.0**halvings)) * 2.0 ** (8 * random.integers(-14, 15, count))
    y = random.integers(1, 16, count) / 2.0**halvings
    with np.errstate(over="ignore"):
        fits = x == x.astype(np.float32)
    x, y = x[fits].astype(np.float32), y[fits].astype(np.float32)
    for step in (-1, 0, 1):
        check("pow", Pairs((x.view(np.int32) + step).view(np.float32), y), backends)
        check("pow", Pairs(x, -(y.view(np.int32) + step).view(np.float32)), backends)


def test_no_argument_of_f64_exceeds_the_bound(attacks: Any) -> None:
    names = list(FUNCTIONS)
    for n in range(attacks.count(11)):
        name = names[n % len(names)]
        peak = worst.search(name, worst.on("reference", name), points=2**15, seed=attacks.seed + 100 + n)
        assert peak.error < FUNCTIONS[name].bound, (name, peak)
