"""Runs a function of two f32 over random and structured pairs on a backend and compares every bit: the evidence for
what cannot be exhausted.

    python packages/vyre-math/tools/pairs_of.py pow --backend opencl --pairs 1_000_000_000      # or hypot, atan2

The oracle is the C library's function of 80-bit numbers, where both ends of an interval around it round to the same
f32, and MPFR elsewhere. The structured kinds are those where rounding is hard: results that are numbers of f32 or
middles between them, or just beside them, bases near 1, subnormal results. A run that was stopped goes on where it was.
The digest of the outputs is that of `exhaust.py`, over the chunks that all backends run.
"""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import gmpy2
import numpy as np
import numpy.typing as npt
from blake3 import blake3
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).parent))
from exhaust import MAX_SHOWN, digest, kept, provenance
from oracle import F32, Right, decided, once

from vyre_driver import CompiledPipeline, acquire, compile
from vyre_foundation import Program, call, f32, program

CHUNK = 2**22
COMMON = 24
"""Chunks whose outputs the digest is of: as many as the slower backends run, so that the digests are equal."""
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


def directions(random: np.random.Generator, n: int) -> Pairs:
    """Points at any angle, at distances of one scale."""
    return Pairs(_f32(random.uniform(-1, 1, n)), _f32(random.uniform(-1, 1, n)))


def flat(random: np.random.Generator, n: int) -> Pairs:
    """Quotients that a few bits make up, so that small angles lie just below numbers and middles."""
    x = 2.0 ** random.integers(0, 60, n) * random.choice([1, 3, 5, 7], n)
    return Pairs(_f32(random.integers(1, 2**25, n) * 2.0 ** -random.integers(0, 120, n)), _f32(x))


def triangles(random: np.random.Generator, n: int) -> Pairs:
    """Legs of right triangles with whole sides: lengths that are exact, or middles."""
    p, q = random.integers(1, 2**12, n), random.integers(1, 2**12, n)
    scale = 2.0 ** random.integers(-60, 60, n)
    return Pairs(_f32(np.abs(p * p - q * q) * scale), _f32(2 * p * q * scale))


def long_and_short(random: np.random.Generator, n: int) -> Pairs:
    """One part so much smaller that it decides the last bits, or only their side."""
    x = _f32(random.uniform(1, 2, n))
    return Pairs(x, _f32(random.uniform(-1, 1, n) * 2.0 ** -random.integers(8, 40, n)))


def tiny(random: np.random.Generator, n: int) -> Pairs:
    """Subnormal numbers and quotients."""
    return Pairs(_f32(random.integers(-(2**24), 2**24, n) * 2.0**-149), _f32(random.uniform(-1, 1, n) * 2.0**-126))


class Binary(NamedTuple):
    """A function of two numbers: by the C library for 80-bit numbers, by MPFR, and the pairs that it is tried with."""

    near: Callable[[Any, Any], Any]
    mpfr: Callable[[Any, Any], Any]
    kinds: tuple[Callable[[np.random.Generator, int], Pairs], ...]


BINARY = {
    "pow": Binary(np.power, operator.pow, (any_bits, moderate, near_one, subnormal_results, small_numbers, squares)),
    "hypot": Binary(np.hypot, gmpy2.hypot, (any_bits, directions, triangles, long_and_short, tiny)),
    "atan2": Binary(np.arctan2, gmpy2.atan2, (any_bits, directions, flat, long_and_short, tiny)),
}


def _f32(values: npt.ArrayLike) -> F32:
    return np.asarray(values).astype(np.float32)


# ── the oracle ───────────────────────────────────────────────────────────────────────────────────────────────────────


def right(name: str, pairs: Pairs) -> Right:
    """The bits of the correctly rounded results; a NaN has its canonical bits."""
    with np.errstate(all="ignore"):
        near = BINARY[name].near(*(operand.astype(np.longdouble) for operand in pairs))
    return decided(near, MARGIN, lambda place: rounded(name, float(pairs.x[place]), float(pairs.y[place])))


