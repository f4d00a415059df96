"""What LLVM is asked to do, and what it allocates."""

import subprocess
import sys

import pytest

from vyre_driver import DispatchConfig
from vyre_driver_cpu import compiler
from vyre_driver_cpu.ahead import assembly_ahead
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
