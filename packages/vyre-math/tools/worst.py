"""Looks for the arguments at which functions of f64 are off the most, on a backend.

    python packages/vyre-math/tools/worst.py expm1 sinh pow               # or `all`
    python packages/vyre-math/tools/worst.py --backend opencl --points 16777216 --evidence evidence/math all

The arguments are cut into boxes of equal numbers of f64, and of equal width where a function grows fast. Each round
tries some points of each box, drops boxes in which errors are small, and cuts the others. So it ends near peaks, which
random arguments hardly ever meet. Errors are measured with the C library's functions of 80-bit numbers, good to 2**-10
units in the last place; MPFR measures the greatest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click
import gmpy2
import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))
from exhaust import provenance
from oracle import MPFR, NUMPY
from pairs_of import BINARY

from vyre_driver import acquire, compile
from vyre_foundation import Program, call, f64, program
from vyre_math.dialect import FUNCTIONS

F64: TypeAlias = npt.NDArray[np.float64]
Compute: TypeAlias = Callable[..., F64]
"""From operands to what a backend gives."""

EXACT = gmpy2.context(precision=200, emin=-5000, emax=5000)
ROUNDS = 8
KEPT = 64
"""Boxes that are cut after each round."""
CUTS = 8
"""Parts of a box on each of its sides, over all sides."""
RANGES = {
    "exp": (-746, 710), "exp2": (-1076, 1025), "exp10": (-325, 309), "expm1": (-60, 710),
    "sinh": (-711, 711), "cosh": (-711, 711), "tanh": (-22, 22), "asin": (-1, 1), "acos": (-1, 1),
    "log": (0, inf), "log2": (0, inf), "log10": (0, inf), "log1p": (-1, inf), "rsqrt": (0, inf),
}  # fmt: skip
"""Where results are finite, and not the same all over."""


class Peak(NamedTuple):
    """An error in units in the last place, and the operands that have it."""

    error: float
    operands: tuple[float, ...]


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────────────────


def ordered(x: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Numbers for f64 in their order, one further for each: 0 for zeros."""
    bits = np.asarray(x, np.float64).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def number(order: npt.NDArray[np.int64]) -> F64:
    return np.where(order < 0, np.int64(-(2**63)) - order, order).astype(np.int64).view(np.float64)


def boxes(name: str) -> npt.NDArray[np.int64]:
    """Boxes as the ends of their sides, by `ordered`."""
    if name == "pow":
        near_one = _neighbours(ordered(np.exp2(np.linspace(-1, 1, 33))))
        bases = np.concatenate([_binades(2.0**-1022, 2.0**1022, 73), near_one])
        return _products(bases, _binades(2.0**-4, 2.0**10, 1))
    if name in BINARY:
        small = np.concatenate([_binades(2.0**-1074, 2.0**-1018, 8), _binades(2.0**-24, 2.0**24, 1)])
        return _products(small, small)
    low, high = RANGES.get(name, (-inf, inf))
    everywhere = _binades(2.0**-60, min(abs(high), 2.0**1023), 1 if np.isfinite(high) else 8)
    sides = [everywhere] if low >= 0 else [everywhere, -everywhere[:, ::-1]]
    if name in RANGES and np.isfinite(high):
        sides.append(_neighbours(ordered(np.linspace(low, high, 513))))
    found = np.concatenate(sides)
    return np.clip(found, ordered(low), ordered(min(high, 2.0**1023)))[:, None, :]


def _binades(least: float, most: float, step: int) -> npt.NDArray[np.int64]:
    exponents = np.arange(np.log2(least), np.log2(most) + step, step)
    return _neighbours(ordered(np.exp2(np.minimum(exponents, 1023))))


def _neighbours(ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.stack([ends[:-1], ends[1:]], axis=1)


def _products(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    b = np.concatenate([b, -b[:, ::-1]])
    return np.stack([np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1))], axis=1)


def _points(found: npt.NDArray[np.int64], each: int, random: np.random.Generator) -> list[F64]:
    """`each` points of each box, one array for each side."""
    low, high = found[:, :, 0, None], found[:, :, 1, None]
    places = random.random((*found.shape[:2], each))
    drawn = low + ((high - low).astype(np.float64) * places).astype(np.int64)
    return [number(np.minimum(drawn[:, side], high[:, side])).ravel() for side in range(found.shape[1])]


