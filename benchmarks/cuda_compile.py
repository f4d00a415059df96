"""What it costs to make CUDA code of the kernels here, where there is no GPU: lowering and text, then NVRTC.

    python benchmarks/cuda_compile.py [sm_90]

prints a table. NVRTC keeps nothing, so every compilation is a cold one; the first of a process pays for the library.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from workloads import WORKLOADS

from vyre_driver.engine.lowering import lowered_for
from vyre_driver_cuda.api import nvrtc_version
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import compile_unit
from vyre_driver_cuda.dialect import dialect_of
from vyre_driver_cuda.emit import CudaSource, emit
from vyre_driver_cuda.usage import usage
from vyre_foundation.ir.program import Program

ROUNDS = 5
FIRST = """
import time
from vyre_driver_cuda import compiler, architecture
began = time.perf_counter()
compiler.nvrtc()
loaded = time.perf_counter()
compiler.compile_text('extern "C" __global__ void k(float *x) { x[0] = 1; }', architecture.Architecture(9, 0))
print(loaded - began, time.perf_counter() - loaded)
"""


def main(name: str = "sm_90") -> None:
    architecture = Architecture.parse(name)
    loaded, first = (median(samples) for samples in zip(*[_first() for _ in range(ROUNDS)], strict=True))
    print(f"NVRTC {nvrtc_version()}, {architecture}, no GPU: compile only. Medians of {ROUNDS} runs.")
    print(f"Loading the library {1000 * loaded:.0f} ms, the first compilation of a process {1000 * first:.0f} ms.\n")
    print("| program | lower and print | compile | machine code | registers |\n| --- | --: | --: | --: | --: |")
    for title, load in WORKLOADS.items():
        program = load.make(load.toy).program
        printed, unit = _timed(lambda program=program: _emitted(program, architecture))
        compiled, code = _timed(lambda unit=unit: compile_unit(unit, architecture))
        registers = max(use.registers for use in usage(unit, architecture).values())
        print(f"| {title} | {printed:.1f} ms | {compiled:.0f} ms | {len(code.cubin) / 1024:.1f} KiB | {registers} |")


def _emitted(program: Program, architecture: Architecture) -> CudaSource:
    dialect = dialect_of(architecture)
    return emit(lowered_for(dialect.target(), program.validate()), dialect)


def _timed(make: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds, and what was made."""
    times, made = [], None
    for _ in range(ROUNDS):
        began = time.perf_counter()
        made = make()
        times.append(time.perf_counter() - began)
    return 1000 * median(times), made


def _first() -> tuple[float, float]:
    """Seconds until the library is there, and for the first compilation, in a process of its own."""
    ran = subprocess.run([sys.executable, "-P", "-c", FIRST], check=True, capture_output=True, text=True)
    loaded, compiled = map(float, ran.stdout.split())
    return loaded, compiled


if __name__ == "__main__":
    main(*sys.argv[1:])
