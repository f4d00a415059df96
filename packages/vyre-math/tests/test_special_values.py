"""IEEE 754-2019, 9.2.1: what the functions give at zeros, infinities, poles, and where there is no result."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from vyre_driver import acquire
from vyre_foundation import DType, bf16, call, constant, f16, f32, program
from vyre_foundation.dialects import expand
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.walk import postorder
from vyre_math.binary32.power import EXACT

SPECIAL = {
    "exp": ((-inf, 0.0), (-0.0, 1.0), (0.0, 1.0), (inf, inf), (88.72284, inf), (-103.97209, 0.0)),
    "exp2": ((-inf, 0.0), (-0.0, 1.0), (10.0, 1024.0), (-149.0, 2.0**-149), (-150.0, 0.0), (128.0, inf), (inf, inf)),
    "exp10": ((-inf, 0.0), (0.0, 1.0), (5.0, 100000.0), (10.0, 1e10), (-46.0, 0.0), (39.0, inf), (inf, inf)),
    "expm1": ((-inf, -1.0), (-0.0, -0.0), (0.0, 0.0), (1e-45, 1e-45), (-1e-45, -1e-45), (inf, inf)),
    "log": ((-inf, nan), (-1.0, nan), (-0.0, -inf), (0.0, -inf), (1.0, 0.0), (inf, inf)),
    "log2": ((-1.0, nan), (-0.0, -inf), (0.0, -inf), (1.0, 0.0), (8.0, 3.0), (2.0**-149, -149.0), (inf, inf)),
    "log10": ((-1.0, nan), (-0.0, -inf), (0.0, -inf), (1.0, 0.0), (1000.0, 3.0), (1e10, 10.0), (inf, inf)),
    "log1p": ((-2.0, nan), (-1.0, -inf), (-0.0, -0.0), (0.0, 0.0), (1e-45, 1e-45), (inf, inf)),
    "sin": ((-inf, nan), (-0.0, -0.0), (0.0, 0.0), (-1e-45, -1e-45), (inf, nan)),
    "cos": ((-inf, nan), (-0.0, 1.0), (0.0, 1.0), (1e-45, 1.0), (inf, nan)),
    "tan": ((-inf, nan), (-0.0, -0.0), (0.0, 0.0), (1e-45, 1e-45), (inf, nan)),
    "asin": ((-inf, nan), (-1.5, nan), (-0.0, -0.0), (0.0, 0.0), (1.0, 1.5707964), (-1.0, -1.5707964), (inf, nan)),
    "acos": ((-inf, nan), (1.5, nan), (1.0, 0.0), (-1.0, 3.1415927), (0.0, 1.5707964), (-0.0, 1.5707964), (inf, nan)),
    "atan": ((-inf, -1.5707964), (-0.0, -0.0), (0.0, 0.0), (1.0, 0.7853982), (inf, 1.5707964)),
    "sinh": ((-inf, -inf), (-0.0, -0.0), (0.0, 0.0), (-90.0, -inf), (1e-45, 1e-45), (inf, inf)),
    "cosh": ((-inf, inf), (-0.0, 1.0), (0.0, 1.0), (90.0, inf), (inf, inf)),
    "tanh": ((-inf, -1.0), (-0.0, -0.0), (0.0, 0.0), (1e-45, 1e-45), (30.0, 1.0), (inf, 1.0)),
    "rsqrt": ((-inf, nan), (-1.0, nan), (-0.0, -inf), (0.0, inf), (4.0, 0.5), (2.0**-148, 2.0**74), (inf, 0.0)),
    "cbrt": ((-inf, -inf), (-27.0, -3.0), (-0.0, -0.0), (0.0, 0.0), (2.0**-147, 2.0**-49), (inf, inf)),
}


@pytest.mark.parametrize("backend", ["reference", "reference-scalar"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_have_their_results(results: Callable[..., Any], name: str, backend: str) -> None:
    x, expected = np.array((*SPECIAL[name], (nan, nan)), np.float32).T.copy()
    found = results(name, x, backend=backend).view(np.uint32)
    wanted = np.where(np.isnan(expected), np.uint32(0x7FC0_0000), expected.view(np.uint32))
    assert [hex(v) for v in found] == [hex(v) for v in wanted]


EDGES = (0, 1, 0x7F_FFFF, 0x80_0000, 0x1FFF_FFFF, 0x2000_0000, 0x3F80_0000, 0x3F80_0001, 0x5F7F_FFFF, 0x5F80_0000,
         0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FC0_1234)  # fmt: skip
"""Zero, subnormals, squares that under- and overflow, one, infinity, NaN."""


@pytest.mark.parametrize("dtype", [f32, f16, bf16], ids=str)
@pytest.mark.parametrize("power", EXACT)
def test_powers_that_are_one_op_have_the_same_bits(power: float, dtype: DType) -> None:
    """An exponent in the program beside one that comes from memory."""
    random = np.random.default_rng(1).integers(0, 2**32, 4000, np.uint32)
    words = np.concatenate([np.array(EDGES, np.uint32), np.array(EDGES, np.uint32) | np.uint32(1 << 31), random])
    with program("powers", 64) as p:
        source, given = p.read("source", dtype), p.read("given", dtype, 1)
        known, found = p.write("known", dtype, like=source), p.write("found", dtype, like=source)
        x = p.let(source[p.global_id(0)])
        known[p.global_id(0)] = call("math.pow", x, constant(dtype, power))
        found[p.global_id(0)] = call("math.pow", x, given[0])
    patterns = (words >> (32 - dtype.bits)).astype(f"u{dtype.size}")
    inputs = [patterns.tobytes(), np.array([power]).astype(dtype.numpy).tobytes()]
    one, other = acquire("reference").dispatch(p.build(), inputs)
    assert bytes(one) == bytes(other)


@pytest.mark.parametrize("power", EXACT)
def test_powers_that_are_one_op_are_short(power: float) -> None:
    with program("short", 64) as p:
        x = p.read("x", f32)[0]
    whole = expand(call("math.pow", x, power).expr, {})
    assert len([node for node in postorder((whole,)) if not isinstance(node, Load)]) <= 8
