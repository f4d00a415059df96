"""Rounding to 16-bit floats and fused multiply-add, against fractions and against NumPy and ml_dtypes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from vyre_foundation.dtype import bf16, f16, f32, f64
from vyre_foundation.ops.scalar import round_float, round_rational
from vyre_reference.vector.casts import cast
from vyre_reference.vector.fma import fma_f32, fma_f64
from vyre_reference.vector.registers import decode, encode
from vyre_reference.vector.rounding import f32_to_bf16, f64_to_bf16, integer_to_bf16

ALL = np.arange(1 << 16, dtype=np.uint16)


def bits_of(x: float) -> int:
    return int(np.float64(x).view(np.uint64))


def test_bf16_against_ml_dtypes():
    """Every bf16 with each of the lower halves that decide a rounding."""
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    x = ((ALL.astype(np.uint32) << 16)[:, None] | low).reshape(-1).view(np.float32)
    with np.errstate(all="ignore"):
        expected = x.astype(ml_dtypes.bfloat16)
        got = encode(bf16, f32_to_bf16(x))
    number = ~np.isnan(x)
    assert np.array_equal(got[number], expected.view(np.uint16)[number])
    assert (got[~number] == 0x7FC0).all()


def test_bf16_patterns_survive():
    expected = np.where(np.isnan(decode(bf16, ALL)), np.uint16(0x7FC0), ALL)
    assert np.array_equal(encode(bf16, decode(bf16, ALL)), expected)


@pytest.mark.parametrize("target", [f32, f64], ids=str)
def test_f16_to_wider_against_numpy(target):
    x = ALL.view(np.float16)
    assert np.array_equal(cast(f16, target, x), x.astype(target.numpy), equal_nan=True)


def test_f16_to_bf16_and_back():
    with np.errstate(all="ignore"):
        to = cast(f16, bf16, ALL.view(np.float16))
        back = cast(bf16, f16, decode(bf16, ALL))
        assert np.array_equal(
            to, ALL.view(np.float16).astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float32), equal_nan=True
        )
        assert np.array_equal(back, decode(bf16, ALL).astype(np.float16), equal_nan=True)


@pytest.mark.parametrize("target", [f16, bf16, f32], ids=str)
def test_doubles_are_rounded_once(target):
    """Around every tie of the target: the tie, and the doubles next to it, where rounding twice goes wrong."""
    precision, emin, emax = target.format
    random = np.random.default_rng(7)
    ties = []
    for exponent in [*range(emin - precision - 1, emin + 4), 0, 1, emax - 1, emax]:
        ulp = math.ldexp(1.0, max(exponent, emin) - precision + 1)
        for _ in range(8):
            whole = math.floor(math.ldexp(1 + random.random(), exponent) / ulp)
            ties.append((whole + 0.5) * ulp)
    near = [math.nextafter(t, math.inf) for t in ties] + [math.nextafter(t, 0.0) for t in ties]
    near += [t * (1 + quarters * 2.0**-26) for t in ties for quarters in (-11, -6, -5, -3, 3, 5, 6, 11)]
    values = [sign * x for x in (*ties, *near) for sign in (1, -1)]
    expected = [round_rational(target, Fraction(x)) or math.copysign(0.0, x) for x in values]
    with np.errstate(all="ignore"):
        got = cast(f64, target, np.array(values)).astype(np.float64).tolist()
    assert list(map(bits_of, got)) == list(map(bits_of, expected))


def test_zeros_and_subnormals_to_bf16():
    x = np.array([0.0, -0.0, 5e-324, -5e-324, 2.0**-134, 2.0**-134 * (1 + 2**-52), -(2.0**-133)])
    assert encode(bf16, f64_to_bf16(x)).tolist() == [0, 0x8000, 0, 0x8000, 0, 1, 0x8001]


def test_integers_to_bf16():
    halfway = [(257 << s) + d for s in (0, 10, 30, 50) for d in (-1, 0, 1) if s > 1] + [
        2**64 - 1,
        2**63,
        1,
        0,
        255,
        257,
        259,
    ]
    got = integer_to_bf16(np.array(halfway, np.uint64)).tolist()
    assert got == [round_rational(bf16, Fraction(n)) for n in halfway]
    signed = [-n for n in halfway if n < 2**63] + [-(2**63)]
    assert integer_to_bf16(np.array(signed, np.int64)).tolist() == [round_rational(bf16, Fraction(n)) for n in signed]
    assert integer_to_bf16(np.array([-128, 127], np.int8)).tolist() == [-128.0, 127.0]


def exactly(dtype, x: float, y: float, z: float) -> float:
    """x * y + z rounded once, as the standard says it for zeros and infinities."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return (
        round_rational(dtype, exact) if exact else math.copysign(0.0, x) * math.copysign(1.0, y) + z if z == 0 else 0.0
    )


