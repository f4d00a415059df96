"""What LLVM is asked to do, and what it allocates."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from vyre_driver import DispatchConfig
from vyre_driver_cpu import compiler
from vyre_driver_cpu.ahead import assembly_ahead
from vyre_driver_cpu.cpu import named
from vyre_driver_cpu.printer import DEEP
from vyre_driver_cpu.runtime import runtime_text
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import MAX_NESTING
from vyre_foundation.text import parse

resource = pytest.importorskip("resource", reason="the system does not say how much memory a process has had")

GROWTH = """
import resource, sys
from vyre_driver_cpu.compiler import optimized
from vyre_driver_cpu.cpu import host

TEXT = "define float @twice(float %x) {\\n %y = fmul float %x, 2.0\\n ret float %y\\n}"

def most_after(times):
    for _ in range(times):
        optimized(TEXT, host())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

before = most_after(20)
print(most_after(200) - before)
"""

RUNTIME_DYLD = """
import numpy as np
from vyre_driver import backend_for
from vyre_driver_cpu import compiler, runtime
from vyre_foundation.text import parse

compiler.HAS_JITLINK = False
program = parse('''program p workgroup(64, 1, 1) {
  read x: f32[] @0; write out: f32[len(x)] @1; private some: f32[4096];
  let i = global_id.x;
  for k in 0..4096 { some[k] = f32(k) * 0.5; }
  if i < len(x) { out[i] = x[i] * 1.25 + some[i % 4096]; }
}''')
x = np.arange(10_000, dtype=np.float32)
wanted = x * np.float32(1.25) + np.arange(10_000) % 4096 * np.float32(0.5)
assert np.array_equal(backend_for("cpu").dispatch_arrays(program, {"x": x})["out"], wanted)
assert runtime.pool.cache_info().currsize, "threads have taken part"
"""


def test_code_runs_where_llvmlite_has_no_jitlink() -> None:
    """On Windows it refuses to make a JIT compiler with JITLink: kernels and the pool of threads need the other one."""
    environment = {**os.environ, "VYRE_CACHE": "off", "VYRE_CPU_THREADS": "2"}
    subprocess.run([sys.executable, "-c", RUNTIME_DYLD], check=True, env=environment)


@pytest.mark.parametrize(
    ("platform", "triple"),
    [
        ("linux", "aarch64-unknown-linux-gnu"),
        ("darwin", "arm64-apple-darwin"),
        ("win32", "x86_64-pc-windows-msvc-elf"),
        ("win32", "aarch64-pc-windows-msvc-elf"),
    ],
)
def test_the_pool_compiles_for_every_system(platform: str, triple: str) -> None:
    x86, arm = named("x86-64-v3"), named("armv8")
    text = runtime_text(platform)
    code = compiler.compile_text(text, replace(x86 if triple.startswith("x86") else arm, triple=triple), level=0)
    calls = set(re.findall(r"^declare .*@(\w+)\(", text, re.MULTILINE))
    assert len(calls) > 5
    assert all(name.encode() in code for name in calls)


def test_passes_are_freed() -> None:
    """LLVM's pipeline has 31 KiB of passes, and about 70 KiB stay once it has run."""
    done = subprocess.run([sys.executable, "-c", GROWTH], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 200 * 16 * 1024


def test_a_long_text_is_not_optimized_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop in it stays a loop over single elements, which LLVM otherwise makes vectors of."""
    program = parse("""program p workgroup(64, 1, 1) { read x: u32[] @0; write out: u32[len(x)] @1;
        let i = global_id.x; if i < len(x) { out[i] = x[i] * x[i]; } }""")
    short = assembly_ahead("x86-64-v3", program, DispatchConfig())
    monkeypatch.setattr(compiler, "LONG_TEXT", 0)
    long = assembly_ahead("x86-64-v3", program, DispatchConfig())
    assert (b"vpmulld" in short, b"vpmulld" in long, b"imull" in long) == (True, False, True)


def nest(depth: int) -> Program:
    """Loops inside of each other, with a condition and a region around each."""
    head, end = 'for k{0} in 0..x[i] {{ if x[i] != {0} + 2 {{ region "r{0}" {{', "} } }"
    loops = "".join(head.format(n) for n in range(depth))
    return parse(f"""program p workgroup(64, 1, 1) {{ read x: u32[] @0; write out: u32[len(x)] @1;
        let i = global_id.x; var sum = 1:u32;
        {loops} sum = sum * 3; {end * depth} if i < len(x) {{ out[i] = sum; }} }}""")


@pytest.mark.parametrize(("depth", "wholly"), [(1, True), (DEEP - 1, True), (DEEP, False), (MAX_NESTING // 3, False)])
def test_deep_loops_are_not_optimized_as_a_whole(monkeypatch: pytest.MonkeyPatch, depth: int, wholly: bool) -> None:
    """The loop over the invocations of a workgroup is one of them."""
    runs = []
    monkeypatch.setattr(compiler, "_optimize", lambda *given: runs.append(given))
    assembly_ahead("x86-64-v3", nest(depth), DispatchConfig())
    assert bool(runs) == wholly


@pytest.mark.parametrize("depth", [DEEP - 1, DEEP, MAX_NESTING // 3])
def test_deep_loops_are_right(agree, depth: int) -> None:
    agree(nest(depth), [np.array([0, 1, 3, 1, 4], np.uint32)])


FLAGS = parse("""program p workgroup(64, 1, 1) {
  read x: u32[] @0; read y: u32[len(x)] @1; write out: u32[len(x)] @2;
  let i = global_id.x;
  if i < len(x) {
    let low = u32((x[i] == 7) & (y[i] == 3)) | (u32((x[i] == 9) & (y[i] > 1)) << 8);
    out[i] = low | (u32((x[i] > 3) & (y[i] < 5)) << 30);
  }
}""")


def test_a_kernel_is_compiled_once() -> None:
    """What runs a whole launch jumps to the function that runs a part of it."""
    code = assembly_ahead("x86-64-v3", FLAGS, DispatchConfig())
    whole, _, _ = code.partition(b"kernel_0_whole:")[2].partition(b"func_end")
    assert re.search(rb"\bjmp\s+_?kernel_0\b", whole)


def test_flags_are_masked_and_not_shifted() -> None:
    code = assembly_ahead("x86-64-v3", FLAGS, DispatchConfig())
    assert (b"vpslld" in code, b"vpand" in code) == (False, True)


def test_llvm_shifts_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """When this fails, LLVM masks them by itself, and `_masked_bits` has nothing to do."""
    monkeypatch.setattr(compiler, "_masked_bits", lambda module: module)
    assert b"vpslld" in assembly_ahead("x86-64-v3", FLAGS, DispatchConfig())


def test_masked_flags_are_right(agree) -> None:
    agree(FLAGS, [np.arange(100, dtype=np.uint32) % 13, np.arange(100, dtype=np.uint32) % 7])
