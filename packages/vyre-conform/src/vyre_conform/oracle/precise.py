"""Multiple-precision arithmetic, where the extra `oracle` is installed: for what NumPy cannot round once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

HAS_MPFR = find_spec("gmpy2") is not None


def fused_multiply_add(x: Iterable[float], y: Iterable[float], z: Iterable[float]) -> list[float]:
    """x * y + z in binary64 with one rounding, by MPFR, subnormals included."""
    import gmpy2

    binary64 = gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True)
    with gmpy2.context(binary64):
        return [float(gmpy2.fma(gmpy2.mpfr(a), gmpy2.mpfr(b), gmpy2.mpfr(c))) for a, b, c in zip(x, y, z, strict=True)]


ELEMENTARY = frozenset(
    """
    exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh rsqrt cbrt pow hypot atan2
    """.split()
)
"""The functions that `elementary` knows."""


def elementary(name: str, operands: Iterable[Sequence[float]]) -> list[float]:
    """A function in binary32, correctly rounded by MPFR, at each tuple of operands."""
    import gmpy2

    binary32 = gmpy2.context(precision=24, emin=-148, emax=128, subnormalize=True)
    with gmpy2.context(binary32):
        return [float(_rounded(name, [gmpy2.mpfr(x, 53) for x in row])) for row in operands]


def _rounded(name: str, operands: list[Any]) -> Any:
    import gmpy2

    match name:
        case "pow":
            return operands[0] ** operands[1]
        case "rsqrt" if operands[0] == 0:
            return 1 / operands[0]  # IEEE 754 keeps the sign of zero, MPFR's function does not
        case "rsqrt":
            return gmpy2.rec_sqrt(operands[0])
        case _:
            return getattr(gmpy2, name)(*operands)
