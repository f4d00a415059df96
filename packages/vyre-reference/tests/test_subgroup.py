"""Collectives, against orders written out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.build import program
from vyre_foundation.dtype import bf16, bool_, f16, f32, f64, i8, i32, u8, u16, u32, u64
from vyre_foundation.ir.stmt import SubgroupOp
from vyre_foundation.ops import OPS
from vyre_reference import DivergentBarrier

BIG = 2.0**24
INF = math.inf

# fmt: off
CASES = [
    ("reduce_add",         u8,  [250, 3, 4, 5],      [6] * 4),
    ("reduce_add",         f32, [BIG, 1.0, 1.0, 1.0], [BIG + 2] * 4),   # (BIG + 1) + (1 + 1): BIG + 1 ties to even
    ("reduce_add",         f16, [2048.0, 1.0, 3.0, 1.0], [2054.0] * 4),  # 2048 + 3 ties to 2052; 1 + 1
    ("reduce_min",         f32, [0.0, math.nan, -0.0, 1.0], [-0.0] * 4),
    ("reduce_max",         i32, [-5, -2, -9, -3],    [-2] * 4),
    ("reduce_and",         u16, [0xFF0F, 0xF0FF, 0xFFFF, 0x7FFF], [0x700F] * 4),
    ("reduce_or",          i8,  [1, 2, -128, 4],     [-121] * 4),
    ("reduce_xor",         u64, [2**63, 1, 2**63, 2], [3] * 4),
    ("inclusive_scan_add", i32, [1, 2, 3, 4],        [1, 3, 6, 10]),
    ("inclusive_scan_add", f32, [1.0, BIG, 1.0, 1.0], [1.0, BIG, BIG, BIG + 2]),   # 1 + (BIG + 1), (1 + BIG) + (1 + 1)
    ("inclusive_scan_min", u32, [5, 7, 2, 3],        [5, 5, 2, 2]),
    ("inclusive_scan_max", f64, [-1.0, math.nan, 4.0, 2.0], [-1.0, -1.0, 4.0, 4.0]),
    ("inclusive_scan_xor", u8,  [1, 3, 3, 8],        [1, 2, 1, 9]),
    ("exclusive_scan_add", u8,  [200, 100, 7, 9],    [0, 200, 44, 51]),
    ("exclusive_scan_add", bf16, [-0.0, 1.0, 2.0, 9.0], [0.0, -0.0, 1.0, 3.0]),
    ("exclusive_scan_min", i8,  [3, -5, 9, 0],       [127, 3, -5, -5]),
    ("exclusive_scan_max", i32, [3, -5, 9, 0],       [-2**31, 3, 3, 9]),
    ("exclusive_scan_min", f16, [3.0, -5.0, 9.0, 0.0], [INF, 3.0, -5.0, -5.0]),
    ("exclusive_scan_max", f64, [3.0, -5.0, 9.0, 0.0], [-INF, 3.0, 3.0, 9.0]),
    ("exclusive_scan_and", u32, [12, 10, 8, 1],      [2**32 - 1, 12, 8, 8]),
    ("exclusive_scan_and", i8,  [12, 10, 8, 1],      [-1, 12, 8, 8]),
    ("exclusive_scan_or",  u8,  [1, 2, 4, 8],        [0, 1, 3, 7]),
    ("exclusive_scan_xor", u8,  [1, 2, 4, 8],        [0, 1, 3, 7]),
]
# fmt: on


def lanes_of(op, dtype, lane=None):
    """One subgroup of four, or of as many lanes as inputs are passed; the collective of all of them."""
    op = SubgroupOp(op)
    with program("collective", 4, subgroup_size=4) as p:
        a = p.read("a", dtype)
        selected = p.read("selected", u32) if lane is not None else None
        out = p.write("out", op.result_type(dtype), like=a)
        i = p.global_id(0)
        out[i] = p.subgroup(op, a[i], None if selected is None else selected[i] if lane == "own" else selected[0])
    return p.build()


@pytest.mark.parametrize(("op", "dtype", "values", "expected"), CASES, ids=lambda x: str(x)[:18])
def test_folds(run, typed, op, dtype, values, expected):
    """In two subgroups at once, of which the second has the values the other way round."""
    got = run(lanes_of(op, dtype), {"a": typed(dtype, values + values[::-1])})["out"]
    assert got[:4].tobytes() == typed(dtype, expected).tobytes()


@pytest.mark.parametrize("width", [1, 2, 8, 64])
@pytest.mark.parametrize("dtype", [f32, f16, bf16], ids=str)
def test_float_sums_in_their_order(run, typed, dtype, width):
    """The butterfly and the Kogge-Stone scan, written once more."""
    random = np.random.default_rng(width)
    values = random.standard_normal(2 * width).astype(dtype.numpy)
    with program("order", width, subgroup_size=width) as p:
        a = p.read("a", dtype)
        total, running = p.write("total", dtype, like=a), p.write("running", dtype, like=a)
        i = p.global_id(0)
        total[i] = p.subgroup("reduce_add", a[i])
        running[i] = p.subgroup("inclusive_scan_add", a[i])
    got = run(p.build(), {"a": values})

    def add(x, y):
        return OPS["add"].evaluate(dtype, x, y)

    for group in range(2):
        x = [float(v) for v in values[group * width :][:width]]
        butterfly, scan, distance = x, x, width // 2
        while distance:
            butterfly = [add(butterfly[n], butterfly[n ^ distance]) for n in range(width)]
            distance //= 2
        distance = 1
        while distance < width:
            scan = [add(scan[n - distance], scan[n]) if n >= distance else scan[n] for n in range(width)]
            distance *= 2
        assert got["total"][group * width :][:width].tolist() == butterfly
        assert got["running"][group * width :][:width].tolist() == scan


# fmt: off
EXCHANGES = [
    ("broadcast",   [2, 2, 2, 2],             [30, 30, 30, 30]),
    ("broadcast",   [7, 7, 7, 7],             [40, 40, 40, 40]),
    ("shuffle",     [3, 0, 2**32 - 1, 5],     [40, 10, 40, 20]),
    ("shuffle_xor", [1, 1, 1, 1],             [20, 10, 40, 30]),
    ("shuffle_xor", [7, 0, 2, 2**32 - 2],     [40, 20, 10, 20]),
]
# fmt: on


@pytest.mark.parametrize(("op", "selected", "expected"), EXCHANGES, ids=str)
@pytest.mark.parametrize("dtype", [u8, i32, f32, bf16], ids=str)
def test_exchanges(run, typed, op, selected, expected, dtype):
    built = lanes_of(op, dtype, "own" if op != "broadcast" else "same")
    got = run(built, {"a": typed(dtype, [10, 20, 30, 40]), "selected": typed(u32, selected)})
    assert got["out"].tobytes() == typed(dtype, expected).tobytes()


def test_votes(run, typed):
    values = typed(bool_, [True, False, True, True, False, False, False, False, True, True, True, True])
    assert run(lanes_of("ballot", bool_), {"a": values})["out"].tolist() == [13] * 4 + [0] * 4 + [15] * 4
    assert run(lanes_of("any", bool_), {"a": values})["out"].tolist() == [True] * 4 + [False] * 4 + [True] * 4
    assert run(lanes_of("all", bool_), {"a": values})["out"].tolist() == [False] * 8 + [True] * 4


def test_a_ballot_of_64_lanes(run, typed):
    with program("ballot", 64, subgroup_size=64) as p:
        out = p.write("out", u64, 64)
        out[p.global_id(0)] = p.subgroup("ballot", p.subgroup_lane() % 63 == 0)
    assert run(p.build(), {})["out"].tolist() == [2**63 + 1] * 64


def test_a_uniform_operand(run):
    with program("uniform", 8, subgroup_size=4) as p:
        out = p.write("out", u32, 8)
        out[p.global_id(0)] = p.subgroup("inclusive_scan_add", out.length)
    assert run(p.build(), {})["out"].tolist() == [8, 16, 24, 32] * 2


def test_collectives_of_some_workgroups(run):
    """Only the groups that come by take part."""
    with program("some", 4, subgroup_size=2) as p:
        out = p.write("out", u32, 16)
        i = p.global_id(0)
        with p.if_(p.workgroup_id(0) % 2 == 1):
            out[i] = p.subgroup("reduce_add", i)
    got = run(p.build(), {}, DispatchConfig(grid_override=(4, 1, 1)))["out"]
    assert got.tolist() == [0] * 4 + [9, 9, 13, 13] + [0] * 4 + [25, 25, 29, 29]


def test_a_broadcast_takes_one_lane(force, typed):
    with program("broadcast", 4, subgroup_size=2) as p:
        selected = p.read("selected", u32)
        i = p.global_id(0)
        with p.if_(p.workgroup_id(0) > 0):
            p.subgroup("broadcast", i, selected[i])
    built = p.build_unchecked()
    force(built, {"selected": typed(u32, [0, 1, 2, 3, 1, 1, 1, 1]).tobytes()}, grid=2)
    with pytest.raises(DivergentBarrier, match=r"invocation 4 waits at .*, but invocation 6 broadcasts lane 3, not 1"):
        force(built, {"selected": typed(u32, [0, 1, 2, 3, 1, 1, 3, 1]).tobytes()}, grid=2)
