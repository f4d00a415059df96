"""The compiler gives back what LLVM allocates."""

import subprocess
import sys

import pytest

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
