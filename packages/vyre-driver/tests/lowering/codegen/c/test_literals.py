"""Constants: every bit arrives, and the least integers do not overflow."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from vyre_driver.codegen.c.literals import spell, spell_element
from vyre_foundation.dtype import bool_, f16, f32, f64, i32, i64, u8, u32, u64
from vyre_foundation.ir.expr import Literal, literal


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (u32, 0, "0u"),
        (u32, 65535, "65535u"),
        (u32, 0xFFFF_FFFF, "0xffffffffu"),
        (u64, 2**63, "0x8000000000000000ull"),
        (i32, -5, "(-5)"),
        (i32, 2**31 - 1, "2147483647"),
        (i32, -(2**31), "(-2147483647 - 1)"),
        (i64, -(2**63), "(-9223372036854775807ll - 1ll)"),
        (bool_, True, "1"),
        (u8, 200, "200"),
        (f32, 1.0, "1.0f"),
        (f32, -0.125, "(-0.125f)"),
        (f32, 0.1, "0x1.99999ap-4f"),
        (f32, -0.0, "(-0.0f)"),
        (f32, 1e-45, "0x1p-149f"),
        (f32, 3.4028234663852886e38, "0x1.fffffep+127f"),
        (f64, 0.1, "0x1.999999999999ap-4"),
        (f64, 5e-324, "0x0.0000000000001p-1022"),
        (f32, math.inf, "as_f32(0x7f800000u)"),
        (f32, -math.inf, "as_f32(0xff800000u)"),
        (f32, math.nan, "as_f32(0x7fc00000u)"),
        (f64, math.nan, "as_f64(0x7ff8000000000000ull)"),
        (f16, 1.5, "as_half(15872)"),
    ],
)
def test_texts_of_constants(dtype, value, expected, dialects):
    assert spell(dialects["rich"], literal(dtype, value)) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bits=st.integers(0, 2**32 - 1))
def test_floats_are_read_back_bit_by_bit(dialects, bits):
    constant = Literal(f32, bits)
    text = spell(dialects["full"], constant)
    if not math.isfinite(float(constant.value)):
        assert text.startswith("as_f32(0x")
        return
    text = text.strip("()").removesuffix("f")
    value = float.fromhex(text) if "0x" in text else float(text)
    assert struct.unpack("<I", struct.pack("<f", value))[0] == bits


@pytest.mark.parametrize(
    ("value", "expected"),
    [(math.inf, "(1.0f / 0.0f)"), (-math.inf, "(-1.0f / 0.0f)"), (math.nan, "(0.0f / 0.0f)"), (2.5, "2.5f")],
)
def test_tables_have_no_bitcasts(value, expected, dialects):
    assert spell_element(dialects["full"], literal(f32, value)) == expected
