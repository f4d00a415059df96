"""Programs become text and code here without a GPU: the compiler needs none."""

from collections.abc import Callable

import pytest

from vyre_driver.engine.lowering import lowered_for
from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda.api import nvrtc
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import Compiled, compile_unit
from vyre_driver_cuda.dialect import dialect_of, without_grid_barriers
from vyre_driver_cuda.emit import CudaSource, emit
from vyre_foundation.ir.program import Program

Source = Callable[..., CudaSource]
Compile = Callable[..., Compiled]


def emitted(program: Program, architecture: str = "sm_90", *, cooperative: bool = False) -> CudaSource:
    """The text that the engine would hand to the compiler, with barriers of the grid inside if it is `cooperative`."""
    dialect = dialect_of(Architecture.parse(architecture))
    if not cooperative:
        dialect = without_grid_barriers(dialect)
    return emit(lowered_for(dialect.target(), program.validate()), dialect)


@pytest.fixture(scope="session")
def source() -> Source:
    return emitted


@pytest.fixture(scope="session")
def compiled() -> Compile:
    """From a program to code, where the compiler is installed."""
    try:
        nvrtc()
    except BackendUnavailable as error:
        pytest.skip(str(error))

    def compile_program(program: Program, architecture: str = "sm_90", *, cooperative: bool = False) -> Compiled:
        unit = emitted(program, architecture, cooperative=cooperative)
        return compile_unit(unit, Architecture.parse(architecture))

    return compile_program
