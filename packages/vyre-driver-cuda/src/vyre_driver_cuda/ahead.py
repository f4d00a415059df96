"""Code for a named architecture, made where there is no GPU, no driver and no CuPy: the compiler is all it takes."""

from __future__ import annotations

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.artifact import described
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.pipeline.ahead import CompiledProgram
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_driver.pipeline.key import called_dialects
from vyre_driver.plan.launch import validated, with_workgroup_size
from vyre_driver_cuda.api import BACKEND
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.binary import Cubin
from vyre_driver_cuda.compiler import compile_unit
from vyre_driver_cuda.dialect import dialect_of, without_grid_barriers
from vyre_driver_cuda.emit import CudaSource, emit
from vyre_driver_cuda.identity import VENDOR
from vyre_foundation.ir.program import Program


def source_ahead(name: str, program: Program, config: DispatchConfig) -> bytes:
    """CUDA C++ in the words of an architecture, such as ``sm_90``, under what a launch of it needs."""
    launched, lowered, unit = _emitted(Architecture.parse(name), program, config)
    return described(launched, lowered, unit)


def ptx_ahead(name: str, program: Program, config: DispatchConfig) -> bytes:
    """PTX, which later drivers compile for later GPUs."""
    architecture = Architecture.parse(name)
    _, _, unit = _emitted(architecture, program, config)
    return compile_unit(unit, architecture).ptx.encode()


def cubin_ahead(name: str, program: Program, config: DispatchConfig) -> bytes:
    """An ELF file of machine code, for other tools."""
    architecture = Architecture.parse(name)
    _, _, unit = _emitted(architecture, program, config)
    return compile_unit(unit, architecture).cubin


def compiled_ahead(target: str, name: str, program: Program, config: DispatchConfig) -> bytes:
    """A compiled program, which runs on every GPU of the architecture, whatever its driver."""
    architecture = Architecture.parse(name)
    launched, lowered, unit = _emitted(architecture, program, config)
    cubin = Cubin.of(unit, compile_unit(unit, architecture), architecture)
    artifact = Artifact(ExecutableManifest.of(lowered, unit.kernels), unit.text, cubin.to_bytes())
    return CompiledProgram(
        target=target,
        device=(BACKEND, "", VENDOR, "", ""),
        program=launched,
        ulp_budget=config.ulp_budget,
        codes=(("", artifact),),
        dialects=called_dialects(launched),
    ).to_bytes()


def _emitted(
    architecture: Architecture, program: Program, config: DispatchConfig
) -> tuple[Program, Lowered, CudaSource]:
    """The program as it is launched, its kernels, and their text. Exact, whatever the budget: nothing is measured.

    Launches end at barriers of the grid: whether one fits into a launch is known only of a GPU.
    """
    facts = validated(with_workgroup_size(program, config.workgroup_override))
    dialect = without_grid_barriers(dialect_of(architecture))
    lowered = lowered_for(dialect.target(), facts)
    return facts.program, lowered, emit(lowered, dialect)
