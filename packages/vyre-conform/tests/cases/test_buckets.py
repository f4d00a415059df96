"""Buckets hold what their names say, for every type, and nothing that the type has not."""

import math
from random import Random

import pytest

from vyre_conform.cases.buckets import POOLS, RELATIONS, buckets_of, pack_rows, rows_of
from vyre_foundation.dtype import DTYPES, FLOATS, INTEGERS, DType, bf16, bool_, f16, f32, f64, i8, u8, u32
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import from_bits, round_float


def values(pool: str, dtype: DType) -> list[bool | int | float]:
    return [from_bits(dtype, bits) for bits in POOLS[pool](dtype)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_patterns_fit_their_type(dtype: DType) -> None:
    for arity in (1, 2, 3):
        for bucket in buckets_of(dtype, arity):
            rows = rows_of(bucket, [dtype] * arity, Random(bucket))
            assert rows
            assert all(len(row) == arity for row in rows)
            assert all(0 <= bits < 1 << max(1, dtype.bits if dtype is not bool_ else 1) for row in rows for bits in row)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats(dtype: DType) -> None:
    assert [math.copysign(1, float(v)) for v in values("zeros", dtype)] == [1, -1]
    assert {abs(float(v)) for v in values("ones", dtype)} == {1.0}
    assert all(math.isnan(v) for v in values("nan", dtype))
    assert {float(v) for v in values("infinite", dtype)} == {math.inf, -math.inf}
    assert dtype.format is not None
    least = 2.0**dtype.format.emin
    assert all(0 < abs(float(v)) < least for v in values("subnormal", dtype))
    assert all(math.frexp(float(v))[0] in (0.5, -0.5) for v in values("powers", dtype))
    assert {0.5, 1.5, 2.5, -0.5} <= {float(v) for v in values("halves", dtype)}
    assert set(buckets_of(dtype, 2)) >= {"nan", "subnormal", "infinite", "near", "opposite", "random"}


def test_edges_by_hand() -> None:
    assert values("edges", i8) == [0, 1, 126, 127, -128, -127, -2, -1]
    assert values("edges", u8) == [0, 1, 126, 127, 128, 129, 254, 255]
    assert POOLS["edges"](f16) == [0x0400, 0x8400, 0x0401, 0x8401, 0x7BFF, 0xFBFF, 0x7BFE, 0xFBFE]
    assert {7, 8, 9, 15, 16} <= set(POOLS["counts"](u8))
    assert 3.4028234663852886e38 in values("edges", f32)
    assert POOLS["nan"](bf16)[:3] == [0x7FC0, 0xFFC0, 0x7FC1]
    assert {257.0, 2049.0, 16777217.0, 16777219.0, 33554433.0} <= {float(v) for v in values("ties", f64)}
    assert 2**31 in values("limits", f32)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_have_no_floats_among_them(dtype: DType) -> None:
    assert not {"nan", "subnormal", "infinite", "halves", "limits"} & set(buckets_of(dtype, 2))
    assert buckets_of(bool_, 2) == ("zeros", "ones", "special", "random")
    assert set(values("ones", dtype)) == {1, -1 if dtype.is_signed else dtype.highest}


def test_relations() -> None:
    rng = Random(1)
    assert all(x == y for x, y in RELATIONS["equal"](u32, 2, rng))
    assert all((x + y) % 2**32 == 0 or x ^ y == 2**32 - 1 for x, y in RELATIONS["opposite"](u32, 2, rng))
    assert all((x - y + 2) % 2**32 <= 4 for x, y in RELATIONS["near"](u32, 2, rng))
    assert all(x ^ y == 0x8000 or x ^ y == 0xFFFF for x, y in RELATIONS["opposite"](f16, 2, rng))


def test_an_fma_that_is_rounded_twice_is_told_from_one() -> None:
    rows = [[float(from_bits(f32, bits)) for bits in row] for row in RELATIONS["near"](f32, 3, Random(1))]
    twice = [round_float(f32, x * y + z) for x, y, z in rows]
    assert sum(OPS["fma"].evaluate(f32, *row) != wrong for row, wrong in zip(rows, twice, strict=True)) >= 10


def test_rows_become_one_buffer_for_each_operand() -> None:
    assert pack_rows([u8, f16], [(1, 0x3C00), (2, 0x4000)]) == [b"\x01\x02", b"\x00\x3c\x00\x40"]
