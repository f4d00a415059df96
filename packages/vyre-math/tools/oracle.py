"""What a function of f32 must give, by means that share nothing with the dialect: NumPy's f64 functions and MPFR.

NumPy's results are within a few units in the last place of f64. Where the two ends of a much wider interval around
them round to the same f32, that is the correctly rounded result. Elsewhere, for one input in millions, MPFR decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import gmpy2
import numpy as np
import numpy.typing as npt

F32: TypeAlias = npt.NDArray[np.float32]
U32: TypeAlias = npt.NDArray[np.uint32]

MARGIN = 2.0**-44
"""Half the width of the interval, relative: 256 units in the last place of f64."""
NAN = np.uint32(0x7FC0_0000)
BINARY32 = gmpy2.context(precision=24, emin=-148, emax=128, subnormalize=True)
"""The format of f32: MPFR's exponents are those of a fraction in 0.5 … 1."""

NUMPY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(10.0, x), "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt,
}  # fmt: skip
MPFR: dict[str, Callable[[Any], Any]] = {
    name: gmpy2.rec_sqrt if name == "rsqrt" else getattr(gmpy2, name) for name in NUMPY
}


class Right(NamedTuple):
    """The bits of the correctly rounded results, and the places where MPFR had to decide."""

    bits: U32
    hard: npt.NDArray[np.intp]


def right(name: str, x: F32) -> Right:
    """The results of the function `name`; a NaN has its canonical bits."""
    with np.errstate(all="ignore"):
        near = NUMPY[name](x.astype(np.float64))
    return decided(near, MARGIN, lambda place: rounded(name, float(x[place])))


def decided(near: npt.NDArray[Any], margin: Any, exact: Callable[[int], float]) -> Right:
    """The results near which `near` is, by the relative `margin`, and by `exact` at the places where both ends of that
    interval round to different f32."""
    with np.errstate(all="ignore"):
        low, high = ((near * end).astype(np.float32) for end in (1 - margin, 1 + margin))
    bits = low.view(np.uint32).copy()
    is_nan = np.isnan(near)
    bits[is_nan] = NAN
    hard = np.flatnonzero((bits != high.view(np.uint32)) & ~is_nan)
    bits[hard] = np.array([exact(int(place)) for place in hard], np.float32).view(np.uint32)
    return Right(bits, hard)


def rounded(name: str, x: float) -> float:
    """The function at one f32, rounded once by MPFR."""
    return once(MPFR[name], x)


def once(function: Callable[..., Any], *operands: float) -> float:
    """The function of MPFR at some f32, rounded once."""
    with gmpy2.context(BINARY32):
        return float(function(*(gmpy2.mpfr(x, 53) for x in operands)))
