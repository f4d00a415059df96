"""Runs `math.pow` over random and structured pairs on a backend and compares every bit: the evidence for what can not
be exhausted.

    python packages/vyre-math/tools/pow_pairs.py --backend opencl --pairs 1_000_000_000

The oracle is the power function of the C library for 80-bit numbers, where both ends of an interval around it round to
the same f32, and MPFR elsewhere. The structured kinds are those where rounding is hard: results that are numbers of f32
or middles between them, bases near 1, subnormal results.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import gmpy2
import numpy as np
import numpy.typing as npt
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).parent))
from exhaust import MAX_SHOWN, provenance
from oracle import BINARY32, F32, NAN, Right

from vyre_driver import acquire, compile
from vyre_foundation import Program, call, f32, program

CHUNK = 2**22
MARGIN = np.longdouble(2) ** -59
"""Half the width of the interval, relative: 32 units in the last place of an 80-bit number."""


class Pairs(NamedTuple):
    x: F32
    y: F32


# ── the kinds of pairs ───────────────────────────────────────────────────────────────────────────────────────────────


def any_bits(random: np.random.Generator, n: int) -> Pairs:
    """Any base, exponents that keep half of the results finite."""
    return Pairs(random.integers(0, 2**32, n, dtype=np.uint32).view(np.float32), _f32(random.uniform(-3, 3, n)))


def moderate(random: np.random.Generator, n: int) -> Pairs:
    return Pairs(_f32(np.exp(random.uniform(-3, 3, n))), _f32(random.uniform(-30, 30, n)))


def near_one(random: np.random.Generator, n: int) -> Pairs:
    """Bases 1 ± 2**-k, with exponents that take the result anywhere."""
    x = _f32(1 + random.uniform(-1, 1, n) * 2.0 ** -random.integers(1, 23, n))
    logarithm = np.where(x == 1, 1, np.log(x.astype(np.float64)))
    return Pairs(x, _f32(random.uniform(-104, 89, n) / logarithm))


def subnormal_results(random: np.random.Generator, n: int) -> Pairs:
    x = _f32(np.exp(random.uniform(-20, 20, n)))
    logarithm = np.where(np.abs(np.log(x)) < 0.01, 1, np.log(x.astype(np.float64)))
    return Pairs(x, _f32(random.uniform(-104, -87, n) / logarithm))


def small_numbers(random: np.random.Generator, n: int) -> Pairs:
    """Whole bases to multiples of 1/4: many results are exact, or just between two numbers."""
    return Pairs(_f32(random.integers(1, 5000, n)), _f32(random.integers(-64, 65, n) / 4))


def squares(random: np.random.Generator, n: int) -> Pairs:
    """Squares and fourth powers of whole numbers, to odd multiples of 1/2 and 1/4."""
    fourth = random.integers(1, 2**6, n) ** 4
    x = np.where(random.integers(0, 2, n) == 0, random.integers(1, 2**12, n) ** 2, fourth)
    return Pairs(_f32(x), _f32(random.integers(1, 16, n) / 4))


KINDS: tuple[Callable[[np.random.Generator, int], Pairs], ...] = (
    any_bits, moderate, near_one, subnormal_results, small_numbers, squares,
)  # fmt: skip


def _f32(values: npt.ArrayLike) -> F32:
    return np.asarray(values).astype(np.float32)


# ── the oracle ───────────────────────────────────────────────────────────────────────────────────────────────────────


def right(pairs: Pairs) -> Right:
    """The bits of the correctly rounded powers; a NaN has its canonical bits."""
    with np.errstate(all="ignore"):
        near = np.power(pairs.x.astype(np.longdouble), pairs.y.astype(np.longdouble))
        low, high = (near * (1 - MARGIN)).astype(np.float32), (near * (1 + MARGIN)).astype(np.float32)
    bits = low.view(np.uint32).copy()
    is_nan = np.isnan(near)
    bits[is_nan] = NAN
    hard = np.flatnonzero((low.view(np.uint32) != high.view(np.uint32)) & ~is_nan)
    for place in hard:
        bits[place] = np.float32(rounded(float(pairs.x[place]), float(pairs.y[place]))).view(np.uint32)
    return Right(bits, hard)


def rounded(x: float, y: float) -> float:
    """x**y, rounded once by MPFR."""
    with gmpy2.context(BINARY32):
        return float(gmpy2.mpfr(x, 53) ** gmpy2.mpfr(y, 53))


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def kernel() -> Program:
    """``out[i] = math.pow(x[i], y[i])``."""
    with program("powers", 256) as p:
        x = p.read("x", f32)
        y, out = p.read("y", f32, like=x), p.write("out", f32, like=x)
        i = p.global_id(0)
        out[i] = call("math.pow", x[i], y[i])
    return p.build()


@click.command(help=__doc__)
@click.option("--backend", default="opencl", show_default=True)
@click.option("--pairs", type=int, default=1_000_000_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--evidence", type=click.Path(path_type=Path), default=Path("evidence/math"), show_default=True)
def main(backend: str, pairs: int, seed: int, evidence: Path) -> None:
    evidence.mkdir(parents=True, exist_ok=True)
    engine = acquire(backend)
    pipeline = compile(engine, kernel())
    counts = {kind.__name__: {"pairs": 0, "mismatches": 0, "hard_cases": 0} for kind in KINDS}
    examples: list[list[str]] = []
    chunks = -(-pairs // CHUNK)
    with Progress() as progress:
        for number in progress.track(range(chunks), description="pow"):
            kind = KINDS[number % len(KINDS)]
            drawn = kind(np.random.default_rng((seed, number)), CHUNK)
            got = np.frombuffer(pipeline.dispatch(list(drawn))[0], np.uint32)
            expected, hard = right(drawn)
            wrong = np.flatnonzero(got != expected)
            shown = (drawn.x.view(np.uint32), drawn.y.view(np.uint32), got, expected)
            examples += [[f"{int(a[i]):#010x}" for a in shown] for i in wrong[:MAX_SHOWN]]
            for key, count in (("pairs", CHUNK), ("mismatches", len(wrong)), ("hard_cases", len(hard))):
                counts[kind.__name__][key] += count
    mismatches = sum(count["mismatches"] for count in counts.values())
    record = {"function": "math.pow", "pairs": chunks * CHUNK, "seed": seed, "mismatches": mismatches, "kinds": counts}
    record |= {"examples": examples[:MAX_SHOWN]} | provenance(backend, engine.device_profile().identity)
    (evidence / f"pow.{backend}.json").write_text(json.dumps(record, indent=2) + "\n")
    if mismatches:
        raise click.ClickException(f"{mismatches} pairs are not correctly rounded. Fix: see `examples` in the evidence")


if __name__ == "__main__":
    main()
