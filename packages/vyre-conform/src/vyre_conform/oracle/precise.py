"""Multiple-precision arithmetic, where the extra `oracle` is installed: for what NumPy can not round once."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

HAS_MPFR = find_spec("gmpy2") is not None


def fused_multiply_add(x: Iterable[float], y: Iterable[float], z: Iterable[float]) -> list[float]:
    """x * y + z in binary64 with one rounding, by MPFR, subnormals included."""
    import gmpy2

    binary64 = gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True)
    with gmpy2.context(binary64):
        return [float(gmpy2.fma(gmpy2.mpfr(a), gmpy2.mpfr(b), gmpy2.mpfr(c))) for a, b, c in zip(x, y, z, strict=True)]