# fmt: off
HARD = [
    (1 + 2**-52, 1 + 2**-52, -(1 + 2**-51)),              # what is left is below the last bit of the product
    (1 + 2**-30, 1 - 2**-30, -1.0),                       # cancels to -2**-60
    (1.0 + 2**-27, 1.0 + 2**-27, 2.0**-106),              # a sticky bit far below a tie
    (1e300, 1e300, -math.inf), (1e300, -1e300, 1e308),    # the product overflows, the sum is infinite
    (1e200, 1e200, -1e308), (2.0**1023, 2.0, -2.0**1023), # the product overflows as a double, the sum does not
    (5e-324, 0.5, 0.0), (5e-324, 0.5, 5e-324), (5e-324, -0.5, 5e-324), (1e-200, 1e-200, 5e-324),
    (2.0**-537, 2.0**-538, 2.0**-1074), (1e-160, -1e-160, 1e-320), (1.5 * 2**-1022, 2.0**-52, 0.0),
    (0.0, -1.0, 0.0), (0.0, -1.0, -0.0), (-0.0, 5.0, -0.0), (3.0, 2.0, -6.0), (-3.0, 2.0, 6.0),
    (math.inf, 0.0, 1.0), (math.inf, 1.0, -math.inf), (math.nan, 1.0, 1.0), (1.0, 1.0, math.nan), (0.0, 1.0, math.nan),
    (2.0**1000 * (1 + 2**-52), 1 + 2**-52, -(2.0**1000)), (1 + 2**-52, 2.0**1000 * (1 + 2**-52), -(2.0**1000)),
    (2.0**-1000 * (1 + 2**-52), 1 + 2**-52, -(2.0**-1000)), (1 + 2**-52, 2.0**-1000 * (1 + 2**-52), -(2.0**-1000)),
    (2.0**399 - 2.0**346, 2.0**399 - 2.0**346, 1.7976931348623157e308), (1 + 2**-52, 1 - 2**-52, 1.7e308),
    (1 + 2**-30, 1 + 2**-30, 5e-324), (1 + 2**-27, 1 + 2**-26, -5e-324), (2.0**-390, 2.0**-390 * (1 + 2**-52), 5e-324),
    (2.0**500, 2.0**500, 2.0**947), (2.0**500, 2.0**-500, 2.0**-53), (2.0**-500, 2.0**-500, 2.0**-1053),
]
# fmt: on


def test_f64_fma_on_hard_cases():
    with np.errstate(all="ignore"):
        got = fma_f64(*(np.array(column) for column in zip(*HARD, strict=True))).tolist()
    expected = [exactly(f64, *row) for row in HARD]
    assert [bits_of(g) if g == g else "nan" for g in got] == [bits_of(e) if e == e else "nan" for e in expected]


def test_f64_fma_of_one_value_with_many_that_need_not_be_tame():
    x = np.array([0.0, -0.0, 3.0, 2.0**-1074, math.inf, 2.0**1023])
    with np.errstate(all="ignore"):
        grown, least, nothing = (fma_f64(x, np.float64(y), np.float64(z)) for y, z in ((2, -1), (0.5, 0), (0, -0.0)))
    assert grown.tolist() == [-1.0, -1.0, 5.0, -1.0, math.inf, math.inf]
    assert least.tolist() == [0.0, 0.0, 1.5, 0.0, math.inf, 2.0**1022]
    assert np.signbit(nothing).tolist()[:4] == [False, True, False, False]
    assert np.isnan(nothing[4])
    assert fma_f64(np.float64(3), np.float64(2.0**-1000), np.float64(0)).tolist() == 3 * 2.0**-1000


@pytest.mark.parametrize(("dtype", "fma"), [(f32, fma_f32), (f64, fma_f64)], ids=["f32", "f64"])
def test_fma_near_ties(dtype, fma):
    """Operands with few bits at random distances make sums that lie on ties, and next to them."""
    random = np.random.default_rng(11)
    precision = dtype.format.precision
    rows = []
    for _ in range(4000):
        bits = random.integers(1, 1 << int(random.integers(1, precision + 1)), 3)
        shifts = random.integers(-precision, precision, 3)
        signs = random.choice([-1.0, 1.0], 3)
        rows.append(
            tuple(
                round_float(dtype, s * math.ldexp(float(b), int(n)))
                for b, n, s in zip(bits, shifts, signs, strict=True)
            )
        )
    got = fma(*(np.array(column, dtype.numpy) for column in zip(*rows, strict=True))).tolist()
    wrong = [(row, g) for row, g in zip(rows, got, strict=True) if g != exactly(dtype, *row)]
    assert not wrong, wrong[:3]


def test_f32_fma_beside_a_tie():
    """The sum is 9/16 of the last bit of a double below a tie of f32, so the nearest double must not become the tie."""
    x, y, z = 923 * 2.0**-28, 4653269 * 2.0**-28, 1 + 2.0**-23
    assert Fraction(x) * Fraction(y) + Fraction(z) == Fraction(1 + 3 * 2.0**-24) - Fraction(9, 2**56)
    assert fma_f32(*(np.array([v], np.float32) for v in (x, y, z))).tolist() == [1 + 2.0**-23]
    assert fma_f32(*(np.array([v], np.float32) for v in (x, -y, -z))).tolist() == [-1 - 2.0**-23]


def test_f32_fma_at_the_ends_of_the_type():
    edge = [
        0.0,
        -0.0,
        2.0**-149,
        -(2.0**-149),
        2.0**-126,
        1.0,
        1 + 2.0**-23,
        2.0**127,
        2.0**128 - 2.0**104,
        -(2.0**127),
        math.inf,
    ]
    rows = list(itertools.product(edge, repeat=3))
    with np.errstate(all="ignore"):
        got = fma_f32(*(np.array(column, np.float32) for column in zip(*rows, strict=True))).astype(np.float64).tolist()
    expected = [exactly(f32, *row) for row in rows]
    wrong = [
        (r, g, e) for r, g, e in zip(rows, got, expected, strict=True) if g == g or e == e if bits_of(g) != bits_of(e)
    ]
    assert not wrong, wrong[:3]
