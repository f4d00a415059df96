"""Loops along rows: each invocation walks along its own, and vectors load and store whole pieces of them."""

import re

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.lowering import lowered_for
from vyre_driver_cpu.dialect import target_of
from vyre_driver_cpu.lane_rows import ROWS
from vyre_driver_cpu.printer import print_module
from vyre_driver_cpu.rows import STRIP
from vyre_driver_cpu.spelling import spellings
from vyre_foundation.dtype import DType, f32, f64, i16, u8, u16, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse
from vyre_foundation.validate import validate

NUMBER = 150
"""The last workgroup of 64 is not whole."""
# `n` is the width of a row and the first element that is wanted of it.
BODIES = {
    "a known width":        "for k in 0..40 { a = a * {T}(3) + x[i * 40 + k]; }",
    "a known width, a rest": "for k in 0..37 { a = a * {T}(3) + x[i * 37 + k]; }",
    "a given width":        "for k in 0..n[0] { a = a * {T}(3) + x[i * n[0] + k]; }",
    "the row last":         "for k in 0..n[0] { a = a * {T}(3) + x[k + n[0] * i]; }",
    "not from the first":   "for k in n[1]..n[0] { a = a * {T}(3) + x[i * n[0] + k]; }",
    "two rows":             "for k in 0..n[0] { a = a * {T}(3) + x[i * n[0] + k] - y[i * n[0] + k]; }",
    "the same for all":     "for k in 0..n[0] { a = a + x[i * n[0] + k] * x[k]; }",
    "a row and a column":   "for k in 0..n[0] { a = a + x[i * n[0] + k] * x[k * 150 + i]; }",
    "an element and the one before": "for k in 1..n[0] { a = a * {T}(3) + x[i * n[0] + k] - x[i * n[0] + k - 1]; }",
    "rows that are written": "for k in 0..n[0] { a = a + x[i * n[0] + k]; rows[i * n[0] + k] = a; }",
    "written backwards":    "for k in 0..n[0] { a = a + x[i * n[0] + k]; rows[i * n[0] + (n[0] - 1 - k)] = a; }",
    "written in place":     "for k in 0..n[0] { rows[i * n[0] + k] = x[i * n[0] + k]; a = a + rows[i * n[0] + k]; }",
    "a loop in a loop":     "for j in 0..3 { for k in 0..n[0] { a = a * {T}(3) + x[(i * 3 + j) * n[0] + k]; } }",
    "one behind the other": """for k in 0..n[0] { a = a * {T}(3) + x[i * n[0] + k]; }
                               for m in 0..n[0] { a = a * {T}(5) - x[i * n[0] + m]; }""",
    "a place that moves":   """var b = i * n[0];
                               for k in 0..n[0] { a = a * {T}(3) + x[b]; b = b + 1; }""",
    "pieces that move":     """var b = i;
                               for k in 0..n[0] { let c = b + n[0]; a = a * {T}(3) + x[c]; b = b * 3 & 63;
                                 a = a + x[b] * {T}(5) + x[b + 1] + x[b + 2] * {T}(3) + x[b + 3]; }""",
    "two variables":        """var c = {T}(1);
                               for k in 0..n[0] { let e = x[i * n[0] + k]; c = a + c * e; a = c - e; } a = a + c;""",
    "steps of two":         "for k in 0..n[0] step 2 { a = a * {T}(3) + x[i * n[0] + k]; }",
    "a branch":             "for k in 0..n[0] { if x[i * n[0] + k] > a { a = x[i * n[0] + k]; } }",
    "a selection":          "for k in 0..n[0] { a = select(x[i * n[0] + k] > a, x[i * n[0] + k], a); }",
    "a break":              "for k in 0..n[0] { if x[i * n[0] + k] == a { break; } a = a * {T}(3) + x[i * n[0] + k]; }",
    "places from memory":   "for k in 0..40 { a = a * {T}(3) + x[u32(starts[i]) + k]; }",
    "checked places":       """if starts[i] < 90 { for k in 0..40 {
                               a = a * {T}(3) + x[u64(starts[i]) * u64(40) + u64(k)]; } }""",
    "an end of its own":    "for k in 0..n[0] + (i & 7) { a = a * {T}(3) + x[i * n[0] + k]; }",
    "an index that wraps":  "for k in 0..n[0] { a = a * {T}(3) + x[i * n[0] + (k + 4294967290)]; }",
}  # fmt: skip
WIDTHS = [(0, 0), (1, 0), (15, 3), (16, 16), (17, 1), (33, 20), (100, 5)]