def rounded(name: str, x: float, y: float) -> float:
    """The function at one pair, rounded once by MPFR."""
    return once(BINARY[name].mpfr, x, y)


def from_midpoint(name: str, x: float, y: float) -> float:
    """How far the function at a pair is from the nearest midpoint of two f32, of its value."""
    with gmpy2.context(precision=300, emin=-5000, emax=5000):
        exact = abs(BINARY[name].mpfr(gmpy2.mpfr(x), gmpy2.mpfr(y)))
        unit = gmpy2.exp2(max(int(gmpy2.get_exp(exact)) - 24, -149))
        place = exact / unit
        return float(abs(place - gmpy2.floor(place) - 0.5) * unit / exact)


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def kernel(name: str) -> Program:
    """``out[i] = math.name(x[i], y[i])``."""
    with program(f"pairs_{name}", 256) as p:
        x = p.read("x", f32)
        y, out = p.read("y", f32, like=x), p.write("out", f32, like=x)
        i = p.global_id(0)
        out[i] = call(f"math.{name}", x[i], y[i])
    return p.build()


@click.command(help=__doc__)
@click.argument("name", type=click.Choice(list(BINARY)))
@click.option("--backend", default="opencl", show_default=True)
@click.option("--pairs", type=int, default=1_000_000_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--evidence", type=click.Path(path_type=Path), default=Path("evidence/math"), show_default=True)
def main(name: str, backend: str, pairs: int, seed: int, evidence: Path) -> None:
    evidence.mkdir(parents=True, exist_ok=True)
    engine = acquire(backend)
    pipeline = compile(engine, kernel(name))
    done = evidence / f"{name}.{backend}.{seed}.partial"
    with Progress() as progress:
        chunks = kept(name, done, -(-pairs // CHUNK), progress, partial(_compared, name, pipeline, seed))
    kinds = {kind.__name__: dict.fromkeys(("pairs", "mismatches", "hard_cases"), 0) for kind in BINARY[name].kinds}
    for chunk in chunks:
        for key, count in kinds[chunk["kind"]].items():
            kinds[chunk["kind"]][key] = count + chunk[key]
    examples = [example for chunk in chunks for example in chunk["examples"]]
    mismatches = sum(count["mismatches"] for count in kinds.values())
    record = {"function": f"math.{name}", "pairs": len(chunks) * CHUNK, "seed": seed, "mismatches": mismatches}
    record |= {"kinds": kinds, "examples": examples[:MAX_SHOWN]}
    common = [bytes.fromhex(chunk["digest"]) for chunk in chunks[:COMMON]]
    record |= {"digest": blake3(b"".join(common)).hexdigest(), "digest_of": len(common) * CHUNK}
    record |= provenance(backend, engine.device_profile().identity)
    (evidence / f"{name}.{backend}.json").write_text(json.dumps(record, indent=2) + "\n")
    if mismatches:
        raise click.ClickException(f"{mismatches} pairs are not correctly rounded. Fix: see `examples` in the evidence")


def _compared(name: str, pipeline: CompiledPipeline, seed: int, number: int) -> dict[str, Any]:
    """One chunk: its kind, mismatches as (x, y, got, expected) in bits, and how often MPFR decided."""
    kind = BINARY[name].kinds[number % len(BINARY[name].kinds)]
    drawn = kind(np.random.default_rng((seed, number)), CHUNK)
    got = np.frombuffer(pipeline.dispatch(list(drawn))[0], np.uint32)
    expected, hard = right(name, drawn)
    wrong = np.flatnonzero(got != expected)
    shown = (drawn.x.view(np.uint32), drawn.y.view(np.uint32), got, expected)
    examples = [[f"{int(a[i]):#010x}" for a in shown] for i in wrong[:MAX_SHOWN]]
    counts = {"pairs": CHUNK, "mismatches": len(wrong), "hard_cases": len(hard)}
    return {"kind": kind.__name__} | counts | {"examples": examples, "digest": digest(got)}


if __name__ == "__main__":
    main()
