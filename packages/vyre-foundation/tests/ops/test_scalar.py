"""Values and bits: rounding, casts and bitcasts against NumPy and against rational numbers."""

import math
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from random import Random

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from vyre_foundation.dtype import (
    DTYPES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    DType,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i64,
    u8,
    u32,
    u64,
)
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import bitcast, cast, clamp, from_bits, round_float, round_rational, to_bits, wrap

HALVES = [f16, bf16]


def same(x: object, y: object) -> bool:
    """Equal as bits of a double."""
    assert isinstance(x, float)
    assert isinstance(y, float)
    return (x != x and y != y) or (x == y and math.copysign(1, x) == math.copysign(1, y))


def all_patterns(dtype: DType) -> "np.ndarray[tuple[int], np.dtype[np.uint16]]":
    assert dtype.bits == 16
    return np.arange(2**16, dtype=np.uint16)


# ── bits ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", HALVES)
def test_every_pattern_of_sixteen_bits(dtype: DType) -> None:
    with np.errstate(invalid="ignore"):
        expected = all_patterns(dtype).view(dtype.numpy).astype(np.float64).tolist()
    for bits, value in enumerate(expected):
        assert same(from_bits(dtype, bits), value)
        assert to_bits(dtype, value) == (bits if value == value else dtype.nan_bits)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_of_any_type(dtype: DType) -> None:
    random = Random(dtype.name)
    edges = [0, 1, (1 << dtype.bits) - 1, 1 << (dtype.bits - 1), (1 << (dtype.bits - 1)) - 1]
    patterns = edges + [random.getrandbits(dtype.bits) for _ in range(500)]
    raw = b"".join(bits.to_bytes(dtype.size, "little") for bits in patterns)
    for bits, value in zip(patterns, np.frombuffer(raw, dtype.numpy).tolist(), strict=True):
        assert from_bits(dtype, bits) == value or value != value
        assert to_bits(dtype, value) == (bits if value == value else dtype.nan_bits)


def test_any_other_byte_is_a_true_bool() -> None:
    assert [from_bits(bool_, bits) for bits in (0, 1, 2, 255)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("dtype", "bits"), [(f16, 0x7E00), (bf16, 0x7FC0), (f32, 0x7FC00000), (f64, 0x7FF8000000000000)]
)
def test_the_one_nan(dtype: DType, bits: int) -> None:
    assert dtype.nan_bits == bits == to_bits(dtype, math.nan) == to_bits(dtype, -math.nan)


# ── rounding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def grid(dtype: DType) -> list[Fraction]:
    """Every finite value that is not negative, and what would follow the last one."""
    assert dtype.format is not None
    infinity = (dtype.nan_bits << 1 & dtype.nan_bits) & ~(1 << (dtype.bits - 1))
    values = [from_bits(dtype, bits) for bits in range(infinity)]
    return [*map(Fraction, values), Fraction(2) ** (dtype.format.emax + 1)]


def nearest(dtype: DType, value: Fraction) -> float:
    """`value` on the grid; of two that are equally near, the one with the even pattern."""
    values = grid(dtype)
    magnitude = min(abs(value), values[-1])
    above = bisect_left(values, magnitude)
    below = max(above - 1, 0)
    distance_below, distance_above = magnitude - values[below], values[above] - magnitude
    is_above = distance_above < distance_below or (distance_above == distance_below and above % 2 == 0)
    at = above if is_above else below
    result = math.inf if at == len(values) - 1 else float(values[at])
    return -result if value < 0 else result


@pytest.mark.parametrize("dtype", HALVES)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-1, 1))
def test_doubles_to_sixteen_bits(dtype: DType, value: float, ulps: int) -> None:
    for x in (value, math.ldexp(value, -900), math.ldexp(math.frexp(value)[0], int(value) % 40 - 20)):
        assert same(round_float(dtype, x), math.copysign(nearest(dtype, Fraction(x)), x))


@pytest.mark.parametrize("dtype", HALVES)
def test_halfway_between_two_numbers_of_sixteen_bits(dtype: DType) -> None:
    values = grid(dtype)
    for at in range(0, len(values) - 1, 7):
        middle = (values[at] + values[at + 1]) / 2
        for x in (float(middle), math.nextafter(float(middle), 0), math.nextafter(float(middle), math.inf)):
            assert same(round_float(dtype, x), nearest(dtype, Fraction(x)))
            assert same(round_float(dtype, -x), -nearest(dtype, Fraction(x)))
            assert same(round_rational(dtype, Fraction(x)), nearest(dtype, Fraction(x)))


@given(st.floats(width=64))
def test_doubles_to_f32_and_f16_as_numpy_has_it(value: float) -> None:
    with np.errstate(over="ignore"):
        assert same(round_float(f32, value), float(np.float64(value).astype(np.float32)))
        assert same(round_float(f16, value), float(np.float64(value).astype(np.float16)))
    assert same(round_float(f64, value), value)


@given(st.floats(width=32))
def test_f32_to_bf16_as_ml_dtypes_has_it(value: float) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        assert same(round_float(bf16, value), float(np.float32(value).astype(ml_dtypes.bfloat16)))


