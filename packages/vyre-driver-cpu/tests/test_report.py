"""Which kernels become vectors, counted in their code; and what is counted."""

from dataclasses import replace

import pytest

from vyre_driver.engine.lowering import lowered_for
from vyre_driver_cpu.compiler import assembly
from vyre_driver_cpu.cpu import named, tuned
from vyre_driver_cpu.dialect import target_of
from vyre_driver_cpu.printer import print_module
from vyre_driver_cpu.report import VectorReport, vector_reports
from vyre_driver_cpu.spelling import Spellings, spellings, spellings_of
from vyre_foundation.text import parse
from vyre_foundation.validate import validate

X86 = """\
kernel_0_body:
\tvaddps\t%zmm1, %zmm2, %zmm3
.Lfunc_end0:
kernel_0:
\t.cfi_startproc
\tmovq\t(%rdi), %rax
\tvpgatherdd\t(%rax,%zmm0,4), %zmm1 {%k1}
\tvmulps\t%zmm1, %zmm2, %zmm1
\tvpaddd\t%ymm1, %ymm2, %ymm1
\tvaddss\t%xmm0, %xmm1, %xmm0
\tpxor\t%xmm0, %xmm0
\tvpscatterdd\t%zmm1, (%rax,%zmm0,4) {%k2}
\tretq
.Lfunc_end1:
"""
ARM = """\
_kernel_0:
\tldr\tx8, [x0]
\tadd.4s\tv0, v1, v2
\tfadd\tv0.4s, v0.4s, v1.4s
\tfadd\ts0, s1, s2
\tret
\t.cfi_endproc
"""
BODIES = {
    "adds":      "out[global_id.x] = x[global_id.x] * 3 + 1;",
    "branches":  "if x[global_id.x] > 7 { out[global_id.x] = 1; } else { out[global_id.x] = x[global_id.x] * 5; }",
    "loops":     "var a = x[global_id.x]; for k in 0..50 { a = a * 7 + k; } out[global_id.x] = a;",
    "exchanges": "w[local_id.x] = x[global_id.x]; barrier workgroup; "
                 "out[global_id.x] = w[63 - local_id.x] ^ w[local_id.x] * 3;",
}  # fmt: skip


def test_what_is_counted_on_x86() -> None:
    assert list(vector_reports(X86)) == [VectorReport("kernel_0", 9, 6, 512, 1, 1, 2)]


def test_what_is_counted_on_arm() -> None:
    assert list(vector_reports(ARM)) == [VectorReport("kernel_0", 5, 2, 128, 0, 0, 0)]


def test_a_report_can_be_read() -> None:
    assert str(VectorReport("kernel_0", 200, 50, 256, 3, 0, 7)) == (
        "kernel_0: 200 instructions, 25 % on vectors of up to 256 bits; 3 gathers, 0 scatters, 7 masked"
    )
    assert str(VectorReport("kernel_0", 20, 0, 0, 0, 0, 0)) == "kernel_0: 20 instructions, none of them on vectors"


NARROW, WIDE = (spellings(has_half=True, vector_bits=bits) for bits in (128, 512))


def text_of(source: str, words: Spellings = NARROW) -> str:
    """LLVM IR in these words."""
    text, _ = print_module(lowered_for(target_of("cpu", words), validate(parse(source))), words)
    return text


def report_of(source: str, cpu: str) -> VectorReport:
    (report,) = vector_reports(assembly(text_of(source, spellings_of(named(cpu))), named(cpu)))
    return report


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(("cpu", "width"), [("x86-64-v3", 256), ("apple-m1", 128)])
def test_workgroups_become_vectors(name: str, cpu: str, width: int) -> None:
    source = f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  {"workgroup w: u32[64];" if "w[" in BODIES[name] else ""}
  {BODIES[name]}
}}
"""
    report = report_of(source, cpu)
    assert report.width == width
    assert report.vectors >= 3


@pytest.mark.parametrize(("model", "width"), [("skylake-avx512", 256), ("emeraldrapids", 512), ("znver4", 256)])
def test_streams_have_vectors_as_wide_as_a_cpu_is_fast_with(model: str, width: int) -> None:
    cpu = tuned(replace(named("x86-64-v4"), model=model))
    source = f"""\
