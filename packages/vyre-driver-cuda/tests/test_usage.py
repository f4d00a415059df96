"""What kernels take of the GPU, as the assembler reports it. The benchmarks' kernels need registers alone."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import Compiled
from vyre_driver_cuda.emit import CudaSource
from vyre_driver_cuda.usage import ResourceUsage, usage
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

Source = Callable[..., CudaSource]
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
ARCHITECTURES = ("sm_80", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sm_90", "sm_100")), "sm_120")
"""The oldest and the newest by default."""


@pytest.fixture(autouse=True)
def compiler(compiled: Callable[..., Compiled]) -> None:
    """Every test here compiles something."""


def test_workgroup_memory_is_counted(source: Source) -> None:
    with program("shared", 64) as p:
        a, out = p.read("a", u32), p.write("out", u32, 64)
        shared = p.workgroup("shared", u32, 64)
        shared[p.local_id()] = a[p.global_id()]
        p.barrier()
        out[p.global_id()] = shared[63 - p.local_id()]
    found = usage(source(p.build()), Architecture(9, 0))["shared"]
    assert (found.stack, found.spilled, found.shared) == (0, 0, 256)
    assert 4 <= found.registers <= 32


def test_private_arrays_that_registers_cannot_hold_are_seen(source: Source) -> None:
    with program("indexed", 64) as p:
        a, out = p.read("a", u32), p.write("out", u32, 64)
        kept = p.private("kept", u32, 16)
        with p.range(0, a.length) as i:
            kept[a[i] & 15] = i
        out[p.global_id()] = kept[a[p.global_id()] & 15]
    found = usage(source(p.build()), Architecture(9, 0))
    assert found["indexed"].stack >= 64
    assert found["indexed"].spilled == 0


def workloads() -> dict[str, Program]:
    if not BENCHMARKS.is_dir():
        return {}
    sys.path.insert(0, str(BENCHMARKS))
    try:
        loads = import_module("workloads").WORKLOADS
    finally:
        sys.path.remove(str(BENCHMARKS))
    return {name: load.make(load.toy).program for name, load in loads.items()}


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are not beside this package")
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_benchmarks_stay_in_registers(name: str, source: Source) -> None:
    found = {kernel: use for p in workloads().values() for kernel, use in _usage(source, p, name).items()}
    assert len(found) > 20
    assert {kernel: use for kernel, use in found.items() if use.spilled or use.stack} == {}


def _usage(source: Source, program: Program, architecture: str) -> dict[str, ResourceUsage]:
    return usage(source(program, architecture), Architecture.parse(architecture))