def _cut(found: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The boxes in `CUTS` parts, or its square root on each of two sides."""
    for side in range(found.shape[1]):
        parts = round(CUTS ** (1 / found.shape[1]))
        low, high = found[:, side, 0], found[:, side, 1]
        ends = [low + ((high - low) // parts) * n for n in range(parts)] + [high]
        pieces = []
        for n in range(parts):
            piece = found.copy()
            piece[:, side, 0], piece[:, side, 1] = ends[n], ends[n + 1]
            pieces.append(piece)
        found = np.concatenate(pieces)
    return found


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def errors(name: str, operands: list[F64], got: F64) -> F64:
    """In units in the last place, nearly; 0 where nothing is finite."""
    function: Any = BINARY[name].near if name in BINARY else NUMPY[name]
    with np.errstate(all="ignore"):
        exact = function(*(x.astype(np.longdouble) for x in operands))
        _, exponent = np.frexp(exact)
        unit = np.ldexp(np.longdouble(1), np.maximum(exponent - 53, -1074))
        error = np.abs(got.astype(np.longdouble) - exact) / unit
    is_finite = np.isfinite(got) & np.isfinite(exact)
    return np.where(is_finite, error, 0).astype(np.float64)


def error_of(name: str, operands: tuple[float, ...], got: float) -> float:
    """In units in the last place, by MPFR."""
    function = BINARY[name].mpfr if name in BINARY else MPFR[name]
    with gmpy2.context(EXACT):
        exact = function(*(gmpy2.mpfr(x) for x in operands))
        unit = max(int(gmpy2.get_exp(exact)) - 53, -1074)
        return float(abs(gmpy2.mpfr(got) - exact) / gmpy2.mpfr(2) ** unit)


def search(name: str, compute: Compute, points: int, seed: int = 1) -> Peak:
    """The greatest error found with so many points."""
    random = np.random.default_rng(seed)
    found, best = boxes(name), Peak(0.0, ())
    for _ in range(ROUNDS):
        each = max(1, points // ROUNDS // len(found))
        operands = _points(found, each, random)
        got = compute(*operands)
        error = errors(name, operands, got)
        place = int(np.argmax(error))
        at = tuple(float(x[place]) for x in operands)
        if error[place] > best.error and (exact := error_of(name, at, float(got[place]))) > best.error:
            best = Peak(exact, at)
        worst = error.reshape(len(found), each).max(axis=1)
        found = _cut(found[np.argsort(-worst)[:KEPT]])
    return best


def kernel(name: str) -> Program:
    """``out[i] = math.name(x[i], …)`` of f64."""
    with program(f"worst_{name}", 256) as p:
        x = p.read("x", f64)
        operands = [x, p.read("y", f64, like=x)] if name in BINARY else [x]
        out = p.write("out", f64, like=x)
        out[p.global_id(0)] = call(f"math.{name}", *(operand[p.global_id(0)] for operand in operands))
    return p.build()


def on(backend: str, name: str) -> Compute:
    pipeline = compile(acquire(backend), kernel(name))
    return lambda *operands: np.frombuffer(pipeline.dispatch(list(operands))[0], np.float64)


@click.command(help=__doc__)
@click.argument("names", nargs=-1, required=True)
@click.option("--backend", default="reference", show_default=True)
@click.option("--points", type=int, default=2**20, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--evidence", type=click.Path(path_type=Path), help="A folder for the record, `binary64.json`.")
def main(names: tuple[str, ...], backend: str, points: int, seed: int, evidence: Path | None) -> None:
    above, peaks = [], {}
    for name in FUNCTIONS if names == ("all",) else names:
        peak = search(name, on(backend, name), points, seed)
        bound = FUNCTIONS[name].bound
        peaks[name] = {"error": round(peak.error, 4), "operands": [x.hex() for x in peak.operands], "bound": bound}
        click.echo(f"{name}: {peak.error:.3f} of {bound} at {', '.join(peaks[name]['operands'])}")
        above += [] if peak.error < bound else [name]
    if evidence is not None:
        record = {"points": points, "seed": seed, "functions": peaks}
        record |= provenance(backend, acquire(backend).device_profile().identity)
        (evidence / "binary64.json").write_text(json.dumps(record, indent=2) + "\n")
    if above:
        raise click.ClickException(
            f"errors beyond the bound: {', '.join(above)}. Fix: repair them, or state what is so"
        )


if __name__ == "__main__":
    main()