def of(name: str, t: DType) -> Program:
    return parse(f"""\
program rows workgroup(64, 1, 1) {{
  read x: {t}[] @0;
  read y: {t}[] @1;
  read n: u32[2] @2;
  read starts: u8[{NUMBER}] @3;
  write out: {t}[{NUMBER}] @4;
  read_write rows: {t}[] @5;
  let i = global_id.x;
  if i < {NUMBER} {{
    var a = {t}(1);
    {BODIES[name].replace("{T}", str(t))}
    out[i] = a;
  }}
}}
""")


def text_of(program: Program, bits: int = 512) -> str:
    words = spellings(has_half=True, vector_bits=bits)
    return print_module(lowered_for(target_of("cpu", words), validate(program)), words)[0]


TYPES = [u8, i16, u64, f32, f64]
"""Each body has one of them, beside u32, in the tests that are not slow."""


@pytest.mark.parametrize(
    ("name", "t"),
    [
        pytest.param(name, t, marks=() if t in (u32, TYPES[number % len(TYPES)]) else pytest.mark.slow)
        for number, name in enumerate(BODIES)
        for t in (u32, *TYPES)
    ],
    ids=str,
)
def test_rows_are_those_of_the_reference(name: str, t: DType, agree) -> None:
    random = np.random.default_rng(3)
    if name.startswith("a known") or name in ("places from memory", "checked places"):
        widths = [(int(re.findall(r"0\.\.(\d+)", BODIES[name])[0]), 0)]
    else:
        widths = WIDTHS if t is u32 else WIDTHS[-3:]
    program = of(name, t)
    for width, first in widths:
        for size in (3 * NUMBER * width, NUMBER * width - 7):
            x, y = (random.integers(0, 100, max(size, 1)).astype(t.numpy) for _ in range(2))
            given = [
                x,
                y,
                np.array([width, first], np.uint32),
                random.integers(0, 100, NUMBER).astype(np.uint8),
                y[::-1].copy(),
            ]
            agree(program, given, DispatchConfig(grid_override=(3, 1, 1)))


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("t", [u8, u16, u32, u64, f32, f64], ids=str)
@pytest.mark.parametrize(
    "name", ["a known width", "a given width", "the row last", "the same for all", "two variables"]
)
def test_pieces_of_rows_are_loaded(name: str, t: DType, bits: int) -> None:
    """Pieces as long as there are lanes, each of which is fetched ahead."""
    lanes = (min(bits, 256) if name == "a known width" else bits) // max(32, t.bits)
    assert text_of(of(name, t), bits).count("call void @llvm.prefetch") == (STRIP if lanes in ROWS else 0)


@pytest.mark.parametrize(("stride", "distance"), [(40, 320), (512, 4096), (513, 16), (4000, 16)])
def test_rows_are_fetched_ahead_by_a_vector_where_the_cache_has_them_all(stride: int, distance: int) -> None:
    """Eight rows of 2 KiB are 16 KiB. Of longer ones the next strip is fetched."""
    text = text_of(parse(str(of("a known width", u32)).replace("* 40 +", f"* {stride} +")))
    ahead = r"(%\w+) = getelementptr i32, ptr %\w+, i64 (\d+)\n  call void @llvm.prefetch\.p0\(ptr \1,"
    assert {int(found) for _, found in re.findall(ahead, text)} == {distance}


FIRST = {
    "from memory":      "u64(x[i])",
    "the same for all": "u64(starts[0])",
    "the invocation":   "u64(i)",
    "bits of it":       "u64(i ^ starts[0])",
    "a product":        "u64(i) * u64(starts[0])",
    "taken apart":      "u64(i >> 1 << 2 | (i & 1))",
}  # fmt: skip


@pytest.mark.parametrize("name", FIRST)
def test_sums_of_the_same_are_looked_at_once(name: str, agree) -> None:
    """Each is the double of the one before: written out, they would be 2**60 terms."""
    doubled = "\n".join(f"let c{n} = c{n - 1} + c{n - 1};" for n in range(1, 61))
    program = parse(f"""\
program doubles workgroup(64, 1, 1) {{
  read x: u32[] @0;
  read starts: u32[4] @1;
  write out: u32[len(x)] @2;
  let i = global_id.x;
  let c0 = {FIRST[name]};
  {doubled}
  var a = x[c60];
  for k in 0..16 {{ a = a * 3 + x[c60 + u64(k)]; }}
  for m in 0..starts[1] {{ a = a * 3 + x[c60 + u64(m)]; }}
  out[i] = a + x[c60 >> u64(60)];
}}
""")
    x = np.arange(4096, dtype=np.uint32) % 3
    agree(program, [x, np.array([3, 20, 0, 0], np.uint32)], DispatchConfig(grid_override=(64, 1, 1)))
