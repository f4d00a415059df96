"""Programs become text and code here without a GPU: the compiler needs none."""

from collections.abc import Callable

import pytest

from vyre_driver.engine.lowering import lowered_for
from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda.api import nvrtc
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import Compiled, compile_unit
from vyre_driver_cuda.dialect import dialect_of
from vyre_driver_cuda.emit import CudaSource, emit
from vyre_foundation.ir.program import Program

Source = Callable[..., CudaSource]
Compile = Callable[..., Compiled]


def emitted(program: Program, architecture: str = "sm_90") -> CudaSource:
    """The text that the engine would hand to the compiler."""
    dialect = dialect_of(Architecture.parse(architecture))
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

    def compile_program(program: Program, architecture: str = "sm_90") -> Compiled:
        return compile_unit(emitted(program, architecture), Architecture.parse(architecture))

    return compile_program
