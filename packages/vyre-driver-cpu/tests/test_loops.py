"""Which loops are unrolled."""

import sys
from contextlib import ExitStack

import numpy as np
import pytest

from vyre_driver import DispatchConfig
from vyre_driver_cpu.ahead import assembly_ahead, source_ahead
from vyre_driver_cpu.loops import is_better_unrolled
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import For
from vyre_foundation.text import parse


def nested(*trips: int) -> list[For]:
    """Loops in each other, the outermost first; the innermost computes four operations that wait for each other."""
    with program("nested", workgroup_size=1) as p:
        out = p.write("out", u32, 1)
        value = p.var(3, u32)
        with ExitStack() as blocks:
            counters = [blocks.enter_context(p.range(0, number)) for number in trips]
            value.set((value * 5 ^ counters[-1]) + counters[0] * 7)
        out[0] = value
    return list(p.build().of(For))


@pytest.mark.parametrize(
    ("trips", "expected"),
    [
        ((16,), [True]),
        ((4000,), [False]),
        ((4, 8), [True, True]),
        ((16, 32), [False, True]),  # each is short alone, both together are not
        ((16, 4000), [True, False]),  # the code has the inner loop sixteen times
        ((16, 4, 32), [False, True, True]),
        ((2,) * 40, [False] * 33 + [True] * 7),
    ],
)
def test_the_unrolled_code_of_nested_loops_is_bounded(trips: tuple[int, ...], expected: list[bool]) -> None:
    assert list(map(is_better_unrolled, nested(*trips))) == expected


def search(trips: int) -> Program:
    """Rows of bytes whose loop ends at a product that is 3: a `break` that LLVM joins with the end of the loop."""
    return parse(f"""program search workgroup(1, 1, 1) {{
  read x: u8[] @0;
  read n: u32[2] @1;
  write out: u8[2] @2;
  let t0 = global_id.x;
  var v1 = 1:u8;
  var v2 = 2:u8;
  %0 = len(x) - 1 - t0 % 5 * n[0];
  for i2 in 0..n[0] + (t0 & 3) {{
    for i3 in 0..{trips} {{
      v2 = v2 * 0;
      let t16 = v1;
      v1 = t16 + u8(i2);
      if x[t0 * n[0] + i3] * x[%0 - i3] == 3 {{
        break;
      }}
    }}
  }}
  out[t0] = v1 + v2;
}}""")


@pytest.mark.parametrize("trips", [8, 9, 39])
def test_llvm_is_not_asked_for_what_it_cannot_unroll(trips: int, capfd: pytest.CaptureFixture[str]) -> None:
    config = DispatchConfig(grid_override=(2, 1, 1))
    assembly_ahead("host", search(trips), config)
    assert capfd.readouterr().err == ""


def test_a_jump_of_an_inner_loop_does_not_keep_the_outer_one() -> None:
    with program("inner_jump", workgroup_size=1) as p:
        x, out = p.read("x", u32, 16), p.write("out", u32, 1)
        value = p.var(3, u32)
        with p.range(0, 12):
            with p.range(0, 12) as i:
                value.set(value * 5 ^ x[i])
                with p.if_(value == 7):
                    p.break_()
            value.set(value * 3)
        out[0] = value
    assert list(map(is_better_unrolled, p.build().of(For))) == [True, False]


def calls_to_print(assignments: int) -> int:
    """The number of calls of functions that emit LLVM IR for a program with `assignments` assignments."""
    with program("assignments", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        value = p.var(x[p.global_id(0)])
        for number in range(assignments):
            value.set((value ^ number) * 7)
        out[p.global_id(0)] = value
    made, calls = p.build(), 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        source_ahead("host", made, DispatchConfig(grid_override=(4, 1, 1)))
    finally:
        sys.setprofile(before)
    return calls


def test_work_grows_with_the_number_of_assignments_and_not_with_its_square() -> None:
    calls_to_print(10)
    assert calls_to_print(800) < 6 * calls_to_print(200)


@pytest.mark.parametrize("word", ["break;", "continue;", "return;"])
def test_any_number_of_jumps_may_follow_each_other(word: str) -> None:
    jumps = "".join(f"if a[k] == {n} {{ {word} }} x = x + a[k];" for n in range(300))
    text = f"""program jumps workgroup(64, 1, 1) {{ read a: u32[] @0; write out: u32[4096] @1;
        var x = 0; for k in 0..a[0] {{ {jumps} }} out[global_id.x] = x; }}"""
    assert source_ahead("x86-64-v3", parse(text), DispatchConfig()).count(b" br i1 ") >= 300


def edges(body: str) -> Program:
    """A loop for each invocation, whose ends are in memory."""
    return parse(f"""program edges workgroup(64, 1, 1) {{
  read ends: u32[65] @0; read x: u32[] @1; write out: u32[64] @2;
  let i = local_id.x;
  var found = 0;
  for k in ends[i]..ends[i + 1] {{ {body} }}
  out[i] = found;
}}""")


@pytest.mark.parametrize(
    ("body", "has_copy"),
    [
        ("if x[x[k]] == 77 { found = k; break; }", True),
        ("if x[x[k]] == 77 { found = k; break; }" + "found = found * 3 ^ x[found];" * 20, False),  # it is large
        ("for j in x[k]..x[k + 1] { found = found * 3 ^ x[j]; }", False),  # each of many short ones is counted
    ],
)
def test_small_loops_have_a_copy_that_does_not_ask(body: str, has_copy: bool) -> None:
    source = source_ahead("x86-64-v3", edges(body), DispatchConfig())
    assert (b"\nshort" in source, b"ask_host" in source) == (has_copy, True)


def test_short_and_long_executions_agree(agree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are in one workgroup, and both end by a break and at their end."""
    monkeypatch.setenv("VYRE_CACHE", "off")
    monkeypatch.setattr("vyre_driver_cpu.statements.chunk_of", lambda loop: None if loop.is_parallel else 640)
    lengths = np.array([0, 1, 9, 10, 11, 30, 700, 2000] * 8, np.uint32)  # as many as ten are not counted
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    for places in (1, 37, 5000):
        x = np.arange(ends[-1], dtype=np.uint32)
        x[::places] = 77
        agree(edges("if x[x[k]] == 77 { found = k; break; }"), [ends, x])