program p workgroup(64, 1, 1) {{
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  {BODIES["adds"]}
}}
"""
    (report,) = vector_reports(assembly(text_of(source, spellings_of(cpu)), cpu))
    assert report.width == width


def test_a_loop_over_a_long_private_array_is_not_unrolled() -> None:
    """Registers cannot hold the array, so unrolling would only make more code."""
    source = """\
program offsets workgroup(1, 1, 1) {
  read x: u32[] @0;
  write out: u32[1] @1;
  private counts: u32[256];

  for i in 0..len(x) {
    counts[x[i] & 255] = counts[x[i] & 255] + 1;
  }
  var total = 0;
  for k in 0..256 {
    let n = counts[k];
    counts[k] = total;
    total = total + n;
  }
  out[0] = counts[x[0] & 255];
}
"""
    assert report_of(source, "x86-64-v3").instructions < 300


IN_PLACE = """\
program p workgroup(64, 1, 1) {{
  read_write y: f32[] @0;
  uniform k: u32[1] @1;
  let i = global_id.x;
  if (i < len(y)) & (i != k[0]) {{ {body} }}
}}
"""


@pytest.mark.parametrize(
    ("body", "is_apart"),
    [
        ("y[i] = min(y[i], y[k[0]] + y[i + k[0]]);", True),
        ("y[i] = y[k[0]]; y[i] = y[i] + y[k[0] + 1];", False),
        ("y[i] = y[i] * 3.0;", False),
    ],
)
def test_accesses_in_place_are_said_to_be_apart(body: str, is_apart: bool) -> None:
    """Where all of an invocation's loads come before its store: LLVM does not keep them in order otherwise."""
    assert (", !llvm.access.group" in text_of(IN_PLACE.format(body=body))) is is_apart


def test_memory_that_is_changed_in_place_becomes_vectors() -> None:
    report = report_of(IN_PLACE.format(body="y[i] = min(y[i], y[k[0]] + 1.0);"), "x86-64-v3")
    assert report.width == 256
    assert 4 * report.vectors > report.instructions


@pytest.mark.parametrize(
    ("body", "is_combined"),
    [
        ("if x[global_id.x] > 7 { atomic add(seen[0], 1); }", True),
        ("atomic max(seen[0], x[global_id.x]);", True),
        ('if x[global_id.x] > 7 { trap(x[global_id.x], "large"); }', True),
        ("atomic add(seen[x[global_id.x]], 1);", False),
        ("if x[x[global_id.x]] > 7 { atomic add(seen[0], 1); }", False),
        ("if x[global_id.x] > 7 { let old = atomic add(seen[0], 1); seen[old + 1] = 1; }", False),
    ],
)
def test_atomics_of_lanes_that_go_to_one_element_are_combined(body: str, is_combined: bool) -> None:
    """Where nothing is gathered beside them, which takes as long."""
    source = f"program p workgroup(64, 1, 1) {{ read x: u32[] @0; read_write seen: u32[] @1; {body} }}"
    assert ("llvm.vector.reduce" in text_of(source)) is is_combined


@pytest.mark.parametrize(
    ("body", "is_vector"),
    [
        ("let a = x[i]; for k in 0..n[i] { out[a + k] = a; }", False),
        ("var a = 0; for k in 0..n[i] { a = a ^ (n[a] + k); } out[i] = a;", True),
        ("var a = 0; for k in 0..99 { if b[x[i] + k] > 3 { break; } a = k; } out[i] = a;", False),
        ("var a = 0; for k in 0..99 { if n[x[i] + k] > 3 { break; } a = k; } out[i] = a;", True),
    ],
)
def test_elements_that_lanes_move_alone_make_no_vectors(body: str, is_vector: bool) -> None:
    """In loops that lanes leave at different iterations: stores anywhere, and loads that nothing gathers."""
    buffers = "read x: u32[] @0; read n: u32[] @1; read b: u8[] @2; read_write out: u32[] @3;"
    source = f"program p workgroup(64, 1, 1) {{ {buffers} let i = global_id.x; if i < len(x) {{ {body} }} }}"
    assert ("<16 x i32>" in text_of(source, WIDE)) is is_vector
