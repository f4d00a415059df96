"""Programs of the conformance suite and random ones become PTX and machine code, for GPUs that are not here.

The tests take a sample, each program for another architecture; ``tox -e conform-cuda-compile`` takes every case for
all of them, and more random programs.
"""

import re
from collections.abc import Callable, Iterator

import pytest

from vyre_conform.case import Spec
from vyre_conform.testing import cells
from vyre_driver.plan.launch import with_workgroup_size
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import compile_unit
from vyre_driver_cuda.emit import CudaSource
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program

Source = Callable[..., CudaSource]

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
SAMPLE = 72
"""Of so many cases one is compiled by the tests."""
SUITE = cells(fuzz=24, seed=6)
PARTS = 8


def programs(specs: list[Spec]) -> Iterator[tuple[str, Program]]:
    """The programs of cases, in the workgroups that they are launched with; cases of refusals have none."""
    for spec in specs:
        launch = spec.case(0).launch
        try:
            program = with_workgroup_size(launch.program, launch.workgroup)
            program.validate()
        except VyreError:
            continue
        yield str(spec.address), program


@pytest.mark.parametrize("number", range(len(ARCHITECTURES)), ids=ARCHITECTURES.__getitem__)
@pytest.mark.usefixtures("compiled")
def test_a_sample_compiles(number: int, source: Source) -> None:
    specs = SUITE[number * SAMPLE // len(ARCHITECTURES) :: SAMPLE]
    require_all(specs, ARCHITECTURES[number], source)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("compiled")
def test_everything_compiles(part: int, architecture: str, source: Source) -> None:
    specs = cells(fuzz=200, seed=6)
    require_all(specs[part * len(specs) // PARTS : (part + 1) * len(specs) // PARTS], architecture, source)


def require_all(specs: list[Spec], architecture: str, source: Source) -> None:
    """Each text once: neighbours among the cases differ in their inputs alone. Barriers of the grid are between the
    launches and inside of one."""
    seen: set[str] = set()
    for address, program in programs(specs):
        for unit in (source(program, architecture), source(program, architecture, cooperative=True)):
            if unit.text not in seen:
                seen.add(unit.text)
                require(address, unit, architecture)
    assert seen


def require(address: str, unit: CudaSource, architecture: str) -> None:
    """Machine code with every kernel in it, fused where the text says so and nowhere else."""
    code = compile_unit(unit, Architecture.parse(architecture))
    assert code.cubin.startswith(b"\x7fELF"), address
    assert set(re.findall(r"\.entry (\w+)\(", code.ptx)) == set(unit.kernels), address
    for name, word in (("f32", "__fmaf_rn"), ("f64", "__fma_rn")):
        assert (f"fma.rn.{name}" not in code.ptx) or word in unit.text, f"{address}: contracted"
    assert ("atom.add.acq_rel.gpu" in code.ptx) == bool(unit.cooperative), f"{address}: barriers of the grid"
    assert ".ftz" not in code.ptx, f"{address}: subnormals are flushed"
    assert not re.search(r"\b(div|sqrt|rcp)\.(approx|full)", code.ptx), f"{address}: approximated"