# fmt: off
ROUNDED = [
    (f16, 65519.99, 65504.0), (f16, 65520.0, math.inf), (f16, 2.0**-25, 0.0), (f16, 2.0**-25 * 1.0000001, 2.0**-24),
    (f16, 2049.0, 2048.0), (f16, 2051.0, 2052.0), (bf16, 257.0, 256.0), (bf16, 259.0, 260.0), (bf16, 3.4e38, math.inf),
    (f32, 16777217.0, 16777216.0), (f32, 16777219.0, 16777220.0), (f32, 1e39, math.inf), (f32, 7e-46, 0.0),
    (f32, 7.1e-46, 1.401298464324817e-45), (f16, 1e308, math.inf), (bf16, -1e308, -math.inf), (f16, 5e-324, 0.0),
    (f16, -5e-324, -0.0), (bf16, 1e-40, 9.183549615799121e-41),
]
# fmt: on


@pytest.mark.parametrize(("dtype", "value", "expected"), ROUNDED)
def test_rounding_by_hand(dtype: DType, value: float, expected: float) -> None:
    assert same(round_float(dtype, value), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_not_finite_stays(dtype: DType) -> None:
    for value in (math.inf, -math.inf, math.nan, 0.0, -0.0):
        assert same(round_float(dtype, value), value)


# ── integers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.sampled_from(INTEGERS), st.integers(-(2**70), 2**70))
def test_wrap_and_clamp(dtype: DType, value: int) -> None:
    wrapped = wrap(dtype, value)
    assert dtype.lowest <= wrapped <= dtype.highest
    assert (wrapped - value) % 2**dtype.bits == 0
    assert clamp(dtype, value) == sorted((dtype.lowest, value, dtype.highest))[1]


# ── casts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("source", HALVES)
@pytest.mark.parametrize("target", NUMBERS)
def test_casts_of_every_number_of_sixteen_bits(source: DType, target: DType) -> None:
    patterns = all_patterns(source)
    with np.errstate(invalid="ignore"):
        wide = patterns.view(source.numpy).astype(np.float64)
    if target.is_float:
        with np.errstate(over="ignore", invalid="ignore"):
            expected = wide.astype(np.float32).astype(target.numpy).astype(np.float64).tolist()
    else:
        expected = [clamp(target, int(x)) if math.isfinite(x) else 0 if x != x else x for x in wide.tolist()]
        expected = [target.highest if x == math.inf else target.lowest if x == -math.inf else x for x in expected]
    for value, result in zip(wide.tolist(), expected, strict=True):
        got = cast(source, target, value)
        assert got == result or (got != got and result != result)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_casts_between_integers_as_numpy_has_it(source: DType, target: DType) -> None:
    edges = {edge for t in INTEGERS for edge in (t.lowest, t.lowest + 1, -1, 0, 1, t.highest - 1, t.highest)}
    values = [edge for edge in edges if source.lowest <= edge <= source.highest]
    expected = np.array(values, source.numpy).astype(target.numpy).tolist()
    assert [cast(source, target, value) for value in values] == expected


@pytest.mark.parametrize("target", FLOATS)
@given(st.integers(-(2**63), 2**64 - 1))
def test_casts_of_integers_to_floats(target: DType, value: int) -> None:
    source = i64 if value < 0 else u64
    result = cast(source, target, value)
    if target in HALVES:
        assert result == nearest(target, Fraction(value))
    else:
        assert result == np.array(value, source.numpy).astype(target.numpy)


@pytest.mark.parametrize("source", NUMBERS)
def test_casts_to_bool(source: DType) -> None:
    assert cast(source, bool_, 0) is False
    assert cast(source, bool_, 3) is True
    if source.is_float:
        assert cast(source, bool_, -0.0) is False
        assert cast(source, bool_, math.nan) is True
        assert cast(source, bool_, 5e-8) is True


# fmt: off
CASTS = [
    (f32, u8, 255.9, 255), (f32, u8, 256.0, 255), (f32, u8, -0.9, 0), (f32, u8, -1.0, 0), (f32, i8, -128.9, -128),
    (f32, i8, math.inf, 127), (f32, i8, -math.inf, -128), (f32, i8, math.nan, 0), (f32, u32, 4294967296.0, 2**32 - 1),
    (f64, i64, 9.3e18, 2**63 - 1), (f64, u64, 1.9e19, 2**64 - 1), (f64, u64, 9223372036854775808.0, 2**63),
    (bool_, f32, True, 1.0), (bool_, u8, True, 1), (bool_, f16, False, 0.0),
    (f64, f32, 1e39, math.inf), (f64, f16, 65519.0, 65504.0), (f64, f32, -1e-50, -0.0),
    (u64, f32, 2**24 + 1, 16777216.0), (u64, f32, 2**64 - 1, 2.0**64), (u64, f16, 65520, math.inf),
    (i64, bf16, -257, -256.0),
]
# fmt: on


@pytest.mark.parametrize(("source", "target", "value", "expected"), CASTS)
def test_casts_by_hand(source: DType, target: DType, value: float, expected: float) -> None:
    result = cast(source, target, value)
    assert type(result) is type(expected)
    assert to_bits(target, result) == to_bits(target, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bitcasts(dtype: DType) -> None:
    assert bitcast(dtype, dtype, from_bits(dtype, 1)) == from_bits(dtype, 1)
    if dtype.is_float:
        unsigned = dtype.unsigned
        assert bitcast(dtype, unsigned, -0.0) == 1 << (dtype.bits - 1)
        assert bitcast(dtype, unsigned, math.nan) == dtype.nan_bits
        assert same(bitcast(unsigned, dtype, 1 << (dtype.bits - 1)), -0.0)


# ── float ops ────────────────────────────────────────────────────────────────────────────────────────────────────────

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.5,
    -2.5,
    0.1,
    3.0,
    1e-7,
    65504.0,
    1e30,
    math.inf,
    -math.inf,
    math.nan,
    2.0**-24,
    2.0**-126,
]


def specials(dtype: DType) -> list[float]:
    values = {to_bits(dtype, round_float(dtype, x)) for x in SPECIAL} | {
        1,
        dtype.nan_bits >> 1 & ~(1 << (dtype.bits - 1)),
    }
    return [float(from_bits(dtype, bits)) for bits in sorted(values)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("id", ["add", "sub", "mul", "div", "sqrt"])
def test_arithmetic_is_rounded_once(id: str, dtype: DType) -> None:
    """NumPy computes f32 and f64 in themselves, and f16 by way of f32, which is the same; so is bf16 here."""
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt}[id]
    row = OPS[id]
    random = Random(id)
    pool = specials(dtype) + [float(from_bits(dtype, random.getrandbits(dtype.bits))) for _ in range(60)]
    pairs = [(x, y) for x in pool for y in pool] if row.arity == 2 else [(x,) for x in pool]
    for operands in pairs:
        with np.errstate(all="ignore"):
            wide = np.float32 if dtype is bf16 else dtype.numpy
            result = function(*[np.array(x, wide) for x in operands])
            expected = float(result.astype(dtype.numpy))
        assert same(row.evaluate(dtype, *operands), expected), operands


@given(*[st.one_of(st.floats(width=64), st.integers(-(2**60), 2**60).map(float))] * 3)
def test_fma_is_rounded_once(x: float, y: float, z: float) -> None:
    for dtype in (f32, f64):
        a, b, c = (round_float(dtype, v) for v in (x, y, z))
        result = OPS["fma"].evaluate(dtype, a, b, c)
        assert isinstance(result, float)
        if not all(map(math.isfinite, (a, b, c))):
            product = a * b if math.isfinite(c) else math.copysign(1.0, a) * math.copysign(1.0, b)  # does not overflow
            assert same(result, product + c if math.isfinite(a) and math.isfinite(b) else a * b + c)
            continue
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0:
            product_is_negative = math.copysign(1, a) * math.copysign(1, b) < 0
            both_negative = product_is_negative and math.copysign(1, c) < 0
            is_zero_sum = (a == 0 or b == 0) and c == 0
            assert same(result, -0.0 if is_zero_sum and both_negative else 0.0)
        elif math.isfinite(result):
            assert_nearest(dtype, exact, result)
        else:
            assert dtype.format is not None
            assert abs(exact) > Fraction(2) ** dtype.format.emax


def assert_nearest(dtype: DType, exact: Fraction, result: float) -> None:
    """No neighbour of `result` is nearer to `exact`, and of two that are as near its significand is the even one."""
    numpy = np.dtype(dtype.numpy).type
    here = abs(Fraction(result) - exact)
    for towards in (-math.inf, math.inf):
        with np.errstate(over="ignore", under="ignore"):
            neighbour = float(np.nextafter(numpy(result), numpy(towards)))
        if math.isfinite(neighbour):
            there = abs(Fraction(neighbour) - exact)
            assert here < there or (here == there and to_bits(dtype, result) % 2 == 0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_laws_of_floats(dtype: DType) -> None:
    pool = specials(dtype)
    for row in OPS.values():
        laws = row.float_laws
        if dtype not in row.accepts:
            continue

        def result(*operands: float, row: object = row) -> int:
            return to_bits(row.results[dtype], row.evaluate(dtype, *operands))  # type: ignore[attr-defined]

        for x in pool:
            own = to_bits(dtype, x)
            assert not laws.involution or result(float(row.evaluate(dtype, x))) == own
            assert not laws.idempotent or result(x, x) == own
            assert laws.identity is None or result(x, laws.identity) == own  # type: ignore[arg-type]
            assert not laws.self_inverse
            assert laws.absorbing is None
            for y in pool:
                assert not laws.commutative or result(x, y) == result(y, x)
                for z in pool if laws.associative else ():
                    left = float(row.evaluate(dtype, float(row.evaluate(dtype, x, y)), z))
                    right = float(row.evaluate(dtype, x, float(row.evaluate(dtype, y, z))))
                    assert to_bits(dtype, left) == to_bits(dtype, right)
