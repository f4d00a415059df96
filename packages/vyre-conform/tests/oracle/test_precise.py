"""Multiple precision, rounded once: fused products and elementary functions."""

from __future__ import annotations

from math import inf, isnan, nan

import pytest

from vyre_conform.oracle.precise import ELEMENTARY, elementary, fused_multiply_add

pytest.importorskip("gmpy2")


def test_a_fused_product_is_rounded_once() -> None:
    x, y, z = [1 + 2.0**-52], [1 + 2.0**-52], [-1 - 2.0**-51]
    assert fused_multiply_add(x, y, z) == [2.0**-104]


WITNESSES = {
    "exp": ((1.0,), 2.7182817459106445), "exp2": ((-149.0,), 2.0**-149), "exp10": ((2.0,), 100.0),
    "expm1": ((1e-45,), 1.401298464324817e-45), "log": ((1.0,), 0.0), "log2": ((8.0,), 3.0), "log10": ((100.0,), 2.0),
    "log1p": ((-1.0,), -inf), "sin": ((9830.3984375,), -0.34761324524879456), "cos": ((0.0,), 1.0),
    "tan": ((0.0,), 0.0), "asin": ((1.0,), 1.5707963705062866), "acos": ((-1.0,), 3.1415927410125732),
    "atan": ((inf,), 1.5707963705062866), "sinh": ((90.0,), inf), "cosh": ((0.0,), 1.0), "tanh": ((-inf,), -1.0),
    "rsqrt": ((-0.0,), -inf), "cbrt": ((-27.0,), -3.0), "pow": ((4097.0, 2.0), 16785408.0),
    "hypot": ((3.0, 4.0), 5.0), "atan2": ((0.0, -1.0), 3.1415927410125732),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ELEMENTARY))
def test_elementary_functions_are_rounded_to_binary32(name: str) -> None:
    operands, result = WITNESSES[name]
    assert elementary(name, [operands]) == [result]


def test_there_is_no_result_outside_of_the_domain() -> None:
    assert all(isnan(elementary(name, [(-2.0,)])[0]) for name in ("log", "asin", "acos", "rsqrt"))
    assert isnan(elementary("pow", [(-2.0, 0.5)])[0])
    assert elementary("pow", [(1.0, nan)]) == [1.0]
