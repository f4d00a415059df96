"""What a program needs and touches."""

import pytest

from vyre_foundation.text import parse
from vyre_foundation.validate import Feature, Usage, validate

BUFFERS = "read a: u32[] @0; read_write b: u32[] @1; write c: u32[4] @2; workgroup w: u32[4];"


def facts(body="", declarations=BUFFERS, launch="workgroup(4, 1, 1) subgroup(4)"):
    return validate(parse(f"program p {launch} {{ {declarations} {body} }}"))


@pytest.mark.parametrize(
    ("body", "declarations", "needed"),
    [
        ("let x = a[0]; let y = f32(x); let z = u8(x); let s = i16(x);", BUFFERS, set()),
        ("let x = f16(a[0]);", BUFFERS, {Feature.F16}),
        ("", "read h: bf16[] @0;", {Feature.BF16}),
        ("if 1.0:f64 < 2.0:f64 { }", BUFFERS, {Feature.F64}),
        ("let x = i64(a[0]);", BUFFERS, {Feature.INT64}),
        ("atomic add(q[0], 1);", "workgroup q: u64[4];", {Feature.INT64, Feature.ATOMIC64}),
        ("let x = subgroup_lane();", BUFFERS, {Feature.SUBGROUP}),
        ("subgroup any(true);", BUFFERS, {Feature.SUBGROUP}),
        ("subgroup ballot(true);", BUFFERS, {Feature.SUBGROUP, Feature.INT64}),
        ("barrier workgroup;", BUFFERS, set()),
        ("barrier grid;", BUFFERS, {Feature.GRID_BARRIER}),
        ('if false { trap(1, "x"); }', BUFFERS, {Feature.TRAP}),
        ("indirect_dispatch a[0];", BUFFERS, {Feature.INDIRECT_DISPATCH}),
        ("", "persistent k: u32[4] @0;", {Feature.PERSISTENT}),
    ],
)
def test_features(body, declarations, needed):
    assert facts(body, declarations).features == needed


@pytest.mark.parametrize(
    ("body", "usage"),
    [
        ("", {}),
        ("let x = a[b[0]] + len(c);", {"a": Usage(loads=True), "b": Usage(loads=True)}),
        ("for i in 0..4 { c[i] = 1; }", {"c": Usage(stores=True)}),
        ("atomic add(b[a[0]], 1); b[0] = 2;", {"a": Usage(loads=True), "b": Usage(stores=True, atomics=True)}),
        ("indirect_dispatch a[0];", {"a": Usage(loads=True)}),
    ],
)
def test_usage_of_every_buffer(body, usage):
    assert facts(body).usage == {"a": Usage(), "b": Usage(), "c": Usage(), "w": Usage()} | usage


def test_every_expression_has_a_level_and_every_integer_bounds():
    found = facts("let x = f32(a[global_id.x] + 1) * 0.5; if x < 1.0 { c[0] = 1; }")
    assert {e for e in found.uniformity if e.dtype.is_integer} == set(found.ranges)
    assert len(found.uniformity) == 11
