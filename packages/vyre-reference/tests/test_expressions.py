"""Each kind of expression, against numbers written by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation import build
from vyre_foundation.build import program
from vyre_foundation.dtype import bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.expr import Literal, literal
from vyre_foundation.testing.dialect import GRAY

NAN = math.nan


def test_literals_keep_their_bits(run):
    with program("literals", 1) as p:
        words = p.write("words", u32, 3)
        words[0] = build.Value(Literal(f32, 0x7FA00001)).bitcast(u32)  # a signalling NaN shows the canonical one
        words[1] = build.constant(f32, -0.0).bitcast(u32)
        words[2] = build.constant(f32, 1e-45).bitcast(u32)
    assert run(p.build(), {})["words"].tolist() == [0x7FC00000, 0x80000000, 1]


def test_locals_are_what_they_were(run):
    with program("locals", 4) as p:
        out = p.write("out", u32, 4)
        i = p.global_id(0)
        v = p.var(i + 10)
        before = p.let(v.get())
        v.set(v * 2)
        out[i] = before * 100 + v
    assert run(p.build(), {})["out"].tolist() == [1020, 1122, 1224, 1326]


def test_ids_of_three_axes(run):
    """Two by two by two groups of three by two by one invocations; the fourth column is the lane."""
    with program("ids", (3, 2, 1), subgroup_size=2) as p:
        out = p.write("out", u32, 48)
        x, y, z = (p.global_id(axis) for axis in range(3))
        here = (z * 4 + y) * 6 + x
        packed = p.workgroup_id(0) + p.workgroup_id(1) * 10 + p.workgroup_id(2) * 100
        local = p.local_id(0) * 1000 + p.local_id(1) * 10_000 + p.local_id(2) * 100_000
        out[here] = packed + local + p.subgroup_lane() * 1_000_000
    got = run(p.build(), {}, DispatchConfig(grid_override=(2, 2, 2)))["out"]
    assert got[:6].tolist() == [0, 1001000, 2000, 1, 1001001, 2001]
    assert got[6:12].tolist() == [1010000, 11000, 1012000, 1010001, 11001, 1012001]
    assert got[-1] == 1012111


def test_launch_constants(run):
    with program("constants", (2, 1, 1), subgroup_size=2) as p:
        a = p.read("a", u8)
        out = p.write("out", u32, 5)
        for axis in range(3):
            out[axis] = p.num_workgroups(axis)
        out[3] = a.length
        out[4] = p.subgroup_size_()
    inputs = {"a": np.zeros(7, np.uint8)}
    got = run(p.build(), inputs, DispatchConfig(grid_override=(1, 1, 1)))["out"]
    assert got.tolist() == [1, 1, 1, 7, 2]


def test_select_of_lanes_and_of_all(run):
    with program("select", 4) as p:
        out = p.write("out", i32, 4)
        more = p.write("more", i32, 4)
        i = p.global_id(0)
        out[i] = build.select(i % 2 == 0, build.constant(i32, -1), i.cast(i32))
        more[i] = build.select(out.length == 4, i.cast(i32), build.constant(i32, 9))
    got = run(p.build(), {})
    assert got["out"].tolist() == [-1, 1, -1, 3]
    assert got["more"].tolist() == [0, 1, 2, 3]


# fmt: off
CASTS = [
    (i32,  u8,   [-1, 256, 257],                       [255, 0, 1]),
    (u8,   i8,   [127, 128, 255],                      [127, -128, -1]),
    (i8,   u64,  [-1, -128, 127],                      [2**64 - 1, 2**64 - 128, 127]),
    (u64,  i32,  [2**32 + 5, 2**31, 2**63],            [5, -2**31, 0]),
    (f32,  u8,   [-1.5, 255.9, 256.0, NAN, math.inf],  [0, 255, 255, 0, 255]),
    (f32,  i32,  [2.0**31, -2.0**31, -1.9, -math.inf], [2**31 - 1, -2**31, -1, -2**31]),
    (f64,  i64,  [2.0**63, -2.0**63, 2.0**53 + 2],     [2**63 - 1, -2**63, 2**53 + 2]),
    (f64,  u64,  [2.0**64, 2.0**63, -0.5],             [2**64 - 1, 2**63, 0]),
    (f16,  i16,  [65504.0, -65504.0, 2.5],             [32767, -32768, 2]),
    (bf16, u16,  [65536.0, 1.5, -1.0],                 [65535, 1, 0]),
    (u64,  f32,  [2**64 - 1, 2**24 + 1, 2**24 + 3],    [2.0**64, 2.0**24, 2.0**24 + 4]),
    (i64,  f64,  [2**53 + 1, -2**63],                  [2.0**53, -2.0**63]),
    (u32,  f16,  [65519, 65520, 2049],                 [65504.0, math.inf, 2048.0]),
    (u64,  bf16, [257, 2**63 + 2**55 + 1, 2**64 - 1],  [256.0, 2.0**63 + 2.0**56, 2.0**64]),
    (i64,  bf16, [-2**63, -257, -258, -259],           [-2.0**63, -256.0, -258.0, -260.0]),
    (f64,  f32,  [1e300, 1e-46, 1 + 2**-24],           [math.inf, 0.0, 1.0]),
    (f64,  bf16, [1 + 2**-8, 1 + 2**-8 + 2**-40, 1e39], [1.0, 1 + 2**-7, math.inf]),
    (f64,  f16,  [2.0**-25, 2.0**-25 + 2.0**-60, -1e9], [0.0, 2.0**-24, -math.inf]),
    (f32,  bool_, [0.0, -0.0, NAN, 1e-45],             [False, False, True, True]),
    (u64,  bool_, [0, 2**63],                          [False, True]),
    (bool_, f16,  [True, False],                       [1.0, 0.0]),
    (bool_, i64,  [True, False],                       [1, 0]),
]
# fmt: on


@pytest.mark.parametrize(("source", "target", "values", "expected"), CASTS, ids=lambda x: getattr(x, "name", ""))
def test_casts(run, typed, source, target, values, expected):
    with program("cast", 1) as p:
        a = p.read("a", source)
        out = p.write("out", target, like=a)
        i = p.global_id(0)
        out[i] = a[i].cast(target)
    got = run(p.build(), {"a": typed(source, values)})["out"]
    assert got.tobytes() == typed(target, expected).tobytes()


def test_bitcasts_show_one_nan(run, typed):
    with program("bitcast", 1) as p:
        a, b = p.read("a", u32), p.read("b", u16)
        out, half, back = p.write("out", u32, like=a), p.write("half", u16, like=b), p.write("back", i16, like=b)
        with p.range(0, a.length) as i:
            out[i] = a[i].bitcast(f32).bitcast(u32)
        with p.range(0, b.length) as i:
            half[i] = b[i].bitcast(bf16).bitcast(u16)
            back[i] = b[i].bitcast(i16)
    inputs = {"a": typed(u32, [0xFFFFFFFF, 0x7F800001, 0x80000001]), "b": typed(u16, [0xFFC1, 0xFF80, 0x8001])}
    got = run(p.build(), inputs)
    assert got["out"].tolist() == [0x7FC00000, 0x7FC00000, 0x80000001]
    assert got["half"].tolist() == [0x7FC0, 0xFF80, 0x8001]
    assert got["back"].tolist() == [-63, -128, -32767]


def test_calls_mean_what_they_expand_to(run):
    with program("call", 4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        out[i] = build.call(GRAY.id, a[i])
    got = run(p.build(), {"a": np.array([0, 1, 2, 3, 4, 5], np.uint32)})["out"]
    assert got.tolist() == [0, 1, 3, 2, 6, 7]


def test_thirty_thousand_operators(run):
    with program("chain", 1) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, 1)
        value = p.let(a[0])
        total = value
        for _ in range(30_000):
            total = total + value
        out[0] = total
    assert run(p.build_unchecked(), {"a": np.array([3], np.uint32)})["out"].tolist() == [90_003]


def test_a_shared_node_is_evaluated_once(evaluate, plan_of):
    """Forty doublings of one node would take 2**40 steps as a tree."""
    node = literal(u64, 1)
    for _ in range(40):
        node = build.apply("add", build.Value(node), build.Value(node)).expr
    with program("shared", 1) as p:
        out = p.write("out", u64, 1)
        out[0] = build.Value(node)
    memory = {"out": bytearray(8)}
    evaluate(plan_of(p.build_unchecked(), {}), memory)
    assert int.from_bytes(memory["out"], "little") == 2**40
